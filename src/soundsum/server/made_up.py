"""Rows made up from a table's schema alone, for dry runs: of its columns' names, types, categories and bounds."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from soundsum.budget import Budget
from soundsum.numbers.types import number_type
from soundsum.releases.private import Private
from soundsum.releases.schema import ColumnSchema
from soundsum.requests.parse_columns import Snapshot
from soundsum.server.owner_file import OwnedTable

MADE_UP = 100
"""The number of rows."""


def make_up(owned: OwnedTable, snapshot: Snapshot, schema: Mapping[str, ColumnSchema]) -> Callable[[], Private]:
    """Make rows up; return a function that opens them as the table is opened, with a fresh budget in memory."""
    import pyarrow as pa

    person = owned.terms.get("privacy_unit")
    columns = {
        name: _make_column(
            snapshot.types[name], schema.get(name, ColumnSchema()), name == person, snapshot.has_no_types
        )
        for name in snapshot.names
    }
    data: Any = pa.table(columns)
    if snapshot.has_no_types:  # rules for text in CSV are others
        data = _Csv(data)
    terms = {key: one for key, one in owned.terms.items() if key not in ("pad", "table", "engine")}
    limit = {key: one for key, one in owned.budget.items() if key in ("epsilon", "delta", "rho")}
    if not limit:  # the ledger was there before
        budget = owned.open_budget()
        limit = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}

    def open_made_up() -> Private:
        return Private(data.path if isinstance(data, _Csv) else data, budget=Budget(**limit), **terms)

    return open_made_up


class _Csv:
    """A table as a CSV file, which goes with this object."""

    def __init__(self, table: Any) -> None:
        import pyarrow.csv as csv

        folder = tempfile.TemporaryDirectory(prefix="soundsum-")
        self.path = str(Path(folder.name, "made-up.csv"))
        csv.write_csv(table, self.path)
        self._finish = weakref.finalize(self, folder.cleanup)


def _make_column(kind: Any, said: ColumnSchema, is_person: bool, is_text: bool) -> Any:
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    values: list[Any]
    if is_person:
        values = list(range(MADE_UP))
    elif said.categories:
        values = [said.categories[row % len(said.categories)] for row in range(MADE_UP)]
    elif said.lower is not None and said.upper is not None and not said.has_dates:
        lower, upper = float(said.lower), float(said.upper)
        values = [lower + (upper - lower) * row / (MADE_UP - 1) for row in range(MADE_UP)]
        if (said.type is not None and number_type(said.type).is_integer) or pa.types.is_integer(plain):
            values = [int(one) for one in values]
    else:
        values = [1] * MADE_UP
    if is_text:
        return pa.array([str(one) for one in values])
    try:
        return pa.array(values).cast(plain, safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        pass
    try:
        return pa.array([str(one) for one in values]).cast(plain)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.nulls(MADE_UP, plain)
