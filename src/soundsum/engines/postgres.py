"""PostgreSQL: integers made, clamped and added up in one read-only query; Python adds the noise."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from soundsum.engines.engine import ENGINES, Engine, KeyCounts, Totals, import_extra
from soundsum.engines.key_query import KeySelection, refuse_search
from soundsum.engines.postgres_dialect import PostgresDialect, arrow_kind, has_nul
from soundsum.engines.select import Selection
from soundsum.engines.sum_query import Catalog, SumQuery
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.statistics import Task
from soundsum.tables.filters import Condition
from soundsum.tables.read_guard import read_within
from soundsum.tables.rows import Rows

COLUMNS = """
WITH RECURSIVE columns AS (
  SELECT a.attnum, a.attname, a.atttypid AS kind, a.atttypmod AS modifier,
         has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT') AS may_read
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND c.relkind IN ('r', 'v', 'm', 'f', 'p')
    AND a.attnum > 0 AND NOT a.attisdropped
  UNION ALL  -- a domain is what it is made from
  SELECT attnum, attname, typbasetype, CASE WHEN typtypmod = -1 THEN modifier ELSE typtypmod END, may_read
  FROM columns JOIN pg_type t ON t.oid = kind WHERE typtype = 'd')
SELECT attname, CASE WHEN typtype = 'e' THEN 'text' ELSE format_type(kind, modifier) END, may_read
FROM columns JOIN pg_type t ON t.oid = kind WHERE typtype <> 'd' ORDER BY attnum
"""


@ENGINES.register
class Postgres(Engine):
    finds_groups = True
    name = "postgres"
    package = "psycopg"
    schemes = ("postgresql", "postgres")
    has_tables = True

    schema: Catalog

    def __init__(self, data: str, beside: Mapping[str, Any], table: Any = None) -> None:
        scheme, rest = data.split("://", 1)
        self._address, (self._schema_name, self._table_name) = f"{scheme.lower()}://{rest}", _qualify(table)
        self._connection: Any = None
        self._columns = self._describe()
        kinds = {name: arrow_kind(spelled) for name, (spelled, _) in self._columns.items()}
        words = {name: spelled for name, (spelled, _) in self._columns.items()}
        if not any(may for _, may in self._columns.values()):
            raise PermissionError(f"no permission to read the table {self._table_name!r}; its owner may: GRANT SELECT")
        engine = weakref.proxy(self)  # a cycle would keep the connection open
        self.schema = Permitted(
            kinds, words, lambda: engine._count(), {name for name, (_, may) in self._columns.items() if may}
        )

    def refuse_unsupported(self, tasks: Sequence[Task], rows: Rows) -> None:
        super().refuse_unsupported(tasks, rows)
        for column in SumQuery(tasks, rows).columns():
            self.schema.arrow_type(column)
        _, text, values = self._select(tasks, rows)
        try:  # planned, with all rights looked at, and not run
            with self._session() as cursor:
                cursor.execute(f"EXPLAIN {text}", values)
        except import_extra("psycopg", "postgres").Error as error:
            refusal = _say_unplanned(error, self._table_name)
        else:
            return
        raise refusal

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        asked, text, values = self._select(tasks, rows)
        with self._session() as cursor:
            self._begin(cursor)
            cursor.execute(text, values)
            return asked.totals(cursor)

    def refuse_search(self, rows: Rows) -> None:
        for column in rows.columns:
            self.schema.arrow_type(column)
        refuse_search(rows, self.schema.arrow_type, self.name)

    def count_keys(self, rows: Rows, max_groups: int) -> KeyCounts:
        sql = PostgresDialect()
        asked = KeySelection(rows, Selection(SumQuery([], Rows()), self.schema.kinds, sql), sql, max_groups)
        text = asked.text(f"{sql.quote(self._schema_name)}.{sql.quote(self._table_name)}")
        with self._session() as cursor:
            self._begin(cursor)
            cursor.execute(text, sql.values)
            return asked.read(cursor)

    def _begin(self, cursor: Any) -> None:
        """Refuses to read a table whose columns have changed, and to work on when nobody waits any more."""
        if self._read_columns(cursor) != self._columns:
            raise RuntimeError("the table's columns have changed since they were looked at")
        if self.seconds is not None:
            cursor.execute(f"SET LOCAL statement_timeout = {max(1, int(1000 * self.seconds))}")

    def _select(self, tasks: Sequence[Task], rows: Rows) -> tuple[Selection, str, dict[str, Any]]:
        sql = PostgresDialect()
        asked = Selection(SumQuery(tasks, rows), self.schema.kinds, sql)
        return asked, asked.text(f"{sql.quote(self._schema_name)}.{sql.quote(self._table_name)}"), sql.values

    @contextmanager
    def _session(self) -> Iterator[Any]:
        """A cursor in a transaction that sees one state of the table, writes nothing, and finds pg_catalog alone.

        All transactions of an engine are of one connection, which ends with the engine or with the first that fails.
        """
        import psycopg

        if self._connection is None or self._connection.closed:
            made = psycopg.connect(
                self._address,
                prepare_threshold=None,  # as a pooler may change the session
                application_name="soundsum",
                client_encoding="UTF8",
            )
            weakref.finalize(self, made.close)
            made.isolation_level, made.read_only = psycopg.IsolationLevel.REPEATABLE_READ, True
            self._connection = made
        try:
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.execute("SET LOCAL search_path = pg_catalog")
                yield cursor
        except BaseException:  # whose traceback may be kept, and the engine with it
            self._connection.close()
            raise

    def _describe(self) -> dict[str, tuple[str, bool]]:
        psycopg = import_extra("psycopg", "postgres")
        reason: str | None = None
        try:
            with self._session() as cursor:
                (encoding,) = cursor.execute("SHOW server_encoding").fetchone()
                columns = self._read_columns(cursor)
        except (psycopg.Error, UnicodeError, ValueError) as error:
            reason = _explain(error)
        if reason is not None:
            raise ConnectionError(reason)
        if not columns:
            raise RefusedValue(
                "table",
                Reason.ABSENT,
                "there is no table {table} in the schema {schema}",
                "check `table`, which may be written schema.table",
                table=repr(self._table_name),
                schema=repr(self._schema_name),
            )
        if encoding != "UTF8":
            raise RefusedValue(
                "data",
                Reason.UNSUPPORTED,
                "the database's encoding is {encoding}, and text is compared by its bytes in UTF8 alone",
                "use a database in UTF8",
                encoding=str(encoding),
            )
        return columns

    def _read_columns(self, cursor: Any) -> dict[str, tuple[str, bool]]:
        """The names of the columns, how their types are spelled, and whether they may be read."""
        cursor.execute(COLUMNS, {"schema": self._schema_name, "table": self._table_name})
        return {name: (spelled, may_read) for name, spelled, may_read in cursor}

    def _count(self) -> int:
        return read_within(lambda: self.add_up([], Rows())[1])


class Permitted(Catalog):
    """The table's columns, some of which may not be readable."""

    def __init__(self, kinds: Any, words: Any, rows: Any, readable: set[str]) -> None:
        super().__init__(kinds, words, rows)
        self._readable = readable

    def _kind(self, column: str | None, what: str) -> Any:
        if column not in self._readable:
            raise PermissionError(f"no permission to read column {column!r}; its owner may: GRANT SELECT")
        if column is not None and self._words[column] == "numeric":
            raise RefusedType(
                "column",
                Reason.UNSUPPORTED,
                "column {column} is numeric of any scale",
                "cast it in a view, such as to numeric(18, 2)",
                column=repr(column),
            )
        return super()._kind(column, what)

    def expect_value(self, condition: Condition) -> None:
        for one in condition.each:
            if has_nul(one.value):
                raise RefusedValue(
                    "where",
                    Reason.MALFORMED,
                    "{value} in `where` has a NUL in it, which no text in PostgreSQL has",
                    "leave the condition out",
                    value=quote(one.value),
                )
        super().expect_value(condition)


def _qualify(table: Any) -> tuple[str, str]:
    """The schema and the name of a table: "visits", "clinic.visits", or a pair where names have dots in them."""
    if isinstance(table, str) and table:
        schema, dot, name = table.partition(".")
        return (schema, name) if dot else ("public", table)
    if isinstance(table, list | tuple) and len(table) == 2 and all(isinstance(part, str) and part for part in table):
        return table[0], table[1]
    raise RefusedValue(
        "table",
        Reason.MISSING,
        "`table` is missing:",
        "say which table of the database, such as `table='visits'` or `'clinic.visits'`",
    )


def _say_unplanned(error: Exception, table: str) -> OSError:
    """Why a query could not be planned, by the state that PostgreSQL gives: nothing has been read yet."""
    state = getattr(error, "sqlstate", None) or ""
    if state == "55P03":  # lock_timeout, or a lock that is not waited for
        return TimeoutError(f"the table {table!r} is locked by somebody else; try again when they are done")
    if state == "57014":  # statement_timeout
        return TimeoutError(f"PostgreSQL gave up on {table!r} after its statement_timeout; try again, or raise it")
    if state.startswith("53"):
        return OSError(f"PostgreSQL has too little memory, disk or connections to read {table!r}; try again later")
    if state.startswith("42"):  # access, or what is not there any more
        return PermissionError(
            f"PostgreSQL refuses to read {table!r}; check what the user, and a view's owner, may read"
        )
    return ConnectionError(f"PostgreSQL could not plan a query of {table!r}; check that it runs, and try again")


def _explain(error: Exception) -> str:
    """Why there is no session, without the address, which may have a password in it."""
    if getattr(error, "sqlstate", None) in ("55P03", "57014"):
        return "PostgreSQL did not answer in time; try again, or raise its lock_timeout or statement_timeout"
    if type(error).__name__ == "OperationalError":
        return "PostgreSQL does not answer, or does not let this user in; check that it runs, and the address"
    return "PostgreSQL could not be asked for its tables; check the address and what the user may read"
