"""What has been spent, and a refusal to overspend: `Budget` with the costs it counts (docs/budget.md)."""

from soundsum.budget.account import Budget, Charge, charged
from soundsum.budget.limit import BudgetExceeded
from soundsum.privacy.cost import Cost
from soundsum.privacy.zcdp import zcdp_epsilon, zcdp_rho

__all__ = ["Budget", "BudgetExceeded", "Charge", "Cost", "charged", "zcdp_epsilon", "zcdp_rho"]
