"""Choices of quantiles: errors by their definition, the exact law of every choice, and the rates."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.paper.verify import verify
from soundsum.paper.verify.choices import ChoiceWork, check, code_errors, exponential, permute_and_flip
from soundsum.privacy.choice import ExponentialChoice, PermuteAndFlip, RankNorms, find_errors, read_quantile
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason
from soundsum.tables.relations import Relation
from tests.refusing import refused

HALF = Fraction(1, 2)
CHANGED, ADDED = Relation.CHANGE_ONE, Relation.SYMMETRIC


def list_errors(counts, quantile):
    """The error of every candidate, in q-ths of a rank, from its definition; every second cell is a candidate."""
    p, q, n = quantile.numerator, quantile.denominator, sum(counts)
    found = []
    for cell in range(1, len(counts), 2):
        below, at_most = sum(counts[:cell]), sum(counts[: cell + 1])
        found.append(max(0, q * below - p * n, p * n - q * at_most))
    return tuple(found)


def permute_and_flip_by_definition(errors, a):
    """In every order of the candidates: the first whose coin shows heads."""
    law = [Fraction(0)] * len(errors)
    orders = list(permutations(range(len(errors))))
    for order in orders:
        rest = Fraction(1, len(orders))
        for place in order:
            heads = a ** (errors[place] - min(errors))
            law[place] += rest * heads
            rest *= 1 - heads
    return tuple(law)


def exponential_by_definition(errors, a):
    weights = [a ** (error - min(errors)) for error in errors]
    return tuple(weight / sum(weights) for weight in weights)


@pytest.mark.parametrize("a", [HALF, Fraction(9, 10), Fraction(1, 50)])
@pytest.mark.parametrize(
    "coded, defined",
    [(permute_and_flip, permute_and_flip_by_definition), (exponential, exponential_by_definition)],
    ids=["permute-and-flip", "exponential"],
)
def test_the_law_of_the_code_is_that_of_the_definition(coded, defined, a):
    """Exactly: for all errors of up to four candidates, whichever is best."""
    for size in (1, 2, 3, 4):
        for errors in product(range(4 if size < 4 else 3), repeat=size):
            assert coded(errors, a) == defined(errors, a)


def test_every_small_table_keeps_the_promise_and_permute_and_flip_is_tight():
    done = verify(quick=True, only=["ranks"], processes=1)
    assert done.violations == 0
    assert {result.relation for result in done.results} == {ADDED, CHANGED}
    assert max(result.ratio for result in done.results) == 1


@pytest.mark.slow
def test_every_table_keeps_the_promise():
    assert verify(only=["ranks"], processes=1).violations == 0


@pytest.mark.parametrize("law", [permute_and_flip, exponential])
@pytest.mark.parametrize(
    "quantile, unit, relation",
    [
        (HALF, Unit(), ADDED),
        (Fraction(9, 10), Unit(), ADDED),
        (Fraction(0), Unit(), ADDED),
        (HALF, Unit(), CHANGED),
        (HALF, Unit(max_rows=2), ADDED),
        (HALF, Unit(3, 2, 2), ADDED),
        (Fraction(9, 10), Unit(3), CHANGED),
    ],
)
def test_a_smaller_claim_is_caught(law, quantile, unit, relation):
    sizes = ((2, 9),) if unit.max_rows is None else ((2, 4),)
    turn = ChoiceWork(Fraction(1, 50), quantile, unit, relation, law, sizes, claim=lambda norms: norms.span - 1)
    found = check(turn)
    assert found.violations
    assert "the probabilities differ by a factor" in str(found.counterexample)


@given(st.lists(st.integers(0, 2**70), min_size=3, max_size=9), st.fractions(0, 1, max_denominator=10**6))
def test_errors_are_exact_integers_of_any_size(counts, quantile):
    counts = counts if len(counts) % 2 else counts[:-1]
    found = find_errors(counts, np.arange(1, len(counts), 2), quantile)
    assert tuple(map(int, found)) == list_errors(tuple(counts), quantile)


def test_errors_of_every_small_table_are_those_of_the_definition():
    for quantile in (HALF, Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)):
        for counts in product(range(3), repeat=7):
            assert code_errors(counts, quantile) == list_errors(counts, quantile)


def test_errors_do_not_wrap_where_64_bits_end():
    """10^6 * 10^13 is beyond 64 bits: a table of so many rows is nothing for a database."""
    quantile = Fraction(499_999, 10**6)
    counts = (10**13, 5, 10**13)
    assert tuple(find_errors(counts, np.array([1]), quantile)) == list_errors(counts, quantile)
    for n in (2**42, 2**43, 4611686018427, 4611686018428):  # where q n reaches 2^62
        assert tuple(find_errors((n, 0, 0), np.array([1]), quantile)) == list_errors((n, 0, 0), quantile)


def exact_law(choice, errors):
    a = math.exp(-float(choice.parameter))
    made = permute_and_flip if isinstance(choice, PermuteAndFlip) else exponential
    return made(tuple(errors), Fraction(a))


@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialChoice])
@pytest.mark.parametrize("errors", [(3, 0, 1, 1, 5), (0, 0, 0), (7,), (2**62, 2**62 + 3, 2**62 + 9)])
@pytest.mark.parametrize("rate", [HALF, Fraction(1, 7), Fraction(3)])
def test_choices_have_the_law_of_the_proof(kind, errors, rate, same_draws):
    choice, draws = kind(rate, HALF, tuple(range(len(errors))), len(errors)), 4000
    given_errors = np.array(errors, object if max(errors) >= 2**62 else np.int64)
    seen = Counter(choice.choose(given_errors) for _ in range(draws))
    for place, chance in enumerate(exact_law(choice, errors)):
        spread = math.sqrt(draws * float(chance) * (1 - float(chance)))
        assert abs(seen[place] - draws * float(chance)) <= 6 * spread + 1


def test_every_coin_is_flipped_whatever_the_errors_are(monkeypatch):
    """The number of random bytes does not tell how many candidates are near."""
    from soundsum.privacy import choice

    counts = []
    monkeypatch.setattr(choice, "_geometric", lambda scale, count: counts.append(count) or np.zeros(count, np.int64))
    for kind, times in ((PermuteAndFlip, 1), (ExponentialChoice, choice.TRIES)):
        for errors in ([0] * 9, [0, *[10**6] * 8]):
            kind(HALF, HALF, tuple(range(9)), 9).choose(np.array(errors))
            assert counts.pop() == 9 * times
            counts.clear()


@pytest.mark.parametrize(
    "quantile, unit, relation, most, rate",
    [
        ("1/2", Unit(), ADDED, 1, "1/2"),
        ("1/4", Unit(), ADDED, 3, "1/6"),
        ("99/100", Unit(), ADDED, 99, "1/198"),
        ("0", Unit(), ADDED, 1, "1"),
        ("1", Unit(5), ADDED, 1, "1"),
        ("1/4", Unit(), CHANGED, 4, "1/8"),
        ("1/4", Unit(1), CHANGED, 4, "1/8"),
        ("1/4", Unit(2), CHANGED, 6, "1/12"),
        ("0", Unit(2), CHANGED, 2, "1/2"),
        ("1/4", Unit(FOUND), CHANGED, 6, "1/12"),
        ("99/100", Unit(FOUND), CHANGED, 198, "1/396"),
        ("0", Unit(FOUND), CHANGED, 2, "1/2"),
        ("1/4", Unit(FOUND), ADDED, 3, "1/6"),
        ("1/4", Unit(FOUND, 7, 3), ADDED, 63, "1/126"),
        ("1/4", Unit(max_rows=7), ADDED, 21, "1/42"),
        ("1/4", Unit(5, 7, 3), ADDED, 63, "1/126"),
        ("1", Unit(2, 7, 3), ADDED, 14, "1/14"),
    ],
)
def test_rates(quantile, unit, relation, most, rate):
    norms = RankNorms.of(Fraction(quantile), (1,), 3, unit, relation)
    assert norms.l1 == most
    assert guarantee(1).noise_for(norms).parameter == Fraction(rate)
    assert guarantee("1/10", "1e-9", noise="gaussian").noise_for(norms).parameter == Fraction(rate) / 10


@pytest.mark.parametrize(
    "unit, relation, rate",
    [
        (Unit(), ADDED, lambda M, q, rho: math.sqrt(2 * rho) / M),
        (Unit(), CHANGED, lambda M, q, rho: math.sqrt(2 * rho) / q),
        (Unit(4), CHANGED, lambda M, q, rho: min(math.sqrt(2 * rho) / q, math.sqrt(rho) / M)),
        (Unit(FOUND), CHANGED, lambda M, q, rho: min(math.sqrt(2 * rho) / q, math.sqrt(rho) / M)),
        (Unit(4, 3, 2), ADDED, lambda M, q, rho: math.sqrt(2 * rho / 2) / (3 * M)),
    ],
)
@pytest.mark.parametrize("quantile", ["1/2", "9/10"])
def test_rates_under_zcdp(unit, relation, rate, quantile):
    p, q = Fraction(quantile).as_integer_ratio()
    norms = RankNorms.of(Fraction(quantile), (1,), 3, unit, relation)
    chosen = guarantee(rho="1/8", noise="gaussian").noise_for(norms)
    assert isinstance(chosen, ExponentialChoice)
    assert float(chosen.parameter) == pytest.approx(rate(max(p, q - p), q, 1 / 8))
    assert chosen.parameter**2 * norms.squares / 8 <= Fraction(1, 8)


@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialChoice])
@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("t", range(4))
def test_the_chance_of_a_worse_candidate(kind, size, t):
    """No vector of errors is worse than the bound, and one reaches it."""
    from decimal import Context, Decimal

    made = permute_and_flip if kind is PermuteAndFlip else exponential
    a = Fraction(1, 2)
    worst = max(
        sum(chance for chance, error in zip(made((0, *errors), a), (0, *errors), strict=True) if error > t)
        for errors in product(range(6), repeat=size - 1)
    )
    choice = kind(HALF, HALF, tuple(range(size)), size)
    claimed = choice.exceed(Decimal(2) ** -(t + 1), size, Context(prec=50))
    assert float(claimed) == pytest.approx(float(worst), rel=1e-12)


def test_rank_errors():
    """The median of 4,096 candidates at epsilon 1: 11 ranks, and fewer of fewer candidates."""

    def error(epsilon, candidates, confidence=0.95):
        points = tuple(range(candidates))
        return PermuteAndFlip(Fraction(epsilon) / 2, HALF, points, candidates).half_width(confidence)

    assert error(1, 4096) == 11
    assert error(1, 1) == 0
    assert error(1, 2) <= error(1, 100) <= error(1, 4096) <= error("1/10", 4096)
    assert error(1, 4096, 0.5) <= error(1, 4096, 0.999999)


def test_the_value_is_within_its_rank_error(same_draws):
    values = np.arange(2001.0)
    worst = 0
    for _ in range(200):
        r = ss.median(values, 0, 2000, epsilon=1, candidates=2001)
        worst = max(worst, abs(float(r) - 1000))
    assert worst <= r.rank_error(1 - 1e-12)


@pytest.mark.parametrize(
    "quantile, reason",
    [
        (-0.1, Reason.TOO_SMALL),
        (1.1, Reason.TOO_LARGE),
        (float("nan"), Reason.NOT_A_NUMBER),
        ("1/1000001", Reason.TOO_MANY),
        (0.1234567, Reason.TOO_MANY),
    ],
)
def test_what_is_no_quantile(quantile, reason):
    with refused("quantile", reason):
        read_quantile(quantile)


def test_quantiles_mean_what_they_print_as():
    assert read_quantile(0.1) == Fraction(1, 10)
    assert read_quantile("1/3") == Fraction(1, 3)
    assert (read_quantile(0), read_quantile(1)) == (0, 1)
