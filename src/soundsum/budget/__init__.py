"""`Budget`: it counts what has been spent and refuses to overspend (docs/budget.md)."""

from soundsum.budget.account import Budget
from soundsum.budget.history import BudgetClosed
from soundsum.budget.limit import BudgetExceeded
from soundsum.budget.query import Query
from soundsum.budget.scope import Binding, BudgetMismatch
from soundsum.privacy.cost import Cost
from soundsum.privacy.zcdp import zcdp_epsilon, zcdp_rho

__all__ = [
    "Binding",
    "Budget",
    "BudgetClosed",
    "BudgetExceeded",
    "BudgetMismatch",
    "Cost",
    "Query",
    "zcdp_epsilon",
    "zcdp_rho",
]
