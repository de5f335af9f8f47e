"""Slots: batches of one fixed shape, in which each example's gradient has its own row whoever else is there.

Some kernels give a row other bits when the batch has another shape. With a public number of slots, examples in
uniformly random ones and a dummy in the others, removing an example puts the dummy in its place: all others keep shape
and position, and what remains to be asked is that rows do not see each other's values, which `check` tries out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soundsum.gradients.needs import need, torch
from soundsum.gradients.sampling import EMPTY, place
from soundsum.gradients.tickets import Tickets, forget, module_of
from soundsum.randomness import random_permutation

Loss = Callable[[Any, Any], Any]
"""Of outputs and targets."""

Forward = Callable[[Any, Any], Any]
"""Outputs, of a model and inputs."""


@dataclass(frozen=True)
class Rows:
    """What `Slots.check` saw: in how many trials other rows were changed, and in how many of them a row's bits did.

    remembered: the model's buffers that came to depend on the rows, which are saved with it and get no noise.
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


class Slots(Tickets):
    """A public number of rows, fixed for the run.

    model: the module whose per-example gradients are taken (one wrapped by Opacus, or any other for `check`).
    size: how many rows a batch has; for distributed training, all ranks together.
    """

    def __init__(self, model: Any, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"size={size!r}: the number of slots is a whole number, 1 or more")
        super().__init__(model)
        self.size = size

    def fill(self, examples: Sequence[Any], dummy: Any) -> tuple[list[Any], list[bool]]:
        """The examples in random slots, the dummy in the others, and which is which (for `Sum.add(present=...)`)."""
        placed = place(np.arange(len(examples)), self.size)
        return [dummy if i == EMPTY else examples[i] for i in placed], [i != EMPTY for i in placed]

    def check(self, inputs: Any, targets: Any, loss: Loss, trials: int = 8, forward: Forward | None = None) -> Rows:
        """Tries whether rows see each other: changes some rows of a batch and compares the others' gradients, as bits.

        inputs, targets: a batch of `size` rows. loss: of outputs and targets, a sum or mean over the rows. forward: the
        outputs, of the model and the inputs, where training does more than model(inputs). The changed rows become zero,
        very large, infinite and NaN in turn, their targets zero or another row's. The gradients are those of Opacus's
        hooks; a copy of a model without them gets them. A trial that finds nothing proves nothing.
        """
        if len(inputs) != self.size:
            raise ValueError(f"a batch of {len(inputs)} rows: give one that fills the {self.size} slots")
        if not isinstance(targets, torch.Tensor) or targets.ndim == 0 or len(targets) != self.size:
            raise ValueError(f"targets are a {type(targets).__name__}: give a tensor with one for each of the rows")
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
        return Rows(trials, changed, largest, tuple(sorted(remembered)))


def per_example(model: Any, inputs: Any, targets: Any, loss: Loss, forward: Forward | None = None) -> list[Any]:
    """The gradients of each example: those that the model's own hooks collect, or by differentiating row by row."""
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
    """The batch with other values in the rows that are changed."""
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
    """Gradients, and the buffers they leave behind, as if nothing had been done before or were done afterwards.

    The randomness is the same each time: dropout is no sight of others.
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
    """The same tensors with the same values: a layer may have changed one, or put another in its place."""
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
    """A copy as Opacus wraps it: by differentiating row by row no row would ever be beside another."""
    return need("opacus").GradSampleModule(copy.deepcopy(model))


def _clear(model: Any) -> None:
    module_of(model).zero_grad()
    forget(model)
