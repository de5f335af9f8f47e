"""Quantiles are chosen as Coq defines: errors from counts, how far one unit moves them, and the rate of the coins."""

import random
from fractions import Fraction

import numpy as np

from soundsum.privacy.choice import RankNorms, find_errors
from soundsum.tables.relations import Relation

from .oracle import ask, words
from .test_releases import number_of_groups, some_unit

CASES = 3000


def some_quantile(rng):
    return rng.choice([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(rng.randint(0, 10**6), 10**6)])


def some_counts(rng):
    largest = rng.choice([1, 5, 10**6, 2**40, 2**62])
    return [rng.choice([0, rng.randint(0, largest)]) for _ in range(2 * rng.randint(1, 12) + 1)]


def test_errors_are_as_defined():
    rng, cases = random.Random("errors"), []
    for _ in range(CASES):
        counts = some_counts(rng)
        cases.append((some_quantile(rng), sorted(rng.sample(range(len(counts)), rng.randint(1, len(counts)))), counts))
    lines = [
        words("errors", q.numerator, q.denominator, ",".join(map(str, points)), *counts) for q, points, counts in cases
    ]
    for (quantile, points, counts), answer in zip(cases, ask(lines), strict=True):
        assert list(map(int, find_errors(counts, np.array(points), quantile))) == list(map(int, answer.split()))


def test_spans_and_rates_are_as_defined():
    """Groups that are found may be any number: as many as there are persons' groups, and more than one."""
    rng, cases, lines = random.Random("spans"), [], []
    for _ in range(CASES):
        relation, quantile = rng.choice(list(Relation)), some_quantile(rng)
        unit = some_unit(rng, relation, "sum")
        groups = number_of_groups(unit)
        epsilon, rho = Fraction(rng.randint(1, 99), rng.randint(1, 99)), Fraction(rng.randint(1, 99), 10**3)
        norms = RankNorms.of(quantile, (1,), 3, unit, relation)
        rate = norms.choose_by(None, rho).parameter
        asked = (
            "none" if groups is None else groups,
            "none" if unit.max_rows is None else unit.max_rows,
            unit.max_groups,
            relation.sized,
            quantile.numerator,
            quantile.denominator,
        )
        cases.append((norms, norms.choose_by(epsilon, None).parameter))
        lines.append(words("rank_norms", *asked, epsilon, rate, rho))
    for (norms, rate), answer in zip(cases, ask(lines), strict=True):
        assert answer == words(norms.span, norms.squares, rate, 1), norms
