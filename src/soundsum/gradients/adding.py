"""One batch added to a sum: measured, worked out and added, by whichever kernel the tensors' device has.

A batch is one matrix for each parameter, with one row for each example. Its parameters are split into blocks, each with
a limit of its own; clipping the whole gradient at once is one block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from soundsum.gradients import cuda, plain, processor
from soundsum.gradients.factors import Factors, Measured, factors, scales
from soundsum.gradients.needs import torch
from soundsum.numbers.clipping import Grid, coarsening

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
    """Adds the clipped gradients to `into`, one int64 vector for each tensor. `kernel`: not the device's own."""
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
    """How the integers of each block are made."""
    measured = [_measure([tensors[i] for i in block], len(limits[0]), grid, kernel) for block in blocks]
    finite = [all(map(math.isfinite, tops)) for tops in zip(*(m.largest for m in measured), strict=True)]
    return [factors(m, finite, grid, limit) for m, limit in zip(measured, limits, strict=True)]


def kernel_for(tensors: Sequence[Any]) -> ModuleType:
    """Threaded C++ for the CPU, CUDA where it can be built, otherwise plain torch."""
    kinds = {g.device for g in tensors}
    if len(kinds) == 1:
        kind = kinds.pop().type
        if kind == "cpu":
            return processor
        if kind == "cuda" and all(g.dtype != torch.float64 for g in tensors) and cuda.available():
            return cuda
    return plain


def _measure(tensors: Sequence[Any], rows: int, grid: Grid, kernel: ModuleType) -> Measured:
    """First with the grid's own step, then again where an example needs a coarser one."""
    if not tensors:
        return Measured([0.0] * rows, [0] * rows)
    first: Measured = kernel.measure(tensors, list(range(rows)), [math.ldexp(1.0, -grid.exponent)] * rows)
    coarse = [i for i, top in enumerate(first.largest) if math.isfinite(top) and coarsening(top, grid)]
    if coarse:
        again = kernel.measure(tensors, coarse, scales([first.largest[i] for i in coarse], grid))
        for i, squares in zip(coarse, again.squares, strict=True):
            first.squares[i] = squares
    return first
