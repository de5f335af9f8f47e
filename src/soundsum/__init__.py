"""Differentially private sums whose privacy proof covers the arithmetic the computer really does."""

from soundsum._version import __version__
from soundsum.numbers import FloatType, IntType
from soundsum.plan import Plan, plan, plans
from soundsum.problem import Problem
from soundsum.rationals import Rounding
from soundsum.relations import Relation
from soundsum.runs import Runs
from soundsum.sizes import private_max_size

__all__ = [
    "FloatType",
    "IntType",
    "Plan",
    "Problem",
    "Relation",
    "Rounding",
    "Runs",
    "__version__",
    "plan",
    "plans",
    "private_max_size",
]
