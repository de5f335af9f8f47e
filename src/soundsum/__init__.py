"""Differentially private sums whose privacy proof covers the arithmetic the computer really does.

What a name stands for is imported when it is first asked for, so that `import soundsum` costs next to nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from soundsum._version import __version__

if TYPE_CHECKING:
    from soundsum.attacks.attack import Attack
    from soundsum.attacks.choose import attack
    from soundsum.auditor.auditing import Audit, audit
    from soundsum.auditor.finding import Finding
    from soundsum.auditor.target import Target
    from soundsum.budget import Budget, BudgetExceeded, BudgetMismatch, Cost
    from soundsum.methods.problem import Problem
    from soundsum.numbers.rationals import Rounding
    from soundsum.numbers.types import FloatType, IntType
    from soundsum.privacy.planner import Plan
    from soundsum.privacy.selection import Found, GroupPlan, plan_groups
    from soundsum.privacy.units import Unit
    from soundsum.releases.advice import BoundsAdvice, ClippedShare, MaxRowsAdvice
    from soundsum.releases.api import (
        count,
        groups,
        histogram,
        mean,
        median,
        private_max_size,
        quantile,
        release,
        std,
        suggest_bounds,
        suggest_max_rows,
        sum,
        variance,
    )
    from soundsum.releases.collections import Releases
    from soundsum.releases.outcomes import Several
    from soundsum.releases.partial import Partial, PartialPlan
    from soundsum.releases.planning import QuantilePlan, plan, plan_quantile, plans
    from soundsum.releases.private import Private
    from soundsum.releases.ratios import Ratio
    from soundsum.releases.release_check import check
    from soundsum.releases.released import Release
    from soundsum.server.client import connect
    from soundsum.statistics import (
        Bounds,
        Clipped,
        Count,
        Histogram,
        MaxRows,
        Mean,
        Quantile,
        Std,
        Sum,
        TotalBounds,
        Variance,
    )
    from soundsum.tables.periods import day, hour, month, week, year
    from soundsum.tables.read_guard import ReadFailed
    from soundsum.tables.relations import Relation
    from soundsum.tables.runs import Runs

_HOMES = {
    "soundsum.numbers.types": ("FloatType", "IntType"),
    "soundsum.numbers.rationals": ("Rounding",),
    "soundsum.attacks": ("Attack", "attack"),
    "soundsum.auditor.finding": ("Finding",),
    "soundsum.auditor.auditing": ("Audit", "audit"),
    "soundsum.auditor.target": ("Target",),
    "soundsum.budget": ("Budget", "BudgetExceeded", "BudgetMismatch", "Cost"),
    "soundsum.tables.read_guard": ("ReadFailed",),
    "soundsum.tables.periods": ("day", "hour", "month", "week", "year"),
    "soundsum.tables.relations": ("Relation",),
    "soundsum.tables.runs": ("Runs",),
    "soundsum.privacy.units": ("Unit",),
    "soundsum.methods.problem": ("Problem",),
    "soundsum.releases.advice": ("BoundsAdvice", "ClippedShare", "MaxRowsAdvice"),
    "soundsum.releases.api": (
        *("count", "groups", "histogram", "mean", "median", "private_max_size", "quantile", "release", "std"),
        *("suggest_bounds", "suggest_max_rows", "sum", "variance"),
    ),
    "soundsum.releases.ratios": ("Ratio",),
    "soundsum.releases.release_check": ("check",),
    "soundsum.releases.released": ("Release",),
    "soundsum.privacy.planner": ("Plan",),
    "soundsum.privacy.selection": ("Found", "GroupPlan", "plan_groups"),
    "soundsum.releases.partial": ("Partial", "PartialPlan"),
    "soundsum.releases.planning": ("QuantilePlan", "plan", "plan_quantile", "plans"),
    "soundsum.releases.private": ("Private",),
    "soundsum.releases.collections": ("Releases",),
    "soundsum.releases.outcomes": ("Several",),
    "soundsum.server.client": ("connect",),
    "soundsum.statistics": (
        *("Bounds", "Clipped", "Count", "Histogram", "MaxRows", "Mean", "Quantile", "Std", "Sum", "TotalBounds"),
        "Variance",
    ),
}
_NOT_SUMS = ("min", "max", "mode")
_ELSEWHERE = {
    "percentile": "use soundsum.quantile(...), of a hundredth of it",
    "var": "use soundsum.variance(...)",
}
_MODULES = ("attacks", "gradients")
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Attack",
    "Audit",
    "Bounds",
    "BoundsAdvice",
    "Budget",
    "BudgetExceeded",
    "BudgetMismatch",
    "Clipped",
    "ClippedShare",
    "Cost",
    "Count",
    "Finding",
    "FloatType",
    "Found",
    "GroupPlan",
    "Histogram",
    "IntType",
    "MaxRows",
    "MaxRowsAdvice",
    "Mean",
    "Partial",
    "PartialPlan",
    "Plan",
    "Private",
    "Problem",
    "Quantile",
    "QuantilePlan",
    "Ratio",
    "ReadFailed",
    "Relation",
    "Release",
    "Releases",
    "Rounding",
    "Runs",
    "Several",
    "Std",
    "Sum",
    "Target",
    "TotalBounds",
    "Unit",
    "Variance",
    "__version__",
    "attack",
    "audit",
    "check",
    "connect",
    "count",
    "day",
    "groups",
    "histogram",
    "hour",
    "mean",
    "median",
    "month",
    "plan",
    "plan_groups",
    "plan_quantile",
    "plans",
    "private_max_size",
    "quantile",
    "release",
    "std",
    "suggest_bounds",
    "suggest_max_rows",
    "sum",
    "variance",
    "week",
    "year",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"soundsum.{name}")
    if name in _NOT_SUMS:
        raise AttributeError(f"soundsum has no {name}, which is not made from sums; docs/when-not.md says what has one")
    if name in _ELSEWHERE:
        raise AttributeError(f"soundsum has no {name}; {_ELSEWHERE[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'soundsum' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)
    _claim_classes()
    return found


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))


def _claim_classes() -> None:
    """Public classes say where people find them, whatever room they are made in."""
    for name, home in _HOME.items():
        made = getattr(sys.modules.get(home), name, None)
        if isinstance(made, type):
            made.__module__ = __name__
