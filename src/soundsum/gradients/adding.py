"""The addition of a batch: its tensors are checked, measured, clipped and added by the kernel of their device.

A batch has one tensor for each parameter, with one row for each example, and becomes matrices. Its parameters are split
into blocks, each with a limit of its own; clipping the whole gradient at once is one block. The kernels measure and
add. Between the two, a few integers per example, its factors, are computed here, in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.gradients import cuda
from soundsum.gradients.lazy_import import torch
from soundsum.numbers.clipping import Grid, coarsening, factor
from soundsum.numbers.quoting import say_type
from soundsum.refusals import Reason, RefusedType, RefusedValue

SUPPORTED = ("float32", "bfloat16", "float16", "float64")
WHOLE = ("torch.int64", "torch.int32", "torch.int16", "torch.int8", "torch.uint8")


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
    return [g.reshape(len(g), -1).contiguous() if len(g) else g.reshape(0, math.prod(g.shape[1:])) for g in tensors]


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


MOST_SHIFT = 63
"""Products are below 2^60 in magnitude, so a larger shift gives the same result."""

LOW = 0xFFFFFFFF


@dataclass(frozen=True)
class Measured:
    """Each example's largest magnitude in a block (NaN or infinity where it is not finite) and its sum of squares."""

    largest: list[float]
    squares: list[int]


@dataclass(frozen=True)
class Factors:
    """Each example's 1/step (0: it counts as zero), m (0: no need to clip), shift and largest magnitude."""

    scale: list[float]
    m: list[int]
    shift: list[int]
    largest: list[float]


def scales(largest: Sequence[float], grid: Grid) -> list[float]:
    """Computes 1/step for each example: coarser where its largest coordinate needs it."""
    return [math.ldexp(1.0, -(grid.exponent + (coarsening(top, grid) if math.isfinite(top) else 0))) for top in largest]


def factors(measured: Measured, finite: Sequence[bool], grid: Grid, limits: Sequence[int]) -> Factors:
    """Computes the factors of a block. `finite`: whether all of an example is; `limits`: its limits in steps."""
    scale, m, shift = scales(measured.largest, grid), [0] * len(limits), [31] * len(limits)
    for i, limit in enumerate(limits):
        if not finite[i] or limit <= 0:
            scale[i] = 0.0
        elif (found := factor(limit, measured.squares[i])) is not None:
            m[i], shift[i] = found[0], min(found[1], MOST_SHIFT)
    return Factors(scale, m, shift, [top if math.isfinite(top) else 0.0 for top in measured.largest])


class Kernel(Protocol):
    """The two steps of a clipped sum on a device: examples are measured, then added with their factors."""

    def measure(self, tensors: Sequence[Any], rows: Sequence[int], scale: Sequence[float]) -> Measured: ...

    def add(self, tensors: Sequence[Any], found: Factors, into: Sequence[Any]) -> None: ...


class CpuKernel:
    """The clipped sum on the CPU, by src/kernels/gradients.cpp. Tensors are passed without a copy."""

    def measure(self, tensors: Sequence[Any], rows: Sequence[int], scale: Sequence[float]) -> Measured:
        """Measures the rows asked for. Where the largest is 2^30 steps or more, its squares are meaningless."""
        top, low, high = (np.zeros(len(rows), np.uint64) for _ in range(3))
        native.measure_gradients(
            *_arrays(tensors), list(rows), np.array(scale, np.float64), top, low, high, torch.get_num_threads()
        )
        return Measured(
            top.view(np.float64).tolist(), [a + (b << 32) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        )

    def add(self, tensors: Sequence[Any], found: Factors, into: Sequence[Any]) -> None:
        native.add_gradients(
            *_arrays(tensors),
            np.array(found.scale, np.float64),
            np.array(found.largest, np.float64).view(np.uint64),
            np.array(found.m, np.int32),
            np.array(found.shift, np.int32),
            [total.numpy() for total in into],
            torch.get_num_threads(),
        )


class PlainKernel:
    """The clipped sum in plain torch, for any device: its reductions are of integers, so their order does not matter.

    The other kernels are faster and return the same integers, bit for bit.
    """

    def measure(self, tensors: Sequence[Any], rows: Sequence[int], scale: Sequence[float]) -> Measured:
        """Measures the rows asked for. Where the largest is 2^30 steps or more, its squares are meaningless."""
        largest, low, high = [0.0] * len(rows), [0] * len(rows), [0] * len(rows)
        for g in tensors:
            chosen = g if len(rows) == len(g) else g[torch.tensor(rows, device=g.device)]
            x = _working(chosen)
            s = _column(scale, x)
            r = (x * s).round().clamp(-(2.0**30), 2.0**30).nan_to_num(0.0).to(torch.int64)
            squares = r * r
            for i, (top, a, b) in enumerate(
                zip(
                    x.abs().amax(1).tolist(),
                    (squares & LOW).sum(1).tolist(),
                    (squares >> 32).sum(1).tolist(),
                    strict=True,
                )
            ):
                largest[i] = top if top != top or top > largest[i] else largest[i]  # NaN stays
                low[i] += a
                high[i] += b
        return Measured(largest, [a + (b << 32) for a, b in zip(low, high, strict=True)])

    def integers(self, g: Any, found: Factors) -> Any:
        """Computes each example's integers, as int64."""
        x = _working(g)
        scale = _column(found.scale, x)
        r = torch.where(scale > 0, x * scale, torch.zeros((), dtype=x.dtype, device=x.device)).round().to(torch.int64)
        m, shift = (
            torch.tensor(values, dtype=torch.int64, device=x.device)[:, None] for values in (found.m, found.shift)
        )
        return torch.where(m > 0, (r * m >> shift) + (r < 0), r)

    def add(self, tensors: Sequence[Any], found: Factors, into: Sequence[Any]) -> None:
        for g, total in zip(tensors, into, strict=True):
            total += self.integers(g, found).sum(0)


CPU, PLAIN = CpuKernel(), PlainKernel()


def _arrays(tensors: Sequence[Any]) -> tuple[list[NDArray[Any]], list[str]]:
    names = [str(g.dtype).removeprefix("torch.") for g in tensors]
    views = [g.view(torch.int16) if g.element_size() == 2 else g for g in tensors]
    return [view.numpy() for view in views], names


def _working(g: Any) -> Any:
    """Converts to float32, which holds the smaller types and scales exactly by powers of two; float64 stays."""
    return g if g.dtype == torch.float64 else g.float()


def _column(scale: Sequence[float], x: Any) -> Any:
    return torch.tensor(scale, dtype=torch.float64).to(x.dtype).to(x.device)[:, None]


Limits = Sequence[Sequence[int]]
"""For each block, each example's limit in steps."""


def add_batch(
    tensors: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    limits: Limits,
    grid: Grid,
    into: Sequence[Any],
    kernel: Kernel | ModuleType | None = None,
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
    tensors: Sequence[Any], blocks: Sequence[Sequence[int]], limits: Limits, grid: Grid, kernel: Kernel
) -> list[Factors]:
    """Measures each block and computes its factors."""
    measured = [_measure([tensors[i] for i in block], len(limits[0]), grid, kernel) for block in blocks]
    finite = [all(map(math.isfinite, tops)) for tops in zip(*(m.largest for m in measured), strict=True)]
    return [factors(m, finite, grid, limit) for m, limit in zip(measured, limits, strict=True)]


def kernel_for(tensors: Sequence[Any]) -> Kernel | ModuleType:
    """Chooses threaded C++ for the CPU, CUDA where it can be built, otherwise plain torch."""
    kinds = {g.device for g in tensors}
    if len(kinds) == 1:
        kind = kinds.pop().type
        if kind == "cpu":
            return CPU
        if kind == "cuda" and all(g.dtype != torch.float64 for g in tensors) and cuda.available():
            return cuda
    return PLAIN


def _measure(tensors: Sequence[Any], rows: int, grid: Grid, kernel: Kernel) -> Measured:
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
