"""Differentially private sums whose privacy proof covers the arithmetic the computer really does."""

from typing import TYPE_CHECKING, Any

from soundsum._version import __version__
from soundsum.arithmetic.numbers import FloatType, IntType
from soundsum.arithmetic.rationals import Rounding
from soundsum.budget import Budget, BudgetExceeded, BudgetMismatch, Cost
from soundsum.data.boundary import ReadFailed
from soundsum.data.relations import Relation
from soundsum.data.runs import Runs
from soundsum.privacy.units import Unit
from soundsum.problem import Problem
from soundsum.releases.calls import mean, release, sum, variance
from soundsum.releases.certificates import check
from soundsum.releases.counting import count, histogram
from soundsum.releases.outcome import Release, Releases, Several
from soundsum.releases.planning import Plan, plan, plans
from soundsum.releases.private import Private
from soundsum.releases.sizes import private_max_size
from soundsum.statistics import Count, Histogram, Mean, Sum, Variance

if TYPE_CHECKING:
    from soundsum.attacks.attack import Attack
    from soundsum.attacks.choose import attack

__all__ = [
    "Attack",
    "Budget",
    "BudgetExceeded",
    "BudgetMismatch",
    "Cost",
    "Count",
    "FloatType",
    "Histogram",
    "IntType",
    "Mean",
    "Plan",
    "Private",
    "Problem",
    "ReadFailed",
    "Relation",
    "Release",
    "Releases",
    "Rounding",
    "Runs",
    "Several",
    "Sum",
    "Unit",
    "Variance",
    "__version__",
    "attack",
    "check",
    "count",
    "histogram",
    "mean",
    "plan",
    "plans",
    "private_max_size",
    "release",
    "sum",
    "variance",
]


for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = __name__  # where people find it, whatever room it is made in


def __getattr__(name: str) -> Any:
    """The attacks are imported when they are first asked for: most who release a number have no need of them."""
    if name in ("Attack", "attack", "attacks"):
        import importlib

        attacks = importlib.import_module("soundsum.attacks")
        attacks.Attack.__module__ = __name__
        globals().update(attacks=attacks, Attack=attacks.Attack, attack=attacks.attack)
        return globals()[name]
    raise AttributeError(f"module 'soundsum' has no attribute {name!r}")
