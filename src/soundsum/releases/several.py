"""More than one number: a release for each group or cell, and for each of several statistics asked for at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, overload

from soundsum import notebook
from soundsum.arithmetic.rationals import nearest_float
from soundsum.arithmetic.words import edge
from soundsum.releases.frames import Framed, as_column
from soundsum.releases.outcome import Facts, Release
from soundsum.shown import shown

PLURALS = {"category": "categories"}


class Releases(Framed, Mapping[Any, Release]):
    """One release per group, in the order the groups were named; each is made when it is looked at."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], noisy: Sequence[Sequence[int]], facts: Facts) -> None:
        """Entries are called by the one column there is, or by the tuple of several; `noisy` has every part's sums."""
        self._columns, self._noisy, self._facts = columns, noisy, facts

    @cached_property
    def _places(self) -> dict[Any, int]:
        names = (
            next(iter(self._columns.values())) if len(self._columns) == 1 else zip(*self._columns.values(), strict=True)
        )
        return {name: place for place, name in enumerate(names)}

    def __getitem__(self, group: Any) -> Release:
        place = self._places.get(group)
        if place is None:
            raise KeyError(f"there is no group {shown(group)}; there are {shown(list(islice(self, 5)))}")
        return Release(tuple(sums[place] for sums in self._noisy), self._facts, group)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._noisy[0])

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_say_whose("Releases", name, "each group has one", "releases['a']"))

    def label(self, group: Any) -> str:
        """The name of a group, in words; a cell of a histogram is named by its edges."""
        parts = (group,) if len(self._columns) == 1 else group
        return ", ".join(
            " to ".join(map(edge, part)) if column == "cell" else str(part)
            for column, part in zip(self._columns, parts, strict=True)
        )

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of group, value and interval; cells of a histogram have two edges in place of the group."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for name, entries in self._columns.items():
            if name == "cell":
                columns |= {"from": [low for low, _ in entries], "to": [high for _, high in entries]}
            else:
                columns[name] = list(entries)
        values, low, high = self._facts.estimator.columns(self._noisy, confidence)
        whole = all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values)
        columns |= {"value": values if whole else [nearest_float(v) for v in values], "low": low, "high": high}
        return pa.table({name: as_column(entries) for name, entries in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """The release of every group as plain data, exact numbers as strings; `soundsum check` reads it."""
        return {"releases": [release.to_dict() for release in self.values()]}

    def __repr__(self) -> str:
        lines = [f"  {group!r}: {self[group].shown()[0]}" for group in islice(self, 10)]
        entry = next(iter(self._columns)) if len(self._columns) == 1 else "group"
        entries = f"{len(self):,} {entry if len(self) == 1 else PLURALS.get(entry, f'{entry}s')}"
        first = self[next(iter(self))]
        facts = f"{first.statistic}, {entries}; {first.guarantee}; {first.counted}"
        return "\n".join([f"<{facts}", *lines, *(["  ..."] if len(self) > 10 else [])]) + ">"

    def _repr_html_(self) -> str:
        rows = [(self.label(group), *self[group].shown()) for group in islice(self, 100)]
        more = f"<p>and {len(self) - 100:,} more</p>" if len(self) > 100 else ""
        first = self[next(iter(self))]
        caption = f"Private {first.statistic}: {first.guarantee}, for {first.plan.unit.protected}; {first.counted}"
        return notebook.table(rows, ("group", "value", "95% interval"), caption) + more


class Several(Framed, tuple[Release | Releases, ...]):
    """What one call released: a Release, or Releases by group, for each statistic asked for, in that order.

    By place (`several[0]`) or by name (`several["total"]`); those without a name are called what they are.
    """

    names: tuple[str, ...]

    def __new__(cls, outcomes: Sequence[Release | Releases], names: Sequence[str]) -> Several:
        made = super().__new__(cls, outcomes)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # for pickle
        return tuple(self), self.names

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_say_whose("Several", name, "each statistic has one", "several[0]"))

    @overload  # type: ignore[override]
    def __getitem__(self, which: int | str) -> Release | Releases: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Release | Releases, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Any:
        if isinstance(which, str) and which not in self.names:
            raise KeyError(f"there is no {which!r}; there are {', '.join(self.names)}")
        return tuple.__getitem__(self, self.names.index(which) if isinstance(which, str) else which)

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """One table of all: the name of each statistic, its groups or cells, the value and the interval."""
        import pyarrow as pa

        tables = [outcome.to_arrow(confidence) for outcome in self]
        tables = [table.drop_columns(["statistic", "column"]) if isinstance(outcome, Release) else table
                  for outcome, table in zip(self, tables, strict=True)]  # fmt: skip
        numbers = ("value", "low", "high")
        keys = dict.fromkeys(name for table in tables for name in table.column_names if name not in numbers)
        columns: dict[str, list[Any]] = {"name": []} | {key: [] for key in (*keys, *numbers)}
        for name, table in zip(self.names, tables, strict=True):
            columns["name"] += [name] * table.num_rows
            for key in (*keys, *numbers):
                has = key in table.column_names
                columns[key] += table.column(key).to_pylist() if has else [None] * table.num_rows
        if not all(isinstance(value, int) for value in columns["value"]):
            columns["value"] = [nearest_float(value) for value in columns["value"]]
        return pa.table({key: as_column(entries) for key, entries in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """Every release as plain data, each with the name of its statistic; `soundsum check` reads it."""
        return {
            "releases": [
                {"name": name, **release.to_dict()}
                for name, outcome in zip(self.names, self, strict=True)
                for release in (outcome.values() if isinstance(outcome, Releases) else [outcome])
            ]
        }

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {outcome!r}" for name, outcome in zip(self.names, self, strict=True))

    def _repr_html_(self) -> str:
        singles = [(name, one) for name, one in zip(self.names, self, strict=True) if isinstance(one, Release)]
        groups = [(name, many) for name, many in zip(self.names, self, strict=True) if isinstance(many, Releases)]
        rows = [(name, *one.shown(), one.guarantee, one.counted) for name, one in singles]
        head = ("", "value", "95% interval", "promise", "what counted")
        tables = [notebook.table(rows, head)] if singles else []
        return "".join([*tables, *(notebook.table([], [name]) + many._repr_html_() for name, many in groups)])


def _say_whose(kind: str, name: str, who: str, example: str) -> str:
    """What is wrong with asking many releases for what each of them has."""
    if name.startswith("_") or not hasattr(Release, name):
        return f"{kind!r} object has no attribute {name!r}"
    return f"{kind} has no {name}, as {who}: {example}.{name}; to_arrow() and to_pandas() have all values"
