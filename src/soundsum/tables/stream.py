"""Streams of Arrow batches, lazy queries and files as tables: opened once, and read a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from soundsum.numbers.quoting import quote, say_column, say_kind
from soundsum.numbers.types import NumberType, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables import files
from soundsum.tables.arrow_arrays import plain_keys
from soundsum.tables.columns import arrow_type, in_storage, presence, refuse_two_kinds
from soundsum.tables.csv_files import CsvFiles
from soundsum.tables.filter_values import read_from_text
from soundsum.tables.filters import Condition
from soundsum.tables.keys import Groups, require_ids
from soundsum.tables.paths import is_path, name_source
from soundsum.tables.period_groups import Periods
from soundsum.tables.read_guard import read_within
from soundsum.tables.records import Column, Records, records
from soundsum.tables.schemas import Batch


class StreamTable:
    """A stream of Arrow batches, or files; opened once, as a stream may not be there twice."""

    def __init__(self, data: Any, advance: Callable[[int], None] | None = None) -> None:
        self._data, self._advance, self._is_file = data, advance, is_path(data)
        self._as: dict[str, Any] = {}
        self._words: dict[str, str] = {}  # for these

    @cached_property
    def _opened(self) -> Any:
        import pyarrow as pa

        if self._is_file:
            return files.dataset(self._data)
        if is_dataset(self._data):
            return files.require_whole(self._data)
        if isinstance(self._data, pa.Table) or is_lazy(self._data):
            return self._data
        return read_within(lambda: pa.RecordBatchReader.from_stream(self._data))  # which may run a query

    @cached_property
    def _schema(self) -> Any:
        """Names and types, without running a query where there is one to run."""
        import pyarrow as pa

        if is_lazy(self._data):
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

    def say_names(self, wanted: Any) -> str:
        """Describe the header of CSV files without quoting it, since it may be a record.

        Only to somebody who knows one of them is it said what separates them.
        """
        if isinstance(wanted, str) and (padded := self._opened.padded_name(wanted)):
            return f"one of its names is {padded!r}, with blanks around it; give it so, or take them out of the file"
        if isinstance(wanted, str) and (separator := self._opened.separator_of(wanted)):
            return f"the names in its first line are separated by {separator}; save the file with commas"
        if self._opened.has_odd_names:
            return f"the names in the first line of {name_source(self._data)} are not UTF-8; save it as UTF-8"
        return "its names are the cells of the first line, which commas separate"

    @cached_property
    def key_names(self) -> list[str]:
        """Columns that are in the names of folders, and text unless they are given another type."""
        return files.key_names(self._opened) if self._is_file else []

    def type_keys(self, types: Mapping[str, str]) -> None:
        """Gives keys of folders the types that an owner says they have."""
        for name in self.key_names:
            if name in types:
                self.read_as(name, files.number_type_of(number_type(types[name])))

    def read_as(self, column: str, kind: Any, words: str | None = None) -> None:
        """Gives an untyped column its one type for the whole query; `words` describe it in refusals."""
        own = self._words.setdefault(column, words or say_kind(kind))
        if self._as.setdefault(column, kind) != kind:
            refuse_two_kinds(column, own, words or say_kind(kind))

    def arrow_type(self, column: str) -> Any:
        return self._as.get(column) or self._schema.field(column).type

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        assert column is not None
        wanted = None if dtype is None else number_type(dtype)
        if self.has_no_types or (wanted is not None and column in self.key_names):
            self.read_as(column, files.number_type_of(wanted))
        elif column in self.key_names and column not in self._as:
            raise RefusedType(
                "dtype",
                Reason.MISSING,
                "{column} is in the names of folders, which are text",
                "give `dtype` to read numbers",
                column=say_column(column),
            )
        self._require_one_type(column)
        kind, unit_value = arrow_type(self.arrow_type(column), column)
        if wanted is not None and wanted != kind:
            raise RefusedType(
                "dtype",
                Reason.CONFLICT,
                "`dtype={given}` but {column} is {kind}",
                "cast it, or leave `dtype` out",
                given=wanted.name,
                column=say_column(column),
                kind=kind.name,
            )
        return kind, unit_value

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        assert column is not None
        if self.has_no_types:
            self.read_as(column, groups.read_from_text(), "dates" if isinstance(groups, Periods) else None)
        self._settle_key(column)
        self._require_one_type(column)
        groups.codes(self._no_keys(column))

    def expect_ids(self, column: str | None) -> None:
        import pyarrow as pa

        assert column is not None
        if self.has_no_types:
            self.read_as(column, pa.string(), "ids of persons")  # as numbers, "7" and "07" would be one person
        self._settle_key(column)
        self._require_one_type(column)
        require_ids(self._no_keys(column))

    def expect_value(self, condition: Condition) -> None:
        if self.has_no_types and any((one.sign, one.value) == ("==", "") for one in condition.each):
            raise RefusedValue(
                "where",
                Reason.UNSUPPORTED,
                "where: an empty cell in CSV is missing, and fulfils no condition",
                "count all rows, and those with ({column}, '!=', '')",
                column=quote(condition.column),
            )
        if self.has_no_types:
            condition.require_untyped()
        if self.has_no_types and condition.column not in self._as:
            self.read_as(condition.column, read_from_text(condition.each[0].value))
        self._settle_key(condition.column)
        self._require_one_type(condition.column)
        condition.require_type(self._no_keys(condition.column))

    def _settle_key(self, column: str) -> None:
        """A key of folders that is asked for by its text is text for all of the query."""
        if column in self.key_names:
            self.read_as(column, self.arrow_type(column))

    def _require_one_type(self, column: str) -> None:
        if self._is_file or is_dataset(self._data):
            files.require_one_type(self._opened, {column: self.arrow_type(column)})

    def key_type(self, column: str | None) -> Any:
        assert column is not None
        return self._no_keys(column).type

    def _no_keys(self, column: str) -> Any:
        return _no_keys(self.arrow_type(column))

    def rows(self) -> int:
        import pyarrow as pa

        if isinstance(self._opened, pa.RecordBatchReader):
            raise RefusedValue(
                "size",
                Reason.MISSING,
                "`size` is missing: the number of rows in a stream shows only at its end",
                "give it, or a table",
            )
        if self.has_no_types:  # some lines may be no rows
            return read_within(lambda: sum(batch.rows for batch in StreamTable(self._data).batches()))
        opened = self._opened
        if is_lazy(opened):
            return read_within(lambda: sum(batch.rows for batch in self.batches()))
        return int(opened.num_rows if isinstance(opened, pa.Table) else read_within(opened.count_rows))

    def batches(self, *columns: str | None) -> Iterator[Batch]:
        for batch in self._record_batches([name for name in dict.fromkeys(columns) if name is not None]):
            if batch.num_rows:  # a slice of no rows may begin after its buffers end
                yield _Scan(batch, int(batch.num_rows))
            if self._advance is not None:
                self._advance(batch.num_rows)

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        opened, wanted = self._opened, wanted or self.names[:1]
        if self._is_file or is_dataset(opened):
            guessed = self.has_no_types  # such types are for those who asked for them
            kinds = {name: None if guessed and name not in self._as else self.arrow_type(name) for name in wanted}
            yield from files.batches(opened, kinds)
        elif is_lazy(opened):
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


@lru_cache
def _no_keys(kind: Any) -> Any:
    """An empty array of keys of this Arrow type."""
    import pyarrow as pa

    return plain_keys(pa.nulls(0, kind))


def is_dataset(data: Any) -> bool:
    """Returns whether the data is an Arrow dataset, without importing Arrow's datasets for other data."""
    return any((one.__module__, one.__name__) == ("pyarrow._dataset", "Dataset") for one in type(data).__mro__)


def is_lazy(data: Any) -> bool:
    """Returns whether the data is a query of Polars that has not been run."""
    return hasattr(data, "collect_batches") and hasattr(data, "collect_schema")


def _lazy_schema(lazy: Any) -> Any:
    """The Arrow schema of a lazy query, which is not run. A type that Arrow lacks becomes a list."""
    import polars as pl
    import pyarrow as pa

    fields = []
    for name, kind in lazy.collect_schema().items():
        try:
            fields.append(pl.DataFrame(schema={name: kind}).to_arrow().schema.field(0))
        except (pa.ArrowException, NotImplementedError):
            fields.append(pa.field(name, pa.list_(pa.null())))
    return pa.schema(fields)
