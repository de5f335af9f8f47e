"""What comes out: a Release, one noisy number with everything needed to use and to check it."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from soundsum.explain import number
from soundsum.privacy import Guarantee

if TYPE_CHECKING:
    from soundsum.plan import Plan


class Uncertainty(Protocol):
    """How far noise may have moved a statistic."""

    def interval(self, exact: int | Fraction, confidence: float) -> tuple[Fraction, Fraction]: ...


@dataclass(frozen=True)
class Release:
    """A noisy statistic. `exact` is the number itself; `value` is it as a float, or an int for integer data."""

    exact: int | Fraction
    statistic: str
    guarantee: Guarantee
    uncertainty: Uncertainty
    plan: Plan
    certificate: dict[str, Any] = field(repr=False)

    @property
    def value(self) -> int | float:
        return self.exact if isinstance(self.exact, int) else _nearest_float(self.exact)

    @property
    def epsilon(self) -> Fraction | None:
        return self.guarantee.epsilon

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the method's own sum lies, with this confidence, by the exact distribution of the noise.

        It covers the noise alone; what the method itself may be off per record is `plan.accuracy`'s business.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence}: give a number between 0 and 1, such as 0.95")
        low, high = self.uncertainty.interval(self.exact, confidence)
        return _nearest_float(low), _nearest_float(high)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        noise = (
            "no noise needed" if low == high and not self.plan.sensitivity else f"95% within [{low:.6g}, {high:.6g}]"
        )
        return f"<{self.statistic} {self.value:,.10g} ({noise}; {self.guarantee}, {self.plan.method})>"

    def _repr_html_(self) -> str:
        low, high = self.interval(0.95)
        rows = {
            "value": f"{self.value:,.10g}",
            "95% interval": f"{low:,.6g} to {high:,.6g}",
            "promise": f"{self.guarantee}, for {self.plan.unit}",
            "sensitivity": f"{number(self.plan.sensitivity)} (ideal {number(self.plan.ideal)})",
            "method": f"{self.plan.method}: {self.plan.theorem.statement}",
        }
        cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items())
        return f"<table><caption>Private {html.escape(self.statistic)}</caption>{cells}</table>"


class Releases(Mapping[Any, Release]):
    """One release per group, in the order the groups were named; each is made when it is looked at."""

    def __init__(self, groups: Sequence[Any], make: Callable[[int], Release]) -> None:
        self._places = {group: place for place, group in enumerate(groups)}
        self._make = make

    def __getitem__(self, group: Any) -> Release:
        return self._make(self._places[group])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of group, value and the interval; cells of a histogram by their edges."""
        import pyarrow as pa

        releases = list(self.values())
        intervals = [r.interval(confidence) for r in releases]
        columns = {
            "value": [r.value for r in releases],
            "low": [low for low, _ in intervals],
            "high": [high for _, high in intervals],
        }
        return pa.table({"group": pa.array(list(self)), **columns})

    def __repr__(self) -> str:
        shown = [f"  {group!r}: {self[group].value:,.10g}" for group in islice(self, 10)]
        return "\n".join([f"<{len(self):,} groups", *shown, *(["  ..."] if len(self) > 10 else [])]) + ">"

    def _repr_html_(self) -> str:
        rows = []
        for group in islice(self, 100):
            low, high = self[group].interval(0.95)
            cells = f"<td>{self[group].value:,.10g}</td><td>{low:,.6g} to {high:,.6g}</td>"
            rows.append(f"<tr><th>{html.escape(str(group))}</th>{cells}</tr>")
        more = f"<p>and {len(self) - 100:,} more</p>" if len(self) > 100 else ""
        head = "<tr><th>group</th><th>value</th><th>95% interval</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>{more}"


class Several(tuple[Release | Releases, ...]):
    """What one call released: a Release, or Releases by group, for each statistic asked for, in that order."""

    def __repr__(self) -> str:
        return "\n".join(repr(outcome) for outcome in self)

    def _repr_html_(self) -> str:
        return "".join(outcome._repr_html_() for outcome in self)


def _nearest_float(x: Fraction | int) -> float:
    try:
        return float(x)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")
