"""Differentially private sums whose privacy proof covers the arithmetic the computer really does."""

from typing import TYPE_CHECKING, Any

from soundsum._version import __version__
from soundsum.budget import Budget, BudgetExceeded, Cost
from soundsum.checks import check
from soundsum.numbers import FloatType, IntType
from soundsum.outcome import Release, Releases, Several
from soundsum.plan import Plan, plan, plans
from soundsum.problem import Problem
from soundsum.queries import Count, Histogram, Mean, Sum, Variance
from soundsum.rationals import Rounding
from soundsum.relations import Relation
from soundsum.release import count, histogram, mean, release, sum, variance
from soundsum.runs import Runs
from soundsum.sizes import private_max_size
from soundsum.units import Unit

if TYPE_CHECKING:
    from soundsum.attacks.attack import Attack
    from soundsum.attacks.choose import attack

__all__ = [
    "Attack",
    "Budget",
    "BudgetExceeded",
    "Cost",
    "Count",
    "FloatType",
    "Histogram",
    "IntType",
    "Mean",
    "Plan",
    "Problem",
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


def __getattr__(name: str) -> Any:
    """The attacks are imported when they are first asked for: most who release a number have no need of them."""
    if name in ("Attack", "attack", "attacks"):
        import importlib

        attacks = importlib.import_module("soundsum.attacks")
        globals().update(attacks=attacks, Attack=attacks.Attack, attack=attacks.attack)
        return globals()[name]
    raise AttributeError(f"module 'soundsum' has no attribute {name!r}")
