"""Group keys as codes: each row's place in a public list of groups, or one past its end for any other row."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import _kernels

Codes = NDArray[np.int32]


class Groups:
    """A public list of groups, in order, without repeats."""

    def __init__(self, groups: Any) -> None:
        if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__"):
            raise TypeError(f"groups={groups!r} is not a list; give the groups to release, such as groups=['a', 'b']")
        listed = groups.tolist() if hasattr(groups, "tolist") else list(groups)
        self.names = [name.as_py() if hasattr(name, "as_py") else name for name in listed]
        if None in self.names:
            raise ValueError("groups has None in it; rows without a group are left out, so leave it out too")
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"groups names {twice!r} twice; name each group once")

        self._encoders: dict[Any, Callable[[Any], Codes]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def codes(self, keys: Any) -> Codes:
        """The place of every key, an Arrow array; len(self) for what is not listed."""
        if keys.type not in self._encoders:
            self._encoders[keys.type] = self._encoder(keys.type)
        return self._encoders[keys.type](keys)

    def _encoder(self, kind: Any) -> Callable[[Any], Codes]:
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            listed = pa.array(self.names, type=kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            raise ValueError(
                f"groups {_few(self.names)} are not all {kind}, as the column of groups is; give them as such"
            ) from None

        def any_keys(keys: Any) -> Codes:
            found = pc.index_in(keys, value_set=listed).fill_null(len(self))
            return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)

        if not pa.types.is_integer(kind):
            return any_keys
        places = _kernels.Places(_as_int64(listed))
        threads = len(os.sched_getaffinity(0))
        return lambda keys: any_keys(keys) if keys.null_count else places.find(_as_int64(keys), threads)


def cells(edges: Sequence[float], values: NDArray[np.float64]) -> Codes:
    """Which of the cells [edge, next edge), the last one closed, every value is in; one past the last for none."""
    points = np.asarray(edges, dtype=np.float64)
    found = np.searchsorted(points, values, side="right") - 1
    found[values == points[-1]] = len(points) - 2
    found[(found < 0) | np.isnan(values)] = len(points) - 1
    return found.astype(np.int32)


def crossed(groups: Codes | None, cell: Codes, count: int, of: int) -> Codes:
    """Codes of pairs (group, cell), for `of` groups and `count` cells."""
    if groups is None:
        return cell
    pairs = groups * np.int32(count) + cell
    return np.where((groups == of) | (cell == count), np.int32(of * count), pairs)


def _as_int64(keys: Any) -> NDArray[np.int64]:
    return np.asarray(keys.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _few(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")
