"""Intervals, likelihoods and p-values of counts, against exact arithmetic and the values known beforehand."""

from decimal import Decimal
from fractions import Fraction
from math import comb, e, exp

import pytest

from soundsum.numbers import event_counts
from soundsum.paper.reproduce.counts import interval, likelihood, log2, printed_edge, terms


@pytest.mark.parametrize(
    "runs, p",
    [
        (10, Fraction(1, 3)),
        (37, Fraction(9, 10)),
        (60, Fraction(2, 5)),
        (200, Fraction(1, 4)),
        (100, Fraction(1, 1000)),
    ],
)
def test_an_interval_leaves_out_at_most_half_a_thousandth_on_each_side_and_is_the_smallest(runs, p):
    low, high = interval(runs, Decimal(p.numerator) / Decimal(p.denominator))
    chance = [comb(runs, x) * p**x * (1 - p) ** (runs - x) for x in range(runs + 1)]
    side = Fraction(1, 2000)
    assert sum(chance[:low]) <= side < sum(chance[: low + 1])
    assert sum(chance[high + 1 :]) <= side < sum(chance[high:])


def test_the_paper_s_table_has_the_likelihood_its_misprint_hides():
    assert round(likelihood(Fraction(1), 10, 9, 0), 4) == Decimal("0.0089")
    assert round(likelihood(Fraction(1), 10, 9, 0, printed_edge), 4) == Decimal("0.0132")


@pytest.mark.parametrize("n", [10, 100, 10_000])
def test_all_against_none_is_likeliest_for_randomised_response(n):
    epsilon = Fraction(1, 2)
    expected = 2 * n * (0.5 - float(Decimal(1 + exp(0.5)).ln())) / float(Decimal(2).ln())
    assert float(log2(likelihood(epsilon, n, n, 0))) == pytest.approx(expected, rel=1e-9)


def test_likelihood_is_found_by_a_grid_search_too():
    epsilon, n, left, right = Fraction(1), 20, 17, 3
    best = 0.0
    for i in range(1, 2000):
        p = i / 2000
        q = max(p / e, 1 - e * (1 - p))
        at_least = sum(comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(left, n + 1))
        at_most = sum(comb(n, x) * q**x * (1 - q) ** (n - x) for x in range(right + 1))
        best = max(best, at_least * at_most)
    found = float(likelihood(epsilon, n, left, right))
    assert best <= found * (1 + 1e-12)
    assert found == pytest.approx(best, rel=1e-3)


def p_value(epsilon, runs, left, right):
    return event_counts.p_value(event_counts.Counts(left, runs, right, runs), event_counts.Promise(float(epsilon)))


def test_p_values_err_at_most_as_often_as_they_say():
    """For 10 runs of the worst private mechanism, over all pairs of counts."""
    epsilon, n = Fraction(1), 10
    p, q = Decimal(e) / (1 + Decimal(e)), 1 / (1 + Decimal(e))
    chances = {(x, y): terms(n, p, x, x) * terms(n, q, y, y) for x in range(n + 1) for y in range(n + 1)}
    values = {pair: p_value(epsilon, n, *pair) for pair in chances}
    assert sum(chances.values()) == pytest.approx(Decimal(1))
    for alpha in sorted(set(values.values())):
        often = sum(chance for pair, chance in chances.items() if values[pair] <= alpha)
        assert often <= alpha * (1 + Decimal("1e-12"))  # logarithms are rounded


def test_counts_within_the_bound_are_no_evidence_and_far_ones_are():
    assert p_value(Fraction(1, 2), 1000, 610, 400) == 1
    assert p_value(Fraction(1, 2), 1000, 400, 610) == 1
    assert p_value(Fraction(1, 2), 1000, 995, 700) < Decimal("1e-30")  # what did not happen counts too
    assert p_value(Fraction(1, 2), 1000, 1000, 0) == p_value(Fraction(1, 2), 1000, 0, 1000) < Decimal("1e-300")
