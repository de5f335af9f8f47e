"""What comes out: a Release, one noisy number with everything needed to use and to check it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from fractions import Fraction
from itertools import islice
from typing import Any

from soundsum.arithmetic import words
from soundsum.arithmetic.rationals import nearest_float
from soundsum.arithmetic.words import number, readable
from soundsum.planner import Scheme
from soundsum.privacy.cost import Cost
from soundsum.privacy.guarantee import Guarantee
from soundsum.statistics import Claim
from soundsum.statistics.statistic import Estimator


@dataclass(frozen=True)
class Origin:
    """Where a release comes from: the column, what the data is called, when, and the charge it was paid with."""

    column: str | None
    by: str | list[str] | None
    where: str | None
    data: str | None
    privacy_unit: str | None
    at: datetime
    what: str
    cost: Cost | None  # None where no noise was needed
    entry: int | None  # of the budget; None without one


@dataclass(frozen=True)
class Release:
    """A noisy statistic. `exact` is the number itself; `value` is it as a float, or an int for integer data."""

    exact: int | Fraction
    claim: Claim
    guarantee: Guarantee
    estimator: Estimator
    noisy: tuple[int, ...]  # every part that was let out, in its steps
    certificate: dict[str, Any] = field(repr=False)
    origin: Origin = field(repr=False)
    group: Any = None

    @property
    def statistic(self) -> str:
        return self.claim.kind.entry_name or self.claim.kind.name

    @property
    def plan(self) -> Scheme:
        return self.claim.plan

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """What records were really clamped to: the bounds given, rounded inward to what can be added exactly."""
        return self.claim.bounds

    @property
    def value(self) -> int | float:
        return self.exact if isinstance(self.exact, int) else nearest_float(self.exact)

    @property
    def epsilon(self) -> Fraction | None:
        return self.guarantee.epsilon

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the method's own sum lies, with this confidence, by the exact distribution of the noise.

        It covers the noise alone; what the method itself may be off per record is `plan.accuracy`'s business.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence}: give a number between 0 and 1, such as 0.95")
        low, high = self.estimator.interval(self.noisy, confidence)
        return nearest_float(low), nearest_float(high)

    @property
    def sensitivity(self) -> str:
        """How far one record or person can move each number that was let out, to read."""
        moved = [(part["what"], Fraction(part["sensitivity"])) for part in self.certificate["released"]]
        return ", ".join(number(most) if len(moved) == 1 else f"{number(most)} ({what})" for what, most in moved)

    def to_dict(self) -> dict[str, Any]:
        """Everything about the release as plain data, exact numbers as strings; `soundsum check` reads it."""
        origin, unit = self.origin, self.plan.unit
        group = _as_plain(self.group)
        return {
            "statistic": self.statistic,
            "column": origin.column,
            "by": origin.by,
            "where": origin.where,
            **({} if self.group is None else {"group": group}),
            "value": self.value,
            "exact": str(self.exact),
            "interval_95": list(self.interval(0.95)),
            "bounds": [str(bound) for bound in self.bounds],
            "unit": str(unit),
            "privacy_unit": origin.privacy_unit,
            "relation": str(self.plan.problem.relation),
            "data": origin.data,
            "at": origin.at.isoformat(),
            "ledger": {
                "entry": origin.entry,
                "what": origin.what,
                "cost": None if origin.cost is None else origin.cost.to_json(),
            },
            "version": self.certificate["versions"]["soundsum"],
            "certificate": self.certificate,
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        noise = (
            "no noise needed"
            if low == high and not self.plan.sensitivity
            else f"95% within {words.interval(low, high)}"
        )
        return f"<{self.statistic} {readable(self.value)} ({noise}; {self.guarantee}, {self.plan.method})>"

    def _repr_html_(self) -> str:
        import html

        low, high = self.interval(0.95)
        rows = {
            "value": readable(self.value),
            "95% interval": words.interval(low, high),
            "promise": f"{self.guarantee}, for {self.plan.unit}",
            "sensitivity": self.sensitivity,
            "method": f"{self.plan.method}: {self.plan.theorem.statement}",
        }
        cells = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows.items())
        return f"<table><caption>Private {html.escape(self.statistic)}</caption>{cells}</table>"


@dataclass(frozen=True)
class LetOut:
    """Everything of a statistic that left with noise, and nothing else about the data: every part, for each entry."""

    claim: Claim
    guarantee: Guarantee
    estimator: Estimator
    noisy: list[list[int]]
    certificate: dict[str, Any]
    origin: Origin

    def release(self, place: int, group: Any = None) -> Release:
        """One entry."""
        noisy = tuple(sums[place] for sums in self.noisy)
        exact = self.estimator.exact(noisy)
        return Release(exact, self.claim, self.guarantee, self.estimator, noisy, self.certificate, self.origin, group)


class Releases(Mapping[Any, Release]):
    """One release per group, in the order the groups were named; each is made when it is looked at."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], let_out: LetOut) -> None:
        """Entries are called by the one column there is, or by the tuple of several."""
        names = next(iter(columns.values())) if len(columns) == 1 else zip(*columns.values(), strict=True)
        self._columns, self._let_out = columns, let_out
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, group: Any) -> Release:
        return self._let_out.release(self._places[group], group)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of group, value and the interval; cells of a histogram between edges by the two."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for name, entries in self._columns.items():
            if name == "cell":
                columns |= {"from": [low for low, _ in entries], "to": [high for _, high in entries]}
            else:
                columns[name] = list(entries)
        values, columns["low"], columns["high"] = self._let_out.estimator.columns(self._let_out.noisy, confidence)
        whole = all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values)
        columns = {**columns, "value": values if whole else [nearest_float(v) for v in values]}
        order = [*(name for name in columns if name not in ("value", "low", "high")), "value", "low", "high"]
        return pa.table({name: _arrow(columns[name]) for name in order})

    def __repr__(self) -> str:
        shown = [f"  {group!r}: {readable(self[group].value)}" for group in islice(self, 10)]
        entry = next(iter(self._columns)) if len(self._columns) == 1 else "group"
        several = {"category": "categories"}.get(entry, f"{entry}s")
        entries = f"{len(self):,} {entry if len(self) == 1 else several}"
        return "\n".join([f"<{entries}", *shown, *(["  ..."] if len(self) > 10 else [])]) + ">"

    def _repr_html_(self) -> str:
        import html

        rows = []
        for group in islice(self, 100):
            low, high = self[group].interval(0.95)
            cells = f"<td>{readable(self[group].value)}</td><td>{words.interval(low, high)}</td>"
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


def _as_plain(group: Any) -> Any:
    """A group, or a pair of group and cell, as JSON has it."""
    if isinstance(group, tuple):
        return [_as_plain(part) for part in group]
    return group if isinstance(group, str | int | float | None) else str(group)


def _arrow(entries: Sequence[Any]) -> Any:
    """A column of names; as text where they have no type in common. Times by their offsets from UTC are in UTC."""
    import pyarrow as pa

    try:
        is_hours = isinstance(entries[0], datetime) and isinstance(entries[0].tzinfo, timezone)
        return pa.array(entries, pa.timestamp("us", "UTC") if is_hours else None)
    except (pa.ArrowException, OverflowError):
        return pa.array([str(entry) for entry in entries])
