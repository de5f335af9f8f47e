"""Groups of several columns together: each is a tuple of values, one of every column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from soundsum.data.keys import MOST, Codes, Groups


class CrossedGroups:
    """A public list of tuples; or one public list for every column, all of whose combinations are groups.

    >>> CrossedGroups([["a", "b"], [2020, 2021]], ["ward", "year"]).names
    [('a', 2020), ('a', 2021), ('b', 2020), ('b', 2021)]
    """

    def __init__(self, groups: Any, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self.names = _tuples(groups, len(self.columns))
        self.parts = [Groups(list(dict.fromkeys(name[i] for name in self.names))) for i in range(len(self.columns))]
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"groups names {twice!r} twice; name each group once")
        places = [{value: place for place, value in enumerate(part.names)} for part in self.parts]
        listed = np.array([self._join([own[x] for own, x in zip(places, name, strict=True)]) for name in self.names])
        self._order = np.argsort(listed)
        self._listed = listed[self._order]

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, keys: Sequence[Any]) -> Codes:
        """The place of every row's tuple, len(self) for what is not listed, by the keys of every column."""
        joined = self._join([part.codes(own).astype(np.int64) for part, own in zip(self.parts, keys, strict=True)])
        at = np.minimum(np.searchsorted(self._listed, joined), len(self) - 1)
        found = np.where(self._listed[at] == joined, self._order[at], len(self))
        return found.astype(np.int32)

    def _join(self, codes: Sequence[Any]) -> Any:
        """One number for the codes of all columns, of which each may be one past its last."""
        joined: Any = 0
        for part, code in zip(self.parts, codes, strict=True):
            joined = joined * (len(part) + 1) + code
        return joined


def _tuples(groups: Any, columns: int) -> list[tuple[Any, ...]]:
    given = list(groups) if hasattr(groups, "__iter__") and not isinstance(groups, str | bytes) else []
    if given and all(isinstance(one, tuple) and len(one) == columns for one in given):
        return given
    lists = [list(one) for one in given if hasattr(one, "__iter__") and not isinstance(one, str | bytes | tuple)]
    if len(lists) != len(given) or len(given) != columns:
        raise ValueError(
            f"groups of {columns} columns are a list of tuples, such as [('a', 2020), ...], or {columns} lists to "
            "combine, one for each column"
        )
    count = prod(map(len, lists))
    if not 0 < count <= MOST:
        raise ValueError(f"the lists in groups= make {count:,} groups together; give fewer, and at least one of each")
    return list(product(*lists))
