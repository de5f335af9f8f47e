"""Opacus's optimizers with an exact sum and exact noise, each of one batch that the data loader gave.

`p.summed_grad` is an integer tensor, in steps of the sum's grid.
"""

from __future__ import annotations

from typing import Any

import opacus.optimizers
import torch
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed

from soundsum.gradients.opacus.refusals import AMP
from soundsum.gradients.slots import Slots, Ticket
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
        self._ticket: Ticket | None = None  # of the part that was added last

    def clip_and_accumulate(self) -> None:
        gradients = self.grad_samples
        for p in self.params:
            _check_processed_flag(p.grad_sample)
        ticket = None if self.slots is None else self.slots.take(len(gradients[0]))
        self._require_next(ticket)
        terms = (self.max_grad_norm, self.noise_multiplier)
        if self._sum is None:
            self._sum, self._terms = Sum(*terms), terms
        elif terms != self._terms:
            raise ValueError(
                "the clipping norm or the noise multiplier changed within a batch; step the scheduler after a whole one"
            )
        self._sum.add(gradients, present=None if ticket is None else ticket.present)
        self._ticket = ticket
        for p, total in zip(self.params, self._sum.running(), strict=True):
            p.summed_grad = total
            _mark_as_processed(p.grad_sample)

    def add_noise(self) -> None:
        if self._sum is None:
            raise ValueError("there is nothing to release: clip_and_accumulate comes first")
        for p in self.params:
            _check_processed_flag(p.summed_grad)
        noisy = self._sum.release(self._group())
        self._sum = self._ticket = None
        made = {dtype: noisy.floats(dtype) for dtype in {p.dtype for p in self.params}}
        for i, p in enumerate(self.params):
            p.grad = made[p.dtype][i].view_as(p)
            _mark_as_processed(p.summed_grad)

    def zero_grad(self, set_to_none: bool = False) -> None:
        super().zero_grad(set_to_none)
        if not self._is_last_step_skipped:
            self._sum = self._ticket = None

    def signal_skip_step(self, do_skip: bool = True) -> None:
        if do_skip:
            raise ValueError(
                "signal_skip_step: one step on several batches would count a record once for each, and be accounted "
                "for once; for parts of one batch use soundsum.gradients.opacus.BatchMemoryManager"
            )

    def drop(self) -> None:
        """Gives up the batches that were fetched, and the parts that were added, without a step."""
        if self.slots is not None:
            self.slots.withdraw(self.slots.waiting)
        self._is_last_step_skipped = False
        self.zero_grad()

    def _check_skip_next_step(self, pop_next: bool = True) -> bool:
        """Where the batch has further parts."""
        return self._ticket is not None and not self._ticket.last

    def _require_next(self, ticket: Ticket | None) -> None:
        """What is added to one sum are the parts of one batch, each once and in their order."""
        if self._sum is None:
            fits = ticket is None or ticket.part == 0
        elif ticket is None or self._ticket is None:
            fits = False
        else:
            fits = (ticket.batch, ticket.part) == (self._ticket.batch, self._ticket.part + 1)
        if not fits:
            raise ValueError(
                "this is not the next part of the batch that was begun, and parts of several would add up in one step; "
                "step on every part in turn, or call optimizer.drop() and begin with a new batch"
            )

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
