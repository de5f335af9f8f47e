"""Spark: integers made, clamped and added up by the cluster, in one job; Python adds the noise.

What is measured about it (tests/engines holds it): rint rounds half to even; sums of bigint are 64 bits wide, and abort
on overflow in ANSI mode or wrap around without, so integers are added in limbs of 17 bits that cannot overflow below
2^46 rows; decimals have 38 digits; NaN is equal to itself and above every number; least and greatest pass over NULL.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from threading import Event, Timer
from typing import Any
from uuid import uuid4

from soundsum.arithmetic.numbers import NumberType, number_type
from soundsum.data.boundary import read_within
from soundsum.data.files import number_type_of
from soundsum.data.kinds import say_kind, say_two_kinds
from soundsum.data.paths import Watched, is_path
from soundsum.data.rows import Rows
from soundsum.engines.dialect import Dialect, Own
from soundsum.engines.engine import ENGINES, Engine, Totals, import_extra
from soundsum.engines.persons import bound_part
from soundsum.engines.query import LIMB, Catalog, Query, limbs
from soundsum.engines.select import Selection
from soundsum.engines.spark_files import SparkFiles
from soundsum.statistics import Task

MOST_PERSONS = 1 << 46
MOST_DIGITS = 10**38
MOST_DECIMALS = 18


@ENGINES.register
class Spark(Engine):
    name = "spark"
    package = "pyspark"
    classes = ("DataFrame",)
    reads_files = True

    schema: SparkTable

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        inside = data.data if isinstance(data, Watched) else data
        self.schema = SparkTable(SparkFiles(inside) if is_path(inside) else None, inside)
        self._asked: tuple[Sequence[Task], Rows, Selection, Any] | None = None

    @property
    def _frame(self) -> Any:
        return self.schema.frame

    def require(self, tasks: Sequence[Task], rows: Rows) -> None:
        super().require(tasks, rows)
        for column in Query(tasks, rows).columns():
            self.schema.require_one_type(column)
        for task in tasks:
            edges = getattr(task.statistic.cells, "edges", ())
            if any(isinstance(edge, int) and abs(edge) >= MOST_DIGITS for edge in edges):
                raise ValueError("an edge of the histogram is beyond Spark's 38 digits; leave it out")
            if task.statistic.takes == "numbers" or task.statistic.cells is not None:
                self._require_digits(str(task.statistic.column))
            allowed = task.claim.plan.unit.max_rows
            for bounds in [] if allowed is None else [bound_part(part, allowed) for part in task.claim.parts]:
                if max(-bounds.least, bounds.most) * MOST_PERSONS >= MOST_DIGITS:
                    raise ValueError(
                        f"max_rows={allowed} with these bounds is beyond Spark's 38 digits; use fewer rows"
                    )
        try:
            self._asked = (tasks, rows, *self._select(tasks, rows))
        except import_extra("pyspark.errors", "spark").AnalysisException:  # such as names that differ in case alone
            raise ValueError("Spark cannot tell the columns of this query apart; rename those of like names") from None

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        known = self._asked
        if known is None or known[0] is not tasks or known[1] is not rows:
            known = (tasks, rows, *self._select(tasks, rows))
        asked, answer = known[2:]
        with _in_silence(), self._in_time():
            return asked.totals(answer.collect())

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Cancels the job once nobody waits for it any more."""
        if self.seconds is None:
            yield
            return
        context, group = self._frame.sparkSession.sparkContext, f"soundsum-{uuid4().hex}"
        before = context.getLocalProperty("spark.jobGroup.id")
        done = Event()

        def stop() -> None:
            while not done.is_set():  # a job may begin only now
                context.cancelJobGroup(group)
                done.wait(0.5)

        timer = Timer(self.seconds, stop)
        context.setJobGroup(group, "soundsum", interruptOnCancel=True)
        timer.start()
        try:
            yield
        finally:
            done.set()
            timer.cancel()
            context.setLocalProperty("spark.jobGroup.id", before)

    def _select(self, tasks: Sequence[Task], rows: Rows) -> tuple[Selection, Any]:
        """The query, and the answer it will have once a job has run."""
        sql = SparkDialect(self._frame.sparkSession)
        asked = Selection(Query(tasks, rows), self.schema.kinds, sql)
        text = asked.text("{t}")
        return asked, self._frame.sparkSession.sql(text, sql.values or None, t=self._frame, **sql.lists)

    def _require_digits(self, column: str) -> None:
        import pyarrow as pa

        kind = self.schema.kinds[column]
        if pa.types.is_decimal(kind) and kind.scale > MOST_DECIMALS:
            raise TypeError(f"column {column!r} has {kind.scale} decimal places; cast it to {MOST_DECIMALS} or fewer")


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
            raise ValueError(say_two_kinds(f"column {column!r}", "text", wanted))
        if column in self._text_keys:
            if dtype is None:
                said = f"column {column!r} is in the names of folders, which are text"
                raise TypeError(f"{said}; give dtype= to read numbers")
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


class SparkDialect(Dialect):
    """Spark's expressions; text is bound as a parameter, lists of groups as relations."""

    double = "double"
    whole = "decimal(38, 0)"

    def __init__(self, session: Any) -> None:
        self._session = session
        self.values: dict[str, str] = {}
        self.lists: dict[str, Any] = {}

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"

    def key(self, own: Own) -> str:
        import pyarrow as pa

        return f"collate({own.text}, 'UTF8_BINARY')" if pa.types.is_string(own.kind) else own.text

    def is_nan(self, own: Own) -> str | None:
        import pyarrow as pa

        return f"isnan({own.text})" if pa.types.is_floating(own.kind) else None

    def value(self, value: Any, own: Own) -> str:
        import pyarrow as pa

        if pa.types.is_floating(own.kind):
            return self.literal(float(value))
        return self._spell(value, own.kind)

    def _spell(self, value: Any, kind: Any) -> str:
        """A value of a column's type, spelled so that the session's settings make no difference."""
        import pyarrow as pa

        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            name = f"v{len(self.values)}"
            self.values[name] = value
            return f":{name}"
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        if isinstance(value, datetime.datetime):
            if kind.tz is None:
                return f"TIMESTAMP_NTZ'{value.isoformat(sep=' ', timespec='microseconds')}'"
            utc = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return f"TIMESTAMP_LTZ'{utc.isoformat(sep=' ', timespec='microseconds')} UTC'"
        if isinstance(value, datetime.date):
            return f"DATE'{value.isoformat()}'"
        if kind is not None and pa.types.is_decimal(kind):  # of its own scale, or it would be rounded
            return f"CAST('{Decimal(value):f}' AS decimal({kind.precision}, {kind.scale}))"
        scale = max(0, -int(Decimal(int(value) if not isinstance(value, Decimal) else value).as_tuple().exponent))
        return f"CAST('{value:f}' AS decimal(38, {scale}))" if scale else f"CAST('{int(value)}' AS decimal(38, 0))"

    def list_of(self, name: str, keys: Sequence[tuple[list[Any], Own | None]], places: list[int]) -> str:
        import pyarrow as pa

        columns = {
            f"k{i}": pa.array(own_keys, pa.int32() if own is None else own.kind)
            for i, (own_keys, own) in enumerate(keys)
        }
        table = pa.table({**columns, "place": pa.array(places, pa.int64())})
        schema = import_module("pyspark.sql.pandas.types").from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        self.lists[name] = self._session.createDataFrame(table, schema).hint("broadcast")
        return f"{{{name}}} AS {name}"

    def bucket(self, text: str, points: Sequence[Any], own: Own | None) -> str:
        """By halves, as there is no function for it; 0 for NULL, which is in no bucket."""

        def spell(point: Any) -> str:
            return (
                self.literal(point)
                if isinstance(point, float)
                else self._spell(point, None if own is None else own.kind)
            )

        def halve(least: int, most: int) -> str:
            if least == most:
                return str(least)
            middle = (least + most) // 2
            above, below = halve(middle + 1, most), halve(least, middle)
            return f"CASE WHEN {text} >= {spell(points[middle])} THEN {above} ELSE {below} END"

        return f"({halve(0, len(points))})"

    def literal(self, x: float) -> str:
        return f"CAST('{x!r}' AS double)"

    def round(self, text: str) -> str:
        return f"CAST(rint({text}) AS bigint)"

    def scaled(self, own: Own, low: int, high: int) -> str:
        """By at most nine digits at a time, so that no product has more than 38."""
        scale = own.kind.scale
        ends = [f"CAST('{Decimal(end).scaleb(-scale):f}' AS decimal(38, {scale}))" for end in (low, high)]
        held = f"CASE WHEN {own.text} IS NOT NULL THEN least(greatest({own.text}, {ends[0]}), {ends[1]}) END"
        digits = f"CAST({held} AS decimal(19, {scale}))"
        while scale:
            step = min(9, scale)
            scale -= step
            digits = f"CAST({digits} * CAST('{10**step}' AS decimal(10, 0)) AS decimal(20, {scale}))"
        integer = f"CAST({digits} AS bigint)"
        clamped = f"least(greatest({integer}, CAST('{low}' AS bigint)), CAST('{high}' AS bigint))"
        return f"CASE WHEN {own.text} IS NOT NULL THEN {clamped} END"

    def truncate(self, text: str) -> str:
        return f"CAST({text} AS bigint)"

    def since_1970(self, text: str, kind: Any) -> str:
        import pyarrow as pa

        if pa.types.is_date(kind):
            return f"unix_date({text})"
        return f"unix_micros({text})" if kind.tz else _microseconds(text)

    def digest(self, text: str, entry: str, is_bytes: bool) -> str:
        after = f"concat('/', CAST({entry} AS string))"
        if is_bytes:
            return f"sha2(concat({text}, CAST({after} AS binary)), 256)"
        return f"sha2(concat(CAST({text} AS string), {after}), 256)"

    def floor_quotient(self, top: str, bottom: str) -> str:
        return f"CAST(({top} - pmod({top}, {bottom})) / {bottom} AS decimal(38, 0))"

    def shifts(self, bits: int) -> list[int | None]:
        return list(limbs(bits))

    def limb(self, text: str, shift: int | None, first: bool) -> str:
        assert not shift or shift < 64
        moved = f"shiftright({text}, {shift})" if shift else f"({text})"
        return moved if first else f"({moved} & {(1 << LIMB) - 1})"


def _microseconds(moment: str) -> str:
    """Of a time without a zone since 1970; timestampdiff would take the session's zone, and raise at either end."""
    days = f"CAST(unix_date(CAST({moment} AS date)) AS decimal(20, 0))"
    seconds = f"CAST(hour({moment}) * 3600 + minute({moment}) * 60 AS bigint)"
    return f"{days} * 86400000000 + {seconds} * 1000000 + CAST(extract(SECOND FROM {moment}) * 1000000 AS bigint)"


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
    """What is seen of a schema; what Spark cannot read at all, such as times in nanoseconds, is refused by type."""
    try:
        return look()
    except import_extra("pyspark.errors", "spark").AnalysisException:
        raise ValueError(
            "Spark cannot read this table: a column is of a type it does not have; leave engine out"
        ) from None


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
