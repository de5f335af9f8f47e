"""Opacus's optimizers with an exact sum and exact noise, each of one batch that the data loader gave.

`p.summed_grad` is an integer tensor, in steps of the sum's grid.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NoReturn
from weakref import WeakSet

import opacus.optimizers
import torch
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed
from torch.optim.optimizer import register_optimizer_step_pre_hook

from soundsum.gradients.batch_guard import BatchGuard, Ticket, forget, forget_gradients, module_of
from soundsum.gradients.clipped_sum import Sum
from soundsum.gradients.opacus.unsupported import refuse_module, refuse_parameters
from soundsum.gradients.totals import exact_multiplier
from soundsum.refusals import Reason, RefusedType, RefusedValue

LIVE: WeakSet[DPOptimizer] = WeakSet()
"""The optimizers that make_private gave and that still exist."""

GUARDS: WeakSet[BatchGuard] = WeakSet()
"""The guards of all private models that still exist."""


class DPOptimizer(opacus.optimizers.DPOptimizer):
    """One step: clip and add in integers, add the rounded Gaussian, divide by the batch size expected (of a mean loss).

    slots: which batch it is and which rows are dummies; without it every row is an example.
    max_grad_norm: a list clips each parameter apart.
    steps_accounted: counts the steps that the engine's accountant knows of; an unaccounted step is refused.
    """

    def __init__(
        self,
        optimizer: Any,
        *,
        noise_multiplier: Any,
        max_grad_norm: Any,
        expected_batch_size: Any,
        loss_reduction: str = "mean",
        slots: BatchGuard | None = None,
    ) -> None:
        noise_multiplier = float(
            exact_multiplier(noise_multiplier)
        )  # the accountant's and the sum's are the same float
        Sum(max_grad_norm, noise_multiplier)  # what is wrong with them is said now
        super().__init__(
            optimizer,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=expected_batch_size,
            loss_reduction=loss_reduction,
        )
        self.slots = slots
        if slots is not None:
            GUARDS.add(slots)
        self._sum: Sum | None = None
        self._terms: tuple[Any, ...] = ()
        self._ticket: Ticket | None = None  # of the part that was added last
        self.steps_accounted: Callable[[], int] | None = None
        optimizer.register_step_pre_hook(_require_noise)  # for as long as it exists, whatever becomes of this one

    @property
    def summed(self) -> Sum:
        """The sum that is released next."""
        if self._sum is None:
            raise RefusedValue(None, Reason.EMPTY, "there is nothing to release", "call `clip_and_accumulate()` first")
        return self._sum

    def clip_and_accumulate(self) -> None:
        if torch.is_inference_mode_enabled():
            raise RefusedValue(
                None,
                Reason.UNSUPPORTED,
                "tensors made in inference mode cannot be marked as noised",
                "call `step()` outside `torch.inference_mode()`",
            )
        if self.slots is not None:
            self.slots.require_one()
            if self.slots.model is not None:
                module = module_of(self.slots.model)
                refuse_module(module)  # again: a layer may have been put there, or in train mode, since
                refuse_parameters(module, self)
        gradients = self._gradients()
        ticket = None if self.slots is None else self.slots.take(len(gradients[0]))
        self._require_next(ticket)
        if self._sum is None:
            self._sum, self._terms = Sum(self.max_grad_norm, self.noise_multiplier), self._now()
        self._require_terms()
        self._sum.consume(gradients, present=None if ticket is None else ticket.present)
        self._ticket = ticket
        for p, total in zip(self.params, self._sum.running(), strict=True):
            p.summed_grad = total
            _mark_as_processed(p.grad_sample)
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None  # the plain gradient; one of a parameter that was frozen meanwhile would be stepped on

    def add_noise(self) -> None:
        summed = self.summed
        self._require_terms()
        for p in self.params:
            _check_processed_flag(p.summed_grad)
        self._account()  # first: whatever interrupts it, what is released counts
        noisy = summed.release(self._group())
        self._sum = self._ticket = None
        made = {dtype: noisy.floats(dtype) for dtype in {p.dtype for p in self.params}}
        for i, p in enumerate(self.params):
            gradient = made[p.dtype][i].view_as(p)
            _mark_noised(gradient)
            p.grad = gradient  # in one move: at any moment it is the raw gradient, none or the noised one
            _mark_as_processed(p.summed_grad)

    def scale_grad(self) -> None:
        """Scales as Opacus does, but only noised gradients."""
        if self.loss_reduction != "mean":
            return
        gradients = [p.grad for p in self.params]
        if not all(map(_is_noised, gradients)):
            raise RefusedValue(None, Reason.EMPTY, "there is nothing to scale", "call `add_noise()` first")
        for gradient in gradients:
            gradient /= self.expected_batch_size
        for gradient in gradients:  # after all of them, as they are views of one tensor
            _mark_noised(gradient)

    def pre_step(self, closure: Any = None) -> bool:
        """Prepares a step as Opacus does, but calls the accountant's hook before the noise is drawn.

        Afterwards nothing of the batch is left with the model, which may be saved: neither the examples' gradients nor
        their sum without noise.
        """
        try:
            try:
                released = self._release()
            finally:
                self._forget()
        except BaseException:
            self._forget()  # again, as an interrupt may have come before the first was done
            raise
        return released

    def _release(self) -> bool:
        """Releases the noisy gradient if the batch is complete, and says whether it is."""
        self.clip_and_accumulate()
        if self._check_skip_next_step():
            self._is_last_step_skipped = True
            return False
        self.add_noise()
        self.scale_grad()
        self._is_last_step_skipped = False
        return True

    def zero_grad(self, set_to_none: bool = False) -> None:
        super().zero_grad(set_to_none)
        if not self._is_last_step_skipped:
            self._sum = self._ticket = None

    def signal_skip_step(self, do_skip: bool = True) -> None:
        if do_skip:
            raise RefusedValue(
                "do_skip",
                Reason.UNSOUND,
                "one step on several batches would count a record once for each, and be accounted for once",
                "for parts of one batch use `soundsum.gradients.opacus.BatchMemoryManager`",
            )

    def drop(self) -> None:
        """Gives up the batches that were fetched, and the parts that were added, without a step."""
        if self.slots is not None:
            self.slots.withdraw()
        self._is_last_step_skipped = False
        self.zero_grad()

    def __reduce__(self) -> NoReturn:
        raise RefusedType(
            None,
            Reason.UNSUPPORTED,
            "a private optimizer is not copied or pickled, as both would step on the same batches",
            "keep its `state_dict()`, and call `load_state_dict()` on the one that `make_private()` gave",
        )

    def _gradients(self) -> list[Any]:
        """Returns the per-example gradients by parameter; they can be used once."""
        if not self.params:
            raise RefusedValue(
                None, Reason.EMPTY, "none of the optimizer's parameters is trained (requires_grad)", "unfreeze some"
            )
        for p in self.params:
            if isinstance(getattr(p, "grad_sample", None), list):
                raise RefusedValue(
                    None,
                    Reason.REPEATED,
                    "there are gradients of several backward passes, so a record would count more than once",
                    "make one pass for each step, and call `forbid_grad_accumulation()` on the module again",
                )
        gradients: list[Any] = self.grad_samples
        for p in self.params:
            _check_processed_flag(p.grad_sample)
        return gradients

    def _account(self) -> None:
        before = None if self.steps_accounted is None else self.steps_accounted()
        if self.step_hook:
            self.step_hook(self)
        if self.steps_accounted is not None and self.steps_accounted() == before:
            raise RefusedValue(
                None,
                Reason.UNSOUND,
                "this step would not be accounted for, as `attach_step_hook()` put another hook in the accountant's "
                "place",
                "let yours call the one that was there (`optimizer.step_hook`)",
            )

    def _forget(self) -> None:
        for group in self.param_groups:  # of frozen ones too
            for p in group["params"]:
                forget_gradients(p)
                p.summed_grad = None
        if self.slots is not None and self.slots.model is not None:
            forget(self.slots.model)

    def _now(self) -> tuple[Any, ...]:
        return self.max_grad_norm, self.noise_multiplier, list(map(id, self.params))

    def _require_terms(self) -> None:
        if self._terms != self._now():
            raise RefusedValue(
                None,
                Reason.MISMATCH,
                "the clipping norm, the noise multiplier or the set of trained parameters changed within a batch",
                "step the scheduler and freeze parameters after a whole one",
            )

    def _check_skip_next_step(self, pop_next: bool = True) -> bool:
        """Says whether the batch has further parts."""
        return self._ticket is not None and not self._ticket.last

    def _require_next(self, ticket: Ticket | None) -> None:
        """Requires that one sum gets the parts of one batch, each once and in order."""
        if self._sum is None:
            fits = ticket is None or ticket.part == 0
        elif ticket is None or self._ticket is None:
            fits = False
        else:
            fits = (ticket.batch, ticket.part) == (self._ticket.batch, self._ticket.part + 1)
        if not fits:
            raise RefusedValue(
                None,
                Reason.MISMATCH,
                "this is not the next part of the batch that was begun, and parts of several would add up in one step",
                "step on every part in turn, or call `optimizer.drop()` and begin with a new batch",
            )

    def _group(self) -> Any:
        return None

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """Refuses torch's GradScaler, which asks for this before anything else."""
        raise RefusedValue(
            None,
            Reason.UNSOUND,
            "dynamic loss scaling multiplies every gradient by a factor that depends on all examples so far, and skips "
            "steps where one of them overflows",
            "train in bfloat16 or float32 and call `optimizer.step()` without a GradScaler",
        )


class DistributedDPOptimizer(DPOptimizer):
    """Adds the integers of all ranks and the noise that rank 0 drew; every rank makes the same step.

    expected_batch_size is that of all ranks together.
    """

    def __init__(self, optimizer: Any, **settings: Any) -> None:
        super().__init__(optimizer, **settings)
        self.rank = torch.distributed.get_rank()
        self.world_size = torch.distributed.get_world_size()

    def _group(self) -> Any:
        return torch.distributed.group.WORLD


def _mark_noised(gradient: Any) -> None:
    """Marks the tensor itself until it changes: a backward pass adds to it or makes another."""
    gradient.noised_version = gradient._version


def _is_noised(gradient: Any) -> bool:
    return gradient is not None and getattr(gradient, "noised_version", None) == gradient._version


def _require_noise(given: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Checks the gradients before the original optimizer steps; a closure would compute others after this."""
    gradients = [p.grad for group in given.param_groups for p in group["params"] if p.grad is not None]
    if not all(map(_is_noised, gradients)) or any(map(callable, (*arguments[1:], *named.values()))):
        raise RefusedValue(
            None,
            Reason.UNSOUND,
            "this {optimizer} would step on gradients that have no noise or changed since they got it",
            "call `step()` of the optimizer that `make_private()` gave",
            optimizer=type(given).__name__,
        )


def _require_ours(given: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Refuses every other optimizer, such as a copy or one made later, where a batch waits for its step."""
    if isinstance(given, DPOptimizer):
        return
    mine = {p for group in given.param_groups for p in group["params"]}
    for guard in list(GUARDS):
        if guard.waiting and guard.model is not None and not mine.isdisjoint(module_of(guard.model).parameters()):
            _require_noise(given, arguments, named)


register_optimizer_step_pre_hook(_require_ours)


def refuse_second(module: Any) -> None:
    """Refuses a second optimizer: each would account for its part of one backward pass, on different batches."""
    if _shared(module):
        gc.collect()  # one that nobody holds any more may be waiting for it
    if _shared(module):
        raise RefusedValue(
            "module",
            Reason.CLOSED,
            "the module has parameters of another private optimizer",
            "use one optimizer with two parameter groups, or delete the earlier one first (`del optimizer`)",
        )


def _shared(module: Any) -> bool:
    mine = set(module.parameters())
    return any(p in mine for other in LIVE for group in other.param_groups for p in group["params"])
