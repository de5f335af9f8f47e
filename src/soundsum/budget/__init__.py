"""What has been spent, and a refusal to overspend: `Budget` with the costs it counts (docs/budget.md)."""

from soundsum.budget.account import Budget, Charge, charged
from soundsum.budget.conversion import zcdp_epsilon, zcdp_rho
from soundsum.budget.cost import Cost
from soundsum.budget.promise import BudgetExceeded

__all__ = ["Budget", "BudgetExceeded", "Charge", "Cost", "charged", "zcdp_epsilon", "zcdp_rho"]
