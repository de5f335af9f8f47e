"""Mechanisms to audit, importable by fresh processes: some keep their promise, some do not."""

import numpy as np


def spread(lower, upper):
    return upper - lower


def iterated_sum(data, lower, upper):
    """One addition after another, in the records' own type."""
    clipped = np.clip(data, lower, upper)
    return np.add.accumulate(clipped)[-1] if len(clipped) else clipped.dtype.type(0)


def exact_sum(data, lower, upper):
    """What a sum should be: the exact one, NaN counting as the record nearest zero."""
    from fractions import Fraction

    zero = max(lower, min(upper, 0))
    return sum((Fraction(zero if x != x else max(lower, min(upper, x))) for x in data.tolist()), Fraction(0))


def laplace_release(data, lower, upper, epsilon, runs):
    """The textbook mechanism."""
    return float(iterated_sum(data, lower, upper)) + np.random.default_rng().laplace(0, (upper - lower) / epsilon, runs)


def randomised_response(data, epsilon, runs):
    """Keeps exactly its promise for datasets of one record that is 0 or 1."""
    truth = bool(data[0] > 0)
    told = np.random.default_rng().random(runs) < 1 / (1 + np.exp(-epsilon))
    return np.where(told, truth, not truth).astype(float)


def raises_on_large(data, lower, upper):
    """Refuses a value instead of clamping it."""
    if len(data) and np.nanmax(data) >= upper:
        raise RuntimeError("a value is too large")
    return np.sum(data)


def says_text(data, lower, upper):
    return "about twelve"


def always_nan(data, lower, upper):
    return float("nan")


def random_sum(data, lower, upper):
    """A noiseless sum that is not."""
    return float(np.sum(data)) + np.random.default_rng().random()


def coin(data, lower, upper):
    """Independent of the data, so private whatever is claimed."""
    return 10 * int(np.random.default_rng().integers(2))


def declines(data, lower, upper):
    raise ValueError("lower and upper are too close to each other")


def response_until(spent, several=False):
    """Randomised response on which dataset it is, exactly private at epsilon 1, until its queries are spent."""
    asked, known = [0], {}

    def one(data):
        asked[0] += 1
        if asked[0] > spent:
            raise RuntimeError("privacy budget spent")
        truth = known.setdefault(data.tobytes(), len(known) % 2 == 0)
        return 1e300 if truth == (np.random.default_rng().random() < np.e / (1 + np.e)) else -1e300

    def release(data, lower, upper):
        return one(data)

    def releases(data, lower, upper, runs):
        return [one(data) for _ in range(runs)]

    return releases if several else release


def tells_nan(data, lower, upper, epsilon):
    return 1.0 if np.isnan(data).any() else -1.0


def tells_nan_privately(data, lower, upper, epsilon):
    """The same by randomised response; the first NaN stands for the bit."""
    keep = np.random.default_rng().random() < 1 / (1 + np.exp(-epsilon))
    return tells_nan(data, lower, upper, epsilon) * (1.0 if keep else -1.0)


def geometric(data, lower, upper, epsilon, runs):
    """A sum of integers with two-sided geometric noise for max(U - L, |L|, |U|)."""
    total = sum(np.clip(data, lower, upper).tolist())
    p = -np.expm1(-epsilon / max(upper - lower, abs(lower), abs(upper)))
    rng = np.random.default_rng()
    return [total + int(z) for z in rng.geometric(p, runs) - rng.geometric(p, runs)]


def integer_sum(data, lower, upper):
    return sum(np.clip(data, lower, upper).tolist())


def unclamped_sum(data, lower, upper):
    return sum(data.tolist())


def without_noise(data, lower, upper, runs):
    return [float(np.sum(np.clip(data, lower, upper)))] * runs


def tells_the_size_below_ten(data, lower, upper, runs):
    rng = np.random.default_rng()
    return [0.0] * runs if len(data) < 10 else rng.laplace(0, 10**6, runs)
