"""Tables in memory, as streams, or in files, read once, a batch at a time.

A table is anything with the Arrow stream interface (pyarrow, Polars, DuckDB), a pandas frame or a dict of columns, or a
path to Parquet, CSV or Arrow IPC files (globs too). A single column is a table of one, whose name is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

from soundsum.arithmetic.numbers import NumberType, number_type
from soundsum.data import files
from soundsum.data.boundary import read_within
from soundsum.data.columns import Numbers, arrow_type, as_keys, as_numbers, empty_like, in_storage, presence
from soundsum.data.csv_files import CsvFiles
from soundsum.data.filters import Condition, read_from_text
from soundsum.data.keys import Groups, is_arrow, plain_keys, require_ids
from soundsum.data.paths import is_path
from soundsum.data.records import Column, Records, records
from soundsum.data.runs import Runs


@dataclass(frozen=True)
class Watched:
    """A table whose reading is watched: `advance` is called with the rows of every batch."""

    data: Any
    advance: Callable[[int], None]


class Batch(Protocol):
    """Some rows of a table."""

    @property
    def rows(self) -> int: ...
    def numbers(self, column: str | None) -> Records: ...
    def keys(self, column: str | None) -> Any:
        """An Arrow array, or a list of Python objects where the column has no type."""

    def presence(self, column: str | None) -> Column:
        """1 for every row, missing where the column is."""


class Schema(Protocol):
    """What is public about a table: its columns, their types, and the number of rows where a relation says so."""

    @property
    def names(self) -> list[Any]: ...
    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        """The column's public type, and what 1 is worth in its records."""

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        """Says that the column will be looked up among these groups; refuses a type in which it cannot be."""

    def expect_ids(self, column: str | None) -> None:
        """Says that the column holds persons' ids; refuses a type that cannot be one."""

    def expect_value(self, condition: Condition) -> None:
        """Says that the column will be compared with a value; refuses one that is not of its type."""

    def rows(self) -> int:
        """How many there are, without reading them."""


class Table(Schema, Protocol):
    """Columns that can be read, in batches."""

    def batches(self, *columns: str | None) -> Iterator[Batch]: ...


class Columns:
    """Columns in memory, each with its own type or none; the batch is the table."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {name: _require_column(column) for name, column in columns.items()}
        self._numbers: dict[Any, Numbers] = {}

    @property
    def names(self) -> list[Any]:
        return list(self._columns)

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        try:
            numbers = as_numbers(empty_like(self._columns[column]), dtype)
        except TypeError as error:
            raise TypeError(f"{_say(column)}: {error}") if column is not None else error from None
        return numbers.records.type, numbers.worth

    def numbers(self, column: str | None) -> Numbers:
        """The column as numbers, read once."""
        if column not in self._numbers:
            self._numbers[column] = as_numbers(self._read(column))
        return self._numbers[column]

    def keys(self, column: str | None) -> Any:
        return as_keys(self._read(column))

    def presence(self, column: str | None) -> Column:
        return presence(self._read(column))

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        groups.codes(as_keys(empty_like(self._columns[column])))

    def expect_ids(self, column: str | None) -> None:
        require_ids(as_keys(empty_like(self._columns[column])))

    def expect_value(self, condition: Condition) -> None:
        condition.require_type(as_keys(empty_like(self._columns[condition.column])))

    def _read(self, column: str | None) -> Any:
        """The column; what can be looked at only once is written down now."""
        if not _can_be_read_twice(self._columns[column]):
            self._columns[column] = list(self._columns[column])
        return self._columns[column]

    def rows(self) -> int:
        sizes = read_within(lambda: {name: _size(self._read(name)) for name in self._columns})
        most = max(sizes.values(), default=0)
        for name, size in sizes.items():
            if size != most:
                raise ValueError(f"{_say(name)} has {size:,} entries and others {most:,}; give one for each row")
        return most

    def batches(self, *columns: str | None) -> Iterator[Batch]:
        yield _Whole(self.rows(), self)


@dataclass(frozen=True)
class _Whole:
    """All rows of columns in memory."""

    rows: int
    _table: Columns

    def numbers(self, column: str | None) -> Records:
        return self._table.numbers(column).records

    def keys(self, column: str | None) -> Any:
        return self._table.keys(column)

    def presence(self, column: str | None) -> Column:
        return self._table.presence(column)


class Scanned:
    """A stream of Arrow batches, or files; opened once, as a stream may not be there twice."""

    def __init__(self, data: Any, advance: Callable[[int], None] | None = None) -> None:
        self._data, self._advance, self._is_file = data, advance, is_path(data)
        self._as: dict[str, Any] = {}

    @cached_property
    def _opened(self) -> Any:
        import pyarrow as pa

        if self._is_file:
            return files.dataset(self._data)
        if _is_dataset(self._data):
            return files.require_whole(self._data)
        if isinstance(self._data, pa.Table) or _is_lazy(self._data):
            return self._data
        return read_within(lambda: pa.RecordBatchReader.from_stream(self._data))  # which may run a query

    @cached_property
    def _schema(self) -> Any:
        """Names and types, without running a query where there is one to run."""
        import pyarrow as pa

        if _is_lazy(self._data):
            return read_within(lambda: _lazy_schema(self._data))  # which may look into files
        if not self._is_file and hasattr(self._data, "limit") and hasattr(self._data, "fetch_arrow_table"):  # DuckDB
            return read_within(lambda: pa.RecordBatchReader.from_stream(self._data.limit(0)).schema)
        return self._opened.schema

    @property
    def names(self) -> list[Any]:
        return list(self._schema.names)

    @cached_property
    def has_no_types(self) -> bool:
        """Whether columns have no types of their own: CSV."""
        return self._is_file and isinstance(self._opened, CsvFiles)

    @cached_property
    def key_names(self) -> list[str]:
        """Columns that are in the names of folders, and text unless they are given another type."""
        return files.key_names(self._opened) if self._is_file else []

    def type_keys(self, types: Mapping[str, str]) -> None:
        """Gives keys of folders the types that an owner says they have."""
        for name in self.key_names:
            if name in types:
                self.read_as(name, files.number_type_of(number_type(types[name])))

    def read_as(self, column: str, kind: Any) -> None:
        """Gives a column without a type one, for all that is asked of it."""
        if self._as.setdefault(column, kind) != kind:
            raise ValueError(f"{_say(column)} is asked for as {self._as[column]} and as {kind}; ask in two calls")

    def arrow_type(self, column: str) -> Any:
        return self._as.get(column) or self._schema.field(column).type

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        assert column is not None
        wanted = None if dtype is None else number_type(dtype)
        if self.has_no_types or (wanted is not None and column in self.key_names):
            self.read_as(column, files.number_type_of(wanted))
        elif column in self.key_names and column not in self._as:
            raise TypeError(f"{_say(column)} is in the names of folders, which are text; give dtype= to read numbers")
        self._require_one_type(column)
        kind, worth = arrow_type(self.arrow_type(column), _say(column))
        if wanted is not None and wanted != kind:
            raise TypeError(f"dtype={wanted} but {_say(column)} is {kind}; cast it, or leave dtype out")
        return kind, worth

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        assert column is not None
        if self.has_no_types:
            self.read_as(column, groups.read_from_text())
        self._require_one_type(column)
        groups.codes(self._no_keys(column))

    def expect_ids(self, column: str | None) -> None:
        import pyarrow as pa

        assert column is not None
        if self.has_no_types:
            self.read_as(column, pa.string())  # as numbers, "7" and "07" would be one person
        self._require_one_type(column)
        require_ids(self._no_keys(column))

    def expect_value(self, condition: Condition) -> None:
        if self.has_no_types and condition.column not in self._as:
            self.read_as(condition.column, read_from_text(condition.value))
        self._require_one_type(condition.column)
        condition.require_type(self._no_keys(condition.column))

    def _require_one_type(self, column: str) -> None:
        if self._is_file or _is_dataset(self._data):
            files.require_one_type(self._opened, {column: self.arrow_type(column)})

    def _no_keys(self, column: str) -> Any:
        """What the column's keys look like, without any."""
        import pyarrow as pa

        return plain_keys(pa.array([], self.arrow_type(column)))

    def rows(self) -> int:
        import pyarrow as pa

        if isinstance(self._opened, pa.RecordBatchReader):
            raise ValueError("size= is missing: the number of rows in a stream shows only at its end")
        if self.has_no_types:  # some lines may be no rows
            return read_within(lambda: sum(batch.rows for batch in Scanned(self._data).batches()))
        opened = self._opened
        if _is_lazy(opened):
            return read_within(lambda: sum(batch.rows for batch in self.batches()))
        return int(opened.num_rows if isinstance(opened, pa.Table) else read_within(opened.count_rows))

    def batches(self, *columns: str | None) -> Iterator[Batch]:
        for batch in self._record_batches([name for name in dict.fromkeys(columns) if name is not None]):
            yield _Scan(batch, int(batch.num_rows))
            if self._advance is not None:
                self._advance(batch.num_rows)

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        opened, wanted = self._opened, wanted or self.names[:1]
        if self._is_file or _is_dataset(opened):
            guessed = self.has_no_types  # such types are for those who asked for them
            kinds = {name: None if guessed and name not in self._as else self.arrow_type(name) for name in wanted}
            yield from files.batches(opened, kinds)
        elif _is_lazy(opened):
            for frame in opened.select(wanted).collect_batches():
                yield from frame.to_arrow().to_batches()
        elif isinstance(opened, pa.Table):
            yield from opened.select(wanted).to_batches()
        else:
            yield from (batch.select(wanted) for batch in opened)


@dataclass(frozen=True)
class _Scan:
    _batch: Any
    rows: int

    def numbers(self, column: str | None) -> Records:
        return records(in_storage(self._batch.column(column)))

    def keys(self, column: str | None) -> Any:
        return plain_keys(self._batch.column(column))

    def presence(self, column: str | None) -> Column:
        return presence(self._batch.column(column))


def open_table(data: Any, beside: Mapping[str, Any] | None = None) -> Columns | Scanned:
    """Data as a table; `beside` are columns that belong to a single one."""
    data, advance = (data.data, data.advance) if isinstance(data, Watched) else (data, None)
    if is_column(data):
        return Columns({None: data, **(beside or {})})
    if isinstance(data, Mapping):
        return Columns(data)
    # Of a frame, the other columns and the index need not be of types Arrow knows.
    if hasattr(data, "loc"):
        _require_unique(list(data.columns))
        return Columns({name: data[name] for name in data.columns})
    if hasattr(data, "get_column"):
        return Columns({name: data.get_column(name) for name in data.columns})
    return Scanned(data, advance)


def require(where: Schema, *columns: str | None) -> None:
    """Refuses names that are not columns, and a table without a name."""
    names = where.names
    for name in columns:
        if name is None and None not in names:
            hidden = getattr(where, "has_no_types", False)
            raise ValueError(
                f"column= is missing; it names what to read{'' if hidden else ': ' + ', '.join(map(str, names))}"
            )
        if name not in names:
            there = "the data is a single column" if None in names else f"it has {', '.join(map(str, names))}"
            if getattr(where, "has_no_types", False):  # the first line of a file may be a record
                there = "its names are the cells of the first line"
            raise ValueError(f"{_say(name)} is not in the table; {there}")
        _require_unique([other for other in names if other == name])


def _require_unique(names: list[Any]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{_say(name)} is in the table {names.count(name)} times; rename one")


def is_column(data: Any) -> bool:
    """Whether the data is one column itself."""
    data = data.data if isinstance(data, Watched) else data
    if is_path(data) or _is_dataset(data) or _is_lazy(data) or isinstance(data, Mapping):
        return False
    if hasattr(data, "loc") and hasattr(data, "columns"):
        return False
    if isinstance(data, Runs | Column):
        return True
    if hasattr(data, "collect") and not is_arrow(data):
        raise TypeError(f"{type(data).__name__} is not computed yet; pass {type(data).__name__.lower()}.collect()")
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        if not isinstance(data, Iterable) or isinstance(data, bytes):
            raise TypeError(f"{type(data).__name__} is neither a table nor a column; pass a data frame, array or path")
        return True
    import pyarrow as pa

    if isinstance(data, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return isinstance(data, pa.Array | pa.ChunkedArray)
    return not (hasattr(data, "columns") or hasattr(data, "fetch_arrow_table"))  # a series has a name, not columns


def _is_dataset(data: Any) -> bool:
    """Whether the data is an Arrow dataset, which is imported only where there is one."""
    return any((one.__module__, one.__name__) == ("pyarrow._dataset", "Dataset") for one in type(data).__mro__)


def _is_lazy(data: Any) -> bool:
    """Whether the data is a query of Polars that has not been run."""
    return hasattr(data, "collect_batches") and hasattr(data, "collect_schema")


def _lazy_schema(lazy: Any) -> Any:
    """What its rows will look like, in Arrow; the query is not run. A type Arrow has no word for is a list here."""
    import polars as pl
    import pyarrow as pa

    fields = []
    for name, kind in lazy.collect_schema().items():
        try:
            fields.append(pl.DataFrame(schema={name: kind}).to_arrow().schema.field(0))
        except (pa.ArrowException, NotImplementedError):
            fields.append(pa.field(name, pa.list_(pa.null())))
    return pa.schema(fields)


def _can_be_read_twice(column: Any) -> bool:
    return isinstance(column, Runs | Column) or is_arrow(column) or hasattr(column, "__len__")


def _require_column(column: Any) -> Any:
    if isinstance(column, str | bytes) or not (_can_be_read_twice(column) or isinstance(column, Iterable)):
        raise TypeError(f"{type(column).__name__} is not a column; pass an array or a list")
    if getattr(getattr(column, "dtype", None), "kind", "") == "V":
        raise TypeError(f"a structured array of {column.dtype.names} is not a column; pass a dict of its fields")
    return column


def _size(column: Any) -> int:
    if isinstance(column, Runs | Column):
        return column.size
    return len(column) if hasattr(column, "__len__") else len(as_keys(column))


def _say(column: Any) -> str:
    return "the data" if column is None else f"column {column!r}"
