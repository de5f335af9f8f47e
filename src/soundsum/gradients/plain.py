"""The clipped sum in plain torch, for any device: integers make its reductions exact, so their order does not matter.

The kernels are faster and return the same integers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soundsum.gradients.lazy_import import torch
from soundsum.gradients.terms import Factors, Measured

LOW = 0xFFFFFFFF


def measure(tensors: Sequence[Any], rows: Sequence[int], scale: Sequence[float]) -> Measured:
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


def integers(g: Any, found: Factors) -> Any:
    """Computes each example's integers, as int64."""
    x = _working(g)
    scale = _column(found.scale, x)
    r = torch.where(scale > 0, x * scale, torch.zeros((), dtype=x.dtype, device=x.device)).round().to(torch.int64)
    m, shift = (torch.tensor(values, dtype=torch.int64, device=x.device)[:, None] for values in (found.m, found.shift))
    return torch.where(m > 0, (r * m >> shift) + (r < 0), r)


def add(tensors: Sequence[Any], found: Factors, into: Sequence[Any]) -> None:
    for g, total in zip(tensors, into, strict=True):
        total += integers(g, found).sum(0)


def _working(g: Any) -> Any:
    """Converts to float32, which holds the smaller types and scales exactly by powers of two; float64 stays."""
    return g if g.dtype == torch.float64 else g.float()


def _column(scale: Sequence[float], x: Any) -> Any:
    return torch.tensor(scale, dtype=torch.float64).to(x.dtype).to(x.device)[:, None]
