"""The expressions of Spark's SQL.

What is measured about them (tests/engines holds it): rint rounds half to even; sums of bigint are 64 bits wide, and
abort on overflow in ANSI mode or wrap around without, so integers are added in limbs of 17 bits that cannot overflow
below 2^46 rows; decimals have 38 digits; NaN is equal to itself and above every number; least and greatest pass over
NULL.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any

from soundsum.engines.dialect import Dialect, Own, integer_literal, scale_up, shift
from soundsum.engines.sum_query import LIMB, FloatSteps, limbs

MOST_SPELLED = 64
"""Points of cells that are written out, each as an expression."""


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
        if own is None and len(points) > MOST_SPELLED:
            return self._search(text, points)

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

    def _search(self, text: str, points: Sequence[Any]) -> str:
        """Search an array of points by steps of powers of two: written out, thousands are too much to plan."""
        kind = "double" if isinstance(points[0], float) else self.whole
        listed = self._spell(",".join(map(repr, points)), None)
        array = f"CAST(split({listed}, ',') AS array<{kind}>)"
        steps = ", ".join(str(1 << i) for i in range(len(points).bit_length() - 1, -1, -1))
        above = f"get({array}, at_ + step_ - 1) <= {text}"
        return f"aggregate(array({steps}), 0, (at_, step_) -> CASE WHEN {above} THEN at_ + step_ ELSE at_ END)"

    def literal(self, x: float) -> str:
        return f"CAST('{x!r}' AS double)"

    def round(self, text: str) -> str:
        return f"CAST(rint({text}) AS bigint)"

    def on_grid(self, x: str, steps: FloatSteps) -> str:
        """As one expression without cases, which Java compiles to little; NULL and NaN count as 0, as they are to."""
        zero, least, most = (self.literal(end) for end in (0.0, steps.least, steps.most))
        held = f"greatest(least(nanvl(coalesce({x}, {zero}), {zero}), {most}), {least})"
        integer = self.round(scale_up(held, steps, self.literal))
        return shift(self.clamp(integer, integer_literal(steps.low), integer_literal(steps.high)), steps)

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

    def local_since_1970(self, text: str, zone: str) -> str:
        return f"unix_micros(from_utc_timestamp({text}, {self._spell(zone, None)}))"

    def floor_of(self, text: str, unit: int) -> str:
        whole = f"CAST({text} AS bigint)"
        return f"(({whole} - pmod({whole}, CAST({unit} AS bigint))) div CAST({unit} AS bigint))"

    def first_day(self, days: str, kind: str) -> str:
        return f"unix_date(trunc(date_from_unix_date(CAST({days} AS int)), '{kind}'))"

    def as_text(self, text: str) -> str:
        return f"CAST({text} AS string)"

    def digest(self, text: str, entry: str, is_bytes: bool) -> str:
        after = f"concat('/', CAST({entry} AS string))"
        if is_bytes:
            return f"sha2(concat({text}, CAST({after} AS binary)), 256)"
        return f"sha2(concat(CAST({text} AS string), {after}), 256)"

    def first_word(self, digest: str) -> str:
        return f"CAST(conv(substring({digest}, 1, 8), 16, 10) AS bigint)"

    def floor_quotient(self, top: str, bottom: str) -> str:
        return f"CAST(({top} - pmod({top}, {bottom})) / {bottom} AS decimal(38, 0))"

    def shifts(self, bits: int) -> list[int | None]:
        return list(limbs(bits))

    def limb(self, text: str, shift: int | None, first: bool) -> str:
        assert not shift or shift < 64
        moved = f"shiftright({text}, {shift})" if shift else f"({text})"
        return moved if first else f"({moved} & {(1 << LIMB) - 1})"


def _microseconds(moment: str) -> str:
    """Microseconds of a time without a zone since 1970; timestampdiff uses the session's zone and may raise."""
    days = f"CAST(unix_date(CAST({moment} AS date)) AS decimal(20, 0))"
    seconds = f"CAST(hour({moment}) * 3600 + minute({moment}) * 60 AS bigint)"
    return f"{days} * 86400000000 + {seconds} * 1000000 + CAST(extract(SECOND FROM {moment}) * 1000000 AS bigint)"
