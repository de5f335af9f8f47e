"""Questions: which statistics, of whom, under which relation; plain data that prints as code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.neighbours.tables import ALONE, Table

EXACT = ("auto", "wide", "grid", "modular", "split_modular")
"""Methods whose sums do not depend on the order of rows, and whose claims are the ideal."""


ADVICE = ("Bounds", "TotalBounds", "MaxRows")
"""Statistics of whole tables, whose cells need no bounds."""


@dataclass(frozen=True)
class Ask:
    """A statistic, and what it is given."""

    statistic: str
    column: str | None = None
    given: tuple[tuple[str, Any], ...] = ()

    def get(self, name: str, otherwise: Any = None) -> Any:
        return dict(self.given).get(name, otherwise)

    @property
    def has_cells(self) -> bool:
        return self.statistic in ("Histogram", "Clipped", *ADVICE)

    @property
    def counts_persons(self) -> bool:
        """Whether a person counts once, in a cell of all their rows in a group."""
        return self.statistic in ("Clipped", "TotalBounds", "MaxRows")

    @property
    def cells(self) -> int | None:
        """How many cells a histogram has."""
        if self.statistic != "Histogram":
            return None
        edges = self.get("edges")
        return len(self.get("categories")) if edges is None else len(edges) - 1


@dataclass(frozen=True)
class Period:
    """A column of dates or times, cut into periods."""

    column: str
    kind: str
    first: str
    last: str
    zone: str | None = None


@dataclass(frozen=True)
class Query:
    asks: tuple[Ask, ...]
    relation: str = "symmetric"
    by: tuple[str | Period, ...] = ()
    groups: tuple[Any, ...] | None = None
    where: tuple[tuple[str, str, Any], ...] = ()
    person: str | None = None
    max_rows: int = 1
    max_groups: int = 1
    missing: str | None = None

    @property
    def sized(self) -> bool:
        return self.relation in ("change_one", "hamming")

    @property
    def ordered(self) -> bool:
        return self.relation in ("insert_delete", "hamming")

    @property
    def columns(self) -> list[str]:
        """Every column that is asked for."""
        return list(dict.fromkeys(column for column in self._asked if column is not None))

    def uses(self, column: str) -> int:
        """How often a column is asked for."""
        return self._asked.count(column)

    @property
    def _asked(self) -> list[str | None]:
        by = [one if isinstance(one, str) else one.column for one in self.by]
        return [*(ask.column for ask in self.asks), *by, *(column for column, _, _ in self.where), self.person]

    @property
    def depends_on_order(self) -> bool:
        return any(ask.get("method", "auto") not in EXACT for ask in self.asks)


def options_of(query: Query, table: Table, data: Any, package: Any) -> tuple[Any, dict[str, Any]]:
    """The data and the arguments of a release, for the package."""
    options: dict[str, Any] = {"relation": query.relation, "missing": query.missing}
    if query.person is not None:
        options |= {"privacy_unit": query.person, "max_rows": query.max_rows, "max_groups": query.max_groups}
    if query.by:
        by = [
            one
            if isinstance(one, str)
            else getattr(package, one.kind)(one.column, one.first, one.last, **({"zone": one.zone} if one.zone else {}))
            for one in query.by
        ]
        options["by"] = by if len(by) > 1 else by[0]
        if query.groups is not None:
            options["groups"] = [*map(list, query.groups)] if len(by) > 1 else list(query.groups)
    if query.where:
        options["where"] = list(query.where)
    alone = table.reader in ALONE
    if alone:
        options |= {name: data[options[name]] for name in ("by", "privacy_unit") if name in options}
        data = data[query.asks[0].column]
    asks = [
        getattr(package, ask.statistic)(None if alone else ask.column, **{k: _listed(v) for k, v in ask.given})
        for ask in query.asks
    ]
    return data, {"statistics": asks, **options}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
