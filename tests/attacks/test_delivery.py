"""Attacks carried out: ordinary sums give the secrets away, ours does not.

Of an ordinary sum each secret is missed with probability below 10^-3; of ours each bit is right with probability at
most 0.57. With these numbers of targets either test fails by chance less than once in 10^7 runs.
"""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from tests.refusing import refused

from soundsum.attacks import attack, delivery
from soundsum.attacks.delivery import DELIVERIES, Delivery
from soundsum.attacks.delivery.microquery import STARTS
from soundsum.attacks.delivery.outcome import make_table
from soundsum.attacks.delivery.tipping import tipping_bounds
from soundsum.refusals import Reason

pytestmark = pytest.mark.usefixtures("same_draws")

BITS = [name for name in DELIVERIES if name != "top_salary"]


def tail(n, p, least):
    """The probability of at least so many successes."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(least, n + 1))


@pytest.mark.parametrize("name", BITS)
def test_bits_are_recovered_from_an_ordinary_sum_and_not_from_ours(name):
    done = DELIVERIES[name](targets=40)
    assert done.name == name
    assert done.targets == len(done.recovered) == 40
    assert done.accuracy >= Fraction(36, 40)
    assert done.allowed < 0.57
    assert tail(40, done.allowed, 39) < 1e-7
    assert done.our_accuracy < Fraction(39, 40)


def test_the_highest_salary_is_learned_to_the_thousand():
    done = delivery.top_salary(targets=5)
    assert done.recovered == done.secrets
    assert done.our_accuracy <= Fraction(2, 5)


def test_people_all_over_the_middle_half_are_attacked():
    done = delivery.microquery(targets=3)
    assert "uid = $person THEN val * $U" in done.query
    assert len(done.recovered) == len(done.recovered_from_ours) == 3


@pytest.mark.parametrize("starts, place", [([123_500.0], 999), ([7_654_500.0], 999), (STARTS, None)])
def test_bounds_are_found_where_one_record_tips_the_sum(starts, place):
    for at in [*range(8), *range(8, 1000, 61)] if place is None else [place]:
        problem, middle = tipping_bounds(starts, 1000, at)
        column = np.full(1000, float(problem.lower))
        low = Fraction(np.add.accumulate(column)[-1])
        column[at] = float(problem.upper)
        high = Fraction(np.add.accumulate(column)[-1])
        assert low < middle < high
        assert (high - low) / problem.ideal >= 250


def test_where_a_tie_brings_both_sums_together_no_bounds_are_found():
    with refused("starts", Reason.UNSUPPORTED, ValueError, place=250, n=1000):
        tipping_bounds([7_654_500.0], 1000, 250)


def test_accuracy_counts_what_is_right():
    done = Delivery("a", "", "", "", (1, 0, 1, 1), (1, 1, 1, 0), (0, 0, 0, 0), Fraction(1, 2), 0.6)
    assert (done.accuracy, done.our_accuracy) == (Fraction(1, 2), Fraction(1, 4))
    assert done.to_json()["accuracy"] == 0.5
    assert done.probability(Fraction(1, 2)) == pytest.approx(tail(4, 0.6, 2))
    assert done.probability(Fraction(0)) == pytest.approx(1)


def test_without_any_noise_to_speak_of_ours_is_as_exact_as_the_rest():
    """The bits are there: it is the noise that hides them, so the comparison is fair."""
    for deliver in (delivery.microquery, delivery.had_covid, delivery.reordered):
        done = deliver(targets=4, epsilon=10**5)
        assert done.accuracy == done.our_accuracy == 1


@pytest.mark.parametrize(
    "name, option, given, reason",
    [
        ("microquery", "targets", 0, Reason.TOO_SMALL),
        ("microquery", "targets", 65_537, Reason.TOO_LARGE),
        ("microquery", "targets", 1.5, Reason.NOT_WHOLE),
        ("had_covid", "epsilon", 0, Reason.TOO_SMALL),
        ("had_covid", "epsilon", math.inf, Reason.TOO_SMALL),
        ("dp_sgd_step", "noise_multiplier", -1, Reason.TOO_SMALL),
    ],
)
def test_bad_input(name, option, given, reason):
    with refused(option, reason, ValueError, given=str(given)):
        DELIVERIES[name](**{option: given})


def test_without_duckdb_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with refused(None, Reason.MISSING, ValueError) as error:
        delivery.had_covid()
    assert "pip install '.[duckdb]'" in str(error.value)


FIGURE = """
SELECT
    SUM(CASE
        WHEN uid < {m} THEN {U}
        WHEN uid = {m} THEN val * {U}
        WHEN uid % 2 = 1 THEN {pos_val}
        ELSE {neg_val}
    END)
FROM unsized_64_u
"""
"""`fig:sql-code`, token by token but for the braces."""


@pytest.mark.parametrize("bit", [1, 0])
def test_the_papers_expression_makes_the_attacks_datasets(bit):
    """DuckDB runs the figure as printed; the column inside its SUM is left or right (a 0 for the missing record)."""
    pair = attack("repeated_rounding_2", "float64", relation="hamming", j=12, upper=1)
    (up, down), _ = pair.left.parts[1]
    m, n = 2**11, 2**12
    database = make_table("unsized_64_u", {"uid": np.arange(1, n + 1), "val": np.full(n, bit, dtype=np.int8)})
    # The middle id is even, so the next is odd and takes pos_val; a literal needs its e to be read as a double.
    literals = {"m": m, "U": "1e0", "pos_val": f"{float(up)!r}", "neg_val": f"{float(down)!r}"}
    assert all("e" in literals[name] for name in ("pos_val", "neg_val"))
    figure = FIGURE.format(**literals)
    column = figure.replace("SUM(CASE", "(CASE")
    values = database.execute(column).fetchnumpy()
    (made,) = values.values()
    assert made.dtype == np.float64
    assert made.tolist() == np.asarray(pair.left if bit else pair.right).tolist()
    (summed,) = database.execute(figure).fetchone()
    assert Fraction(summed) == Fraction(pair.sums()[0 if bit else 1])
