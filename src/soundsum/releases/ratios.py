"""The ratio of two releases, with an interval from the noise of both: post-processing, which costs nothing more.

The interval holds where both numbers are within their own, each with half of the chance of failure, so it holds for
releases of one charge too. Where the denominator may be 0 by its interval, the ratio has no end on one side or on both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from soundsum.numbers import formatting, text_tables
from soundsum.numbers.formatting import number
from soundsum.numbers.rationals import finite, nearest_float
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.frames import Framed, as_column
from soundsum.releases.plots import Panel

End: TypeAlias = Fraction | float
"""The end of an interval: infinite where there is none."""


class OneNumber(Protocol):
    """A released number, and the range that it has without noise whatever the data are."""

    @property
    def exact(self) -> int | Fraction: ...
    @property
    def known_range(self) -> tuple[Fraction | None, Fraction | None]: ...
    @property
    def facts(self) -> Any: ...
    def exact_interval(self, confidence: Any = 0.95, *, all_groups: bool = False) -> tuple[Fraction, Fraction]: ...
    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, repr=False)
class Ratio(Framed):
    """The ratio of two released numbers, as `r.ratio(other)` makes it; `exact` is None where the denominator is 0."""

    top: OneNumber
    bottom: OneNumber

    def __post_init__(self) -> None:
        for one in (self.top, self.bottom):
            if not hasattr(one, "known_range"):
                raise RefusedType(
                    "other",
                    Reason.WRONG_TYPE,
                    "`other` is not a release of one number",
                    "give a Release; of groups, take one: `releases['a']`",
                )
            if one.facts.claim.plan.modulus is not None:
                raise RefusedValue(
                    "method",
                    Reason.UNSUPPORTED,
                    "a modular sum is known only modulo {modulus}, and so has no ratio",
                    'release it by `method="auto"`',
                    modulus=formatting.binary(one.facts.claim.plan.modulus),
                )

    @cached_property
    def exact(self) -> Fraction | None:
        top, bottom = self._box(self.top)[0], self._box(self.bottom)[0]
        return None if bottom == 0 else Fraction(top) / bottom

    @property
    def value(self) -> float:
        """The nearest float; NaN where the denominator is 0."""
        return math.nan if self.exact is None else nearest_float(self.exact)

    def exact_interval(self, confidence: float = 0.95) -> tuple[End, End]:
        """Compute the interval in exact numbers; an end that is infinite is a float."""
        (a, b), (c, d) = self._box(self.top, confidence), self._box(self.bottom, confidence)
        if d <= 0:  # both turned around
            (a, b), (c, d) = (-b, -a), (-d, -c)
        if c > 0:
            corners = [Fraction(x) / y for x in (a, b) for y in (c, d)]
            return min(corners), max(corners)
        low = a / d if c == 0 < d and a >= 0 else -math.inf
        return low, b / d if c == 0 < d and b <= 0 else math.inf

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the ratio without noise, with at least this confidence; infinite where nothing limits it."""
        low, high = (end if isinstance(end, float) else nearest_float(end) for end in self.exact_interval(confidence))
        return low, high

    @property
    def informative(self) -> bool:
        """False if the 95% interval is the whole line, as the denominator may be 0 or of either sign."""
        return self.interval() != (-math.inf, math.inf)

    def _box(self, one: OneNumber, confidence: float | None = None) -> tuple[Fraction, Fraction]:
        """The interval of one of the two, or without a confidence the released number, within its known range."""
        least, most = one.known_range
        if one is self.bottom and least == 0 and one.facts.claim.kind.entry_name == "count":
            least = Fraction(1)  # there is no ratio to a count of 0
        ends: tuple[int | Fraction, int | Fraction] = (one.exact, one.exact)
        if confidence is not None:
            one.exact_interval(confidence)  # refuses what is no confidence
            ends = one.exact_interval(1 - (1 - Fraction(confidence)) / 2)
        low, high = (Fraction(end if least is None else max(end, least)) for end in ends)
        return (low, high) if most is None else (min(low, most), min(high, most))

    @property
    def title(self) -> str:
        return f"{self.top.facts.title} to {self.bottom.facts.title}"

    def shown(self) -> tuple[str, str]:
        """The value and its 95% interval, in words."""
        low, high = self.exact_interval()
        if isinstance(low, Fraction) and isinstance(high, Fraction) and self.exact is not None:
            return formatting.estimate(self.exact, low, high), formatting.interval(low, high)
        value = "undefined" if self.exact is None else number(self.exact)
        if isinstance(low, Fraction):
            return value, f"{number(low)} or more"
        return value, f"{number(high)} or less" if isinstance(high, Fraction) else "any number"

    @property
    def promise(self) -> str:
        """The guarantees of the two releases, in words."""
        said = dict.fromkeys(f"{one.facts.guarantee}" for one in (self.top, self.bottom))
        return f"{' and '.join(said)}, as released; the ratio costs nothing more"

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of one row: the ratio, the value and the interval."""
        import pyarrow as pa

        low, high = self.interval(confidence)
        row = {"statistic": "ratio", "column": self.title, "value": self.value, "low": low, "high": high}
        row |= {"informative": (low, high) != (-math.inf, math.inf)}
        return pa.table({name: as_column([cell]) for name, cell in row.items()})

    def to_dict(self) -> dict[str, Any]:
        ends = [finite(end) for end in self.interval()]
        exact = None if self.exact is None else str(self.exact)
        said = {"exact": exact, "interval_95": ends, "informative": self.informative}
        return {"ratio": said, "releases": [self.top.to_dict(), self.bottom.to_dict()]}

    def words(self) -> tuple[list[str], list[list[str]], int]:
        return ["", "value", "95% interval"], [[self.title, *self.shown()]], 2

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        low, high = self.interval(confidence)
        return [Panel(f"Private {self.title}", "ratio", ["ratio"], [self.value], [low], [high], [self.informative])]

    def __float__(self) -> float:
        return self.value

    def __format__(self, how: str) -> str:
        return format(self.value, how) if how else repr(self)

    def __repr__(self) -> str:
        value, interval = self.shown()
        return f"<{self.title}: {value} (95% interval {interval}; {self.promise})>"

    def _repr_html_(self) -> str:
        value, interval = self.shown()
        rows = {"value": value, "95% interval": interval, "promise": self.promise}
        return text_tables.table(rows.items(), caption=f"Private ratio of {self.title}")
