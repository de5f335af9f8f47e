"""A Release: one noisy number with everything needed to use and to check it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

from soundsum.budget.query import as_plain
from soundsum.numbers import formatting, text_tables
from soundsum.numbers.formatting import number
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import finite, nearest_float
from soundsum.privacy.distributions import each_of
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import FOUND
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.frames import Framed, as_column
from soundsum.releases.plots import Panel
from soundsum.releases.ratios import Ratio
from soundsum.releases.release_context import Origin, ReleaseContext
from soundsum.statistics import Claim
from soundsum.statistics.count import Counted
from soundsum.statistics.statistic import Estimator
from soundsum.tables.keys import is_missing

UNDECLARED = "the column's type is not declared, and cells that are not numbers count as missing"

DASH = "—"
SAYS_NOTHING = f"{DASH} where the noise leaves the whole range possible"

BEYOND = "beyond a float, so .value is inf: use .exact"


PARTS = {"sum of c": "sum about the middle of the bounds", "sum of c^2": "sum of squares about it"}
"""Parts whose names in a certificate are those of the proof, to read."""


@dataclass(frozen=True)
class Release(Framed):
    """A noisy statistic. `exact` is the released number; `value` is the nearest float, or an int for integer data.

    float(r), int(r), round(r, 2) and f"{r:,.2f}" work as on a number.
    """

    noisy: tuple[int, ...]  # every part that was let out, in its steps
    facts: ReleaseContext
    group: Any = None

    @cached_property
    def exact(self) -> int | Fraction:
        return self.facts.estimator.exact(self.noisy)

    @property
    def claim(self) -> Claim:
        return self.facts.claim

    @property
    def threshold(self) -> int | None:
        """The least noisy number of persons (or records) with which a group is found; None where groups were listed."""
        return None if self.facts.search is None else self.facts.search.threshold

    @property
    def guarantee(self) -> Guarantee:
        return self.facts.guarantee

    @property
    def estimator(self) -> Estimator:
        return self.facts.estimator

    @property
    def origin(self) -> Origin:
        return self.facts.origin

    @property
    def certificate(self) -> dict[str, Any]:
        """Everything the release claims, as plain data; `soundsum.check` checks it."""
        return self.facts.certificate

    @property
    def statistic(self) -> str:
        return self.claim.kind.entry_name or self.claim.kind.name

    @property
    def plan(self) -> Plan:
        return self.claim.plan

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds that records were clamped to: those given, rounded inward to numbers that add exactly."""
        return self.claim.bounds

    @property
    def value(self) -> int | float:
        """The number as an int or a float; infinity, with a note, if it is beyond every float."""
        return self.exact if isinstance(self.exact, int) else nearest_float(self.exact)

    @property
    def epsilon(self) -> Fraction | None:
        return self.guarantee.epsilon

    def interval(self, confidence: float = 0.95, *, all_groups: bool = False) -> tuple[float, float]:
        """An interval for the method's own sum, with this confidence, by the exact distribution of the noise.

        With all_groups=True it is wider, so that the intervals of all groups (or cells) hold at once with this
        confidence. Use it to compare groups, or for the largest of them.

        It covers only the noise; `plan.accuracy` bounds the method's own error. For a variance, and for a mean with a
        private number of rows, it is wider than the confidence needs, because several noises share the chance of
        failure. Of a quantile it is the whole range, as only its rank is known: see `rank_error`. For a modular sum it
        is an interval modulo `plan.modulus`, whose ends may lie outside the type; if it
        would contain every number, it is the type's range.
        """
        low, high = self.exact_interval(confidence, all_groups=all_groups)
        return nearest_float(low), nearest_float(high)

    def rank_error(self, confidence: float = 0.95) -> int:
        """The number of ranks by which a quantile misses, at most, with this confidence, for any data.

        It is what the choice adds to the rank error of the best candidate, and is known before anything is spent
        (`soundsum.plan_quantile`). Of several quantiles of a column it holds for all of them together.
        """
        if not self.facts.is_ranked:
            raise RefusedType(
                None,
                Reason.UNSUPPORTED,
                "a {statistic} has no rank error",
                "ask for its `interval`",
                statistic=self.statistic,
            )
        require_confidence(confidence)
        return self.facts.rank_error(confidence)

    @property
    def informative(self) -> bool:
        """False if the 95% interval is no narrower than the bounds, so that the value says nothing about the data.

        This happens to the mean or variance of few rows or none, and to a modular sum with noise as wide as its type.
        It follows from the released numbers alone.
        """
        return self.facts.is_informative(*self.interval(0.95))

    def ratio(self, other: Release) -> Ratio:
        """The ratio of this number to another released one, with an interval from the noise of both; costs nothing.

        >>> import soundsum as ss
        >>> cost, visits = ss.release({"cost": [20.0] * 90}, [ss.Sum("cost", 0, 100), ss.Count()], epsilon=10)
        >>> low, high = cost.ratio(visits).interval(0.95)
        """
        return Ratio(self, other)

    @property
    def known_range(self) -> tuple[Fraction | None, Fraction | None]:
        """The range of the statistic without noise, from public facts alone: of a sum, its sign."""
        claim, limits, zero = self.claim, self.estimator.limits, Fraction(0)
        if limits is not None:
            return limits
        if issubclass(claim.kind, Counted):
            return zero, None
        if not claim.kind.is_the_sum or claim.record_steps is None:  # a method that adds in a way of its own
            return None, None
        lower, upper = claim.bounds
        return zero if lower >= 0 else None, zero if upper <= 0 else None

    @property
    def sensitivity(self) -> str:
        """The largest change of each released number by one record or person, in words."""
        moved = [(part["what"], Fraction(part["sensitivity"])) for part in self.certificate["released"]]
        return ", ".join(
            number(most) if len(moved) == 1 else f"{number(most)} ({PARTS.get(what, what)})" for what, most in moved
        )

    @property
    def missing(self) -> str:
        """The treatment of records without a value, in words; their number is never revealed."""
        return self.claim.kind.say_missing(self.origin.missing, self.claim.shown_bounds)

    @property
    def persons(self) -> str:
        """The limits that applied to each person, in words; empty where records are protected."""
        said = self.claim.kind.say_persons(self.plan.unit, self.claim.shown_bounds)
        return f"{said}; rows without an id left out" if said else ""

    @property
    def counted(self) -> str:
        """The treatment of missing values and the limits for each person, in words."""
        return "; ".join(filter(None, (self.missing, self.undeclared, self.persons, self.facts.found)))

    @property
    def undeclared(self) -> str:
        """A note on text in a column without a declared type, as in CSV; otherwise empty."""
        return "" if self.origin.is_declared else UNDECLARED

    def to_dict(self) -> dict[str, Any]:
        """Return the whole release as plain data, exact numbers as strings; `soundsum check` reads it.

        A value beyond every float is null; see `exact`.
        """
        origin, unit, interval = self.origin, self.plan.unit, self.interval(0.95)
        group = as_plain(self.group)
        return {
            "statistic": self.statistic,
            "column": origin.column,
            "by": origin.by,
            "where": origin.where,
            **({} if self.group is None else {"group": group}),
            "value": finite(self.value),
            "exact": str(self.exact),
            "noisy": [str(part) for part in self.noisy],
            "interval_95": [finite(end) for end in interval],
            "informative": self.facts.is_informative(*interval),
            **({"rank_error_95": self.rank_error(0.95)} if self.facts.is_ranked else {}),
            "bounds": [str(bound) for bound in self.bounds],
            "unit": str(unit),
            "privacy_unit": origin.query.binding.privacy_unit,
            "missing": origin.missing,
            "relation": str(self.plan.problem.relation),
            "source": origin.query.source,
            "data": origin.query.binding.data,
            "at": origin.at.isoformat(),
            "ledger": {
                "entry": origin.entry,
                "query": origin.query.to_json(),
                "statistic": origin.place,
                "cost": None if origin.cost is None else origin.cost.to_json(),
            },
            "version": self.certificate["versions"]["soundsum"],
            "certificate": self.certificate,
        }

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of one row: the statistic, its column, the value and the interval."""
        import pyarrow as pa

        low, high = self.interval(confidence)
        row = {"statistic": self.statistic, "column": self.origin.column, "value": self.value}
        table = {name: as_column([cell]) for name, cell in row.items()}
        table["low"], table["high"] = self.facts.listed_ends([low], [high])
        return pa.table(table | {"informative": as_column([self.facts.is_informative(low, high)])})

    def words(self) -> tuple[list[str], list[list[str]], int]:
        return ["", "value", "95% interval"], [[self.facts.title, *self.shown()]], 2

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        facts, (low, high) = self.facts, self.interval(confidence)
        values, informative = [nearest_float(self.exact)], [facts.is_informative(low, high)]
        ends = facts.drawn_ends(values, [low], [high])
        return [Panel(facts.heading, facts.measured, [self.statistic], values, *ends, informative)]

    def __float__(self) -> float:
        if not math.isfinite(nearest_float(self.exact)):
            raise OverflowError(f"the {self.statistic} is {BEYOND}")
        return nearest_float(self.exact)

    def __bool__(self) -> bool:
        raise RefusedType(
            None,
            Reason.UNSUPPORTED,
            "a release is neither true nor false:",
            "compare `r.value` with a number, or write `r is not None`",
        )

    def __int__(self) -> int:
        return int(self.exact)

    def __round__(self, digits: int | None = None) -> int | float:
        if digits is None:
            return round(self.exact)
        return round(self.exact, digits) if isinstance(self.exact, int) else nearest_float(round(self.exact, digits))

    def __format__(self, how: str) -> str:
        if not how:
            return str(self)
        if isinstance(self.value, int) or math.isfinite(self.value):
            return format(self.value, how)
        with localcontext(prec=5000):
            return format(Decimal(Fraction(self.exact).numerator) / Fraction(self.exact).denominator, how)

    def __repr__(self) -> str:
        value, interval = self.shown()
        noise = (
            f"{self.facts.says_how_far} {interval}, for {self.facts.covered}" if self._is_noisy else "no noise needed"
        )
        where = "" if self.origin.where is None else f"where {self.origin.where}; "
        how = f"{self.guarantee}, {self.plan.method}; {where}{self.counted}"
        return f"<{self.statistic} {value} ({noise}; {how})>"

    def shown(self) -> tuple[str, str]:
        """The value and its 95% interval, in words."""
        (row,) = show([self])
        return row

    def _repr_html_(self) -> str:
        value, interval = self.shown()
        rows = {
            "value": value,
            self.facts.says_how_far: f"{interval}, for {self.facts.covered}",
            "missing": "; ".join(filter(None, (self.missing, self.undeclared))),
            **({"persons": self.persons} if self.persons else {}),
            **({"groups": self.facts.found} if self.facts.found else {}),
            "promise": f"{self.guarantee}, for {self.plan.unit.protected}",
            "sensitivity": self.sensitivity,
            "method": f"{self.plan.method}: {self.plan.theorem.statement}",
        }
        return text_tables.table(rows.items(), caption=f"Private {self.facts.title}")

    @property
    def _is_noisy(self) -> bool:
        return any(part["noise"] != "none" for part in self.certificate["released"])

    def exact_interval(self, confidence: float = 0.95, *, all_groups: bool = False) -> tuple[Fraction, Fraction]:
        """Compute the interval in exact numbers; `interval` returns the nearest floats."""
        require_confidence(confidence)
        if all_groups and self.plan.unit.groups == FOUND:
            raise RefusedValue(
                "all_groups",
                Reason.NEEDS,
                "`all_groups=True` on one of the groups that were found does not know how many there are",
                "ask for the intervals of all: `releases.interval(0.95, all_groups=True)`",
            )
        each = each_of(confidence, self.plan.unit.entries) if all_groups else confidence
        return self.estimator.interval(self.noisy, each)


def require_confidence(confidence: Any) -> None:
    if not isinstance(confidence, Real | Decimal) or is_missing(confidence):
        raise RefusedValue(
            "confidence",
            Reason.NOT_A_NUMBER,
            "`confidence={given}` is not a number",
            "give a number between 0 and 1, such as 0.95",
            given=quote(confidence),
        )
    given: Any = confidence
    if given <= 0:
        raise RefusedValue(
            "confidence",
            Reason.TOO_SMALL,
            "`confidence={given}` is not above 0",
            "give a number between 0 and 1, such as 0.95",
            given=quote(confidence),
        )
    if given >= 1:
        raise RefusedValue(
            "confidence",
            Reason.TOO_LARGE,
            "`confidence={given}` is not below 1",
            "give a number between 0 and 1, such as 0.95",
            given=quote(confidence),
        )


def show(releases: Sequence[Release]) -> list[tuple[str, str]]:
    """Values and their 95% intervals, in words, as the rows of one table; a dash for a value that says nothing."""
    if any(one.exact_interval()[1] == math.inf for one in releases):  # found with Gaussian noise
        return [(f"{one.exact:,}", "1 or more") for one in releases]
    rows = formatting.estimates([(one.exact, *one.exact_interval()) for one in releases]) if releases else []
    return [
        (DASH, f"{interval}, the whole range")
        if not one.informative
        else (formatting.number(Fraction(one.exact)), f"{one.rank_error():,} ranks")
        if one.facts.is_ranked
        else (value if math.isfinite(nearest_float(one.exact)) else f"{value} ({BEYOND})", interval)
        for one, (value, interval) in zip(releases, rows, strict=True)
    ]
