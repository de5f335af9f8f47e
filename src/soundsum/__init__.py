"""Differentially private sums whose privacy proof covers the arithmetic the computer really does."""

from soundsum._version import __version__
from soundsum.attacks import Attack, attack
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
