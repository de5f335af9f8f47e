"""Group keys as codes: each row's place in a public list of groups, or one past its end for any other row."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.numbers.quoting import quote, say_kind, say_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.arrow_arrays import as_int64, bits_of, is_arrow, plain_keys, stored_numbers, without_validity
from soundsum.tables.cells import is_endless, read_number, read_truth, read_whole
from soundsum.tables.identities import identify
from soundsum.tables.timestamps import is_exact

Codes = NDArray[np.int32]

MOST = 1 << 21
"""Numbers in one release: groups, times cells, of all its statistics. A short request could name billions."""


RANGE = re.compile(r"\d{4}-[-\dWT]+\.\.\d{4}-[-\dWT]+")
"""From one period to another, as a command spells it; hardly the name of a group."""


def require_few(count: int, asking: str | None = None, option: str = "groups") -> None:
    """Refuse more numbers in a release than anybody reads, before anything is charged.

    `asking` says what asks for them, if it is more than the option.
    """
    if count > MOST and asking is None:
        raise RefusedValue(
            option,
            Reason.TOO_MANY,
            "`{option}` asks for {count} numbers, and a release has at most {most}",
            "ask for fewer",
            count=f"{count:,}",
            most=f"{MOST:,}",
        )
    if count > MOST:
        raise RefusedValue(
            option,
            Reason.TOO_MANY,
            "{asking} asks for {count} numbers, and a release has at most {most}",
            "ask for fewer",
            asking=asking or "",
            count=f"{count:,}",
            most=f"{MOST:,}",
        )


class FoundNames(list[Any]):
    """Groups that were found, and may be called anything."""


class Groups:
    """A public list of groups, in order, without repeats."""

    def __init__(self, groups: Any, option: str = "groups", said: str | None = None) -> None:
        """For errors: the option that the list was given as, and what a lookup calls it, if not by the option."""
        if isinstance(groups, str) and groups == "found" and option == "groups":
            raise RefusedType(
                option,
                Reason.WRONG_TYPE,
                "`{option}={given}` is not a list",
                "give the groups to release, such as `{option}=['a', 'b']`, or to find them "
                "`{option}=ss.Found(delta='1e-9')`",
                given=quote(groups),
            )
        if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__") or getattr(groups, "ndim", 1) == 0:
            raise RefusedType(
                option,
                Reason.WRONG_TYPE,
                "`{option}={given}` is not a list",
                "give the {option} to release, such as `{option}=['a', 'b']`",
                given=quote(groups),
            )
        self.names = plain_list(groups)
        if not self.names:
            raise RefusedValue(option, Reason.EMPTY, "`{option}` is empty", "list at least one")
        if not isinstance(groups, FoundNames):  # which are no more than the table has
            require_few(len(self.names), option=option)
        self._kinds = set(map(type, self.names))
        different = 0
        with suppress(TypeError):  # identities of integers and texts differ where they do
            different = len(set(self.names) if self._kinds <= {int, str} else self._places)
        if not different:
            raise RefusedType(
                option,
                Reason.WRONG_TYPE,
                "`{option}` has {kind} in it, which is not a value of a column",
                "leave it out",
                kind=say_type(next(name for name in self.names if _has_no_hash(name))),
            )
        for name in self.names if self._kinds != {int} else ():
            if not isinstance(groups, FoundNames) and type(name) is str and ".." in name and RANGE.fullmatch(name):
                raise RefusedValue(
                    option,
                    Reason.UNSUPPORTED,
                    "`{option}` names {given}, and ranges are for periods",
                    "group by the month (or year, week, day, hour) of the column, or name each of them",
                    given=quote(name),
                )
            if type(name) not in (int, str) and is_missing(name):
                raise RefusedValue(
                    option,
                    Reason.UNSUPPORTED,
                    "`{option}` has {given} in it",
                    "rows without a value are left out, so leave it out too",
                    given="None" if name is None else "NaN",
                )
        if different != len(self.names):
            twice = next(name for place, name in enumerate(self.names) if self._places[_as_key(name)] != place)
            raise RefusedValue(
                option,
                Reason.REPEATED,
                "`{option}` names {given} twice",
                "name each once",
                given=quote(twice) if isinstance(groups, list | tuple) else f"the same value, in {quote(groups)},",
            )
        self._option, self._said = option, said or option
        self._spelled = self.names
        self._encoders: dict[Any, Callable[[Any], Codes]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encoders": {}}  # functions, which the next process makes for itself

    def read_from_text(self) -> Any:
        """The type in which a column of text is read to look for these groups: their own, or as they are spelled."""
        import pyarrow as pa

        kinds: dict[Any, Any] = {read_truth: pa.bool_(), read_whole: pa.int64(), read_number: pa.float64()}
        if self._read is str:
            self._spelled = [str(name) for name in self.names]
        return kinds.get(self._read, pa.string())

    def codes(self, keys: Any) -> Codes:
        """The place of every key, len(self) for what is not listed; an Arrow array, or a list of Python objects."""
        if isinstance(keys, list):
            return np.array([self._place(key) for key in keys], np.int32)
        if keys.type not in self._encoders:
            self._encoders[keys.type] = self._encoder(keys.type)
        return self._encoders[keys.type](keys)

    def typed(self, kind: Any) -> list[Any]:
        """The groups as values of a column's type; None for values that are not keys of that type."""
        return list(self._listed(kind).to_pylist())

    def _listed(self, kind: Any) -> Any:
        """The groups as an Arrow array; raises where one is not a value of the type."""
        import pyarrow as pa

        listed = plain_keys(pa.array(self._spelled, type=kind))
        if pa.types.is_integer(kind) and set(map(type, self._spelled)) == {int}:
            return listed
        if (pa.types.is_integer(kind) or pa.types.is_decimal(kind)) and listed.to_pylist() != self._spelled:
            raise ValueError  # 5.5 would be 5
        return listed

    def _place(self, key: Any) -> int:
        """Finds an object without a type by its identity, otherwise as a cell of CSV with the same text."""
        try:
            if is_endless(key):
                return len(self)
            place = self._places.get(_as_key(key))
            if place is None and isinstance(key, date) and not isinstance(key, datetime):
                place = self._places.get(identify(datetime(key.year, key.month, key.day)))  # as pandas spells a day
            if place is None and isinstance(key, str | int | float | date | Decimal | np.integer | np.floating):
                place = self._spelled_places.get(self._read(str(key)))
            return len(self) if place is None else place
        except Exception:  # of a class of somebody's own, or not hashable, so not listed
            return len(self)

    @cached_property
    def _places(self) -> dict[Any, int]:
        """The place of each group, by its identity."""
        return {key: place for place, key in enumerate(map(_as_key, self.names))}

    @cached_property
    def _spelled_places(self) -> dict[Any, int]:
        names = self.names if self._read is not str else map(str, self.names)
        return {name: place for place, name in enumerate(names)}

    @cached_property
    def _read(self) -> Callable[[str], Any]:
        """The type that a text is parsed as to find these groups."""
        if self._kinds == {bool}:
            return read_truth
        if self._kinds == {int}:
            return read_whole
        return read_number if self._kinds <= {int, float} else str

    def _encoder(self, kind: Any) -> Callable[[Any], Codes]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_null(kind):
            return lambda keys: np.full(len(keys), len(self), np.int32)
        is_time, listed = pa.types.is_date(kind) or pa.types.is_timestamp(kind), None
        try:
            if is_time and not all(is_exact(name, kind) for name in self.names):
                raise ValueError
            values = self._listed(kind)
            pc.index_in(values[:0], value_set=values)
            listed = values
        except MemoryError:
            few = f"there is too little memory for {len(self.names):,} {self._said}; list fewer"
            raise MemoryError(few) from None
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            pass  # refused below, so that nothing of Arrow comes along
        if listed is None:
            raise RefusedValue(
                self._option,
                Reason.MISMATCH,
                "{groups} {few} cannot be looked up in a column of {kind}",
                "give them as that type",
                groups=self._said,
                few=_few(self.names),
                kind=say_kind(kind),
            )

        def any_keys(keys: Any) -> Codes:
            found = pc.index_in(without_validity(keys), value_set=listed)
            return np.where(bits_of(found) & bits_of(keys), stored_numbers(found), np.int32(len(self)))

        def integer_keys(keys: Any) -> Codes:
            bitmap = keys.buffers()[0]
            validity = None if bitmap is None else np.frombuffer(bitmap, np.uint8)
            return places.find(as_int64(keys), validity, keys.offset, threads)

        if not pa.types.is_integer(kind):
            return any_keys
        places = native.Places(as_int64(listed))
        threads = len(os.sched_getaffinity(0))
        return integer_keys


def cell_codes(edges: Sequence[float], values: NDArray[Any], present: NDArray[np.bool_]) -> Codes:
    """The cell [edge, next edge), the last one closed, that each value is in; one past the last for none."""
    points = _points(edges, values.dtype)
    # Both choices by `where`: an assignment to found[mask] takes longer once a single entry of the mask is true.
    last, none = np.int32(len(points) - 2), np.int32(len(points) - 1)
    found = (np.searchsorted(points, values, side="right") - 1).astype(np.int32)
    found = np.where(values == points[-1], last, found)
    return np.where((found < 0) | ~present, none, found)


def _points(edges: Sequence[float], kind: np.dtype[Any]) -> NDArray[Any]:
    """Edges to compare values of this type with, exactly: 64-bit integers and doubles do not compare so."""
    if kind.kind in "iu" and all(isinstance(edge, int) for edge in edges):
        limits = np.iinfo(kind)
        fit = all(limits.min <= edge <= limits.max for edge in edges)
        return np.asarray(edges, dtype=kind if fit else object)
    return np.asarray(edges, dtype=np.float64)


def cross_codes(groups: Codes | None, cell: Codes, count: int, of: int) -> Codes:
    """Codes of pairs (group, cell), for `of` groups and `count` cells."""
    if groups is None:
        return cell
    pairs = groups * np.int32(count) + cell
    return np.where((groups == of) | (cell == count), np.int32(of * count), pairs)


def is_missing(x: Any) -> bool:
    """Returns whether an object stands for a missing value."""
    try:
        return x is None or x is np.ma.masked or bool(x != x)
    except ValueError:  # an array
        return False
    except Exception:  # pandas.NA, a signalling NaN, a class of somebody's own
        return True


def require_ids(ids: Any) -> None:
    """Refuses a column of persons' ids by its type, shown by an empty one."""
    if isinstance(ids, list) or _can_be_ids(ids.type):
        return
    raise RefusedType(
        "privacy_unit",
        Reason.WRONG_TYPE,
        "`privacy_unit` is a column of {kind}",
        "ids are numbers or text, so cast it",
        kind=say_kind(ids.type),
    )


@lru_cache
def _can_be_ids(kind: Any) -> bool:
    """Whether Arrow groups keys of this type."""
    import pyarrow as pa

    ids = pa.nulls(0, kind)
    try:
        pa.table({"id": ids}).group_by("id").aggregate([])
        ids.dictionary_encode()
    except MemoryError:
        raise
    except pa.ArrowException:
        return False
    return True


def plain_list(groups: Any) -> list[Any]:
    """A list of Python objects, whatever it was given as."""
    import pyarrow as pa

    if hasattr(groups, "columns"):
        raise RefusedType(
            "groups",
            Reason.WRONG_TYPE,
            "`groups={given}` is a table, not a list",
            "give the groups to release, as a list",
            given=quote(groups),
        )
    if is_arrow(groups) or (getattr(groups, "dtype", None) is not None and groups.dtype.kind == "M"):
        array = pa.chunked_array(groups) if hasattr(groups, "__arrow_c_stream__") else pa.array(groups)
        return list(array.to_pylist())
    return list(groups.tolist() if hasattr(groups, "tolist") else groups)


def _as_key(name: Any) -> Any:
    """The lookup key of a group: the identity of a Python object, or else the object itself."""
    identity = identify(name)
    return _Other(name) if identity is None else identity


class _Other(NamedTuple):
    """An object of another class than ids have, such as an interval of pandas, as it compares itself."""

    name: Any


def _has_no_hash(name: Any) -> bool:
    """Returns whether it cannot be hashed, such as a tuple with a list in it."""
    try:
        hash(name)
    except TypeError:
        return True
    return False


def _few(names: list[Any]) -> str:
    return ", ".join(quote(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")
