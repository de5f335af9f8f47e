"""DuckDB reads, our kernel adds up: its relations, the tables of a connection, and Parquet files on request.

DuckDB's own clamped sum takes longer than handing the rows over as Arrow (benchmarks/engines.py), and so it computes
nothing: no record can make it raise, and what is added up is the kernel's own. It only cuts long texts and bytes, of
which a batch of Arrow's holds less than 2 GiB.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from soundsum.engines.engine import ENGINES, import_extra
from soundsum.engines.memory import Memory
from soundsum.engines.reading import FilesReadBy
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import LONGEST
from soundsum.tables.files import BATCH
from soundsum.tables.paths import Watched
from soundsum.tables.read_guard import read_within
from soundsum.tables.stream import StreamTable

TABLES = """
SELECT 1 FROM (SELECT database_name, schema_name, table_name AS name FROM duckdb_tables()
               UNION ALL SELECT database_name, schema_name, view_name FROM duckdb_views())
WHERE lower(name) = lower($1) AND lower(schema_name) = lower(coalesce($2, schema_name))
  AND lower(database_name) = lower(coalesce($3, database_name)) LIMIT 1
"""


ROWS = 1 << 16
"""Of a batch with texts: those of cells of LONGEST + 1 characters, of up to four bytes each, have less than 2^31.

Other batches have BATCH: of half a row group of DuckDB's, as it cuts these, some are too small for two threads.
"""


@ENGINES.register
class DuckDB(Memory):
    name = "duckdb"
    package = "duckdb"
    classes = ("DuckDBPyRelation", "DuckDBPyConnection")
    has_tables = True
    reads_files = True

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        inside = data.data if isinstance(data, Watched) else data
        if type(inside).__name__ == "DuckDBPyConnection":
            self.schema = RelationTable(_find(inside, table))
        elif type(inside).__name__ == "DuckDBPyRelation":
            if table is not None:
                raise RefusedValue(
                    "table",
                    Reason.CONFLICT,
                    "`table={given}` goes with a connection, and a relation is a table itself",
                    "leave `table` out",
                    given=quote(table),
                )
            self.schema = RelationTable(inside)
        else:
            import_extra("duckdb", "duckdb")
            self.schema = FilesReadBy(data, _read_files)


class RelationTable(StreamTable):
    """A relation, of which only the columns asked for are computed."""

    def rows(self) -> int:
        return int(read_within(lambda: self._data.aggregate("count(*)").fetchall()[0][0]))

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        kinds = dict(zip(self._data.columns, map(str, self._data.types), strict=True))
        names = wanted or self.names[:1]
        columns = self._data.project(", ".join(_cut(name, kinds.get(name, "")) for name in names))
        read = getattr(columns, "to_arrow_reader", None) or columns.fetch_record_batch  # as older versions call it
        yield from read(BATCH if all(_is_short(self.arrow_type(name)) for name in names) else ROWS)


def _is_short(kind: Any) -> bool:
    """Returns whether cells have a fixed size, of a few bytes."""
    import pyarrow as pa

    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


def _cut(name: str, kind: str) -> str:
    """A column whose cells are read as far as it takes to see that they are too long."""
    column = quote_name(name)
    cut = {"VARCHAR": f"left({column}, {LONGEST + 1})", "BLOB": f"{column}[:{LONGEST + 1}]"}.get(kind)
    return column if cut is None else f"{cut} AS {column}"


def _find(connection: Any, table: Any) -> Any:
    """A table of a connection's, by name, schema.name or catalog.schema.name, or by these apart."""
    if not table or not (isinstance(table, str) or all(isinstance(part, str) for part in table)):
        raise RefusedValue(
            "table",
            Reason.MISSING,
            "`table` is missing:",
            "say which table of the connection, such as `table='visits'` or `'clinic.visits'`",
        )
    parts: list[str] = table.split(".") if isinstance(table, str) else list(table)
    import duckdb

    known = connection.execute(TABLES, [*parts[::-1], None, None][:3]).fetchall()
    if not known or len(parts) > 3:  # a file of that name must not be read in its place
        raise RefusedValue(
            "table",
            Reason.ABSENT,
            "there is no table {given} in the connection",
            "check `table`",
            given=quote(table),
        )
    with suppress(duckdb.Error):
        return connection.sql(f"SELECT * FROM {'.'.join(map(quote_name, parts))}")
    raise RefusedValue(
        "table",
        Reason.UNREADABLE,
        "`table={given}` cannot be read in this connection",
        "check it there",
        given=quote(table),
    )


def _read_files(files: list[str], wanted: list[str]) -> Iterator[Any]:
    import duckdb
    import pyarrow as pa

    asked = f"SELECT {', '.join(map(quote_name, wanted))} FROM read_parquet($files, hive_partitioning = false)"
    with duckdb.connect(":memory:") as connection:
        names = [glob.escape(file) for file in files]  # which DuckDB would read as patterns
        yield from pa.RecordBatchReader.from_stream(connection.sql(asked, params={"files": names}))


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
