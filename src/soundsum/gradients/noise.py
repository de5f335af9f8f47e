"""The noise of a release: the rounded Gaussian under a fresh key, added to integers on any device.

Coordinates are numbered through all tensors, so the noise under a key is the same on every device and however the
coordinates are divided among threads. What a kernel does not decide is drawn in exact arithmetic (normal.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundsum.gradients import cuda, processor
from soundsum.gradients.needs import torch
from soundsum.gradients.normal import draw, kernel_table

MOST_SIGMA = 1 << 56


def add_noise(totals: Sequence[Any], sigma: int, key: bytes) -> None:
    """Adds round(sigma G) to every integer, modulo 2^64."""
    first = 0
    for total in totals:
        if total.device.type == "cuda" and cuda.available():
            undecided = cuda.add_noise(total, key, kernel_table(), sigma, first)
            finish(total, undecided, key, sigma, first)
        else:
            here = total if total.device.type == "cpu" else torch.zeros(total.shape, dtype=torch.int64)
            undecided = processor.add_noise(here, key, kernel_table(), sigma, first)
            finish(here, undecided, key, sigma, first)
            if here is not total:
                total += here.to(total.device)
        first += total.numel()


def finish(total: Any, undecided: Sequence[int], key: bytes, sigma: int, first: int) -> None:
    """The draws that a kernel left open."""
    for coordinate in undecided:
        value = draw(key, coordinate, sigma) % (1 << 64)
        total[coordinate - first] += value - (1 << 64) if value >> 63 else value
