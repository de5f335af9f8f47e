"""The clipped sum on the CPU, by src/kernels/gradients.cpp. Tensors are passed without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.gradients.lazy_import import torch
from soundsum.gradients.terms import Factors, Measured


def measure(tensors: Sequence[Any], rows: Sequence[int], scale: Sequence[float]) -> Measured:
    """Measures the rows asked for. Where the largest is 2^30 steps or more, its squares are meaningless."""
    top, low, high = (np.zeros(len(rows), np.uint64) for _ in range(3))
    native.measure_gradients(
        *_arrays(tensors), list(rows), np.array(scale, np.float64), top, low, high, torch.get_num_threads()
    )
    return Measured(
        top.view(np.float64).tolist(), [a + (b << 32) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    )


def add(tensors: Sequence[Any], found: Factors, into: Sequence[Any]) -> None:
    native.add_gradients(
        *_arrays(tensors),
        np.array(found.scale, np.float64),
        np.array(found.largest, np.float64).view(np.uint64),
        np.array(found.m, np.int32),
        np.array(found.shift, np.int32),
        [total.numpy() for total in into],
        torch.get_num_threads(),
    )


def add_noise(total: Any, key: bytes, table: Sequence[int], sigma: int, first: int) -> list[int]:
    """Adds the noise of coordinates `first` and on to a vector; returns those left undecided."""
    return native.add_rounded_normal(
        key, np.array(table, np.uint64), sigma, first, total.numpy(), torch.get_num_threads()
    )


def _arrays(tensors: Sequence[Any]) -> tuple[list[NDArray[Any]], list[str]]:
    names = [str(g.dtype).removeprefix("torch.") for g in tensors]
    views = [g.view(torch.int16) if g.element_size() == 2 else g for g in tensors]
    return [view.numpy() for view in views], names
