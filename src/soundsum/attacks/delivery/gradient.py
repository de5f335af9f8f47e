"""One step of DP-SGD is a noisy bounded sum (1.7): clipped gradients, added in bfloat16, and Gaussian noise.

The loss is the attacker's: theta times q(record), whose gradient is q(record). With q the microquery of repeated
rounding I, the parameter after one step over the whole data tells one person's bit, with under a thousand examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Event
from soundsum.attacks.choose import attack
from soundsum.attacks.delivery.outcome import (
    Delivery,
    ordinary_gaussian,
    require_at_least_one,
    require_positive,
    secret_bits,
)
from soundsum.kernels import float_sum
from soundsum.numbers.rationals import Value
from soundsum.releases.api import sum as private_sum
from soundsum.tables.runs import Runs

QUERY = "theta -= rate * (sum(clip(gradient(loss(theta, record)), C) for record in data) + C * noise_multiplier * Z)"


def dp_sgd_step(targets: int = 32, noise_multiplier: Any = 8) -> Delivery:
    """Learn a person's bit from the parameter after one step of DP-SGD in bfloat16."""
    require_at_least_one("targets", targets, 1000)
    multiplier = require_positive("noise_multiplier", noise_multiplier)
    pair = attack("repeated_rounding_1", "bfloat16", j=7)
    clip = pair.problem.upper
    gradients = list(pair.left)

    def gradient(record: tuple[int, int]) -> Value:
        """The gradient of the loss theta * q(record): C or 0 for the first person, by their bit; others are chosen."""
        place, bit = record
        return min(clip, gradients[place] * (bit if place == 0 else 1))

    def in_bfloat16(data: Runs) -> Fraction:
        return ordinary_gaussian(float_sum("iterated", data, -clip, clip), clip, multiplier)

    def ours(data: Runs) -> Fraction:
        rho = 1 / (2 * multiplier**2)
        return Fraction(private_sum(data, -clip, clip, noise="gaussian", rho=rho, dtype="bfloat16").exact)

    def batch(bit: int) -> Runs:
        """The gradients of all records; the bits of the others do not matter."""
        return Runs.of([gradient((place, bit)) for place in range(len(gradients))], "bfloat16")

    batches = {bit: batch(bit) for bit in (0, 1)}

    def step(noisy_sum: Callable[[Runs], Fraction], bit: int) -> Fraction:
        """The parameter after one step from 0 with rate 1."""
        return -noisy_sum(batches[bit])

    secrets = secret_bits(targets)
    real = Event.between(batches[1].total(), batches[0].total())
    return Delivery(
        name="dp_sgd_step",
        story=(
            f"{len(gradients):,} examples and one step of DP-SGD over all of them, gradients clipped to C and added in "
            "bfloat16. The analyst chooses the loss, so that each example's gradient is what the attack needs."
        ),
        query=QUERY,
        promised=f"Gaussian noise of {multiplier} C",
        secrets=tuple(secrets),
        recovered=tuple(int(pair.event(-step(in_bfloat16, bit))) for bit in secrets),
        recovered_from_ours=tuple(int(real(-step(ours, bit))) for bit in secrets),
        chance=Fraction(1, 2),
        allowed=(1 + math.erf(1 / (2 * math.sqrt(2) * float(multiplier)))) / 2,
    )
