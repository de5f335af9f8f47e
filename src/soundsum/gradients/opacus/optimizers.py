"""Opacus's optimizers with an exact sum and exact noise: two methods differ, everything else is theirs.

`p.summed_grad` is an integer tensor, in steps of the sum's grid.
"""

from __future__ import annotations

from typing import Any

import opacus.optimizers
import torch
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed

from soundsum.gradients.opacus.refusals import AMP
from soundsum.gradients.slots import Slots
from soundsum.gradients.sums import Sum


class DPOptimizer(opacus.optimizers.DPOptimizer):
    """One step: clip and add in integers, add the rounded Gaussian, divide by the batch size expected.

    slots: which rows are dummies; without it every row is an example. max_grad_norm: a list clips each parameter apart.
    """

    def __init__(
        self,
        optimizer: Any,
        *,
        noise_multiplier: float,
        max_grad_norm: Any,
        expected_batch_size: Any,
        loss_reduction: str = "mean",
        slots: Slots | None = None,
    ) -> None:
        Sum(max_grad_norm, noise_multiplier)  # what is wrong with them is said now
        super().__init__(
            optimizer,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=expected_batch_size,
            loss_reduction=loss_reduction,
        )
        self.slots = slots
        self._sum: Sum | None = None
        self._terms: tuple[Any, Any] | None = None

    def clip_and_accumulate(self) -> None:
        gradients = self.grad_samples
        for p in self.params:
            _check_processed_flag(p.grad_sample)
        present = None if self.slots is None else self.slots.take(len(gradients[0]))
        terms = (self.max_grad_norm, self.noise_multiplier)
        if self._sum is None:
            self._sum, self._terms = Sum(*terms), terms
        elif terms != self._terms:
            raise ValueError(
                "the clipping norm or the noise multiplier changed within a batch; step the scheduler after a whole one"
            )
        self._sum.add(gradients, present=present)
        for p, total in zip(self.params, self._sum.running(), strict=True):
            p.summed_grad = total
            _mark_as_processed(p.grad_sample)

    def add_noise(self) -> None:
        if self._sum is None:
            raise ValueError("there is nothing to release: clip_and_accumulate comes first")
        for p in self.params:
            _check_processed_flag(p.summed_grad)
        noisy = self._sum.release(self._group())
        made = {dtype: noisy.floats(dtype) for dtype in {p.dtype for p in self.params}}
        for i, p in enumerate(self.params):
            p.grad = made[p.dtype][i].view_as(p)
            _mark_as_processed(p.summed_grad)

    def zero_grad(self, set_to_none: bool = False) -> None:
        super().zero_grad(set_to_none)
        if not self._is_last_step_skipped:
            self._sum = None

    def _group(self) -> Any:
        return None

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """Asked by torch's GradScaler before anything else."""
        raise ValueError(AMP)


class DistributedDPOptimizer(DPOptimizer):
    """The integers of all ranks are added with the noise that rank 0 drew; every rank makes the same step.

    expected_batch_size is that of all ranks together.
    """

    def __init__(self, optimizer: Any, **settings: Any) -> None:
        super().__init__(optimizer, **settings)
        self.rank = torch.distributed.get_rank()
        self.world_size = torch.distributed.get_world_size()

    def _group(self) -> Any:
        return torch.distributed.group.WORLD
