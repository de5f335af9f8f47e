"""Additions to a sum: a batch, the noise of a release, and the integers of other ranks.

A batch has one tensor for each parameter, with one row for each example; it is checked and becomes matrices. Its
parameters are split into blocks, each with a limit of its own; clipping the whole gradient at once is one block. The
integers of a sum are one vector for each parameter, and those of one device share one piece of memory. The tensors'
device decides which kernel adds.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from itertools import groupby
from types import ModuleType
from typing import Any

from soundsum.gradients import cpu, cuda, plain
from soundsum.gradients.lazy_import import need, torch
from soundsum.gradients.normal import draw, kernel_table
from soundsum.gradients.terms import Factors, Measured, factors, scales
from soundsum.numbers.clipping import Grid, coarsening
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


MOST_SIGMA = 1 << 56

Limits = Sequence[Sequence[int]]
"""For each block, each example's limit in steps."""


def add_batch(
    tensors: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    limits: Limits,
    grid: Grid,
    into: Sequence[Any],
    kernel: ModuleType | None = None,
) -> None:
    """Adds the clipped gradients to `into`, one int64 vector for each tensor. `kernel` replaces the device's own."""
    chosen = kernel or kernel_for(tensors)
    used = [[i for i in block if tensors[i].numel()] for block in blocks]
    if chosen is cuda:
        cuda.add_batch(tensors, used, limits, grid, into)
        return
    for block, found in zip(used, work_out(tensors, used, limits, grid, chosen), strict=True):
        if block:
            chosen.add([tensors[i] for i in block], found, [into[i] for i in block])


def work_out(
    tensors: Sequence[Any], blocks: Sequence[Sequence[int]], limits: Limits, grid: Grid, kernel: ModuleType
) -> list[Factors]:
    """Measures each block and computes its factors."""
    measured = [_measure([tensors[i] for i in block], len(limits[0]), grid, kernel) for block in blocks]
    finite = [all(map(math.isfinite, tops)) for tops in zip(*(m.largest for m in measured), strict=True)]
    return [factors(m, finite, grid, limit) for m, limit in zip(measured, limits, strict=True)]


def kernel_for(tensors: Sequence[Any]) -> ModuleType:
    """Chooses threaded C++ for the CPU, CUDA where it can be built, otherwise plain torch."""
    kinds = {g.device for g in tensors}
    if len(kinds) == 1:
        kind = kinds.pop().type
        if kind == "cpu":
            return cpu
        if kind == "cuda" and all(g.dtype != torch.float64 for g in tensors) and cuda.available():
            return cuda
    return plain


def _measure(tensors: Sequence[Any], rows: int, grid: Grid, kernel: ModuleType) -> Measured:
    """Measures with the grid's own step, then again where an example needs a coarser one."""
    if not tensors:
        return Measured([0.0] * rows, [0] * rows)
    first: Measured = kernel.measure(tensors, list(range(rows)), [math.ldexp(1.0, -grid.exponent)] * rows)
    coarse = [i for i, top in enumerate(first.largest) if math.isfinite(top) and coarsening(top, grid)]
    if coarse:
        again = kernel.measure(tensors, coarse, scales([first.largest[i] for i in coarse], grid))
        for i, squares in zip(coarse, again.squares, strict=True):
            first.squares[i] = squares
    return first


def add_noise(totals: Sequence[Any], sigma: int, key: bytes) -> None:
    """Adds round(sigma G) to every integer, modulo 2^64.

    Coordinates are numbered through all tensors, so the noise under a key is the same on every device and however the
    coordinates are divided among threads. Draws that a kernel leaves undecided are made exactly (normal.py).
    """
    first = 0
    for total in totals:
        if total.device.type == "cuda" and cuda.available():
            undecided = cuda.add_noise(total, key, kernel_table(), sigma, first)
            finish(total, undecided, key, sigma, first)
        else:
            here = total if total.device.type == "cpu" else torch.zeros(total.shape, dtype=torch.int64)
            undecided = cpu.add_noise(here, key, kernel_table(), sigma, first)
            finish(here, undecided, key, sigma, first)
            if here is not total:
                total += here.to(total.device)
        first += total.numel()


def finish(total: Any, undecided: Sequence[int], key: bytes, sigma: int, first: int) -> None:
    """Adds the draws that a kernel left undecided."""
    for coordinate in undecided:
        value = draw(key, coordinate, sigma) % (1 << 64)
        total[coordinate - first] += value - (1 << 64) if value >> 63 else value


def is_first_rank(group: Any) -> bool:
    return bool(need("torch.distributed").get_rank(group) == 0)


def ranks_of(group: Any) -> tuple[int, ...]:
    """Lists the ranks of a group this process is in: for any other group torch silently does nothing."""
    distributed = need("torch.distributed")
    if distributed.get_rank(group) < 0:
        raise RefusedValue(
            "group",
            Reason.MISMATCH,
            "this process is not in the group, so nothing would be added",
            "give a group that it is in",
        )
    return tuple(distributed.get_process_group_ranks(group))


def add_over_ranks(totals: Sequence[Any], group: Any) -> None:
    """Replaces each tensor by its sum over all ranks: exact in any order, wrap-around included."""
    distributed = need("torch.distributed")
    for total in totals:
        distributed.all_reduce(total, op=distributed.ReduceOp.SUM, group=group)


def count_over_ranks(count: int, group: Any) -> int:
    counted = torch.tensor([count], dtype=torch.int64, device=_group_device(group))
    add_over_ranks([counted], group)
    return int(counted)


def require_same_terms(terms: str, group: Any) -> None:
    """Raises on every rank if any rank's sum has other terms."""
    distributed = need("torch.distributed")
    digest = int.from_bytes(hashlib.sha256(terms.encode()).digest()[:7])
    both = torch.tensor([digest, -digest], dtype=torch.int64, device=_group_device(group))
    distributed.all_reduce(both, op=distributed.ReduceOp.MAX, group=group)
    if int(both[0]) != -int(both[1]):
        raise RefusedValue(
            None,
            Reason.MISMATCH,
            "the ranks' sums have different norms, noise or parameters",
            "make all of them with the same",
        )


def _group_device(group: Any) -> Any:
    distributed = need("torch.distributed")
    on_gpu = "nccl" in distributed.get_backend(group)
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
