"""The tables of bounds: measured, recomputed, verified; the printed figures that fail are the known ones."""

from fractions import Fraction

import pytest

from soundsum.kernels import float_sum
from soundsum.kernels.sums import QUAD
from soundsum.methods import Iterated
from soundsum.methods.problem import Problem
from soundsum.paper.reproduce import Agreement, bounds


def by_verdict(cells, verdict):
    return [cell.what for cell in cells if cell.verdict == verdict]


def test_lower_bounds_are_measured_and_four_conditions_do_not_suffice():
    cells = list(bounds.lower_bounds())
    assert by_verdict(cells, Agreement.DIFFERS) == []
    assert by_verdict(cells, Agreement.ERRATUM) == [
        "modular, bounded DP: max(T) - min(T) whenever n U > max(T)",
        "modular, unbounded DP: max(T) - min(T) without a condition",
        "saturation, bounded DP: max(T) - min(T) whenever n U > max(T)",
        "floats, bounded DP: (n - 1)(U - L) whenever U >= 2^k (U - L)",
    ]


def test_a_modular_sum_reaches_both_ends_only_with_an_l_of_at_most_zero():
    assert bounds.largest_modular_change(2, 3) == 1
    assert bounds.largest_modular_change(0, 3) == 15
    assert bounds.largest_modular_step(2, 3) == 6
    assert bounds.largest_modular_step(0, 1) == 7


def test_upper_bounds_hold_but_for_one_ratio():
    cells = list(bounds.upper_bounds())
    assert by_verdict(cells, Agreement.DIFFERS) == []
    assert by_verdict(cells, Agreement.ERRATUM) == ["toward zero, one sign, public n: min(1 + O(n/2^k), 2)"]


@pytest.mark.slow
def test_verification_finds_no_violation_and_reaches_the_integer_bounds():
    cells = list(bounds.verify_bounds())
    assert {cell.verdict for cell in cells} == {Agreement.CHECKED}  # the paper verified nothing
    closest = {c.what.split(":")[0]: (c.found, dict(c.also)["largest true / claimed"]) for c in cells}
    assert all(violations == 0 for violations, _ in closest.values())
    assert all(closest[method][1] == 1 for method in ("checked", "modular", "saturating", "split", "grid"))
    assert all(0 < closest[method][1] < 1 for method in ("iterated", "pairwise", "kahan", "toward_zero"))


def test_the_roadmap_s_limit_is_47_million_not_67():
    first, *rest = bounds.roadmap()
    assert first.verdict == Agreement.ERRATUM
    assert 47_000_000 < dict(first.also)["1.5 holds up to n"] < 48_000_000
    assert [cell.verdict for cell in rest] == ["matches"] * 3


def test_doubles_are_added_in_128_bits_where_a_double_would_lose_them():
    data = [1.0] + [2.0**-60] * 100
    assert float_sum("iterated", data, 0, 1) == 1
    assert float_sum("iterated", data, 0, 1, accumulator=QUAD) == 1 + 100 * Fraction(1, 2**60)
    problem = Problem("float64", 0, 1, "change_one", size=101)
    assert Iterated(accumulator=QUAD).sensitivity(problem) == 1 + Fraction(101 * 100, 2**112)


def test_a_bound_of_another_order_would_differ():
    grown = {method: dict.fromkeys(bounds.ORDERS) for method in ("iterated", "pairwise", "kahan")}
    for method, orders in grown.items():
        for order in orders:
            orders[order] = bounds._growth("", method, f"1 + O({order})", bounds._public).verdict
    assert {method: [o for o, v in orders.items() if v == "matches"] for method, orders in grown.items()} == {
        "iterated": ["n^2/2^k"],
        "pairwise": ["n log(n)/2^k"],
        "kahan": ["n/2^k"],
    }
    assert all(v in ("matches", "differs") for orders in grown.values() for v in orders.values())


def test_what_only_we_state_is_checked():
    checked = by_verdict(bounds.upper_bounds(), Agreement.CHECKED)
    assert checked == ["floats to ints: 1 + O(n sqrt(n)/2^m)", "iterated: the order n^2/2^k is reached"]
