"""The outcome of a request: a release, or releases by group, or advice; of several statistics, all by their names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias, overload

from soundsum.numbers import text_tables
from soundsum.numbers.quoting import printed
from soundsum.numbers.rationals import nearest_float
from soundsum.releases.collections import Releases, say_whose
from soundsum.releases.frames import Framed, as_column
from soundsum.releases.plots import Panel
from soundsum.releases.released import SAYS_NOTHING, Release


class Conclusion(Framed):
    """A result that is read from noisy counts over cells, and is not a number with an interval: advice, or a share."""

    counts: Releases
    coverage: Fraction | None = None  # of advice, as it was asked for

    @property
    def certificate(self) -> dict[str, Any]:
        """Everything the counts claim, as plain data; `soundsum.check` checks it."""
        return self.counts.facts.certificate

    @property
    def epsilon(self) -> Fraction | None:
        return self.counts.facts.guarantee.epsilon

    @property
    def promise(self) -> str:
        """The guarantee in words; cells do not count as groups."""
        facts = self.counts.facts
        return f"{facts.guarantee} for {replace(facts.claim.plan.unit, groups=None, max_groups=1).protected}"

    @abstractmethod
    def rows(self) -> list[tuple[str, str]]:
        """It in words, line by line; the first line is its title."""

    def words(self) -> tuple[list[str], list[list[str]], int]:
        (_, title), *rows = self.rows()
        return ["", title], [list(row) for row in rows], 0

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        return self.counts.panels(confidence)

    def __repr__(self) -> str:
        (_, title), *rows = self.rows()
        lines = text_tables.lines([(f"{name}:", said) for name, said in rows], ())
        return "\n".join([f"<{title}", *(f"  {line}" for line in lines)]) + ">"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, name: str = "") -> str:
        """A table for a notebook; of several, it has a name."""
        (_, title), *rows = self.rows()
        return text_tables.table(rows, caption=f"{printed(name)}: {title}" if name else title)


Outcome: TypeAlias = Release | Releases | Conclusion
"""Of one statistic."""


class Several(Framed, tuple[Outcome, ...]):
    """The results of one call, in order: a Release for each statistic, or Releases by group.

    Access them by position (`several[0]`) or by name (`several["total"]`); an unnamed statistic is called by its kind.
    """

    names: tuple[str, ...]

    def __new__(cls, outcomes: Sequence[Outcome], names: Sequence[str]) -> Several:
        made = super().__new__(cls, outcomes)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:  # for pickle
        return tuple(self), self.names

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(say_whose("Several", name, "each statistic has one", "several[0]"))

    @overload  # type: ignore[override]
    def __getitem__(self, which: int | str) -> Outcome: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Outcome, ...]: ...
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
        tables = [_beside_names(table) for table in tables]
        numbers = ("value", "low", "high", "informative")
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

    def words(self) -> tuple[list[str], list[list[str]], int]:
        rows = [row for name, outcome in zip(self.names, self, strict=True) for row in _say(printed(name), outcome)]
        is_grouped = any(group for _, group, *_ in rows)
        head = ["", *(["group"] if is_grouped else []), "value", "95% interval"]
        return head, [[name, *([group] if is_grouped else []), *row] for name, group, *row in rows], 2

    def panels(self, confidence: float = 0.95) -> list[Panel]:
        """Each statistic as it is alone; those in the same unit together, by their names."""
        found: dict[str, list[tuple[str, Panel]]] = {}
        for name, outcome in zip(map(printed, self.names), self, strict=True):
            (panel,) = outcome.panels(confidence)
            found.setdefault(panel.measured, []).append((name, panel))
        return [_join(several) for several in found.values()]

    def to_dict(self) -> dict[str, Any]:
        """Every release as plain data, each with the name of its statistic; `soundsum check` reads it.

        Of advice it also has the coverage that was asked for, which no count has.
        """
        asked = zip(self.names, self, strict=True)
        coverage = {name: str(one.coverage) for name, one in asked if isinstance(one, Conclusion) and one.coverage}
        named = list(zip(self.names, self, strict=True))
        releases = [{"name": name, **release.to_dict()} for name, outcome in named for release in _list_counts(outcome)]
        empty = [{"name": name, **one.describe_empty()} for name, one in named if isinstance(one, Releases) and not one]
        return {
            **({"coverage": coverage} if coverage else {}),
            "releases": releases,
            **({"empty": empty} if empty else {}),
        }

    def __repr__(self) -> str:
        return "\n".join(f"{printed(name)}: {outcome!r}" for name, outcome in zip(self.names, self, strict=True))

    def _repr_html_(self) -> str:
        singles = [(name, one) for name, one in zip(self.names, self, strict=True) if isinstance(one, Release)]
        groups = [(name, many) for name, many in zip(self.names, self, strict=True) if isinstance(many, Releases)]
        rows = [(printed(name), *one.shown(), one.facts.covered, one.guarantee, one.counted) for name, one in singles]
        head = ("", "value", "95% interval", "which is for", "promise", "what counted")
        dash = "" if all(one.informative for _, one in singles) else SAYS_NOTHING
        tables = [text_tables.table(rows, head, "", {1, 2}, dash)] if singles else []
        read = [(name, one) for name, one in zip(self.names, self, strict=True) if isinstance(one, Conclusion)]
        return "".join([*tables, *(many.html(name) for name, many in groups), *(one.html(name) for name, one in read)])


def _say(name: str, outcome: Outcome) -> list[list[str]]:
    """The rows of one statistic among several: its name, the group, the value and its interval."""
    if isinstance(outcome, Releases):
        return [[name, ", ".join(row[:-2]), *row[-2:]] for row in outcome.rows(outcome)]
    if isinstance(outcome, Conclusion):
        return [[name, fact, said, ""] for fact, said in outcome.rows()[1:]]
    return [[name, "", *outcome.shown()]]


def _list_counts(outcome: Outcome) -> list[Release]:
    """Every number that was released."""
    counts = outcome.counts if isinstance(outcome, Conclusion) else outcome
    return list(counts.values()) if isinstance(counts, Releases) else [counts]


def _beside_names(table: Any) -> Any:
    """The table, with another name for a column of groups that is called as that of the statistics' names is."""
    name = "name"
    while name in table.column_names:
        name = f"{name}_group"
    return table.rename_columns([name if column == "name" else column for column in table.column_names])


def _join(several: Sequence[tuple[str, Panel]]) -> Panel:
    """One panel of statistics in the same unit, each with its name; a single one is as it was."""
    (name, first), *others = several
    if not others:
        is_said = first.title.startswith(f"Private {name}")
        return first if is_said else replace(first, title=f"{name}: {first.title}")
    names = [name if len(panel.values) == 1 else f"{name}, {entry}" for name, panel in several for entry in panel.names]
    title = f"Private {first.measured}: {', '.join(name for name, _ in several)}"
    values, low, high, informative = (
        [x for _, panel in several for x in getattr(panel, which)] for which in ("values", "low", "high", "informative")
    )
    are_counts = all(panel.is_counts for _, panel in several)
    return Panel(title, first.measured, names, values, low, high, informative, is_counts=are_counts)
