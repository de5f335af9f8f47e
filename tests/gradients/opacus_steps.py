"""One step of Opacus as it is installed, by per-example gradients, for the attacks of soundsum.gradients."""

import opacus.optimizers
import torch
from opacus import GradSampleModule


def settings(max_norm, noise_multiplier):
    return {
        "noise_multiplier": noise_multiplier, "max_grad_norm": max_norm, "expected_batch_size": 1,
        "loss_reduction": "sum",
    }  # fmt: skip


def hooks(model, inputs, reduction, max_norm, noise_multiplier):
    wrapped = GradSampleModule(model, loss_reduction=reduction)
    optimizer = opacus.optimizers.DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1.0), **settings(max_norm, noise_multiplier)
    )
    scores = wrapped(inputs)
    (scores.sum() if reduction == "sum" else scores.mean()).backward()
    optimizer.pre_step()
    return [p.grad for p in wrapped.parameters()]
