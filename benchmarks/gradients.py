"""The rows of gradients on the CPU: the clipped sum against torch's norms and einsum, and the noise against torch's.

They need torch (`make torch`). gradients_gpu.py measures GPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.measure import Group, Row

ROWS = 64
THREADS = 2


def _gradients(dtype: str) -> Callable[[int], Any]:
    """Draw 64 examples, most of them longer than the norm."""

    def make(records: int) -> Any:
        import torch

        torch.set_num_threads(THREADS)
        torch.manual_seed(1)
        d = records // ROWS
        scale = torch.exp2(torch.linspace(-4, 4, ROWS))[:, None] / d**0.5
        return (torch.randn(ROWS, d) * scale).to(getattr(torch, dtype))

    return make


def _ours(g: Any) -> Any:
    from soundsum.gradients.clipped_sum import Sum

    total = Sum(1.0, 1.0)
    total.consume([g])  # as the optimizer does
    return total.running()[0]


def _theirs(g: Any) -> Any:
    """Clip and add as Opacus's DPOptimizer does."""
    import torch

    factor = (1.0 / (g.norm(2, dim=-1) + 1e-6)).clamp(max=1.0)
    return torch.einsum("i,i...", factor.to(g.dtype), g)


def _noise(total: Any) -> Any:
    from soundsum.gradients.normal import fresh_key
    from soundsum.gradients.totals import add_noise

    add_noise([total], 1 << 24, fresh_key())
    return total


def _normal(total: Any) -> Any:
    import torch

    return torch.normal(0.0, 1.0, total.shape)


def _zeros(records: int) -> Any:
    import torch

    torch.set_num_threads(THREADS)
    return torch.zeros(records, dtype=torch.int64)


CLIPPED = tuple(
    Group(
        f"gradients, {dtype}",
        _gradients(dtype),
        None,
        (Row("clipped sum, two threads", _ours, "torch's norm and einsum", _theirs, threads=THREADS),),
    )
    for dtype in ("float32", "bfloat16", "float16", "float64")
)
NOISE = Group(
    "gradients, noise",
    _zeros,
    None,
    (Row("rounded Gaussian, two threads", _noise, "torch.normal", _normal, threads=THREADS),),
    share=10,
)
GROUPS = (*CLIPPED, NOISE) if find_spec("torch") else ()
