"""Advice read from noisy counts over cells: bounds for a column, rows of a person to count, and what bounds cut off.

All of it is post-processing: it looks at released numbers alone, so it costs nothing beyond them. A cell stands out if
its noisy count is above what the noise reaches anywhere, with 95% confidence, where nobody is. Where too little stands
out there is no advice, and the reason is given instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from soundsum.numbers.formatting import bound
from soundsum.numbers.quoting import printed
from soundsum.numbers.rationals import nearest_float
from soundsum.refusals import Reason, RefusedValue
from soundsum.releases.collections import Releases
from soundsum.releases.frames import as_column
from soundsum.releases.outcomes import Conclusion
from soundsum.releases.plots import Panel
from soundsum.releases.released import require_confidence
from soundsum.statistics import Bounds, Clipped, MaxRows, Statistic, TotalBounds
from soundsum.statistics.magnitudes import RoundCells, read_coverage, round_cells, row_cells

CONFIDENCE = 0.95
"""That no empty cell stands out."""

NEAR = 6
"""Cells beyond an end that are looked at together, for tails too thin to stand out in any one of them."""

BESIDE = 3
"""Cells beside those that stand out that a picture has too."""

NEARER = 5
"""An end that is so many times nearer to 0 than the other one is taken to be 0."""


class Span(NamedTuple):
    """The cells from `first` to `last`, and the estimated number of records or persons in the others."""

    first: int
    last: int
    outside: int
    outside_at_most: int


@dataclass(frozen=True, repr=False)
class Advice(Conclusion):
    """Advice from noisy counts, or the reason why there is none; true where there is some."""

    counts: Releases
    cells: RoundCells
    coverage: Fraction

    @cached_property
    def noisy(self) -> list[int]:
        """The noisy count of every cell."""
        return [int(release.exact) for release in self.counts.values()]

    @cached_property
    def threshold(self) -> int:
        """A count above it stands out: noise alone reaches it in none of the cells, with 95% confidence."""
        noise, cells = self.counts.facts.noises[0], len(self.noisy)
        return noise.half_width(1 - (1 - CONFIDENCE) / cells)

    @cached_property
    def _found(self) -> Span | str:
        """The advice that the counts support. A person's total may be of many small rows, so its bounds include 0."""
        nothing = next((i for i, (low, high) in enumerate(self.cells.ends) if low == high == 0), None)
        step = self.counts.facts.noises[0].half_width(CONFIDENCE)
        kept = (nothing or 0) if self.counts.facts.claim.kind.counts_persons else None
        return find_span(self.noisy, self.threshold, step, self.coverage, self.cells.ends, nothing, kept)

    @property
    def reason(self) -> str | None:
        """Why there is no advice; None if there is some."""
        found, whom = self._found, self._counted
        if isinstance(found, Span):
            return None
        return {
            "few": f"no range of values stands out from the noise, which alone may show {self.threshold:,} {whom}: "
            "give a larger epsilon",
            "zero": f"only zeros stand out of the noise: give a larger epsilon, leave out the {whom} that are 0, or "
            "scale the column if they are nearly 0",
            "open": f"too many {whom} are beyond the largest cell: scale the column",
        }[found]

    @property
    def outside(self) -> int | None:
        """Estimate how many records (or persons) the advice cuts off, from the noisy counts; None without advice."""
        return self._found.outside if isinstance(self._found, Span) else None

    @property
    def outside_at_most(self) -> int | None:
        """`outside` with the noise of those counts added on top, at about 95% confidence."""
        return self._found.outside_at_most if isinstance(self._found, Span) else None

    def __bool__(self) -> bool:
        return isinstance(self._found, Span)

    def _require(self) -> Span:
        if not isinstance(self._found, Span):
            raise RefusedValue("bounds", Reason.EMPTY, "there is no advice to take: {reason}", reason=self.reason or "")
        return self._found

    @property
    def _counted(self) -> str:
        return "persons" if self.counts.facts.claim.kind.counts_persons else "records"

    @property
    def _share(self) -> str:
        return f"{float(100 * self.coverage):.6g}%"

    def _cut(self) -> str:
        if not self:
            return ""
        about = f"about {self.outside:,} {self._counted}" if self.outside else f"hardly any {self._counted}"
        return f"{about} outside, at most {self.outside_at_most:,} in 95% of runs"

    def _advised(self) -> list[tuple[str, Fraction]]:
        raise NotImplementedError

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table with a row for each number that is advised, and none where there is no advice."""
        import pyarrow as pa

        advised = self._advised() if self else []
        columns: dict[str, list[Any]] = {
            "advice": [name for name, _ in advised],
            "value": [int(x) if x.denominator == 1 else nearest_float(x) for _, x in advised],
            **{end: [None] * len(advised) for end in ("low", "high")},
            "informative": [True] * len(advised),
        }
        return pa.table({name: as_column(entries) for name, entries in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        advised = {name: str(x) for name, x in self._advised()} if self else {"reason": self.reason}
        cut = {"outside": self.outside, "outside_at_most": self.outside_at_most} if self else {}
        return {"advice": {**advised, "coverage": str(self.coverage), **cut}, **self.counts.to_dict()}

    def rows(self) -> list[tuple[str, str]]:
        """The advice in words, line by line."""
        column = self.counts.facts.origin.column
        of = "" if column is None else f" of {column}"
        lines = [(name, bound(x)) for name, x in self._advised()] if self else [("no advice", str(self.reason))]
        cut = [("cut off", self._cut())] if self else []
        return [("advice", f"{self._title}{of}"), *lines, *cut, ("promise", self.promise)]

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        """The cells that stand out and those between and beside them, as the others are empty as far as is known."""
        (panel,) = self.counts.panels(confidence)
        seen = [i for i, count in enumerate(self.noisy) if count > self.threshold] or range(len(self.noisy))
        shown = slice(max(0, seen[0] - BESIDE), seen[-1] + BESIDE + 1)
        names = [_name_cell(*ends) for ends in self.cells.ends[shown]]
        return [
            Panel(
                f"{self._title}; {self.promise}",
                panel.measured,
                names,
                panel.values[shown],
                panel.low[shown],
                panel.high[shown],
                panel.informative[shown],
                is_counts=True,
            )
        ]

    @property
    def _title(self) -> str:
        raise NotImplementedError


def _name_cell(low: Fraction | None, high: Fraction | None) -> str:
    if low is None or high is None:
        return f"below {bound(high)}" if high is not None else f"above {bound(low)}" if low is not None else "all"
    return bound(low) if low == high else f"{bound(low)} to {bound(high)}"


@dataclass(frozen=True, repr=False)
class BoundsAdvice(Advice):
    """Bounds for a column, as exact numbers: `lower, upper = advice`, or `ss.sum(..., bounds=advice)`."""

    @property
    def lower(self) -> Fraction | None:
        return self.cells.ends[self._found.first][0] if isinstance(self._found, Span) else None

    @property
    def upper(self) -> Fraction | None:
        return self.cells.ends[self._found.last][1] if isinstance(self._found, Span) else None

    def __iter__(self) -> Iterator[Fraction]:
        self._require()
        return iter([x for _, x in self._advised()])

    @property
    def are_of_totals(self) -> bool:
        """Whether these are bounds for what a person's rows add up to, rather than for each row."""
        return self.counts.facts.claim.kind.counts_persons

    @property
    def _title(self) -> str:
        whose = "persons' totals" if self.are_of_totals else "values"
        return f"Bounds for at least {self._share} of the {whose}"

    def _advised(self) -> list[tuple[str, Fraction]]:
        assert self.lower is not None
        assert self.upper is not None
        return [("lower", self.lower), ("upper", self.upper)]


@dataclass(frozen=True, repr=False)
class MaxRowsAdvice(Advice):
    """How many rows of a person to count: `ss.sum(..., max_rows=advice.max_rows)`."""

    @property
    def max_rows(self) -> int | None:
        most = self.cells.ends[self._found.last][1] if isinstance(self._found, Span) else None
        return None if most is None else int(most)

    @property
    def _title(self) -> str:
        return f"Rows of at least {self._share} of the persons"

    def _advised(self) -> list[tuple[str, Fraction]]:
        self._require()
        return [("max_rows", Fraction(self.max_rows or 0))]


@dataclass(frozen=True, repr=False)
class ClippedShare(Conclusion):
    """The estimated share of records, or of persons, that bounds cut off; float(share) is its value."""

    counts: Releases

    @property
    def exact(self) -> Fraction:
        below, within, above = self._sides
        outside = max(0, below + above)
        return Fraction(outside, max(1, outside + max(0, within)))

    @property
    def value(self) -> float:
        return float(self.exact)

    @property
    def _sides(self) -> list[int]:
        return [int(release.exact) for release in self.counts.values()]

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the share without noise lies, with at least this confidence: that of all three counts together."""
        require_confidence(confidence)
        width = self.counts.facts.noises[0].half_width(1 - (1 - float(confidence)) / 3)
        (below, within, above) = self._sides
        few, many = max(0, below + above - 2 * width), below + above + 2 * width
        least, greatest = max(0, within - width), max(0, within + width)
        low = few / (few + greatest) if few else 0.0
        high = many / (many + least) if many > 0 else 0.0 if greatest > 0 else 1.0
        return low, high

    @property
    def informative(self) -> bool:
        """Whether the 95% interval says more than that a share is between 0 and 1."""
        return self.interval() != (0.0, 1.0)

    def __float__(self) -> float:
        return self.value

    def to_arrow(self, confidence: float = 0.95) -> Any:
        import pyarrow as pa

        low, high = self.interval(confidence)
        row = {"statistic": "clipped", "column": self.counts.facts.origin.column, "value": self.value}
        row |= {"low": low, "high": high, "informative": self.informative}
        return pa.table({name: as_column([cell]) for name, cell in row.items()})

    def to_dict(self) -> dict[str, Any]:
        share = {"share": str(self.exact), "interval_95": list(self.interval())}
        return {"clipped": share, **self.counts.to_dict()}

    def rows(self) -> list[tuple[str, str]]:
        facts, (low, high) = self.counts.facts, self.interval()
        whom = "persons" if facts.claim.plan.unit.max_rows is not None else "records"
        column = "" if facts.origin.column is None else f" in {printed(str(facts.origin.column))}"
        _, within, _ = self.counts
        return [
            ("clipped", f"Share of {whom} cut off{column}"),
            ("bounds", within),
            ("share", f"{self.value:.2%}, 95% interval {low:.2%} to {high:.2%}"),
            ("promise", self.promise),
        ]


def find_span(
    noisy: Sequence[int],
    threshold: int,
    half_width: int,
    coverage: Fraction,
    ends: Sequence[tuple[Fraction | None, Fraction | None]],
    zero: int | None,
    kept: int | None = None,
) -> Span | str:
    """Find the cells nearest to zero that leave out at most 1 - coverage of what stands out, other than zeros.

    Few may be left beyond them: in cells that stand out, and in the next few cells together, whose sum counts less what
    the noise of so many may add. So noise alone never widens the bounds. `ends` are those of the cells. Never cut off
    are the cell `kept`, the cell of 0 alone (`zero`) if it stands out or is near, and what stands out between zero and
    the nearer end, as cutting that off would make no sum more accurate.
    """
    sure = [count if count > threshold else 0 for count in noisy]
    others = [0 if i == zero else count for i, count in enumerate(sure)]
    if not any(others):
        return "zero" if zero is not None and sure[zero] else "few"
    margin = half_width * math.sqrt(NEAR)
    above = _beyond(noisy, others, margin, zero)
    below = _beyond(noisy[::-1], others[::-1], margin, None if zero is None else len(noisy) - 1 - zero)[::-1]
    never_cut = [i for i in (kept, zero if zero is not None and sure[zero] else None) if i is not None]
    allowed = (1 - coverage) * sum(others)
    closed = [
        (first, last)
        for first, (low, _) in enumerate(ends)
        for last, (_, high) in enumerate(ends)
        if low is not None
        and high is not None
        and low < high
        and below[first] + above[last] <= allowed
        and (low <= 0 or below[first] <= 0)
        and (high >= 0 or above[last] <= 0)
        and all(first <= i <= last for i in never_cut)
    ]
    if not closed:
        return "open"
    first, last = min(closed, key=lambda span: _reach(ends[span[0]][0], ends[span[1]][1]))
    low, high = ends[first][0], ends[last][1]
    if zero is not None and low is not None and high is not None:
        first = zero if 0 < low <= high / NEARER else first
        last = zero if low / NEARER <= high < 0 else last
    outside = max(0, sum(noisy[:first]) + sum(noisy[last + 1 :]))
    more = math.ceil(half_width * math.sqrt(first + len(noisy) - 1 - last))
    return Span(first, last, outside, outside + more)


def _beyond(noisy: Sequence[int], others: Sequence[int], margin: float, zero: int | None) -> list[int]:
    """For every cell, how many are beyond it for all we know, with confidence."""
    least = []
    for i in range(len(noisy)):
        near = range(i + 1, min(i + 1 + NEAR, len(noisy)))
        together = sum(noisy[j] for j in near if j != zero) - margin + sum(others[i + 1 + NEAR :])
        least.append(max(sum(others[i + 1 :]), math.floor(together)))
    return least


def _reach(lower: Fraction | None, upper: Fraction | None) -> tuple[Fraction, Fraction]:
    """The sensitivity of a sum with these bounds, and their distance, which matters for a mean."""
    assert lower is not None
    assert upper is not None
    return max(abs(lower), abs(upper)), upper - lower


def conclude(kind: type[Statistic], counts: Releases, coverage: Any = 0.99) -> Releases | Conclusion:
    """Turn counts into what was asked for: advice, or a share."""
    if issubclass(kind, MaxRows):
        return MaxRowsAdvice(counts, row_cells(), read_coverage(coverage))
    if issubclass(kind, Bounds | TotalBounds):
        return BoundsAdvice(counts, round_cells(), read_coverage(coverage))
    if issubclass(kind, Clipped) and not counts.facts.grouped_by:
        return ClippedShare(counts)
    return counts
