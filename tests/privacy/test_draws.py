"""A million draws against the exact probabilities, and against OpenDP's as an independent oracle."""

import math
from fractions import Fraction

import numpy as np
import pytest

from soundsum.privacy import samplers

pytestmark = pytest.mark.usefixtures("same_draws")

DRAWS = 10**6


def far_too_large(statistic, freedom):
    """Whether a chi-square is beyond what happens once in 10^10 (Laurent and Massart 2000, lemma 1)."""
    x = math.log(1e10)
    return statistic > freedom + 2 * math.sqrt(freedom * x) + 2 * x


def chi_square(counts, probabilities):
    expected = np.asarray(probabilities) * DRAWS
    assert abs(expected.sum() - DRAWS) < 1e-3
    assert expected.min() > 20
    return float(((np.asarray(counts) - expected) ** 2 / expected).sum())


def likely(edges, below):
    """Those edges that leave 25 draws or more to be expected between each and the next, and at both ends."""
    kept, passed = [], 0.0
    for z in edges:
        if (below(z) - passed) * DRAWS > 25 and (1 - below(z)) * DRAWS > 25:
            kept, passed = [*kept, z], below(z)
    return kept, np.diff([0, *map(below, kept), 1])


def binned(samples, edges):
    """How many samples are below the first edge, from each edge to the next, and from the last on."""
    ends = np.searchsorted(np.sort(np.asarray(samples)), np.asarray(edges, dtype=np.asarray(samples).dtype))
    return np.diff([0, *ends, len(samples)])


def laplace_below(scale, z):
    """P(Z < z), for z of any size."""
    a = math.exp(-1 / scale)
    above = math.exp(-(z if z > 0 else 1 - z) / scale) / (1 + a)  # P(Z >= z) for z > 0, P(Z < z) for z <= 0
    return 1 - above if z > 0 else above


@pytest.mark.parametrize(
    "scale",
    [
        Fraction(1, 10),
        Fraction(1, 2),
        Fraction(1),
        Fraction(7, 3),
        1 / Fraction(0.1),
        Fraction(1000),
        Fraction(2**40, 3),
        Fraction(2**60),
        Fraction(2**62) / Fraction(0.1),
        Fraction(2**200, 7),
    ],
)
def test_discrete_laplace(scale):
    reach = max(1, math.floor(scale * 10)) if scale < 10 else math.floor(scale * 8)
    step = max(1, reach // 40)
    edges, probabilities = likely(range(1 - reach, reach + 1, step), lambda z: laplace_below(scale, z))
    samples = samplers.discrete_laplace_many(Fraction(scale), DRAWS)
    samples = np.array(samples, dtype=object if scale >= 2**50 else np.int64)
    counts = binned(samples, edges)
    assert not far_too_large(chi_square(counts, probabilities), len(edges))
    if scale > 100:  # where bins are wide, all last digits are as likely
        assert not far_too_large(chi_square(np.bincount((samples % 16).astype(int)), [1 / 16] * 16), 15)


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 10), Fraction(1), Fraction(5, 3), 1 / Fraction(0.1), Fraction(10**6), Fraction(2**102, 3)]
)
def test_discrete_gaussian(sigma2):
    sigma = math.sqrt(sigma2)
    samples = np.array(samplers.discrete_gaussian_many(sigma2, DRAWS), dtype=object if sigma > 2**50 else np.int64)
    if sigma < 50:
        weights = {z: math.exp(-(z**2) / (2 * sigma2)) for z in range(-300, 301)}
        total = math.fsum(weights.values())

        def below(z):
            return math.fsum(weights[k] for k in range(-300, z)) / total

        edges = range(-math.ceil(4 * sigma), math.ceil(4 * sigma) + 1)
    else:  # P(Z < z) is P(X < z - 1/2) to within 1/sigma^2

        def below(z):
            return math.erfc(-(z - 0.5) / sigma / math.sqrt(2)) / 2

        edges = [int(sigma) * k // 8 for k in range(-32, 33)]
    edges, probabilities = likely(edges, below)
    assert not far_too_large(chi_square(binned(samples, edges), probabilities), len(edges))
    assert abs(int((samples > 0).sum()) - int((samples < 0).sum())) < 6 * math.sqrt(DRAWS)


def two_sample(ours, theirs):
    """The chi-square of two sets of samples being from one distribution, and its degrees of freedom."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    values, inverse = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    a, b = (np.bincount(part, minlength=len(values)) for part in (inverse[: len(ours)], inverse[len(ours) :]))
    common = a + b >= 40
    a, b = (np.append(counts[common], counts[~common].sum()) for counts in (a, b))
    a, b = a[a + b > 0], b[a + b > 0]
    ratio = math.sqrt(len(theirs) / len(ours))
    return float(((a * ratio - b / ratio) ** 2 / (a + b)).sum()), len(a) - 1


@pytest.mark.parametrize("kind, scale", [("laplace", 0.5), ("laplace", 3.5), ("gaussian", 0.75), ("gaussian", 4.0)])
def test_opendp_draws_from_the_same_distribution(kind, scale):
    import opendp.prelude as dp  # takes long, and most workers do without

    number, make, metric, ours = (
        40_000,
        dp.m.make_laplace,
        dp.l1_distance,
        samplers.discrete_laplace_many(Fraction(scale), DRAWS),
    )
    if kind == "gaussian":
        make, metric, ours = (
            dp.m.make_gaussian,
            dp.l2_distance,
            samplers.discrete_gaussian_many(Fraction(scale) ** 2, DRAWS),
        )
    dp.enable_features("contrib")
    theirs = make(dp.vector_domain(dp.atom_domain(T="i64")), metric(T="i64"), scale=scale)([0] * number)
    assert not far_too_large(*two_sample(ours, theirs))


def test_the_oracle_would_see_a_wrong_scale():
    wrong = samplers.discrete_laplace_many(Fraction(4), 40_000)
    assert far_too_large(*two_sample(samplers.discrete_laplace_many(Fraction(35, 10), DRAWS), wrong))
