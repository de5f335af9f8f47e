"""Mechanisms known to keep or to break their promise, to measure the auditor (`make audit-power`).

Each unsound one has a fault seen in real code; apart from the fault, its noise is exact: two-sided geometric over
integers, scaled to the claimed sensitivity. The sound ones look suspicious and keep their promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

import soundsum as ss

STEP = 2**16
"""Float records are rounded to multiples of 1/STEP where a mechanism adds integers."""


@dataclass(frozen=True)
class Animal:
    """A mechanism, the kind of its fault, and whether it has one."""

    name: str
    kind: str
    sound: bool
    target: ss.Target


def rng() -> np.random.Generator:
    return np.random.default_rng()


def geometric(scale: float, runs: int) -> Any:
    """Integer noise of probability proportional to exp(-|z|/scale).

    NumPy's geometric rounds to doubles and ends at 2^63, so large noise is drawn bit by bit.
    """
    if scale < 2**50:
        p = -math.expm1(-1 / scale)
        return rng().geometric(p, runs) - rng().geometric(p, runs)
    weights = [2**i for i in range(math.ceil(math.log2(scale)) + 6)]
    bits = [rng().random((2, runs)) < 1 / (1 + math.exp(weight / scale)) for weight in weights]
    first, second = sum(weight * bit.astype(object) for weight, bit in zip(weights, bits, strict=True))
    return first - second


def exact(data: Any, lower: Any, upper: Any) -> int:
    return sum(np.clip(data, lower, upper).tolist())


def steps(data: Any, lower: Any, upper: Any) -> int:
    """Clamp floats and count them in steps of 1/STEP; NaN counts as the value nearest zero."""
    zero = max(lower, min(upper, 0))
    return sum(round(STEP * (zero if x != x else max(lower, min(upper, x)))) for x in data.tolist())


def spread(lower: Any, upper: Any) -> Any:
    return upper - lower


def farthest(lower: Any, upper: Any) -> Any:
    return max(abs(lower), abs(upper))


@dataclass(frozen=True)
class Release:
    """A sum with geometric noise of `times` the scale that its claim asks for."""

    total: Callable[..., Any]
    claim: Callable[..., Any]
    times: float = 1.0

    def __call__(self, data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
        total = int(self.total(data, lower, upper))
        noise = geometric(self.times * max(1, self.claim(lower, upper)) / epsilon, runs)
        return [total + z for z in noise.tolist()]


# Sums that move too far


def first_twice(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(x) + sum(x[:1])


def last_thrice(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(x) + 2 * sum(x[-1:])


def first_half(data: Any, lower: Any, upper: Any) -> int:
    return exact(data[: len(data) // 2], lower, upper)


def first_hundred(data: Any, lower: Any, upper: Any) -> int:
    return exact(data[:100], lower, upper)


def every_tenth(data: Any, lower: Any, upper: Any) -> int:
    return 10 * exact(data[::10], lower, upper)


def distinct(data: Any, lower: Any, upper: Any) -> int:
    return sum(set(np.clip(data, lower, upper).tolist()))


def without_repeats(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(b for i, b in enumerate(x) if i == 0 or x[i - 1] != b)


def without_maxima(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(y for y in x if y != max(x))


def without_minima(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(y for y in x if y != min(x))


def until_zero(data: Any, lower: Any, upper: Any) -> int:
    total = 0
    for x in np.clip(data, lower, upper).tolist():
        if not x:
            break
        total += x
    return total


def neighbours_apart(data: Any, lower: Any, upper: Any) -> int:
    x = np.clip(data, lower, upper).tolist()
    return sum(abs(b - a) for a, b in pairwise(x))


def by_rank(data: Any, lower: Any, upper: Any) -> int:
    return sum(i * x for i, x in enumerate(sorted(np.clip(data, lower, upper).tolist())))


def squares(data: Any, lower: Any, upper: Any) -> int:
    return sum(x * x for x in np.clip(data, lower, upper).tolist())


def from_mean(data: Any, lower: Any, upper: Any) -> int:
    """The mean of chunk means, scaled up: a short last chunk weighs too much."""
    x = np.clip(data, lower, upper).tolist()
    means = [Fraction(sum(x[i : i + 10]), len(x[i : i + 10])) for i in range(0, len(x), 10)]
    return round(sum(means) / len(means) * len(x)) if means else 0


def to_hundreds(data: Any, lower: Any, upper: Any) -> int:
    step = 100 * max(1, upper - lower)
    return round(exact(data, lower, upper) / step) * step


def minus_largest(data: Any, lower: Any, upper: Any) -> int:
    """Records counted from the smallest in the data."""
    x = np.clip(data, lower, upper).tolist()
    return sum(max(x) - y for y in x) if x else 0


def clamped_above(data: Any, lower: Any, upper: Any) -> int:
    return sum(min(x, upper) for x in data.tolist())


def unclamped(data: Any, lower: Any, upper: Any) -> int:
    return sum(data.tolist())


def plus_count(data: Any, lower: Any, upper: Any) -> int:
    """Each record and one: the count is released along."""
    return exact(data, lower, upper) + len(data)


def product(data: Any, lower: Any, upper: Any) -> int:
    return math.prod(np.clip(data, lower, upper).tolist()[:40])


def parity_counts(data: Any, lower: Any, upper: Any) -> int:
    """A bonus where the number of records is even."""
    return exact(data, lower, upper) + (3 * int(upper - lower) if len(data) % 2 == 0 else 0)


# Arithmetic


def int8_sum(data: Any, lower: Any, upper: Any) -> Any:
    return np.clip(data, lower, upper).sum(dtype=np.int8)


def int32_sum(data: Any, lower: Any, upper: Any) -> Any:
    return np.clip(data, lower, upper).sum(dtype=np.int32)


def saturating(data: Any, lower: Any, upper: Any) -> int:
    total = 0
    for x in np.clip(data, lower, upper).tolist():
        total = max(-128, min(127, total + x))
    return total


def one_by_one(data: Any, lower: Any, upper: Any) -> Any:
    x = np.clip(data, lower, upper)
    return np.add.accumulate(np.nan_to_num(x))[-1] if len(x) else x.dtype.type(0)


def tree(data: Any, lower: Any, upper: Any) -> Any:
    return np.nan_to_num(np.clip(data, lower, upper)).sum()


def kahan(data: Any, lower: Any, upper: Any) -> Any:
    x = np.nan_to_num(np.clip(data, lower, upper))
    total = lost = x.dtype.type(0)
    for y in x:
        term = y - lost
        new = total + term
        lost = (new - total) - term
        total = new
    return total


def fsum(data: Any, lower: Any, upper: Any) -> float:
    return math.fsum(np.nan_to_num(np.clip(data, lower, upper)).tolist())


def nan_passes(data: Any, lower: Any, upper: Any) -> float:
    return math.fsum(lower if x < lower else upper if x > upper else x for x in data.tolist())


def inf_passes(data: Any, lower: Any, upper: Any) -> float:
    return math.fsum(0.0 if x != x else x if math.isinf(x) else max(lower, min(upper, x)) for x in data.tolist())


# Errors


def raises_at_bound(data: Any, lower: Any, upper: Any) -> int:
    if len(data) and max(data.tolist()) >= upper > lower:
        raise RuntimeError("a record at the upper bound")
    return exact(data, lower, upper)


def raises_when_empty(data: Any, lower: Any, upper: Any) -> int:
    if not len(data):
        raise RuntimeError("no records")
    return exact(data, lower, upper)


def raises_when_constant(data: Any, lower: Any, upper: Any) -> int:
    if len(data) > 1 and len(set(data.tolist())) == 1:
        raise RuntimeError("the records do not vary")
    return exact(data, lower, upper)


# Noise


def no_noise(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    return [exact(data, lower, upper)] * runs


def fixed_seed(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[float]:
    scale = max(1, upper - lower) / epsilon
    return [exact(data, lower, upper) + float(round(np.random.default_rng(7).laplace(0, scale)))] * runs


def few_noises(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Noise drawn from a pool of sixteen values."""
    pool = np.random.default_rng(7).laplace(0, 3 * max(1, upper - lower) / epsilon, 16).round().astype(int)
    return [exact(data, lower, upper) + z for z in rng().choice(pool, runs).tolist()]


def one_sided(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    return [exact(data, lower, upper) + abs(z) for z in geometric(max(1, upper - lower) / epsilon, runs).tolist()]


def truncated(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    scale = max(1, upper - lower) / epsilon
    return [
        exact(data, lower, upper) + max(-round(scale), min(round(scale), z)) for z in geometric(scale, runs).tolist()
    ]


def uniform(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    wide = 3 * max(1, int(upper - lower))
    return [exact(data, lower, upper) + z for z in rng().integers(-wide, wide, runs, endpoint=True).tolist()]


def averaged(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    noise = geometric(max(1, upper - lower) / epsilon, 16 * runs).reshape(runs, 16).mean(axis=1).round()
    return [exact(data, lower, upper) + int(z) for z in noise.tolist()]


def sometimes_exact(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    noise = geometric(1000 * max(1, upper - lower) / epsilon, runs) * (rng().random(runs) > 0.05)
    return [exact(data, lower, upper) + z for z in noise.tolist()]


def scale_of_data(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Noise for the range seen in the data."""
    x = np.clip(data, lower, upper).tolist()
    scale = (max(x) - min(x)) / epsilon if x else 0
    noise = geometric(scale, runs).tolist() if scale else [0] * runs
    return [sum(x) + z for z in noise]


def scale_by_count(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    scale = max(1, upper - lower) / epsilon / max(1, len(data))
    return [exact(data, lower, upper) + z for z in geometric(scale, runs).tolist()]


def float_laplace(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> Any:
    return steps(data, lower, upper) / STEP + rng().laplace(0, (float(upper) - float(lower)) / epsilon, runs)


def narrow_gaussian(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    noise = (max(1, upper - lower) * rng().normal(0, 0.8, runs)).round()
    return [exact(data, lower, upper) + int(z) for z in noise.tolist()]


def empty_is_zero(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    if not len(data):
        return [0] * runs
    return [exact(data, lower, upper) + z for z in geometric(max(1, farthest(lower, upper)) / epsilon, runs).tolist()]


def small_is_hidden(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    if len(data) < 10:
        return [-(10**9)] * runs
    return [exact(data, lower, upper) + z for z in geometric(max(1, farthest(lower, upper)) / epsilon, runs).tolist()]


def clamped_output(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Cut off at the largest sum that so many records can have."""
    noise = geometric(max(1, farthest(lower, upper)) / epsilon, runs).tolist()
    return [max(int(lower) * len(data), min(int(upper) * len(data), exact(data, lower, upper) + z)) for z in noise]


def mean_of_private_count(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[Fraction]:
    n = max(1, len(data))
    noise = geometric(max(1, spread(lower, upper)) / epsilon, runs).tolist()
    return [Fraction(exact(data, lower, upper) + z, n) for z in noise]


def low_digit(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Noise in whole tens: the last digit of the sum stays."""
    noise = geometric(max(1, upper - lower) / epsilon, runs) * 10
    return [exact(data, lower, upper) + z for z in noise.tolist()]


# Sound ones


def grid_release(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[Fraction]:
    noise = geometric((STEP * (upper - lower) + 1) / epsilon, runs).tolist()
    return [Fraction(steps(data, lower, upper) + z, STEP) for z in noise]


def grid_sum(data: Any, lower: Any, upper: Any) -> Fraction:
    return Fraction(steps(data, lower, upper), STEP)


def grid_spread(lower: Any, upper: Any) -> Fraction:
    return Fraction(upper) - Fraction(lower) + Fraction(1, STEP)


def response(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Randomised response on whether the first record lies in the upper half."""
    truth = len(data) > 0 and 2 * int(data[0]) > int(lower) + int(upper)
    told = rng().random(runs) < 1 / (1 + math.exp(-epsilon))
    return [int(truth == bool(t)) for t in told]


def constant(data: Any, lower: Any, upper: Any) -> int:
    return 12


def wrapped(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    """Noise and sum modulo 2^32."""
    noise = geometric(max(1, upper - lower) / epsilon, runs).tolist()
    return [(int(int32_sum(data, lower, upper)) + z) % 2**32 for z in noise]


def clamped_to_public(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    noise = geometric(max(1, upper - lower) / epsilon, runs).tolist()
    return [max(-1000, min(1000, exact(data, lower, upper) + z)) for z in noise]


def wide_gaussian(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    noise = (max(1, upper - lower) * rng().normal(0, 6, runs)).round()
    return [exact(data, lower, upper) + int(z) for z in noise.tolist()]


def coin(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> list[int]:
    return rng().integers(2, size=runs).tolist()


def largest(data: Any, lower: Any, upper: Any) -> int:
    return max(np.clip(data, lower, upper).tolist(), default=int(lower))


def median_times(data: Any, lower: Any, upper: Any) -> int:
    """The number of records above the middle, times U - L."""
    middle = (int(lower) + int(upper)) / 2
    return int(upper - lower) * sum(x > middle for x in data.tolist())


def one_more(lower: Any, upper: Any) -> Any:
    return upper - lower + 1


def square_of_farthest(lower: Any, upper: Any) -> Any:
    return farthest(lower, upper) ** 2


def tenfold(lower: Any, upper: Any) -> Any:
    return 10 * (upper - lower)


def float32_bound(lower: Any, upper: Any, size: Any) -> Fraction:
    """What one record can move a float32 sum by, with every rounding counted at the largest sum."""
    n, far = int(size), max(abs(Fraction(lower)), abs(Fraction(upper)))
    return Fraction(upper) - Fraction(lower) + 2 * n * (n + 1) * far * Fraction(1, 2**23)


BITS: dict[str, Any] = {"dtype": "int64", "relation": "change_one", "bounds": (0, 1)}
AGES: dict[str, Any] = {"dtype": "int64", "relation": "change_one", "bounds": (18, 100)}
SIGNED: dict[str, Any] = {"dtype": "int64", "relation": "change_one", "bounds": (-10, 10)}
VISITS: dict[str, Any] = {"dtype": "int64", "relation": "symmetric", "bounds": (0, 12)}
BYTES: dict[str, Any] = {"dtype": "int8", "relation": "change_one", "bounds": (-100, 100)}
FREE: dict[str, Any] = {"dtype": "int64", "relation": "change_one"}
PAY: dict[str, Any] = {"dtype": "float64", "relation": "change_one", "bounds": (0, 100)}
SHORT: dict[str, Any] = {"dtype": "float32", "relation": "symmetric", "bounds": (0, 100)}


def _summed(total: Callable[..., Any], claim: Callable[..., Any], **promise: Any) -> dict[str, Any]:
    """A sum with its claim and exact noise."""
    return {"noiseless": total, "claimed": claim, "release": Release(total, claim), **promise}


def _unsound() -> Iterator[tuple[str, str, dict[str, Any]]]:
    # Claims too small
    yield "too little noise", "half", {"release": Release(exact, spread, 0.5), **AGES}
    yield "too little noise", "third", {"release": Release(exact, farthest, 1 / 3), **VISITS}
    yield (
        "wrong relation",
        "spread where records are added",
        _summed(exact, spread, **{**AGES, "relation": "symmetric"}),
    )
    yield "wrong relation", "farthest, records changed", _summed(exact, farthest, **SIGNED)
    yield "wrong statistic", "squares", _summed(squares, farthest, **VISITS)
    yield "wrong statistic", "product", _summed(product, spread, **{**SIGNED, "bounds": (0, 3)})
    yield "count released along", "plus_count", _summed(plus_count, farthest, **VISITS)
    yield "count released along", "parity", _summed(parity_counts, farthest, **VISITS)
    # Rows that count too much
    yield "some rows weigh more", "first", _summed(first_twice, spread, **AGES)
    yield "some rows weigh more", "last", _summed(last_thrice, spread, **FREE)
    yield "rows by place", "first half", _summed(first_half, spread, **AGES)
    yield "rows by place", "first hundred", _summed(first_hundred, spread, **AGES)
    yield "rows by place", "every tenth", _summed(every_tenth, spread, **BITS)
    yield "duplicates dropped", "distinct", _summed(distinct, spread, **AGES)
    yield "duplicates dropped", "adjacent", _summed(without_repeats, spread, **AGES)
    yield "extremes dropped", "maxima", _summed(without_maxima, spread, **AGES)
    yield "extremes dropped", "minima", _summed(without_minima, spread, **VISITS)
    yield "stops at a sentinel", "zero", _summed(until_zero, farthest, **VISITS)
    yield "differences of rows", "adjacent", _summed(neighbours_apart, spread, **SIGNED)
    yield "ranks", "weights", _summed(by_rank, spread, **AGES)
    yield "relative to the data", "largest", _summed(minus_largest, spread, **AGES)
    yield "mean of means", "chunks of ten", _summed(from_mean, spread, **AGES)
    yield "rounded result", "hundreds", _summed(to_hundreds, spread, **FREE)
    yield "no clamp", "above only", _summed(clamped_above, spread, **SIGNED)
    yield "no clamp", "none", _summed(unclamped, spread, **SIGNED)
    # Arithmetic
    yield "integers wrap", "int8", _summed(int8_sum, spread, **BYTES)
    yield "integers wrap", "int32", _summed(int32_sum, spread, **{**FREE, "dtype": "int32"})
    yield "saturation", "int8", _summed(saturating, spread, **BYTES)
    yield "float rounding", "one by one", {"noiseless": one_by_one, "claimed": spread, **PAY, "dtype": "float32"}
    yield "float rounding", "float16", {"noiseless": one_by_one, "claimed": farthest, **SHORT, "dtype": "float16"}
    yield "float rounding", "pairwise", {"noiseless": tree, "claimed": farthest, **SHORT}
    yield (
        "float rounding",
        "kahan",
        {"noiseless": kahan, "claimed": spread, **FREE, "dtype": "float32"},
    )
    yield "float result", "fsum", {"noiseless": fsum, "claimed": spread, **FREE, "dtype": "float64"}
    yield "special values", "nan", {"noiseless": nan_passes, "claimed": spread, **PAY}
    yield "special values", "inf", {"noiseless": inf_passes, "claimed": spread, **PAY}
    # Errors
    yield "errors", "at a bound", _summed(raises_at_bound, spread, **AGES)
    yield "errors", "when empty", _summed(raises_when_empty, farthest, **VISITS)
    yield "errors", "when constant", _summed(raises_when_constant, spread, **AGES)
    # Noise
    yield "no noise", "int64", {"release": no_noise, **BITS}
    yield "no noise", "no sums given", {"release": no_noise, **AGES, "relation": "symmetric"}
    yield "noise that is known", "fixed seed", {"release": fixed_seed, **AGES}
    yield "noise that is known", "few values", {"release": few_noises, **AGES}
    yield "wrong noise", "one-sided", {"release": one_sided, **AGES}
    yield "wrong noise", "truncated", {"release": truncated, **AGES}
    yield "wrong noise", "uniform", {"release": uniform, **AGES}
    yield "wrong noise", "narrow Gaussian", {"release": narrow_gaussian, **AGES, "delta": "1e-5"}
    yield "averaged draws", "sixteen", {"release": averaged, **AGES}
    yield "sometimes exact", "one in twenty", {"release": sometimes_exact, **AGES}
    yield "scale from the data", "range", {"release": scale_of_data, **AGES}
    yield "scale from the data", "count", {"release": scale_by_count, **AGES}
    yield "low bits", "floats", {"release": float_laplace, **PAY}
    yield "low bits", "whole tens", {"release": low_digit, **BITS}
    yield "outputs by count", "zero when empty", {"release": empty_is_zero, **VISITS}
    yield "outputs by count", "hidden below ten", {"release": small_is_hidden, **VISITS}
    yield "outputs by count", "cut off", {"release": clamped_output, **VISITS}
    yield "outputs by count", "private divisor", {"release": mean_of_private_count, **VISITS}


def _sound() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "sum of bits", _summed(exact, spread, **BITS)
    yield "sum of ages", _summed(exact, spread, **AGES)
    yield "sum of visits", _summed(exact, farthest, **VISITS)
    yield "any bounds", _summed(exact, spread, **FREE)
    yield "twice the noise", {"release": Release(exact, spread, 2.0), **SIGNED}
    yield "grid", {"noiseless": grid_sum, "claimed": grid_spread, "release": grid_release, **PAY}
    yield "grid, in singles", {"release": grid_release, **SHORT, "relation": "change_one"}
    yield "randomised response", {"release": response, **AGES, "ordered": True}
    yield "constant", {"noiseless": constant, "claimed": spread, "release": Release(constant, spread), **AGES}
    yield "modular", {"noiseless": int32_sum, "claimed": spread, "modulus": 2**32, **FREE, "dtype": "int32"}
    yield "cut off at public ends", {"release": clamped_to_public, **SIGNED}
    yield "Gaussian", {"release": wide_gaussian, **SIGNED, "delta": "1e-5"}
    yield "coin", {"release": coin, **AGES}
    yield "largest", _summed(largest, spread, **AGES)
    yield "count above the middle", _summed(median_times, spread, **AGES)
    yield "squares", _summed(squares, square_of_farthest, **VISITS)
    yield (
        "float32 with every rounding counted",
        {
            "noiseless": one_by_one,
            "claimed": float32_bound,
            "dtype": "float32",
            "relation": "hamming",
            "bounds": (0, 1),
            "specials": False,
        },
    )
    yield "soundsum", {"release": soundsum_release, **PAY}


def soundsum_release(data: Any, lower: Any, upper: Any, epsilon: float) -> Any:
    return ss.sum(data, lower, upper, epsilon, relation="change_one").exact


def animals() -> list[Animal]:
    """The whole zoo, unsound mechanisms first."""
    found = [
        Animal(f"{kind}: {name}", kind, False, ss.Target(name=f"{kind}: {name}", **promise))
        for kind, name, promise in _unsound()
    ]
    return found + [Animal(name, "sound", True, ss.Target(name=name, **promise)) for name, promise in _sound()]
