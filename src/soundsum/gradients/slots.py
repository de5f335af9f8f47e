"""Poisson subsampling into slots: batches of one fixed shape, in which each example's gradient has its own row.

A batch takes each record with probability q, independently, by exact coins. Some kernels give a row other bits when the
batch has another shape. With a public number of slots, examples in uniformly random ones and a dummy in the others,
removing an example puts the dummy in its place: all others keep shape and position. It remains that rows must not see
each other's values, which `check` tests. A batch larger than its slots is cut, with a probability that is bounded here
in rationals and counted in delta (docs/theorems/gradients.md).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.gradients.batch_guard import BatchGuard, forget, module_of
from soundsum.gradients.lazy_import import need, torch
from soundsum.numbers.quoting import quote, say_type
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.randomness import bernoulli, random_permutation, random_words
from soundsum.refusals import Reason, RefusedValue

EULER = Fraction(2_718_281_828_459_045_236, 10**18)
"""Just above e."""

RARELY = Fraction(1, 1 << 64)
"""The probability of a batch larger than its slots, if the number of slots is computed here."""

EMPTY = -1
"""Marks a slot that holds a dummy."""


def read_rate(sample_rate: object) -> Fraction:
    """Checks a sampling rate and returns it exactly."""
    if sample_rate is None:
        raise RefusedValue(
            "sample_rate",
            Reason.MISSING,
            "`sample_rate=None`: the number of records is private, so the rate is not taken from it",
            "give the probability with which a record is in a batch, such as `sample_rate='1/256'`",
        )
    q = exact(sample_rate, "sample_rate")
    if is_special(q):
        raise RefusedValue(
            "sample_rate",
            Reason.NOT_A_NUMBER,
            "`sample_rate={given}` is not a finite number",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    if q <= 0:
        raise RefusedValue(
            "sample_rate",
            Reason.TOO_SMALL,
            "`sample_rate={given}` is not above 0",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    if q > 1:
        raise RefusedValue(
            "sample_rate",
            Reason.TOO_LARGE,
            "`sample_rate={given}` is above 1",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    return Fraction(q)


def rate_from_above(q: Fraction) -> float:
    """The rate for an accountant that takes floats: never below the true one.

    >>> rate_from_above(Fraction(1, 3)) >= Fraction(1, 3), rate_from_above(Fraction(1, 4))
    (True, 0.25)
    """
    nearest = float(q)
    return nearest if nearest >= q else math.nextafter(nearest, 2.0)


def coins(q: Fraction, count: int) -> NDArray[np.bool_]:
    """Tosses independent coins, each heads with probability exactly q: 64 bits decide, more where they tie."""
    if q == 1:
        return np.ones(count, np.bool_)
    limit, rest = divmod(q * (1 << 64), 1)
    words = random_words(count)
    heads = words < np.uint64(limit)
    for i in np.flatnonzero(words == np.uint64(limit)):
        heads[i] = bernoulli(rest)
    return heads


def place_in_slots(members: NDArray[np.int64], slots: int) -> list[int]:
    """Places records in uniformly random slots; the others are EMPTY. Of too many records, a random choice stays."""
    if len(members) > slots:
        members = members[random_permutation(len(members))[:slots]]
    placed = np.full(slots, EMPTY, np.int64)
    placed[random_permutation(slots)[: len(members)]] = members
    return placed.tolist()


def overflow(mean: Fraction, slots: int) -> Fraction:
    """Bounds from above the probability that a Poisson-sampled batch of this mean size has more members than slots.

    With s = slots + 1 above the mean M it is at most (M/s)^s e^(s - M), Chernoff's bound for sums of independent coins.

    >>> overflow(Fraction(64), 150) < Fraction(1, 10**17), overflow(Fraction(64), 63)
    (True, Fraction(1, 1))
    """
    s = slots + 1
    mean = Fraction(math.ceil(mean * 1024), 1024)  # a short number; the bound grows with the mean
    if mean >= s:
        return Fraction(1)
    return min(Fraction(1), power_from_above(mean / s, s) * power_from_above(EULER, math.ceil(s - mean)))


def power_from_above(x: Fraction, n: int) -> Fraction:
    """Bounds x^n from above, for x > 0: each product keeps 128 binary digits, rounded up.

    >>> power_from_above(Fraction(3, 2), 5), 1 < power_from_above(Fraction(1, 3), 999) * 3**999 < 1.000001
    (Fraction(243, 32), True)
    """
    power = Fraction(1)
    for digit in f"{n:b}":
        product = power * power * (x if digit == "1" else 1)
        last = power_of_two(floor_log2(product) - 127)
        power = math.ceil(product / last) * last
    return power


def enough_slots(mean: Fraction, most: int, multiple: int = 1) -> int:
    """Finds a number of slots, a multiple, that a batch exceeds with probability below 2^-64; at most the records."""
    low, slots = math.floor(mean), math.ceil(mean)
    while slots < most and overflow(mean, slots) > RARELY:
        low, slots = slots, slots + math.isqrt(slots) + 8
    while slots - low > 1:  # the least that is enough, but for rounding
        middle = (low + slots) // 2
        low, slots = (low, middle) if overflow(mean, middle) <= RARELY else (middle, slots)
    return -(-min(slots, most) // multiple) * multiple


Loss = Callable[[Any, Any], Any]
"""A function of outputs and targets."""

Forward = Callable[[Any, Any], Any]
"""A function of model and inputs that returns the outputs."""


@dataclass(frozen=True)
class RowCheck:
    """The result of `Slots.check`: how many trials changed other rows, and in how many of them a row's bits changed.

    remembered: the model's buffers that came to depend on the rows; they are saved with it and get no noise.
    """

    trials: int
    changed: int
    largest: float
    remembered: tuple[str, ...] = ()

    @property
    def independent(self) -> bool:
        return self.changed == 0 and not self.remembered

    def __str__(self) -> str:
        if self.remembered:
            return (
                f"the model keeps something of the rows in {', '.join(self.remembered)}, which is saved with it and "
                "gets no noise; the theorem does not apply to this model"
            )
        if self.independent:
            return f"rows did not see each other in {self.trials} trials"
        return (
            f"rows see each other: other rows were changed {self.trials} times, and {self.changed} times that changed "
            f"the bits of the rows that stayed, by up to {self.largest:.2g}; the theorem does not apply to this model"
        )


class Slots(BatchGuard):
    """A public number of rows, fixed for the run.

    model: the module whose per-example gradients are taken (one wrapped by Opacus, or any other for `check`).
    size: how many rows a batch has; for distributed training, all ranks together.
    """

    def __init__(self, model: Any, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int):
            raise RefusedValue(
                "size",
                Reason.NOT_WHOLE,
                "`size={given}` is not a whole number of slots",
                "give 1 or more",
                given=quote(size),
            )
        if size < 1:
            raise RefusedValue(
                "size", Reason.TOO_SMALL, "`size={given}` leaves no slots", "give 1 or more", given=quote(size)
            )
        super().__init__(model)
        self.size = size

    def fill(self, examples: Sequence[Any], dummy: Any) -> tuple[list[Any], list[bool]]:
        """Places examples in random slots, the dummy in the others; says which is which (`Sum.add(present=...)`)."""
        placed = place_in_slots(np.arange(len(examples)), self.size)
        return [dummy if i == EMPTY else examples[i] for i in placed], [i != EMPTY for i in placed]

    def check(self, inputs: Any, targets: Any, loss: Loss, trials: int = 8, forward: Forward | None = None) -> RowCheck:
        """Tries whether rows see each other: changes some rows of a batch and compares the others' gradients, as bits.

        inputs, targets: a batch of `size` rows. loss: of outputs and targets, a sum or mean over the rows. forward: the
        outputs, of the model and the inputs, where training does more than model(inputs). The changed rows become zero,
        very large, infinite and NaN in turn, their targets zero or another row's. The gradients are those of Opacus's
        hooks; a copy of a model without them gets them. A trial that finds nothing proves nothing.
        """
        if len(inputs) != self.size:
            raise RefusedValue(
                "inputs",
                Reason.MISMATCH,
                "`inputs` has {rows} rows for {size} slots",
                "give a batch that fills the slots",
                rows=len(inputs),
                size=self.size,
            )
        if not isinstance(targets, torch.Tensor):
            raise RefusedValue(
                "targets",
                Reason.WRONG_TYPE,
                "`targets` is {given}",
                "give a tensor with one target for each row",
                given=say_type(targets),
            )
        if targets.ndim == 0 or len(targets) != self.size:
            raise RefusedValue(
                "targets",
                Reason.MISMATCH,
                "`targets` has the shape {given} for {size} rows",
                "give a tensor with one target for each row",
                given=str(tuple(targets.shape)),
                size=self.size,
            )
        model = self.model if _has_hooks(self.model) else _hooked(self.model)
        first, before = _seeded(model, inputs, targets, loss, forward)
        changed, largest, remembered = 0, 0.0, set()
        for trial in range(trials):
            if trial % 2 == 0:
                kept = torch.ones(self.size, dtype=torch.bool)
                kept[random_permutation(self.size)[: self.size // 2]] = False
            else:
                kept = ~kept
            other, aims = _others(inputs, targets, ~kept, trial)
            again, after = _seeded(model, other, aims, loss, forward)
            differences = [
                (a[kept].double() - b[kept].double()).abs().nan_to_num(float("inf")).max().item()
                for a, b in zip(first, again, strict=True)
                if not torch.equal(a[kept], b[kept])
            ]
            changed += bool(differences)
            largest = max([largest, *differences])
            remembered |= {name for name, kept_there in after.items() if not _same(before[name], kept_there)}
        return RowCheck(trials, changed, largest, tuple(sorted(remembered)))


def per_example(model: Any, inputs: Any, targets: Any, loss: Loss, forward: Forward | None = None) -> list[Any]:
    """Computes each example's gradients: from the model's own hooks, or by differentiating row by row."""
    if _has_hooks(model):
        module = module_of(model)
        _clear(model)
        try:
            loss(module(inputs) if forward is None else forward(module, inputs), targets).backward()
            return [p.grad_sample.clone() for p in module.parameters() if p.requires_grad]
        finally:
            _clear(model)
    state = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}

    def of_one(parameters: dict[str, Any], x: Any, y: Any) -> Any:
        return loss(torch.func.functional_call(model, parameters, (x[None],)), y[None])

    rows = torch.func.vmap(torch.func.grad(of_one), in_dims=(None, 0, 0))(state, inputs, targets)
    return [rows[name] for name in state]


def _others(inputs: Any, targets: Any, changed: Any, trial: int) -> tuple[Any, Any]:
    """Returns the batch with other values in the changed rows."""
    rows, aims = inputs.clone(), targets.clone()
    one = trial * 5 % len(inputs)
    if inputs.is_floating_point():
        rows[changed] = (0.0, 1e4, float("inf"), float("nan"))[trial // 2 % 4]
    else:
        rows[changed] = inputs[one] if trial // 2 % 2 else 0
    aims[changed] = targets[one] if trial // 2 % 2 else torch.zeros_like(targets[0])
    return rows, aims


def _seeded(
    model: Any, inputs: Any, targets: Any, loss: Loss, forward: Forward | None
) -> tuple[list[Any], dict[str, Any]]:
    """Computes gradients and the buffers they leave behind, and restores the model and the random state.

    The seed is the same each time, so dropout alone changes nothing.
    """
    before, on_gpus = torch.get_rng_state(), torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    buffers = dict(module_of(model).named_buffers())
    values = {name: buffer.clone() for name, buffer in buffers.items()}
    torch.manual_seed(0)
    try:
        found = per_example(model, inputs, targets, loss, forward)
        return found, {name: buffer.clone() for name, buffer in module_of(model).named_buffers() if name in buffers}
    finally:
        torch.set_rng_state(before)
        torch.cuda.set_rng_state_all(on_gpus)
        _restore(module_of(model), buffers, values)


def _restore(module: Any, buffers: dict[str, Any], values: dict[str, Any]) -> None:
    """Restores the buffers, both tensors and values: a layer may have changed one or replaced it."""
    for name, buffer in buffers.items():
        home, _, own = name.rpartition(".")
        with torch.no_grad():
            buffer.copy_(values[name])
        setattr(module.get_submodule(home), own, buffer)


def _same(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num()))


def _has_hooks(model: Any) -> bool:
    return hasattr(model, "grad_sample_module") or hasattr(model, "enable_hooks")


def _hooked(model: Any) -> Any:
    """Wraps a copy as Opacus does: differentiating row by row would never put two rows side by side."""
    return need("opacus").GradSampleModule(copy.deepcopy(model))


def _clear(model: Any) -> None:
    module_of(model).zero_grad()
    forget(model)
