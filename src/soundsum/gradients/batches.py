"""Batches of per-example gradients, and the integers they are added to.

A batch has one tensor for each parameter, with one row for each example; it is checked and becomes matrices. The
integers of a sum are one vector for each parameter, and those of one device share one piece of memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from soundsum.gradients.lazy_import import torch
from soundsum.numbers.quoting import say_type
from soundsum.refusals import Reason, RefusedType, RefusedValue

SUPPORTED = ("float32", "bfloat16", "float16", "float64")
WHOLE = ("torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8")
Shape = tuple[int, ...]


def copies_of(gradients: Any) -> list[Any]:
    """Checks the batch's tensors and copies them, so that nobody else can change them."""
    return [g.clone(memory_format=torch.contiguous_format) for g in tensors_of(gradients)]


def tensors_of(gradients: Any) -> list[Any]:
    """Checks the batch's tensors: floats of a supported type, all with the same number of rows."""
    tensors = [gradients] if isinstance(gradients, torch.Tensor) else list(gradients)
    if not tensors:
        raise RefusedValue(
            "gradients",
            Reason.EMPTY,
            "`gradients=[]` has no tensors",
            "give one for each parameter, with one row for each example",
        )
    for place, g in enumerate(tensors):
        _check(place, g)
    sizes = {len(g) for g in tensors}
    if len(sizes) > 1:
        raise RefusedValue(
            "gradients",
            Reason.MISMATCH,
            "the tensors have different numbers of rows",
            "give each parameter's tensor one row for each example of the same batch",
        )
    return [g.detach().resolve_neg() for g in tensors]


def matrices(tensors: Sequence[Any]) -> list[Any]:
    return [g.reshape(len(g), -1).contiguous() if len(g) else g.reshape(0, _width(g)) for g in tensors]


def limits_of(limits: Any, examples: int, blocks: int, most: int) -> list[list[int]]:
    """Checks limits of each example and block; returns them by block, as 0 for an example above `most` in L2."""
    if not isinstance(limits, torch.Tensor) or str(limits.dtype) not in WHOLE:
        raise RefusedType(
            "limits",
            Reason.WRONG_TYPE,
            "`limits` is not a tensor of integers, which count steps of the grid",
            "make one from norms with `Sum.limits`",
        )
    if tuple(limits.shape) != (examples, blocks):
        raise RefusedValue(
            "limits",
            Reason.MISMATCH,
            "`limits` does not have one limit for each example and tensor",
            "give one row for each example and one column for each tensor",
        )
    rows = [
        row if min(row) >= 0 and sum(k * k for k in row) <= most * most else [0] * blocks for row in limits.tolist()
    ]
    return [[row[block] for row in rows] for block in range(blocks)]


def _check(place: int, g: Any) -> None:
    if not isinstance(g, torch.Tensor):
        raise RefusedType(
            "gradients",
            Reason.WRONG_TYPE,
            "gradient {place} is {given}",
            "give torch tensors, one for each parameter",
            place=place,
            given=say_type(g),
        )
    name = str(g.dtype).removeprefix("torch.")
    if name not in SUPPORTED:
        raise RefusedType(
            "gradients",
            Reason.UNSUPPORTED,
            "gradient {place} has the type {dtype}",
            "give one of {supported}",
            place=place,
            dtype=name,
            supported=", ".join(SUPPORTED),
        )
    if g.layout != torch.strided or g.is_quantized:
        raise RefusedType(
            "gradients",
            Reason.UNSUPPORTED,
            "gradient {place} is not an ordinary dense tensor",
            "convert it with `.to_dense()`",
            place=place,
        )
    if g.ndim == 0:
        raise RefusedValue(
            "gradients",
            Reason.MISMATCH,
            "gradient {place} has no leading dimension, which counts the examples",
            "give it one row for each example",
            place=place,
        )
    if g.device.type == "meta":
        raise RefusedValue(
            "gradients",
            Reason.UNSUPPORTED,
            "gradient {place} is on the device 'meta', which holds no values",
            "move it to a real one",
            place=place,
        )


def _width(g: Any) -> int:
    width = 1
    for size in g.shape[1:]:
        width *= size
    return width


class Totals:
    """The integers of a sum. Noise and reductions work on `pieces`; `vectors` are the parameters' parts of them."""

    def __init__(self, pieces: Sequence[Any], shapes: Sequence[Shape]) -> None:
        self.pieces, self.shapes = list(pieces), [tuple(shape) for shape in shapes]
        self.vectors: list[Any] = []
        which, at = 0, 0
        for shape in self.shapes:
            if at == self.pieces[which].numel() and which + 1 < len(self.pieces):
                which, at = which + 1, 0
            size = math.prod(shape)
            self.vectors.append(self.pieces[which][at : at + size])
            at += size

    @classmethod
    def zeros(cls, shapes: Sequence[Shape], devices: Sequence[Any]) -> Totals:
        """Makes one piece for each stretch of parameters on the same device."""
        pieces = []
        for device, stretch in groupby(zip(shapes, devices, strict=True), key=lambda pair: pair[1]):
            size = sum(math.prod(shape) for shape, _ in stretch)
            pieces.append(torch.zeros(size, dtype=torch.int64, device=device))
        return cls(pieces, shapes)

    @property
    def devices(self) -> list[Any]:
        return [vector.device for vector in self.vectors]

    def clone(self) -> Totals:
        return Totals([piece.clone() for piece in self.pieces], self.shapes)

    def emptied(self) -> Totals:
        return Totals([torch.zeros_like(piece) for piece in self.pieces], self.shapes)

    def cpu(self) -> Totals:
        return Totals([piece.cpu() for piece in self.pieces], self.shapes)

    def add(self, other: Totals) -> None:
        for mine, theirs in zip(self.vectors, other.vectors, strict=True):
            mine += theirs.to(mine.device)

    def plus(self, other: Totals) -> Totals:
        """Returns the sum of both, on the devices of this one."""
        both = self.clone()
        both.add(other)
        return both

    def shaped(self) -> list[Any]:
        return [vector.view(shape) for vector, shape in zip(self.vectors, self.shapes, strict=True)]
