"""Opacus's PrivacyEngine, with everything the proof needs: exact sums, exact noise, exact coins and slots.

The accountants are Opacus's own, and what they say holds, because a step is a post-processing of the Poisson-subsampled
Gaussian mechanism. Where batches can be cut to their slots, that probability is taken out of delta.
"""

from __future__ import annotations

import copy
import math
import warnings
from fractions import Fraction
from functools import partial
from numbers import Real
from typing import Any

import opacus
import torch
from opacus.accountants.utils import get_noise_multiplier
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
from torch.nn.parallel import DistributedDataParallel

from soundsum.gradients.batch_guard import BatchGuard
from soundsum.gradients.clipped_sum import Sum
from soundsum.gradients.opacus.loading import GuardedLoader, poisson_loader, slot_loader
from soundsum.gradients.opacus.optimizers import LIVE, DistributedDPOptimizer, DPOptimizer, refuse_second
from soundsum.gradients.opacus.unsupported import (
    keep_fixed,
    refuse_accountant,
    refuse_dataset,
    refuse_epsilon,
    refuse_module,
    refuse_norms,
    refuse_optimizer,
    refuse_parameters,
    refuse_sampler,
    refuse_settings,
    refuse_target,
)
from soundsum.gradients.slots import Slots, enough_slots, overflow, rate_from_above, read_rate
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

ASSUMED = "gradients assumed independent of the other rows"
OVERFLOW = "soundsum_overflow"
SEPARATE = "rows do not see each other's values in a batch of fixed shape (Slots.check tries it)"


class PrivacyEngine(opacus.PrivacyEngine):
    """Opacus's engine, made sound. `secure_mode` changes nothing: randomness always comes from the operating system.

    `explain()` states the guarantee of the last make_private, `assumptions` the conditions it rests on.
    """

    def __init__(self, *, accountant: str = "prv", secure_mode: bool = True) -> None:
        refuse_accountant(accountant)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that its generator is not secure: it is not used
            super().__init__(accountant=accountant, secure_mode=False)
        self.overflow = Fraction(0)
        self.assumptions: tuple[str, ...] = ()
        self.slots: Slots | None = None
        self._promise = "nothing yet: call make_private first"

    def make_private(
        self,
        *,
        module: Any,
        optimizer: Any,
        data_loader: Any,
        noise_multiplier: Any,
        max_grad_norm: Any,
        sample_rate: Any = None,
        expected_batch_size: Any = None,
        max_size: int | None = None,
        slots: int | bool | None = None,
        dummy: Any = None,
        criterion: Any = None,
        batch_first: bool = True,
        loss_reduction: str = "mean",
        poisson_sampling: bool = True,
        clipping: str = "flat",
        noise_generator: Any = None,
        grad_sample_mode: str = "hooks",
        wrap_model: bool = True,
        rand_on_empty: bool = False,
    ) -> tuple[Any, DPOptimizer, Any]:
        """Opacus's make_private. These are new, or differ:

        sample_rate: the probability with which a record is in a batch ("1/256" too); never from the data's length.
        expected_batch_size: what the noisy sum is divided by; a public number of your choice. With loss_reduction="sum"
            it is not divided.
        max_size: the most records the data can have, a public number; more are refused.
        slots: how many rows every batch has; by default so many that a batch is larger with probability below 2^-64.
            False: batches as they come, and the result assumes that rows do not see each other.
        dummy: the example in an empty slot; by default one like the first record, with all numbers 0.
        criterion, rand_on_empty: not used.
        """
        use_slots = slots is not False
        filled: Slots | None
        guard: BatchGuard
        loader: GuardedLoader
        refuse_settings(
            loss_reduction=loss_reduction,
            slots=use_slots,
            poisson_sampling=poisson_sampling,
            clipping=clipping,
            grad_sample_mode=grad_sample_mode,
            noise_generator=noise_generator,
        )
        refuse_optimizer(optimizer)
        refuse_norms(clipping, max_grad_norm, _trained(optimizer))
        Sum(max_grad_norm, noise_multiplier)  # what is wrong with them is said before the module is wrapped
        refuse_module(module)
        refuse_dataset(data_loader.dataset)
        refuse_sampler(data_loader)
        q, expected, most = _public(sample_rate, expected_batch_size, max_size, data_loader.dataset, dummy)
        refuse_parameters(module, optimizer)
        refuse_second(module)
        world = _world(module)
        ranks = 1 if world is None else torch.distributed.get_world_size(world)
        if use_slots:
            size = _size(slots, q, most, ranks)
            filled = guard = Slots(module, size)
            loader = slot_loader(data_loader, q, filled, dummy, world)
            chance = overflow(q * most, size) if size < most else Fraction(0)
            assumptions: tuple[str, ...] = (SEPARATE,)
        else:
            if world is not None:
                raise RefusedValue(
                    "slots", Reason.CONFLICT, "`slots=False`: ranks share a batch by its slots", "leave `slots` out"
                )
            filled, guard = None, BatchGuard(module)
            loader, chance, assumptions = poisson_loader(data_loader, q, guard, dummy), Fraction(0), (ASSUMED,)
        prepared = self._prepare_model(
            module,
            batch_first=batch_first,
            max_grad_norm=max_grad_norm,
            loss_reduction=loss_reduction,
            grad_sample_mode=grad_sample_mode,
            wrap_model=wrap_model,
        )
        prepared.forbid_grad_accumulation()
        guard.watch(prepared)
        keep_fixed(module)
        self.slots, self.overflow, self.assumptions = filled, max(self.overflow, chance), assumptions
        kind = DPOptimizer if world is None else DistributedDPOptimizer
        private = kind(
            getattr(optimizer, "original_optimizer", optimizer),
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=expected,
            loss_reduction=loss_reduction,
            slots=guard,
        )
        LIVE.add(private)
        private.steps_accounted = self._steps
        private.attach_step_hook(partial(_count_step, self.accountant, rate_from_above(q)))
        self._promise = _promise(q, private.noise_multiplier, self.slots, self.overflow, self.assumptions)
        return prepared, private, loader

    def make_private_with_epsilon(
        self, *, target_epsilon: float, target_delta: float, epochs: int, sample_rate: Any = None, **settings: Any
    ) -> tuple[Any, DPOptimizer, Any]:
        """Calls make_private with noise that keeps epsilon and delta over the epochs, of 1/sample_rate steps each."""
        if len(self.accountant):
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "this engine has spent some of its budget already",
                "make a new one for a target epsilon",
            )
        refuse_target(target_epsilon, target_delta, epochs)
        refuse_epsilon(self.accountant.mechanism(), target_epsilon, "target_epsilon")
        q = read_rate(sample_rate)
        most = settings.get("max_size")
        slots = settings.get("slots")
        steps = epochs * max(1, int(1 / q))
        spare = Fraction(0)
        if slots is not False and most is not None:
            size = _size(slots, q, _most(most), 1)
            spare = overflow(q * most, size) if size < most else Fraction(0)
        delta = _without_cuts(target_delta, target_epsilon, steps, spare, "target_delta")
        multiplier = get_noise_multiplier(
            target_epsilon=target_epsilon,
            target_delta=delta,
            sample_rate=rate_from_above(q),
            steps=steps,
            accountant=self.accountant.mechanism(),
        )
        return self.make_private(noise_multiplier=multiplier, sample_rate=q, **settings)

    def get_epsilon(self, delta: float) -> float:
        """Returns the epsilon spent so far at this delta, including the cost of batches that may have been cut."""
        steps = self._steps()
        if not steps:
            return 0.0
        spent = self._accounted(delta)
        if not self.overflow:
            return spent
        at_most = self._accounted(delta / 2)  # whatever is left of delta, as long as it is half
        left = _without_cuts(delta, at_most, steps, self.overflow)
        return max(spent, self._accounted(left))

    def _accounted(self, delta: float) -> float:
        """Returns the accountant's epsilon, or raises where floats make it unreliable."""
        try:
            spent = float(self.accountant.get_epsilon(delta))
        except RuntimeError:  # prv's, where its numbers do not fit together
            spent = math.nan
        refuse_epsilon(self.accountant.mechanism(), spent)
        return spent

    def _steps(self) -> int:
        return sum(entry[-1] for entry in self.accountant.history)

    def save_checkpoint(self, *, checkpoint_dict: dict[str, Any] | None = None, **settings: Any) -> None:
        """Saves Opacus's checkpoint together with the probability that a batch is cut."""
        super().save_checkpoint(checkpoint_dict={**(checkpoint_dict or {}), OVERFLOW: str(self.overflow)}, **settings)

    def load_checkpoint(self, **settings: Any) -> dict[str, Any]:
        """Loads Opacus's checkpoint; earlier steps keep counting the probability that their batches were cut."""
        if self._steps():
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "this engine has accounted for {steps} steps, which a checkpoint would replace with its own",
                "to go back, load the model's state_dict alone, and to go on from a checkpoint, use a new engine",
                steps=self._steps(),
            )
        checkpoint: dict[str, Any] = super().load_checkpoint(**settings)
        if OVERFLOW not in checkpoint:
            self.overflow = Fraction(1)
            raise RefusedValue(
                "path",
                Reason.UNREADABLE,
                "the checkpoint does not say how likely a batch was cut",
                "load one that this engine saved",
            )
        self.overflow = max(self.overflow, Fraction(checkpoint[OVERFLOW]))
        return checkpoint

    def explain(self) -> str:
        """Explains the guarantee and its conditions."""
        return self._promise


def _count_step(accountant: Any, sample_rate: float, optimizer: DPOptimizer) -> None:
    """Counts a step like Opacus's hook, with the sum's own noise and a history replaced in one assignment.

    Opacus's accountants take the last steps out of their history while they count one more; an interrupt loses them.
    """
    counting = copy.copy(accountant)
    counting.history = list(accountant.history)
    counting.step(noise_multiplier=float(optimizer.summed.noise_multiplier), sample_rate=sample_rate)
    accountant.history = counting.history


def _without_cuts(delta: float, epsilon: float, steps: int, chance: Fraction, option: str = "delta") -> float:
    """Subtracts from delta the cost of batches that may be cut at each step (docs/theorems/gradients.md)."""
    if not chance:
        return delta
    used = float(chance) * 1.0001 * steps * (1 + math.exp(min(epsilon, 700.0)))
    if used > delta / 2:
        raise RefusedValue(
            option,
            Reason.TOO_SMALL,
            "batches larger than their slots take {used} of `{option}={given}` at an epsilon of {epsilon}",
            "give more slots, or a larger delta",
            used=f"{used:.2g}",
            given=quote(delta),
            epsilon=f"{epsilon:.3g}",
        )
    return delta - used


def _public(sample_rate: Any, expected: Any, most: Any, data: Any, dummy: Any) -> tuple[Fraction, float, int]:
    """Checks the public numbers, which may not come from the data."""
    q = read_rate(sample_rate)
    _require_divisor(expected)
    most = _most(most)
    if len(data) > most:
        raise RefusedValue(
            "max_size",
            Reason.MISMATCH,
            "the data has more than `max_size={given}` records, and the guarantee would not cover them",
            "give the most records the data can have",
            given=most,
        )
    if dummy is None and len(data) == 0:
        raise RefusedValue(
            "dummy",
            Reason.MISSING,
            "the data has no records, so it is not known what an example looks like",
            "give one with `dummy`",
        )
    return q, float(expected), most


def _require_divisor(expected: Any) -> None:
    if expected is None:
        raise RefusedValue(
            "expected_batch_size",
            Reason.MISSING,
            "`expected_batch_size=None`: the number of records is private, so the divisor is not taken from it",
            "give a public number, such as the sampling rate times a rough size",
        )
    if not _is_finite(expected):
        raise RefusedValue(
            "expected_batch_size",
            Reason.NOT_A_NUMBER,
            "`expected_batch_size={given}` is not a finite number",
            "give the public number to divide by, such as the sampling rate times a rough size",
            given=quote(expected),
        )
    if expected <= 0:
        raise RefusedValue(
            "expected_batch_size",
            Reason.TOO_SMALL,
            "`expected_batch_size={given}` is not above 0",
            "give the public number to divide by, such as the sampling rate times a rough size",
            given=quote(expected),
        )


def _is_finite(value: Any) -> bool:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and -math.inf < value < math.inf


def _most(most: Any) -> int:
    if most is None:
        raise RefusedValue(
            "max_size",
            Reason.MISSING,
            "`max_size=None`: the number of records is private, so their limit is not taken from it",
            "give the most records the data can have, a public number of your choice",
        )
    if not _is_finite(most) or int(most) != most:
        raise RefusedValue(
            "max_size",
            Reason.NOT_WHOLE,
            "`max_size={given}` is not a whole number",
            "give the most records the data can have, a public number of your choice",
            given=quote(most),
        )
    if most < 1:
        raise RefusedValue(
            "max_size",
            Reason.TOO_SMALL,
            "`max_size={given}` is less than 1",
            "give the most records the data can have, a public number of your choice",
            given=quote(most),
        )
    return int(most)


def _size(slots: Any, q: Fraction, most: int, ranks: int) -> int:
    """Chooses the number of slots: the number asked for, or enough to make cuts negligible."""
    if slots is None or slots is True:
        return enough_slots(q * most, most, ranks)
    if not isinstance(slots, int):
        raise RefusedValue(
            "slots",
            Reason.NOT_WHOLE,
            "`slots={given}` is not a whole number",
            "give 1 or more, or leave `slots` out for enough of them",
            given=quote(slots),
        )
    if slots < 1:
        raise RefusedValue(
            "slots",
            Reason.TOO_SMALL,
            "`slots={given}` is less than 1",
            "give more, or leave `slots` out for enough of them",
            given=quote(slots),
        )
    if slots % ranks:
        raise RefusedValue(
            "slots",
            Reason.MISMATCH,
            "`slots={given}`: {ranks} ranks cannot share them evenly",
            "give a multiple of {ranks}",
            given=quote(slots),
            ranks=ranks,
        )
    return slots


def _trained(optimizer: Any) -> int:
    """Counts the parameters that are trained."""
    return sum(p.requires_grad for group in optimizer.param_groups for p in group["params"])


def _world(module: Any) -> Any:
    kinds = DifferentiallyPrivateDistributedDataParallel | DistributedDataParallel
    distributed = any(isinstance(m, kinds) for m in module.modules())  # also within one that was wrapped before
    return torch.distributed.group.WORLD if distributed else None


def _promise(q: Fraction, multiplier: Any, slots: Slots | None, chance: Fraction, assumptions: tuple[str, ...]) -> str:
    rows = (
        "batches as they come"
        if slots is None
        else f"{slots.size} slots, too few with probability at most {float(chance):.2g} a step (counted in delta)"
    )
    return (
        f"Each step is a post-processing of the Gaussian mechanism with noise multiplier {multiplier}, on a batch that "
        f"each record is in with probability exactly {q}; {rows}. Epsilon is what the accountant says. "
        f"Assumed: {'; '.join(assumptions)}. Proof: docs/theorems/gradients.md."
    )
