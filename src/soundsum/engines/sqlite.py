"""SQLite reads, our kernel adds up: a table or view of a connection, or of the file in sqlite:///path.

A cell of SQLite may be of another type than its column. All cells are read as the type that the column is declared
with, and a cell of another type is missing; of a long text or blob only the beginning is read. So no record can make
a query fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escape

from soundsum.engines.engine import ENGINES
from soundsum.engines.memory import Memory
from soundsum.engines.reading import BatchTable
from soundsum.numbers.quoting import printed, quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import LONGEST
from soundsum.tables.paths import Watched

if TYPE_CHECKING:
    import sqlite3

ADDRESS = "sqlite:///"

ROWS = 1 << 14
"""Rows that are fetched at a time."""

MOST_BYTES = 2 * (LONGEST + 2)
"""Bytes that are read of a text or blob, in the database's encoding: cut, it still has more than LONGEST in UTF-8."""

CUT = f"coalesce(substr(CAST({{0}} AS BLOB), 1, {MOST_BYTES}), x'')"  # as nothing of nothing is NULL

READ_AS = {
    "int64": "CASE typeof({0}) WHEN 'integer' THEN {0} END",
    "double": "CASE WHEN typeof({0}) IN ('real', 'integer') THEN CAST({0} AS REAL) END",
    "bool": "CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END",
    "string": f"CASE typeof({{0}}) WHEN 'text' THEN CAST({CUT} AS TEXT) END",
    "binary": f"CASE typeof({{0}}) WHEN 'blob' THEN {CUT} END",
}
"""The expression that reads a column, by its Arrow type."""

DECLARED = (
    ("BOOL", "bool"),
    ("INT", "int64"),
    *((word, "string") for word in ("CHAR", "CLOB", "TEXT", "DATE", "TIME", "UUID", "JSON")),
    *((word, "double") for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")),
)
"""What is in the name of a type, and how its columns are read; those of any other are bytes."""


@ENGINES.register
class SQLite(Memory):
    name = "sqlite"
    package = "sqlite3"
    classes = ("Connection",)
    schemes = ("sqlite",)
    has_tables = True

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        data = data.data if isinstance(data, Watched) else data
        own = _Rows(_open(data) if isinstance(data, str) else data, table)
        self.schema = BatchTable(own.schema, own.read, own.count)


class _Rows:
    """The rows of a table or view."""

    def __init__(self, connection: sqlite3.Connection, table: Any) -> None:
        import sqlite3

        import pyarrow as pa

        self._connection = connection
        name, within = _read_name(table)
        columns: list[Any] = []
        with suppress(sqlite3.Error):  # of a database that is not attached
            for some in self._fetch(
                "SELECT name, type FROM pragma_table_xinfo(?, ?) WHERE hidden <> 1", (name, within)
            ):
                columns += some
        if not columns:
            raise RefusedValue(
                "table",
                Reason.ABSENT,
                "there is no table {given} in the database",
                "check `table`",
                given=quote(table),
            )
        self._from = f"{_quote(within)}.{_quote(name)}"
        self.schema = pa.schema([(bytes.decode(name), _find_type(bytes.decode(kind))) for name, kind in columns])

    def count(self) -> int:
        ((row,),) = self._fetch(f"SELECT count(*) FROM {self._from}")
        return int(row[0])

    def read(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in wanted])
        read = [READ_AS[str(field.type)].format(_quote(field.name)) for field in schema]
        columns = ", ".join(f"{one} AS c{i}" for i, one in enumerate(read))  # a name that no converter is for
        for rows in self._fetch(f"SELECT {columns} FROM {self._from}"):
            cells = zip(*rows, strict=True)
            arrays = [_as_arrow(list(own), kind) for own, kind in zip(cells, schema.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _fetch(self, text: str, values: tuple[str, ...] = ()) -> Iterator[list[Any]]:
        """Rows as SQLite has them, whatever the connection makes of them for others; text as its bytes."""
        cursor = self._connection.cursor()
        cursor.row_factory = None
        cursor.execute(text, values)
        while True:
            own, self._connection.text_factory = self._connection.text_factory, bytes
            try:
                rows = cursor.fetchmany(ROWS)
            finally:
                self._connection.text_factory = own
            if not rows:
                return
            yield rows


def _open(address: str) -> sqlite3.Connection:
    import sqlite3

    path = address[len(ADDRESS) :] if address.lower().startswith(ADDRESS) else ""
    if path:
        with suppress(sqlite3.Error):
            made = sqlite3.connect(f"file:{escape(path)}?mode=ro", uri=True, check_same_thread=False)
            made.execute("SELECT 1 FROM sqlite_master LIMIT 1")
            return made
    raise RefusedValue(
        "data",
        Reason.ABSENT,
        "{path} cannot be opened as a database of SQLite",
        "give `'sqlite:///visits.db'`, or four slashes before a path from the root",
        path=printed(path),
    )


def _read_name(table: Any) -> tuple[str, str]:
    """The name of a table, and that of the database it is in: main, or another one that is attached."""
    parts = table.split(".") if isinstance(table, str) else table
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts) or len(parts) > 2:
        parts = ()
    if not any(parts):
        raise RefusedValue(
            "table",
            Reason.MISSING,
            "`table` is missing:",
            "say which table of the database, such as `table='visits'`, or `('visits',)` where the name has a dot",
        )
    return parts[-1], parts[0] if len(parts) == 2 else "main"


def _find_type(declared: str) -> Any:
    import pyarrow as pa

    kinds = {"bool": pa.bool_(), "int64": pa.int64(), "string": pa.string(), "double": pa.float64()}
    return next((kinds[kind] for word, kind in DECLARED if word in declared.upper()), pa.binary())


def _as_arrow(cells: list[Any], kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pa.array(cells, pa.int8()).cast(kind)
    return pa.array(cells, pa.binary()).view(kind) if pa.types.is_string(kind) else pa.array(cells, kind)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
