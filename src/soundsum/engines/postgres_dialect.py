"""The expressions of PostgreSQL's SQL, and its types beside Arrow's.

Measured about them (tests/engines holds it): casts of double precision to bigint round half to even; sum(bigint) is
exact, of any size; NaN is above every number; least and greatest pass over NULL; scaling may raise for overflow and
underflow, so nothing is scaled that could.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from soundsum.engines.dialect import Dialect, Own
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

TEXT = ("text", "character varying", "character", "name", "uuid")
"""Types that are text, or are compared as text."""


class PostgresDialect(Dialect):
    """PostgreSQL's expressions; sum(bigint) is exact, so there are no limbs."""

    double = "double precision"
    whole = "numeric"

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def quote(self, name: str) -> str:
        if "\x00" in name:
            raise RefusedValue(
                "table",
                Reason.MALFORMED,
                "{name} is not a name in PostgreSQL: it contains a NUL",
                "give a name without it",
                name=quote(name),
            )
        return '"' + name.replace('"', '""').replace("%", "%%") + '"'

    def key(self, own: Own) -> str:
        import pyarrow as pa

        return f'CAST({own.text} AS text) COLLATE "C"' if pa.types.is_string(own.kind) else own.text

    def is_nan(self, own: Own) -> str | None:
        import pyarrow as pa

        if pa.types.is_floating(own.kind):
            return f"({own.text} = CAST('NaN' AS double precision))"
        return f"({own.text} = CAST('NaN' AS numeric))" if pa.types.is_decimal(own.kind) else None

    def value(self, value: Any, own: Own) -> str:
        kind = _spell(own.kind)
        return self._bind(value, "double precision" if kind == "real" else kind)

    def list_of(self, name: str, keys: Sequence[tuple[list[Any], Own | None]], places: list[int]) -> str:
        possible = [i for i in range(len(places)) if not any(has_nul(own_keys[i]) for own_keys, _ in keys)]
        listed = [
            self._bind([own_keys[i] for i in possible], f"{'integer' if own is None else _spell(own.kind)}[]")
            for own_keys, own in keys
        ]
        columns = ", ".join([*(f"k{i}" for i in range(len(keys))), "place"])
        found = self._bind([places[i] for i in possible], "bigint[]")
        return f"unnest({', '.join([*listed, found])}) AS {name}({columns})"

    def bucket(self, text: str, points: Sequence[Any], own: Own | None) -> str:
        kind = _spell(own.kind) if own is not None else self.double if isinstance(points[0], float) else "numeric"
        return f"width_bucket({text}, {self._bind(list(points), f'{kind}[]')})"

    def literal(self, x: float) -> str:
        return f"CAST('{x!r}' AS double precision)"

    def round(self, text: str) -> str:
        return f"CAST({text} AS bigint)"

    def clamp(self, integer: str, low: str, high: str) -> str:
        """By the functions of max(bigint) and min(bigint): least and greatest look up how to compare in every row."""
        return f"int8smaller(int8larger({integer}, {low}), {high})"

    def clamp_whole(self, whole: str, low: str, high: str) -> str:
        return f"numeric_smaller(numeric_larger({whole}, {low}), {high})"

    def scaled(self, own: Own, low: int, high: int) -> str:
        ends = [f"CAST('{Decimal(end).scaleb(-own.kind.scale):f}' AS numeric)" for end in (low, high)]
        held = f"CASE WHEN {own.text} IS NOT NULL THEN least(greatest({own.text}, {ends[0]}), {ends[1]}) END"
        integer = f"CAST({held} * CAST('{10**own.kind.scale}' AS numeric) AS bigint)"
        return f"CASE WHEN {own.text} IS NOT NULL THEN least(greatest({integer}, {low}), {high}) END"

    def truncate(self, text: str) -> str:
        return f"CAST(trunc({text}) AS bigint)"

    def since_1970(self, text: str, kind: Any) -> str:
        import pyarrow as pa

        if pa.types.is_date(kind):
            return f"CASE WHEN isfinite({text}) THEN {text} - DATE '1970-01-01' ELSE 0 END"
        since = f"round(extract(epoch FROM {text}) * 1000000)"  # numeric: the last years are beyond 64 bits
        return since if pa.types.is_time(kind) else f"CASE WHEN isfinite({text}) THEN {since} ELSE 0 END"

    def local_since_1970(self, text: str, zone: str) -> str:
        return f"round(extract(epoch FROM {text} AT TIME ZONE {self._bind(zone, 'text')}) * 1000000)"

    def floor_of(self, text: str, unit: int) -> str:
        return f"CAST(floor({text} / {unit}) AS bigint)"

    def first_day(self, days: str, kind: str) -> str:
        day = f"CAST(DATE '1970-01-01' + CAST({days} AS integer) AS timestamp)"
        return f"(CAST(date_trunc('{kind}', {day}) AS date) - DATE '1970-01-01')"

    def as_text(self, text: str) -> str:
        return f"CAST({text} AS text)"

    def digest(self, text: str, entry: str, is_bytes: bool) -> str:
        after = f"'/' || CAST({entry} AS text)"
        if is_bytes:
            return f"sha256({text} || convert_to({after}, 'UTF8'))"
        return f"sha256(convert_to(CAST({text} AS text) || {after}, 'UTF8'))"

    def first_word(self, digest: str) -> str:
        return f"CAST(CAST('x' || encode(substring({digest} FROM 1 FOR 4), 'hex') AS bit(32)) AS bigint)"

    def floor_quotient(self, top: str, bottom: str) -> str:
        return f"div({top} - mod(mod({top}, {bottom}) + {bottom}, {bottom}), {bottom})"

    def _bind(self, value: Any, kind: str) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = value
        return f"CAST(%({name})s AS {kind})"


def _spell(kind: Any) -> str:
    """A type that compares with a column, in PostgreSQL's words."""
    import pyarrow as pa

    types = pa.types
    if types.is_decimal(kind):
        return "numeric"
    if types.is_string(kind):
        return "text"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    spelled = {
        pa.bool_(): "boolean",
        pa.float32(): "real",
        pa.float64(): "float8",
        pa.binary(): "bytea",
        pa.date32(): "date",
        pa.time64("us"): "time",
    }
    return spelled.get(kind, "bigint")


def has_nul(key: Any) -> bool:
    """No text in PostgreSQL has a NUL in it, so none is equal to one that has."""
    return isinstance(key, str) and "\x00" in key


def arrow_kind(spelled: str) -> Any:
    """The Arrow type of a column, by how PostgreSQL spells its own; None if it is neither number, text nor time."""
    import pyarrow as pa

    name, numbers = re.sub(r"\(.*?\)", "", spelled), [int(n) for n in re.findall(r"-?\d+", spelled)]
    if name == "numeric" and len(numbers) == 2:
        precision, scale = numbers
        return pa.decimal128(max(precision, scale), scale) if 0 <= scale <= 38 and precision <= 38 else None
    if name in TEXT:
        return pa.string()
    kinds = {
        "smallint": pa.int16(),
        "integer": pa.int32(),
        "bigint": pa.int64(),
        "real": pa.float32(),
        "double precision": pa.float64(),
        "boolean": pa.bool_(),
        "bytea": pa.binary(),
        "date": pa.date32(),
        "time without time zone": pa.time64("us"),
        "timestamp without time zone": pa.timestamp("us"),
        "timestamp with time zone": pa.timestamp("us", "UTC"),
    }
    return kinds.get(name)
