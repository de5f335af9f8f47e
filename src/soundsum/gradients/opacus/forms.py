"""The form of a batch: the shapes and types of everything in it, without its values.

Where it depends on the examples, each of them can be seen in the rows of all others (a batch that is padded to its
longest example has one more column for everybody). So it is compared with that of a batch of dummies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

SINGLE = (str, bytes, int, float, complex, type(None), type, np.generic, torch.dtype, torch.device)
"""What has no shape: one value, of one example or of the whole batch."""


def form(batch: Any, within: tuple[int, ...] = ()) -> Any:
    """Comparable; looks into containers and into the attributes of objects. `within`: the objects it is looking into.

    >>> form({"x": torch.zeros(2, 3), "names": ["a", "bc"]})
    {'x': ((2, 3), torch.float32), 'names': [None, None]}
    """
    if isinstance(batch, SINGLE) or id(batch) in within:
        return None
    contents, attributes, within = _contents(batch), _attributes(batch), (*within, id(batch))
    if contents is None and attributes is None:
        raise ValueError(
            f"a batch holds a {type(batch).__name__}, in which shapes that depend on the examples cannot be seen; let "
            "collate_fn give tensors, in tuples, lists, dicts or objects with attributes"
        )
    if isinstance(contents, dict):
        contents = {key: form(value, within) for key, value in contents.items()}
    elif isinstance(contents, list):
        contents = [form(value, within) for value in contents]
    if contents is not None and not attributes:
        return contents
    return type(batch), contents, {name: form(value, within) for name, value in (attributes or {}).items()}


def _contents(batch: Any) -> Any:
    """The parts of a container in a dict or list, the shape and type of a tensor; None for other objects."""
    if isinstance(batch, torch.Tensor):
        return _of_tensor(batch)
    if isinstance(batch, np.ndarray) and batch.dtype != object:
        return batch.shape, batch.dtype
    if isinstance(batch, Mapping):
        return dict(batch.items())
    return list(batch) if isinstance(batch, tuple | list | np.ndarray) else None


def _of_tensor(x: torch.Tensor) -> Any:
    if x.is_nested:
        return tuple(_of_tensor(part) for part in x.unbind())
    if x.layout != torch.strided:
        return tuple(x.shape), x.dtype, x._nnz()
    return tuple(x.shape), x.dtype


def _attributes(batch: Any) -> dict[str, Any] | None:
    """By name; None where an object cannot have any."""
    names = [name for kind in type(batch).__mro__ for name in _slots(kind)]
    if not names and not hasattr(batch, "__dict__"):
        return None
    return {name: getattr(batch, name) for name in names if hasattr(batch, name)} | getattr(batch, "__dict__", {})


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)
