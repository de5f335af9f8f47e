"""Groups of several columns together: each is a tuple of values, one of every column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.data.keys import MOST, Codes, Groups, plain_list


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
        listed = [np.array([own[name[i]] for name in self.names], np.int64) for i, own in enumerate(places)]
        self._levels: list[NDArray[np.int64]] = []
        joined = np.zeros(len(self), np.int64)
        for part, codes in zip(self.parts, listed, strict=True):
            self._levels.append(np.unique(joined * (len(part) + 1) + codes))
            joined = self._step(len(self._levels) - 1, joined, codes)
        self._order = np.argsort(joined)

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, keys: Sequence[Any]) -> Codes:
        """The place of every row's tuple, len(self) for what is not listed, by the keys of every column."""
        joined: Any = np.int64(0)
        for level, (part, own) in enumerate(zip(self.parts, keys, strict=True)):
            joined = self._step(level, joined, part.codes(own).astype(np.int64))
        return np.asarray(np.append(self._order, len(self))[joined], np.int32)

    def _step(self, level: int, joined: Any, codes: Any) -> Any:
        """The place of each beginning of a tuple, one column longer, among those listed; one past them for others.

        Numbered anew for every column, they stay far within 64 bits.
        """
        listed, parts = self._levels[level], len(self.parts[level]) + 1
        found = joined * parts + codes
        at = np.minimum(np.searchsorted(listed, found), len(listed) - 1)
        return np.where(listed[at] == found, at, len(listed))


def _tuples(groups: Any, columns: int) -> list[tuple[Any, ...]]:
    given = list(groups) if hasattr(groups, "__iter__") and not isinstance(groups, str | bytes) else []
    if given and all(isinstance(one, tuple) and len(one) == columns for one in given):
        return [tuple(x.item() if isinstance(x, np.generic) else x for x in one) for one in given]
    lists = [plain_list(one) for one in given if hasattr(one, "__iter__") and not isinstance(one, str | bytes | tuple)]
    if len(lists) != len(given) or len(given) != columns:
        raise ValueError(
            f"groups of {columns} columns are a list of tuples, such as [('a', 2020), ...], or {columns} lists to "
            "combine, one for each column"
        )
    count = prod(map(len, lists))
    if not 0 < count <= MOST:
        raise ValueError(f"the lists in groups= make {count:,} groups together; give fewer, and at least one of each")
    return list(product(*lists))
