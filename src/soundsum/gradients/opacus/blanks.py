"""Examples and batches that say nothing of anybody: the dummy in an empty slot, and a batch without rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch

NUMBERS_AND_TEXTS = (bool, int, float, complex, str, bytes, np.generic)


def dummy_like(example: Any) -> Any:
    """An example of the same kind in which every number is 0: its shape is public, its values say nothing."""
    if isinstance(example, torch.Tensor):
        return torch.zeros_like(example)
    if isinstance(example, np.ndarray):
        return np.zeros_like(example)
    if isinstance(example, bool | int | float | np.number | np.bool_):
        return type(example)(0)
    if isinstance(example, Mapping):
        return _rebuilt(example, {key: dummy_like(value) for key, value in example.items()}, _no_dummy)
    if isinstance(example, tuple | list):
        return _rebuilt(example, [dummy_like(part) for part in example], _no_dummy)
    raise _no_dummy(example)


def emptied(one: Any, two: Any) -> Any:
    """A batch without rows, from a batch of one example and one that has this example twice.

    Wherever in it the two differ in length there is a row for each example, and in the empty batch there is none. What
    is as long in both belongs to the whole batch: its numbers become 0, and its texts "".

    >>> emptied({"x": torch.ones(1, 3), "n": ["a"], "most": 5}, {"x": torch.ones(2, 3), "n": ["a", "a"], "most": 5})
    {'x': tensor([], size=(0, 3)), 'n': [], 'most': 0}
    """
    if isinstance(one, torch.Tensor | np.ndarray):
        return _without_rows(one, two)
    if isinstance(one, Mapping) and list(one) == list(two):
        return _rebuilt(one, {key: emptied(value, two[key]) for key, value in one.items()}, _no_batch)
    if isinstance(one, tuple | list):
        return _rebuilt(one, list(map(emptied, one, two)) if len(one) == len(two) else [], _no_batch)
    if one is None or isinstance(one, type | torch.dtype | torch.device):
        return one
    if isinstance(one, NUMBERS_AND_TEXTS):
        return type(one)()
    raise _no_batch(one)


def _without_rows(one: Any, two: Any) -> Any:
    if one.ndim != two.ndim:
        raise _no_batch(one)
    grown = [axis for axis, (n, m) in enumerate(zip(one.shape, two.shape, strict=True)) if n != m]
    if grown:
        one = one[(slice(None),) * grown[0] + (slice(0),)]
    return torch.zeros_like(one) if isinstance(one, torch.Tensor) else np.zeros_like(one)


def _rebuilt(like: Any, parts: Collection[Any], refusal: Callable[[Any], ValueError]) -> Any:
    """A container of the same kind, with names where it has them."""
    try:
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    except TypeError:
        raise refusal(like) from None


def _no_dummy(example: Any) -> ValueError:
    return ValueError(f"no dummy is known for examples with a {type(example).__name__}; give one with dummy=")


def _no_batch(batch: Any) -> ValueError:
    return ValueError(
        f"slots=False: no batch without rows is known for a {type(batch).__name__}; let collate_fn give tensors, in "
        "tuples, lists or dicts, or use slots"
    )
