"""Dummies for empty slots, and the form of a batch: the shapes and types of everything in it, without its values.

A dummy reveals nothing about any record. Where the form of a batch depends on the examples, each of them shows in the
rows of all others: a batch padded to its longest example gives everybody more columns. So the form is compared with
that of a batch of dummies.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from soundsum.numbers.quoting import say_type
from soundsum.refusals import Reason, RefusedValue

SINGLE = (str, bytes, int, float, complex, type(None), type, np.generic, torch.dtype, torch.device)
"""Types without a shape: one value, of one example or of the whole batch."""

WORD = struct.calcsize("P")


def dummy_like(example: Any) -> Any:
    """Makes an example of the same kind with every number 0: its shape is public, its values reveal nothing."""
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
    """Rebuilds a container of the same kind, with names where it has them."""
    with suppress(TypeError):
        return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)
    raise _no_dummy(like)


def _no_dummy(example: Any) -> RefusedValue:
    return RefusedValue(
        "dummy",
        Reason.MISSING,
        "no dummy is known for examples with {given}",
        "give one with `dummy`",
        given=say_type(example),
    )


def form(batch: Any, within: tuple[int, ...] = (), beside: bool = False) -> Any:
    """Describes a batch, for comparison: the parts of containers and the attributes of all objects, recursively.

    What cannot be looked into is refused where it is a part of the batch. Where it is beside the parts of a container,
    in an attribute (as tokenizers keep their own objects with a batch), it counts by its type alone.
    `within`: the objects that are being looked into; `beside`: whether this is in an attribute of a container.

    >>> form({"x": torch.zeros(2, 3), "names": ["a", "bc"]})
    {'x': ((2, 3), torch.float32), 'names': [None, None]}
    """
    if isinstance(batch, SINGLE) or id(batch) in within:
        return None
    contents, within = _contents(batch), (*within, id(batch))
    if contents is None and _is_opaque(type(batch)):
        if beside:
            return type(batch)
        raise RefusedValue(
            "data_loader",
            Reason.UNSUPPORTED,
            "a batch holds {given}, in which shapes that depend on the examples cannot be seen",
            "let its collate_fn give tensors, in tuples, lists, dicts or objects with attributes",
            given=say_type(batch),
        )
    attributes = _attributes(batch)
    around = beside or contents is not None
    if isinstance(contents, dict):
        contents = {key: form(value, within, beside) for key, value in contents.items()}
    elif isinstance(contents, list):
        contents = [form(value, within, beside) for value in contents]
    if contents is not None and not attributes:
        return contents
    return type(batch), contents, {name: form(value, within, around) for name, value in attributes.items()}


def sent(batch: Any) -> Any:
    """Returns the batch as a worker process sends it: pickled, with tensors stripped of added attributes."""
    tensors: list[Any] = []

    class Sender(pickle.Pickler):
        def persistent_id(self, thing: Any) -> int | None:
            if type(thing) not in (torch.Tensor, torch.nn.Parameter):
                return None
            tensors.append(thing.detach())
            return len(tensors) - 1

    class Receiver(pickle.Unpickler):
        def persistent_load(self, number: int) -> Any:
            return tensors[number]

    pipe = io.BytesIO()
    Sender(pipe).dump(batch)
    return Receiver(io.BytesIO(pipe.getvalue())).load()


def _contents(batch: Any) -> Any:
    """Returns a container's parts in a dict or list, a tensor's shape and type, or None for other objects."""
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


def _attributes(batch: Any) -> dict[str, Any]:
    """Collects attributes by name: those in __slots__ and all others."""
    names = [name for kind in type(batch).__mro__ for name in _slots(kind)]
    return {name: getattr(batch, name) for name in names if hasattr(batch, name)} | getattr(batch, "__dict__", {})


def _is_opaque(kind: type) -> bool:
    """Says whether objects of this type hold more than attributes, in memory hidden from Python (such as a deque).

    Anything else has room for a reference to each attribute in __slots__, to a dict of the others, and to weak ones.
    """
    words = sum(len(_slots(base)) for base in kind.__mro__) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    seen = object.__basicsize__ + words * WORD
    return kind.__basicsize__ > seen or kind.__itemsize__ > 0 or not (words or kind.__dictoffset__)


def _slots(kind: type) -> list[str]:
    """Lists the slots of a class, under the names they have outside it."""
    names = kind.__dict__.get("__slots__", ())
    own = f"_{kind.__name__.lstrip('_')}"
    return [
        own + name if name.startswith("__") and not name.endswith("__") else name
        for name in ((names,) if isinstance(names, str) else names)
        if name not in ("__dict__", "__weakref__")
    ]
