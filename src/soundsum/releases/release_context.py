"""The facts behind a release: the request, the claim, and both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from soundsum.budget.query import Query
from soundsum.methods import Ranks
from soundsum.numbers import formatting
from soundsum.numbers.formatting import number
from soundsum.numbers.quoting import printed
from soundsum.privacy.cost import Cost
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import GroupPlan
from soundsum.releases.certificates import certify
from soundsum.releases.frames import as_column
from soundsum.statistics import Claim
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.statistic import Bounded, Estimator, are_informative, is_informative
from soundsum.tables.records import Missing

UNNAMED = "by"
"""The name of a column of groups that was given as values, beside the data."""


@dataclass(frozen=True)
class Origin:
    """The origin of a release: everything that was asked for the same charge, its own statistic, and the charge.

    Facts about the question are the query's own.
    """

    query: Query
    place: int  # of the statistic in the query
    at: datetime
    cost: Cost | None  # None where no noise was needed
    entry: int | None  # of the budget; None without one
    engine: str  # who added up
    is_declared: bool = True  # whether somebody, or the table, says what type the column has

    @property
    def column(self) -> Any:
        return self.query.statistics[self.place].column

    @property
    def missing(self) -> Missing:
        return cast(Missing, self.query.statistics[self.place].missing)

    @property
    def by(self) -> Any:
        """The column of the groups, or several as a list; None without groups."""
        by = self.query.by
        return list(by) if len(by) > 1 else by[0] if by else None

    @property
    def where(self) -> str | None:
        return self.query.conditions


@dataclass(frozen=True)
class ReleaseContext:
    """Facts shared by every entry of a release: its claims, and how its values are read."""

    claim: Claim
    guarantee: Guarantee
    noises: tuple[Noise, ...]
    n: int | None  # the number of records, where it is public
    origin: Origin
    search: GroupPlan | None = None  # for the groups, where nobody listed them
    sorted_with: tuple[Noise, ...] = ()  # choices of other quantiles, so that they do not cross

    @cached_property
    def estimator(self) -> Estimator:
        return self.claim.estimator(self.noises, self.n)

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """Everything the release claims, as plain data."""
        return certify(self.claim, self.guarantee, self.noises, self.origin.engine, self.search)

    @property
    def title(self) -> str:
        """The question in words: the statistic, its column and its groups."""
        origin = self.origin
        of = "" if origin.column is None else f" of {origin.column}"
        by = f" by {', '.join(self.grouped_by)}" if self.grouped_by else ""
        return printed(f"{self.named}{of}{by}{'' if origin.where is None else f' where {origin.where}'}")

    @property
    def grouped_by(self) -> list[str]:
        """The columns or periods that groups are of; values that were given without a name are just groups."""
        by = [self.origin.by] if isinstance(self.origin.by, str) else self.origin.by or []
        return ["group" if name == UNNAMED else name for name in by]

    @property
    def heading(self) -> str:
        """The title of a picture: the statistic and the guarantee."""
        return f"Private {self.title}; {self.guarantee}"

    @property
    def measured(self) -> str:
        """The unit of the values, for a plot's axis; equal names mean equal units."""
        kind, column = self.claim.kind, self.origin.column
        is_of_column = issubclass(kind, Bounded) or self.is_ranked
        return printed(f"{kind.name} of {column}") if is_of_column and column is not None else self._entry

    @property
    def _entry(self) -> str:
        if self.claim.kind is GroupCounts:
            return "number of records" if self.claim.plan.unit.max_rows is None else "number of persons"
        return self.claim.kind.entry_name or self.claim.kind.name

    def drawn_ends(self, values: list[float], low: list[float], high: list[float]) -> tuple[list[float], list[float]]:
        """The ends of the intervals that a picture has: none where the noise leaves no interval."""
        is_open = self.search is not None and self.search.certain is None and self.claim.kind is GroupCounts
        return (values, values) if is_open or self.is_ranked else (low, high)

    def listed_ends(self, low: Sequence[Any], high: Sequence[Any]) -> tuple[Any, Any]:
        """The columns of a table of intervals; empty for quantiles, which have an error in ranks."""
        import pyarrow as pa

        if self.is_ranked:
            return pa.nulls(len(low), pa.float64()), pa.nulls(len(high), pa.float64())
        return as_column(low), as_column(high)

    @property
    def says_how_far(self) -> str:
        """The heading of the column beside a value."""
        if self.claim.kind is not GroupCounts:
            return "95% rank error" if self.is_ranked else "95% interval"
        assert self.search is not None
        return "no interval" if self.search.certain is None else "certain interval"

    @property
    def found(self) -> str:
        """How groups were found that nobody listed, in words; empty where somebody did."""
        search = self.search
        if search is None:
            return ""
        whom = "records" if self.claim.plan.unit.max_rows is None else "persons"
        cost = "" if self.claim.kind is GroupCounts else f", for {search.guarantee}"
        open_end = "; Gaussian noise leaves no interval for a group that was found" if search.certain is None else ""
        no_interval = open_end if self.claim.kind is GroupCounts else ""
        return f"groups found by a noisy number of {whom} of at least {search.threshold:,}{cost}{no_interval}"

    @property
    def named(self) -> str:
        """The statistic in words: a median is not called a quantile."""
        adder = self.claim.plan.adder
        return adder.title if isinstance(adder, Ranks) else self.claim.kind.name

    @property
    def covered(self) -> str:
        """The quantity an interval covers, in words: the statistic without noise, by this method, of these values."""
        kind, plan = self.claim.kind, self.claim.plan
        lower, upper = map(formatting.bound, self.claim.shown_bounds)
        values = f"values clamped to [{lower}, {upper}]"
        covered = f"the {self._entry} of {values}" if issubclass(kind, Bounded) else f"the {self._entry}"
        if self.is_ranked:
            covered = f"the {self.named} of {values}: at most this many ranks further from it than the best candidate"
        if kind.is_the_sum:
            covered = plan.adder.say_sum(plan.problem, values)
        if kind.is_the_sum and plan.modulus is not None:
            step = plan.step * self.claim.unit_value  # of decimals, the last digit
            covered += f", modulo {formatting.binary(plan.modulus)}{'' if step == 1 else f' times {number(step)}'}"
        return f"{covered}{', within the limits for each person' if plan.unit.caps else ''}"

    @property
    def is_ranked(self) -> bool:
        """Whether it is a quantile, which has a rank error and no interval."""
        return isinstance(self.claim.plan.adder, Ranks)

    def rank_error(self, confidence: float = 0.95) -> int:
        """The most of all that were sorted together; the chances of failure add up."""
        choices = [*self.noises, *self.sorted_with]
        each = 1 - (1 - Fraction(str(confidence))) / len(choices)
        return max(choice.half_width(each) for choice in choices)

    def is_informative(self, low: float, high: float) -> bool:
        """Returns whether an interval of this statistic says more than the bounds do."""
        return is_informative(self.estimator, low, high)

    def are_informative(self, low: Sequence[float], high: Sequence[float]) -> list[bool]:
        """Returns the same of many intervals."""
        return are_informative(self.estimator, low, high)
