"""Attacks on private training: two neighbouring batches, one step, and a reading of its result.

Each works against a step whose proof stops before the arithmetic does: sums in half precision, noise that rounding
swallows, a loss divided by the size of the batch, norms that cancel. `run` tries one on any step and says whether the
two batches were told apart more often than the noise allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soundsum.gradients.clipped_sum import Sum
from soundsum.gradients.lazy_import import need, torch
from soundsum.gradients.slots import Slots, per_example
from soundsum.numbers.event_counts import log_at_least
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

Step = Callable[[Any, Any, str, float, float], list[Any]]
"""step(model, inputs, reduction, max_norm, noise_multiplier) -> the noisy sum of clipped gradients, by parameter.

The model gives one number for each example, which is its loss; the batch's loss is their sum or mean (`reduction`).
"""

SIGNIFICAND = {"bfloat16": 8, "float16": 11}
LARGE = 4096
CERTAIN = 1e-6


@dataclass(frozen=True)
class Outcome:
    """The number of correct guesses; `allowed` is the largest expected share of them that the noise permits."""

    attack: str
    runs: int
    correct: int
    allowed: float
    distinct: int

    @property
    def chance(self) -> float:
        """The probability of at least this many correct guesses, if each is right with probability `allowed`."""
        return math.exp(log_at_least(self.runs, self.correct, self.allowed))

    @property
    def succeeds(self) -> bool:
        return self.chance < CERTAIN

    def __str__(self) -> str:
        verdict = "told apart" if self.succeeds else "not told apart"
        return (
            f"{self.attack}: {verdict}; {self.correct} of {self.runs} guesses right where the noise allows "
            f"{100 * self.allowed:.0f}%; {self.distinct} different results"
        )


@dataclass(frozen=True)
class Attack:
    """`left` has one example more than `right`; the guess is `left` where the reading is above the threshold."""

    name: str
    story: str
    left: Any
    right: Any
    max_norm: float
    noise_multiplier: float
    reduction: str
    threshold: float

    def model(self) -> Any:
        """A fresh model: one linear layer, whose gradient is the example itself (or the sum of its tokens)."""
        return _scorer(self.left.shape[-1], self.left.dtype)

    @property
    def allowed(self) -> float:
        """The best possible probability of a correct guess: Phi(1/2z) for noise multiplier z."""
        return math.nextafter((1 + math.erf(1 / (2 * math.sqrt(2) * self.noise_multiplier))) / 2, 1.0)

    def read(self, released: list[Any]) -> float:
        """Returns the norm of the release, or its only coordinate."""
        flat = torch.cat([x.detach().double().flatten() for x in released])
        return float(flat[0] if flat.numel() == 1 else flat.norm())

    def run(self, step: Step, runs: int = 60) -> Outcome:
        """Runs the attack on a step: half of the runs with each batch."""
        correct, seen = 0, set()
        for i in range(runs):
            batch = self.left if i % 2 else self.right
            reading = self.read(step(self.model(), batch, self.reduction, self.max_norm, self.noise_multiplier))
            correct += (reading > self.threshold) == bool(i % 2)
            seen.add(reading)
        return Outcome(self.name, runs, correct, self.allowed, len(seen))


def attack(name: str, dtype: str | None = None) -> Attack:
    """Builds an attack by name: ghost, mean_loss, swallowed_noise or half_precision_batch.

    dtype: bfloat16 (the default) or float16 for the last three, of model and data; ghost is in float32.
    """
    if name not in BUILDERS:
        raise RefusedValue(
            "name",
            Reason.UNKNOWN,
            "no attack is called {given}",
            "choose one of {known}",
            given=quote(name),
            known=", ".join(BUILDERS),
        )
    if name == "ghost":
        if dtype not in (None, "float32"):
            raise RefusedValue(
                "dtype",
                Reason.UNSUPPORTED,
                "`dtype={given}`: the attack ghost is in float32",
                "leave `dtype` out",
                given=quote(dtype),
            )
        return _ghost()
    if (dtype or "bfloat16") not in SIGNIFICAND:
        raise RefusedValue(
            "dtype",
            Reason.UNSUPPORTED,
            "`dtype={given}`: this attack is in bfloat16 or float16",
            "give one of these, or leave `dtype` out for bfloat16",
            given=quote(dtype),
        )
    return BUILDERS[name](dtype or "bfloat16")


def sound_step(model: Any, inputs: Any, reduction: str, max_norm: float, noise_multiplier: float) -> list[Any]:
    """Makes one sound step: slots, an exact sum and exact noise."""
    slots = Slots(model, 2 * LARGE)
    rows, present = slots.fill(list(inputs), torch.zeros_like(inputs[0]))
    batch = torch.stack(rows)
    total = Sum(max_norm, noise_multiplier)
    total.add(per_example(model, batch, torch.zeros(len(batch)), lambda scores, _: scores.sum()), present=present)
    return total.release().floats(torch.float64)


def _half_precision_batch(dtype: str) -> Attack:
    """n ones: where n is halfway between two floats, one more moves the rounded sum by a whole spacing."""
    spacing = _spacing(dtype)
    left, right = _ones(LARGE + spacing // 2 + 1, dtype), _ones(LARGE + spacing // 2, dtype)
    story = f"{len(left):,} examples with gradient C, added in {dtype}, whose values are {spacing} apart there"
    return Attack(
        "half_precision_batch", story, left, right, 1.0, max(1.0, spacing / 8), "sum", LARGE + spacing / 2 + 0.25
    )


def _swallowed_noise(dtype: str) -> Attack:
    """Noise that is small beside the spacing, on the sum of ones: rounding removes it."""
    spacing = _spacing(dtype)
    left, right = _ones(LARGE + spacing // 2 + 1, dtype), _ones(LARGE + spacing // 2, dtype)
    story = f"noise of {max(1.0, spacing / 32):g} C on a sum of {len(left):,} C in {dtype}: most draws change nothing"
    return Attack("swallowed_noise", story, left, right, 1.0, max(1.0, spacing / 32), "sum", LARGE + spacing / 2 + 0.25)


def _mean_loss(dtype: str) -> Attack:
    """1/n times n is not 1: the gradient of every example changes with n, all in the same direction."""
    kind, value = getattr(torch, dtype), 0.875
    sizes = torch.arange(1024, LARGE)
    each = ((1 / sizes.double()).to(kind).double() * sizes).to(kind) * torch.tensor(value, dtype=kind)
    sums = sizes * each.double()
    best = int((sums[1:] - sums[:-1]).argmax())
    n, moved = int(sizes[best + 1]), float(sums[best + 1] - sums[best])
    left, right = _ones(n, dtype) * value, _ones(n - 1, dtype) * value
    story = f"the mean of {n:,} losses in {dtype}: one example more moves the sum by {moved:.3g} C"
    return Attack(
        "mean_loss", story, left, right, 1.0, max(1.0, moved / 8), "mean", float(sums[best + 1] + sums[best]) / 2
    )


def _ghost() -> Attack:
    """Two tokens that nearly cancel: their products cancel in floats, and the norm computed from them is 0."""
    generator = torch.Generator().manual_seed(0)
    others = torch.randn(63, 2, 8, generator=generator)
    for seed in range(1000):
        v = torch.randn(8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 1e8
        left = torch.cat([others, torch.stack([v, -v * (1 + 2.0**-11)]).float()[None]])
        products = torch.einsum("nik,njk->nij", left, left)
        if float(torch.einsum("n...i,n...i->n", torch.ones_like(products), products)[-1]) <= 0:
            break
    story = "one example of two tokens, whose gradient's norm, computed from products of its parts, cancels to 0"
    return Attack("ghost", story, left, others, 1.0, 50.0, "sum", 5000.0)


BUILDERS: dict[str, Callable[..., Attack]] = {
    "ghost": _ghost,
    "mean_loss": _mean_loss,
    "swallowed_noise": _swallowed_noise,
    "half_precision_batch": _half_precision_batch,
}


def _spacing(dtype: str) -> int:
    """The distance between floats just above 4096."""
    return LARGE >> SIGNIFICAND[dtype] - 1


def _ones(n: int, dtype: str) -> Any:
    return torch.ones(n, 1, dtype=getattr(torch, dtype))


def _scorer(width: int, dtype: Any) -> Any:
    nn = need("torch.nn")

    class Scorer(nn.Module):  # type: ignore[misc,name-defined]
        """One number for each example: a linear layer, added up over the example's tokens if it has any."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(width, 1, bias=False, dtype=dtype)
            nn.init.zeros_(self.layer.weight)

        def forward(self, x: Any) -> Any:
            return self.layer(x).flatten(1).sum(1)

    return Scorer()
