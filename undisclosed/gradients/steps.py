"""One step of Opacus as it is installed, by fused gradients, for the attacks of soundsum.gradients."""

import opacus.optimizers
import torch
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

from tests.gradients.opacus_steps import settings


class Scores(nn.Module):
    """The loss is the model's output."""

    reduction = "sum"

    def forward(self, scores, _):
        return scores


def ghost(model, inputs, reduction, max_norm, noise_multiplier):
    wrapped = GradSampleModuleFastGradientClipping(
        model, loss_reduction="sum", max_grad_norm=max_norm, use_ghost_clipping=True
    )
    optimizer = opacus.optimizers.DPOptimizerFastGradientClipping(
        torch.optim.SGD(wrapped.parameters(), lr=1.0), **settings(max_norm, noise_multiplier)
    )
    loss = DPLossFastGradientClipping(wrapped, optimizer, Scores(), "sum")
    loss(wrapped(inputs), torch.zeros(len(inputs))).backward()
    optimizer.pre_step()
    return [p.grad for p in wrapped.parameters()]
