"""More than one number: a release for each group or cell."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from soundsum.numbers import text_tables
from soundsum.numbers.formatting import edge
from soundsum.numbers.quoting import printed, quote
from soundsum.numbers.rationals import nearest_float
from soundsum.privacy.distributions import each_of
from soundsum.releases.frames import Framed, as_column
from soundsum.releases.plots import Panel
from soundsum.releases.release_context import UNNAMED, ReleaseContext
from soundsum.releases.released import SAYS_NOTHING, Release, require_confidence, show
from soundsum.tables.periods import Period

CELLS, PLURALS = ("cell", "category"), {"category": "categories"}
MOST_LINES, MOST_ROWS = 12, 60
"""Groups that are written out, of a terminal's lines and a notebook's rows; of more, the first and the last."""


TABLE_COLUMNS = ("value", "low", "high", "informative", "from", "to", *CELLS)
"""The names of the columns of a table of releases, beside those of groups."""


def choose_heading(column: str, taken: Iterable[str]) -> str:
    """The heading of a column of groups in a table of releases that has these already.

    >>> choose_heading("ward", []), choose_heading("value", []), choose_heading("by", ["group"])
    ('ward', 'value_group', 'group_group')
    """
    name = "group" if column == UNNAMED else column
    while name in TABLE_COLUMNS or name in taken:
        name = f"{name}_group"
    return name


class Releases(Framed, Mapping[Any, Release]):
    """A release per group, in the order the groups were named, each made when it is accessed."""

    def __init__(
        self,
        columns: Mapping[str, Sequence[Any]],
        noisy: Sequence[Sequence[int]],
        facts: ReleaseContext,
        periods: Mapping[str, Period] | None = None,
    ) -> None:
        """Entries are called by the one column there is, or by the tuple of several; `noisy` has every part's sums.

        `periods` are what columns of dates and times are cut into.
        """
        self._columns, self._noisy, self._facts, self._periods = columns, noisy, facts, periods or {}

    @cached_property
    def _places(self) -> dict[Any, int]:
        names = (
            next(iter(self._columns.values())) if len(self._columns) == 1 else zip(*self._columns.values(), strict=True)
        )
        return {name: place for place, name in enumerate(names)}

    def __getitem__(self, group: Any) -> Release:
        """The release of a group, by its name or as `groups=` takes it and tables print it: "2024-01" for a month."""
        name = group if group in self._places else self._read(group)
        place = self._places.get(name)
        if place is None:
            few = "; ".join(map(self.label, islice(self, 5)))
            raise KeyError(f"there is no group {quote(group)}; there are {few}{'; ...' if len(self) > 5 else ''}")
        return Release(tuple(sums[place] for sums in self._noisy), self._facts, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._noisy[0])

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(say_whose("Releases", name, "each group has one", "releases['a']"))

    def interval(self, confidence: float = 0.95, *, all_groups: bool = False) -> dict[Any, tuple[float, float]]:
        """The interval of every group; with all_groups=True all of them hold at once with this confidence."""
        require_confidence(confidence)
        each = each_of(confidence, len(self)) if all_groups else confidence
        _, low, high = self._facts.estimator.columns(self._noisy, each)
        return dict(zip(self, zip(low, high, strict=True), strict=True))

    @property
    def facts(self) -> ReleaseContext:
        """Facts shared by every group."""
        return self._facts

    @property
    def general(self) -> Release:
        """A release that says in words what each of them does, also where there is none; its value says nothing."""
        return Release((0,) * len(self._noisy), self._facts)

    @property
    def threshold(self) -> int | None:
        """The least noisy number of persons (or records) with which a group is found; None where groups were listed."""
        return None if self._facts.search is None else self._facts.search.threshold

    @property
    def headings(self) -> list[str]:
        """The sources of the columns that name a group, in words: the table's columns, periods of them, or cells."""
        names = list(self._columns)
        return [printed(name) for name in [*self._facts.grouped_by, *names[len(self._facts.grouped_by) :]]]

    def labels(self, group: Any) -> list[str]:
        """The name of a group, in words, by column; a cell of a histogram is named by its edges."""
        parts = (group,) if len(self._columns) == 1 else group
        return [self._spell(column, part) for column, part in zip(self._columns, parts, strict=True)]

    def label(self, group: Any) -> str:
        """The name of a group, in words."""
        return ", ".join(self.labels(group))

    def rows(self, groups: Iterable[Any]) -> list[list[str]]:
        """Names, values and 95% intervals of some groups, in words, each column with the same decimals throughout."""
        chosen = list(groups)
        return [
            [*self.labels(group), *row]
            for group, row in zip(chosen, show([self[group] for group in chosen]), strict=True)
        ]

    def _spell(self, column: str, part: Any) -> str:
        if column == "cell":
            return " to ".join(map(edge, part))
        period = self._periods.get(column)
        return printed(str(part)) if period is None else period.spell(part)

    def _read(self, group: Any) -> Any:
        """The name of the group with this spelling, or None."""
        parts = (group,) if len(self._columns) == 1 else group
        if not isinstance(parts, tuple) or len(parts) != len(self._columns):
            return None
        found = [self._read_part(column, part) for column, part in zip(self._columns, parts, strict=True)]
        return found[0] if len(found) == 1 else tuple(found)

    def _read_part(self, column: str, part: Any) -> Any:
        period = self._periods.get(column)
        is_aware = any(getattr(entry, "tzinfo", None) is not None for entry in self._columns[column][:1])
        if period is None:
            return self._spelled[column].get(part)
        try:
            return period.name(period.read(part), is_aware)
        except (TypeError, ValueError):
            return None

    @cached_property
    def _spelled(self) -> dict[str, dict[Any, Any]]:
        """For every column, its entries by themselves and as they are spelled."""
        return {
            column: {self._spell(column, entry): entry for entry in entries} | {entry: entry for entry in entries}
            for column, entries in self._columns.items()
        }

    def to_arrow(self, confidence: float = 0.95) -> Any:
        """A table of group, value, interval, and whether that is informative; cells of a histogram have two edges.

        The column of groups is called as that of the data is, or "group" where it has no name.
        """
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for name, entries in self._columns.items():
            if name == "cell":
                columns |= {"from": [low for low, _ in entries], "to": [high for _, high in entries]}
            else:
                columns[name] = list(entries)
        values, low, high = self._facts.estimator.columns(self._noisy, confidence)
        whole = all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values)
        columns["value"] = values if whole else [nearest_float(v) for v in values]
        table = {name: as_column(entries) for name, entries in columns.items()}
        table["low"], table["high"] = self._facts.listed_ends(low, high)
        table["informative"] = as_column(self._facts.are_informative(low, high))
        return pa.table(table)

    def words(self) -> tuple[list[str], list[list[str]], int]:
        return [*self.headings, "value", self._facts.says_how_far], self.rows(self), 2

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        values, low, high = self._facts.estimator.columns(self._noisy, confidence)
        names, cells = [self.label(group) for group in self], self._columns.get("cell")
        over = [column for column in self._columns if column in self._periods]
        moments, series = None, None
        if len(over) == 1 and cells is None:
            moments = self._columns[over[0]]
            others = [place for place, column in enumerate(self._columns) if column not in over]
            if others:
                series = [", ".join(self.labels(group)[place] for place in others) for group in self]
        bars = cells if len(self._columns) == 1 else None
        facts, floats = self._facts, [nearest_float(x) for x in values]
        low, high = facts.drawn_ends(floats, low, high)
        informative = facts.are_informative(low, high)
        are_counts = len(self._columns) > len(facts.grouped_by)  # the last column is of cells
        return [
            Panel(
                title=facts.heading,
                measured=facts.measured,
                names=names,
                values=floats,
                low=low,
                high=high,
                informative=informative,
                cells=bars,
                moments=moments,
                series=series,
                is_counts=are_counts,
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """The release of every group as plain data, exact numbers as strings; `soundsum check` reads it."""
        releases = [release.to_dict() for release in self.values()]
        return {"releases": releases} if releases else {"releases": [], "empty": [self.describe_empty()]}

    def describe_empty(self) -> dict[str, Any]:
        """A result without any group as plain data: what was asked and charged, and what it would have claimed."""
        said = self.general.to_dict()
        return {name: said[name] for name in ("statistic", "column", "by", "at", "ledger", "certificate")}

    def __repr__(self) -> str:
        groups, half = list(self), MOST_LINES // 2 - 1
        many = len(groups) > MOST_LINES
        rows = self.rows([*groups[:half], *groups[-half:]] if many else groups)
        names = len(self.headings)
        head = [*self.headings, "value", self._facts.says_how_far]
        lines = text_tables.lines([head, *rows], {names, names + 1}) if rows else []
        if many:
            lines.insert(1 + half, f"... {len(groups) - 2 * half:,} more")
        facts = textwrap.wrap(self._facts_in_words, 78, break_on_hyphens=False)
        return "\n".join([f"<{self._title}", *(f"  {line}" for line in [*lines, *facts])]) + ">"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, name: str = "") -> str:
        """A table for a notebook; of several, it has a name."""
        groups, half, names = list(self), MOST_ROWS // 2, len(self.headings)
        many = len(groups) > MOST_ROWS
        rows = self.rows([*groups[:half], *groups[-half:]] if many else groups)
        if many:
            rows.insert(half, [f"... {len(groups) - MOST_ROWS:,} more", *[""] * (len(rows[0]) - 1)])
        head = (*self.headings, "value", self._facts.says_how_far)
        caption = f"{f'{printed(name)}: ' if name else ''}Private {self._title}"
        return text_tables.table(rows, head, caption, {names, names + 1}, self._facts_in_words)

    @property
    def _title(self) -> str:
        entry = next((name for name in CELLS if list(self._columns) == [name]), "group")
        entries = f"{len(self):,} {entry if len(self) == 1 else PLURALS.get(entry, f'{entry}s')}"
        return f"{self._facts.title}, {entries}"

    @property
    def _facts_in_words(self) -> str:
        facts, first = self._facts, self.general
        promise = f"{facts.guarantee} for {first.plan.unit.protected}"
        dash = "" if all(facts.are_informative(*self._ends)) else f"; {SAYS_NOTHING}"
        return (
            f"{promise}; {'rank errors' if facts.is_ranked else 'intervals'} for {facts.covered}; {first.counted}{dash}"
        )

    @cached_property
    def _ends(self) -> tuple[list[float], list[float]]:
        _, low, high = self._facts.estimator.columns(self._noisy, 0.95)
        return low, high


def say_whose(kind: str, name: str, who: str, example: str) -> str:
    """Explain why many releases lack an attribute that each of them has."""
    if name.startswith("_") or not hasattr(Release, name):
        return f"{kind!r} object has no attribute {name!r}"
    return f"{kind} has no {name}, as {who}: {example}.{name}; to_arrow() and to_pandas() have all values"
