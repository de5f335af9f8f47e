"""The dummy in an empty slot: an example that says nothing of anybody."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch


def dummy_like(example: Any) -> Any:
    """An example of the same kind in which every number is 0: its shape is public, its values say nothing."""
    if isinstance(example, torch.Tensor):
        return torch.zeros_like(example)
    if isinstance(example, np.ndarray):
        return np.zeros_like(example)
    if isinstance(example, bool | int | float | np.number | np.bool_):
        return type(example)(0)
    if isinstance(example, Mapping):
        return _rebuilt(example, {key: dummy_like(value) for key, value in example.items()})
    if isinstance(example, tuple | list):
        return _rebuilt(example, [dummy_like(part) for part in example])
    raise _no_dummy(example)


def _rebuilt(like: Any, parts: Collection[Any]) -> Any:
    """A container of the same kind, with names where it has them."""
    try:
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    except TypeError:
        raise _no_dummy(like) from None


def _no_dummy(example: Any) -> ValueError:
    return ValueError(f"no dummy is known for examples with a {type(example).__name__}; give one with dummy=")
