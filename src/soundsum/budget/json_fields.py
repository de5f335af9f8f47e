"""Plain data from JSON, read field by field: each must be there, of its type and as soundsum writes it.

Readers raise whatever Python raises; whoever calls them refuses the data as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

Read: TypeAlias = Callable[[Any], Any]
"""Reads one field."""


def read_fields(given: Any, readers: Mapping[str, Read]) -> dict[str, Any]:
    """Read every field. None may be missing, and there may be no others.

    >>> read_fields({"size": 3, "share": "1/3"}, {"size": or_none(read_whole), "share": read_exact})
    {'size': 3, 'share': Fraction(1, 3)}
    """
    if not isinstance(given, dict) or set(given) != set(readers):
        raise ValueError
    return {name: read(given[name]) for name, read in readers.items()}


def of_type(kind: type) -> Read:
    """A reader of values of exactly this type."""

    def read(given: Any) -> Any:
        if type(given) is not kind:
            raise TypeError
        return given

    return read


def or_none(read: Read) -> Read:
    return lambda given: None if given is None else read(given)


def list_of(read: Read) -> Read:
    return lambda given: tuple(read(one) for one in of_type(list)(given))


def read_whole(given: Any) -> int:
    """A whole number above 0."""
    if type(given) is not int or given < 1:
        raise ValueError
    return given


def read_exact(given: Any) -> Fraction:
    """An exact number, written in its shortest form."""
    found = Fraction(of_type(str)(given))
    if str(found) != given:
        raise ValueError
    return found
