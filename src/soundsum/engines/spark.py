"""Spark: integers made, clamped and added up by the cluster, in one job; Python adds the noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from importlib import import_module
from typing import Any

from soundsum.engines.engine import ENGINES, Engine, KeyCounts, Totals, import_extra
from soundsum.engines.key_query import KeySelection, refuse_search
from soundsum.engines.person_sums import bound_part
from soundsum.engines.select import Selection
from soundsum.engines.spark_dialect import SparkDialect
from soundsum.engines.spark_files import SparkFiles
from soundsum.engines.sum_query import Catalog, SumQuery
from soundsum.numbers.quoting import say_kind
from soundsum.numbers.types import NumberType, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.statistics import Task
from soundsum.tables.columns import refuse_two_kinds
from soundsum.tables.files import number_type_of
from soundsum.tables.paths import Watched, is_path
from soundsum.tables.read_guard import read_within
from soundsum.tables.rows import Rows

MOST_PERSONS = 1 << 46
MOST_DIGITS = 10**38
MOST_DECIMALS = 18


@ENGINES.register
class Spark(Engine):
    name = "spark"
    package = "pyspark"
    classes = ("DataFrame",)
    reads_files = True
    finds_groups = True
    opens_anywhere = False  # a session takes seconds to start, and has settings of its own

    schema: SparkTable

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        inside = data.data if isinstance(data, Watched) else data
        self.schema = SparkTable(SparkFiles(inside) if is_path(inside) else None, inside)
        self._asked: tuple[Sequence[Task], Rows, Selection, Any] | None = None

    @property
    def _frame(self) -> Any:
        return self.schema.frame

    def refuse_unsupported(self, tasks: Sequence[Task], rows: Rows) -> None:
        super().refuse_unsupported(tasks, rows)
        for column in SumQuery(tasks, rows).columns():
            self.schema.require_one_type(column)
        for task in tasks:
            edges = getattr(task.counted, "edges", ())
            if any(isinstance(edge, int) and abs(edge) >= MOST_DIGITS for edge in edges):
                raise RefusedValue(
                    "edges", Reason.TOO_LARGE, "an edge of the histogram is beyond Spark's 38 digits", "leave it out"
                )
            reads = task.statistic.takes == "numbers" or task.counted is not None
            if reads and task.statistic.column is not None:
                self._require_digits(str(task.statistic.column))
            allowed = task.claim.plan.unit.max_rows
            for bounds in [] if allowed is None else [bound_part(part, allowed) for part in task.claim.parts]:
                if max(-bounds.least, bounds.most) * MOST_PERSONS >= MOST_DIGITS:
                    raise RefusedValue(
                        "max_rows",
                        Reason.TOO_LARGE,
                        "`max_rows={given}` with these bounds is beyond Spark's 38 digits",
                        "use fewer rows",
                        given=int(allowed or 0),
                    )
        with suppress(import_extra("pyspark.errors", "spark").AnalysisException):  # names that differ in case alone
            self._asked = (tasks, rows, *self._select(tasks, rows))
            return
        raise _not_told_apart()

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        known = self._asked
        if known is None or known[0] is not tasks or known[1] is not rows:
            known = (tasks, rows, *self._select(tasks, rows))
        asked, answer = known[2:]
        with _in_silence():
            return asked.totals(answer.collect())

    def refuse_search(self, rows: Rows) -> None:
        for column in rows.columns:
            self.schema.require_one_type(column)
        refuse_search(rows, self.schema.arrow_type, self.name)
        with suppress(import_extra("pyspark.errors", "spark").AnalysisException):
            self._count(rows, 1)
            return
        raise _not_told_apart()

    def count_keys(self, rows: Rows, max_groups: int) -> KeyCounts:
        asked, answer = self._count(rows, max_groups)
        with _in_silence():
            return asked.read(answer.collect())

    def _count(self, rows: Rows, max_groups: int) -> tuple[KeySelection, Any]:
        sql = SparkDialect(self._frame.sparkSession)
        asked = KeySelection(rows, Selection(SumQuery([], Rows()), self.schema.kinds, sql), sql, max_groups)
        text = asked.text("{t}")
        return asked, self._frame.sparkSession.sql(text, sql.values or None, t=self._frame, **sql.lists)

    def _select(self, tasks: Sequence[Task], rows: Rows) -> tuple[Selection, Any]:
        """The query, and the answer it will have once a job has run."""
        sql = SparkDialect(self._frame.sparkSession)
        asked = Selection(SumQuery(tasks, rows), self.schema.kinds, sql)
        text = asked.text("{t}")
        return asked, self._frame.sparkSession.sql(text, sql.values or None, t=self._frame, **sql.lists)

    def _require_digits(self, column: str) -> None:
        import pyarrow as pa

        kind = self.schema.kinds[column]
        if pa.types.is_decimal(kind) and kind.scale > MOST_DECIMALS:
            raise RefusedType(
                "column",
                Reason.TOO_MANY,
                "column {column} has {found} decimal places",
                "cast it to {most} or fewer",
                column=repr(column),
                found=kind.scale,
                most=MOST_DECIMALS,
            )


class SparkTable(Catalog):
    """A frame, perhaps of files in folders that are named by keys."""

    def __init__(self, source: SparkFiles | None, frame: Any = None) -> None:
        self._source = source
        self.frame = _unless_refused(source.frame) if source is not None else frame
        fields = _unless_refused(lambda: list(self.frame.schema.fields))
        kinds = {field.name: _arrow_kind(field.dataType) for field in fields}
        words = {field.name: field.dataType.simpleString() for field in fields}
        super().__init__(kinds, words, lambda: read_within(lambda: int(self.frame.count())))
        self._text_keys = set(source.keys) if source is not None else set()
        self._asked_as_text: set[str] = set()

    def type_keys(self, types: Mapping[str, str]) -> None:
        for key in sorted(self._text_keys & set(types)):
            self._read_as(key, number_type(types[key]))

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        if column in self._text_keys and column in self._asked_as_text:
            wanted = say_kind(number_type_of(number_type(dtype or "float64")))
            refuse_two_kinds(column, "text", wanted)
        if column in self._text_keys:
            if dtype is None:
                raise RefusedType(
                    "dtype",
                    Reason.MISSING,
                    "column {column} is in the names of folders, which are text",
                    "give `dtype` to read numbers",
                    column=repr(column),
                )
            self._read_as(column, number_type(dtype))
        return super().type(column, dtype)

    def _no_keys(self, column: str | None, what: str) -> Any:
        self._asked_as_text.add(str(column))
        return super()._no_keys(column, what)

    def require_one_type(self, column: str) -> None:
        self.arrow_type(column)
        if self._source is not None:
            self._source.require_one_type(column)

    def _read_as(self, key: str, wanted: NumberType) -> None:
        assert self._source is not None
        kind = number_type_of(wanted)
        self.frame = self._source.with_key(self.frame, key, kind)
        self.kinds[key] = kind
        self._text_keys.discard(key)


def _not_told_apart() -> RefusedValue:
    return RefusedValue(
        "data",
        Reason.UNSUPPORTED,
        "Spark cannot tell the columns of this query apart",
        "rename those of like names",
    )


@contextmanager
def _in_silence() -> Iterator[None]:
    """PySpark writes what failed, with the record it failed on, to stderr, which the analyst may see."""
    logger = import_module("pyspark.logger").PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _unless_refused(look: Callable[[], Any]) -> Any:
    """Read a schema; types that Spark cannot read, such as times in nanoseconds, are refused."""
    with suppress(import_extra("pyspark.errors", "spark").AnalysisException):
        return look()
    raise RefusedValue(
        "engine",
        Reason.UNSUPPORTED,
        "Spark cannot read this table: a column is of a type it does not have",
        "leave `engine` out",
    )


def _arrow_kind(kind: Any) -> Any:
    """The Arrow type of a column; None if it is neither number, text nor time."""
    import pyarrow as pa

    name = kind.typeName()
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    kinds = {
        "byte": pa.int8(),
        "tinyint": pa.int8(),
        "short": pa.int16(),
        "smallint": pa.int16(),
        "integer": pa.int32(),
        "int": pa.int32(),
        "long": pa.int64(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "char": pa.string(),
        "varchar": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    return kinds.get(name)
