"""Opacus: one step of DP-SGD for a model with one parameter, on a whole batch, in each of its gradient modes.

The model is one weight without a bias and its loss is the output, so a record is its own gradient. `max_grad_norm` is a
little above every record within the bounds, so that nothing is clipped, or (`clipped`) a quarter of the largest, so
that most are. With `tokens` a record is a sequence of two tokens of opposite signs, and its gradient what is left of
them. The sum before noise is the gradient that a step with noise_multiplier=0 leaves; in a release the noise multiplier
is the one Opacus gives for (1, 1e-5).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

MOST_STEPS = 1 << 10
"""Physical batches of one record are added in a loop in Python."""

RELATION = (
    "The optimizers document no relation; adaptive clipping says "
    '"Privacy definition is for add/remove DP" (utils/adaptive_clipping/adaptive_clipping_utils.py:176). Order is not '
    "spoken of; read most narrowly, the other records keep theirs."
)

CLAIM = (
    '"std=self.noise_multiplier * self.max_grad_norm" (optimizers/optimizer.py:486): the sensitivity is max_grad_norm'
)

NORMS = {"": "1.0625 * max(abs(lower), abs(upper)) + 1e-5", ".clipped": "0.25 * max(abs(lower), abs(upper)) + 1e-5"}

START = """\
import torch, opacus.grad_sample.utils as g, opacus.optimizers as o, opacus.utils.fast_gradient_clipping_utils as f; \
BY_SUM, norm = dict(expected_batch_size=None, loss_reduction="sum"), {norm}
def step(data, noise, C):
    model = g.wrap_model(torch.nn.Linear(1, 1, False, dtype=torch.{kind}), "{mode}", loss_reduction="sum"{more})
    weight, x = next(model.parameters()), torch.tensor(data).to(torch.{kind})[:, None]{tokens}; \
sgd = o.{optimizer}(torch.optim.SGD([weight]), noise_multiplier=noise, max_grad_norm=C, **BY_SUM)
"""
BACKWARD = """\
    {loss}.backward(); sgd.pre_step(); return weight.grad.item()
"""
BATCHES = """\
    for i in range(n := len(x)): sgd.signal_skip_step(i < n - 1); sgd.zero_grad(); \
model(x[i:i + 1]).sum().backward(); sgd.pre_step()
    return weight.grad.item()
"""
END = """\
def noiseless(data): return step(data, 0, norm)
def claimed(data): return norm
def release(data): return step(data, {noise!r}, norm)
"""

TOKENS = "[:, None] * torch.tensor([[[2.0**20], [-(2.0**20) - 2.0**7]]])"
"""Two tokens of a sequence for each record."""

LOSSES = {
    "": ("model(x).sum()", 'f.DPTensorFastGradientClipping(model, sgd, model(x)[:, 0], "sum")'),
    ".tokens": ("model(x).sum()", 'f.DPTensorFastGradientClipping(model, sgd, model(x).sum((1, 2)), "sum")'),
}
"""Of gradients that are there, and for ghost clipping."""


def programs(kind: str, noise: float, clips: str) -> Iterator[tuple[str, str]]:
    """Each way to take a step, and its program."""
    end = END.format(noise=noise)
    plain = {"kind": kind, "norm": NORMS[clips], "more": "", "optimizer": "DPOptimizer"}
    ghost = {**plain, "more": ", max_grad_norm=C", "optimizer": "DPOptimizerFastGradientClipping", "mode": "ghost"}
    shapes = {"": "", ".tokens": TOKENS} if kind == "float32" and clips else {"": ""}
    for shape, tokens in shapes.items():
        by_sample, by_norm = LOSSES[shape]
        for mode in ("hooks", "functorch", "ew"):
            start = START.format(**plain, mode=mode, tokens=tokens)
            yield f"{mode}{shape}{clips}", start + BACKWARD.format(loss=by_sample) + end
            if mode == "hooks" and not shape:
                yield f"hooks.accumulated{clips}", start + BATCHES + end
        yield f"ghost{shape}{clips}", START.format(**ghost, tokens=tokens) + BACKWARD.format(loss=by_norm) + end


def feed(data: Any, most: int, least: int) -> Any:
    """The records, if there are enough: loaders can avoid empty batches (`rand_on_empty`), as expanded weights need."""
    if data.size < least:
        raise NotImplementedError("a batch of no records")
    if data.size > most:
        raise NotImplementedError(f"{data.size:,} batches of one record take too long; {most:,} are the most")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import opacus
    from opacus.accountants.utils import get_noise_multiplier

    spent = {"target_epsilon": 1.0, "target_delta": 1e-5}
    noise = get_noise_multiplier(**spent, sample_rate=1, steps=1, accountant="rdp")
    for kind in ("float32", "float16", "bfloat16"):
        written = [(clips, *one) for clips in NORMS for one in programs(kind, noise, clips)]
        for clips, name, program in written:
            least = int(name.startswith(("ew", "hooks.accumulated")))
            yield {
                "name": f"{name}.{kind}",
                "repro": program,
                "clips_to": NORMS[clips],
                "feed": partial(feed, most=MOST_STEPS if "accumulated" in name else 1 << 26, least=least),
                "dtype": kind,
                "noise_multiplier": noise,
                "version": opacus.__version__,
                "source": "opacus/optimizers/optimizer.py",
                "claim_quote": CLAIM,
                "relation_quote": RELATION,
            }
