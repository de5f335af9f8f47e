"""Plans: the default reaches the ideal sensitivity, the others are ordered by cost and say what they need."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soundsum as ss
from soundsum.methods import METHODS, Iterated, Kahan, OnGrid, Wide
from soundsum.numbers.quoting import quote
from soundsum.numbers.types import NAMED
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason
from tests.refusing import refused

RELATIONS = list(ss.Relation)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite, st.sampled_from(RELATIONS))
def test_auto_for_float64_is_at_most_the_ideal_and_hardly_less(a, b, relation):
    problem = ss.Problem("float64", min(a, b), max(a, b), relation)
    p = ss.plan(problem)
    assert p.method == "grid"
    assert p.ratio <= 1
    coarsest = p.ideal < Fraction(2) ** (-1074 + 50)  # where the type's own smallest step is coarser than 2^-50
    assert p.ratio > 1 - Fraction(1, 2**49) or coarsest


@given(st.sampled_from(list(NAMED)), st.fractions(), st.fractions(), st.sampled_from(RELATIONS))
def test_auto_never_exceeds_the_ideal_for_any_type_or_rational_bounds(dtype, a, b, relation):
    p = ss.Plan(ss.Problem(dtype, min(a, b), max(a, b), relation), OnGrid() if "float" in dtype else Wide())
    if p.unmet:
        assert "widen the bounds" in p.unmet[0]
    else:
        assert 0 <= p.ratio <= 1


def test_auto_needs_no_size_below_two_to_the_64():
    for relation in ("change_one", "hamming"):
        for dtype in ("float64", "float16", "uint64"):
            assert not ss.plan(ss.Problem(dtype, 0, 1, relation, size=2**64 - 1)).unmet
            with refused("method", Reason.UNSOUND, ValueError) as caught:
                ss.plan(ss.Problem(dtype, 0, 1, relation, size=2**64))
            assert "sum in parts" in caught.value.facts["reasons"]


def test_plans_lists_every_method_once_cheapest_first_refused_last():
    listed = ss.plans(ss.Problem("float64", -1, 1, "insert_delete", max_size=1000))
    assert sorted(p.method for p in listed) == sorted(METHODS)
    applicable = [p for p in listed if not p.unmet]
    assert listed[: len(applicable)] == applicable
    assert [p.sensitivity for p in applicable] == sorted(p.sensitivity for p in applicable)
    assert applicable[0].method == "grid"
    for plan in listed[len(applicable) :]:
        with refused("method", Reason.UNSOUND, ValueError, method=plan.method, reasons="; ".join(plan.unmet)):
            _ = plan.sensitivity


def test_float_is_the_best_that_adds_floats_as_floats():
    problem = ss.Problem("float32", 0, 1, "change_one", size=1_000_000)
    chosen = ss.plan(problem, "float")
    others = [ss.plan(problem, name) for name in ("iterated", "pairwise", "numpy_pairwise", "kahan", "toward_zero")]
    assert chosen.sensitivity == min(p.sensitivity for p in others)
    assert chosen.method not in ("grid", "wide")
    near = ss.Problem("float32", 1, 2, "change_one", size=1000)
    adding = [p for p in ss.plans(near) if not p.unmet and p.adder.adds_floats]
    assert ss.plan(near, "float").sensitivity == adding[0].sensitivity < adding[1].sensitivity
    assert ss.plan(ss.Problem("float64", 0, 1, "insert_delete"), "float").method == "toward_zero"  # the only one
    with refused("method", Reason.UNSOUND, ValueError):
        ss.plan(ss.Problem("int32", 0, 1), "float")


def test_a_refusal_names_the_reason_and_the_remedy():
    with refused("method", Reason.UNSOUND, method="kahan") as caught:
        ss.plan(ss.Problem("float64", 0, 1), "kahan")
    assert "needs a limit on the number of records; give max_size=" in caught.value.facts["reasons"]
    with refused("method", Reason.UNSOUND, method="iterated") as caught:
        ss.plan(ss.Problem("float64", 0, 1, "change_one"), "iterated")
    assert "needs the public number of records; give size=" in caught.value.facts["reasons"]


@pytest.mark.parametrize("method", ["magic", 5, None, np.array(["auto", "grid"]), ["grid"]])
def test_a_method_is_one_of_those_there_are(method):
    with refused("method", Reason.UNKNOWN, ValueError, given=quote(method), known=", ".join(METHODS)):
        ss.plan(ss.Problem("float64", 0, 1), method)


def test_explain_says_what_is_promised_and_what_else_there_is():
    text = " ".join(ss.plan(ss.Problem("float64", -1, 1, max_size=1000), "kahan").explain().split())
    for expected in (
        "at most 2",
        "the ratio is 2",
        "in the paper: Theorem on upper bounds of the sensitivity",
        "permute -> truncate -> kahan",
        "docs/theorems/kahan.md",
        "1,000",
        "grid",
    ):
        assert expected in text
    refused = ss.Plan(ss.Problem("float64", -1, 1), METHODS["kahan"]).explain()
    assert "kahan does not apply" in refused
    assert "give max_size=" in refused
    assert "modulo 256" in ss.plan(ss.Problem("int8", 0, 1), "modular").explain()
    assert "no noise is needed" in ss.plan(ss.Problem("float64", 5, 5, "change_one")).explain()


def test_the_paper_s_roadmap_figures():
    """Iterated doubles stay within twice the ideal up to 2^26 (67 million) records, and within 3 times truncated."""
    for n in (2**20, 2**26):
        known = ss.plan(ss.Problem("float64", 0, 1, "change_one", size=n), "iterated")
        assert known.ratio == 1 + Fraction(n * (n - 1), 2**52)
        assert known.ratio < 2
    assert ss.plan(ss.Problem("float64", 0, 1, "change_one", size=2**26 + 1), "iterated").ratio > 2
    assert ss.plan(ss.Problem("float64", -1, 1, max_size=2**26), "iterated").ratio < 3
    assert ss.plan(ss.Problem("float32", 0, 1, "change_one", size=2**12), "iterated").ratio < 3


class TestPitfalls:
    def test_the_absolute_value_of_the_least_integer(self):
        assert ss.plan(ss.Problem("int8", -128, 127)).sensitivity == 128
        assert ss.plan(ss.Problem("int8", -128, 0), "saturating").sensitivity == 128
        assert ss.plan(ss.Problem("int64", -(2**63), 2**63 - 1, "hamming")).sensitivity == 2**64 - 1

    def test_a_spread_over_half_the_modulus(self):
        p = ss.plan(ss.Problem("int8", -128, 127, "change_one"), "modular")
        assert (p.sensitivity, p.modulus) == (128, 256)
        assert ss.plan(ss.Problem("uint8", 0, 255), "modular").sensitivity == 128
        assert ss.plan(ss.Problem("uint8", 0, 100), "modular").sensitivity == 100

    @pytest.mark.parametrize("relation", ["change_one", "hamming"])
    @pytest.mark.parametrize("method", [name for name, method in METHODS.items() if name != "split_checked"])
    def test_equal_bounds_of_a_public_size_mean_zero(self, relation, method):
        for dtype in ("float64", "int32"):
            p = ss.Plan(ss.Problem(dtype, 5, 5, relation, size=3), METHODS[method])
            if not p.unmet:
                assert (p.sensitivity, p.ratio) == (0, 1)
                assert p.sum(np.array([1, 5, 9], dtype=dtype)) == 15

    def test_zero_bounds_mean_zero_for_any_size(self):
        for dtype in ("float32", "int64"):
            for p in ss.plans(ss.Problem(dtype, 0, 0, max_size=10)):
                if not p.unmet:
                    assert (p.sensitivity, p.ratio) == (0, 1)

    def test_a_bound_of_zero_toward_zero(self):
        assert ss.plan(ss.Problem("float64", 0, 3), "toward_zero").sensitivity == 3 + 2
        assert ss.plan(ss.Problem("float64", -3, 0), "toward_zero").sensitivity == 3 + 2
        assert ss.plan(ss.Problem("float64", -3, 3), "toward_zero").sensitivity == 3 + 2 + 2
        known = ss.plan(ss.Problem("float64", 0, 3, "hamming", size=2**52), "toward_zero")
        assert known.sensitivity == 3 + 2
        assert ss.plan(ss.Problem("float64", 0, 3, "hamming", size=2**10), "toward_zero").sensitivity == 3 + Fraction(
            2**11, 2**52
        )

    @pytest.mark.parametrize("n", [0, 1])
    def test_no_records_and_one(self, n):
        for dtype in ("float64", "int32"):
            for relation in RELATIONS:
                sized = {"size": n} if relation.sized else {"max_size": n}
                for p in ss.plans(ss.Problem(dtype, -3, 5, relation, **sized)):
                    if not p.unmet:
                        assert p.sensitivity >= 0
                        assert p.sum(np.full(n, 2, dtype=dtype)) == 2 * n

    def test_more_records_than_the_method_allows(self):
        for problem, method, reason in (
            (
                ss.Problem("float32", 0, 1, max_size=2**22 + 1),
                "kahan",
                "proved for at most 4,194,304 records in float32, and n may be 4,194,305",
            ),
            (
                ss.Problem("int8", -5, 10, max_size=13),
                "checked",
                "n times a bound leaves int8; it holds 12 such records at most",
            ),
            (ss.Problem("float16", 0, 1000, max_size=66), "pairwise", "may overflow float16"),
            (ss.Problem("float64", 0, 1, max_size=2**40), "iterated", "permutes the records in memory"),
        ):
            with refused("method", Reason.UNSOUND, method=method) as caught:
                ss.plan(problem, method)
            assert reason in caught.value.facts["reasons"]
        assert ss.plan(ss.Problem("int8", -5, 10, max_size=12), "checked").sensitivity == 15

    def test_the_overflow_check_is_exact(self):
        """k = 4, U = 9/8, n = 41: a rounded product and one nextafter would let an overflow through."""
        kind = ss.FloatType(4, 3)
        for n in range(1, 60):
            p = ss.Plan(ss.Problem(kind, 0, Fraction(9, 8), "change_one", size=n), Iterated())
            fits = n * Fraction(9, 8) + n * (n - 1) * kind.unit_roundoff * Fraction(9, 8) <= kind.max
            assert (not p.unmet) == fits

    def test_bounds_of_very_different_magnitude_on_the_grid(self):
        tiny = Fraction(1, 2**1000)
        p = ss.plan(ss.Problem("float64", tiny, 1, "change_one"))
        assert 1 - Fraction(1, 2**49) < p.ratio <= 1
        assert p.sum(np.array([0.0, 2.0])) == 1 + p.adder.grid(p.problem).step  # tiny rounds inward to one step

    def test_bounds_whose_difference_overflows(self):
        huge = Fraction(1.7e308)
        p = ss.plan(ss.Problem("float64", -huge, huge, "change_one"))
        assert 1 - Fraction(1, 2**49) < p.ratio <= 1
        assert abs(p.sum(np.array([1.7e308, -1.7e308, math.inf])) - huge) < 3 * p.adder.grid(p.problem).step
        with refused("method", Reason.UNSOUND, method="shifted") as caught:
            ss.plan(ss.Problem("float64", -huge, huge, "change_one", size=1), "shifted")
        assert "U - L overflows float64" in caught.value.facts["reasons"]

    def test_bounds_in_the_subnormal_range(self):
        for relation in RELATIONS:
            p = ss.plan(ss.Problem("float64", 5e-324, 2e-323, relation))
            assert p.ratio == 1
            assert p.sum(np.array([0.0, 1.5e-323, 1.0])) == Fraction(5e-324) + Fraction(1.5e-323) + Fraction(2e-323)

    def test_the_rounding_attack_s_own_bounds(self):
        """|L|, |U| far above U - L = 2^-53, with a public size."""
        lower = Fraction(1 + 2**49, 2**50)
        upper = lower + Fraction(1, 2**53)
        problem = ss.Problem("float64", lower, upper, "hamming", size=17)
        assert ss.plan(problem).ratio == 1
        assert ss.plan(problem, "iterated").ratio > 200
        assert ss.plan(problem, "shifted").ratio < 1 + Fraction(1, 2**40)
        left, right = [lower] * 16 + [upper], [lower] * 17
        for name in ("auto", "shifted", "shifted_kahan", "shifted_toward_zero"):
            sums = [ss.plan(problem, name).sum(np.array(d, dtype=float)) for d in (left, right)]
            assert abs(sums[0] - sums[1]) <= ss.plan(problem, name).sensitivity

    def test_a_step_that_floats_would_leave_the_grid_with(self):
        """The double example: (x - offset) / D rounded up gives 4 where K is 3; the integer clamp holds it."""
        lower, upper, step = 0.96757000042919, 2.1023578468066635, 0.37826261545915785
        assert math.ceil((upper - lower) / step) == 4
        for rounding in ("nearest", "randomised"):
            method = OnGrid(step=step, rounding=rounding)
            p = ss.plan(ss.Problem("float64", lower, upper, "change_one", size=1), method)
            grid = method.grid(p.problem)
            assert p.sensitivity == grid.step * (grid.high - grid.low) <= p.ideal
            for x in (lower, upper, math.inf, -math.inf, math.nan):
                assert grid.low * grid.step <= p.sum(np.array([x])) - grid.offset <= grid.high * grid.step


@settings(max_examples=30)
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_wider_accumulator_counts_with_its_own_precision(n, upper):
    narrow = ss.Problem("float16", 0, upper % 8 + 1, "change_one", size=n)
    p = ss.plan(narrow, Kahan(accumulator="float64"))
    assert p.sensitivity == narrow.spread + Fraction(9, 4) * n * narrow.magnitude / 2**52
    with refused("method", Reason.UNSOUND) as caught:
        ss.plan(narrow, Kahan(accumulator="bfloat16"))
    assert "does not hold every float16" in caught.value.facts["reasons"]


class TestTable2:
    """The paper's table of upper bounds, row by row, with its constants made explicit."""

    @pytest.mark.parametrize("relation", RELATIONS)
    def test_integers_reach_the_ideal(self, relation):
        size = {"size": 1000} if relation.sized else {"max_size": 1000}
        problem = ss.Problem("int32", -7, 100, relation, **size)
        for name in ("wide", "saturating", "split", "modular"):
            assert ss.plan(problem, name).ratio == 1
        checked = ss.plan(problem, "checked").ratio
        assert checked == (1 if relation.sized else Fraction(107, 100))
        assert relation.sized or ss.plan(problem, "split_checked").ratio == 1

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), ("1/4", 3)])
    def test_floats_as_integers_reach_the_ideal(self, relation, bounds):
        assert ss.plan(ss.Problem("float32", *bounds, relation)).ratio == 1

    @pytest.mark.parametrize("dtype, k", [("float32", 23), ("float64", 52)])
    @pytest.mark.parametrize("n", [10, 10**4, 10**6])
    def test_toward_zero_is_within_two_three_and_five(self, dtype, k, n):
        one_sign, mixed = (0, 1), (-1, 1)
        assert ss.plan(ss.Problem(dtype, *one_sign), "toward_zero").sensitivity <= 2
        assert ss.plan(ss.Problem(dtype, *mixed), "toward_zero").sensitivity <= 3
        known = ss.plan(ss.Problem(dtype, *one_sign, "change_one", size=n), "toward_zero").sensitivity
        assert known <= min(1 + Fraction(n, 2**k), 2)
        assert ss.plan(ss.Problem(dtype, *mixed, "change_one", size=n), "toward_zero").sensitivity <= 5

    @pytest.mark.parametrize("dtype, k", [("float32", 23), ("float64", 52)])
    @pytest.mark.parametrize("n", [10, 10**4, 10**6])
    def test_sensitivity_from_accuracy(self, dtype, k, n):
        def ratio(name, *bounds):
            known = ss.plan(ss.Problem(dtype, *bounds, "change_one", size=n), name)
            unknown = ss.plan(ss.Problem(dtype, *bounds, max_size=n), name)
            return known.ratio, unknown.ratio

        h, u = math.ceil(math.log2(n)), Fraction(1, 2 ** (k + 1))
        for name, relaxation in [
            ("iterated", Fraction(n * (n - 1), 2**k)),
            ("pairwise", 2 * n * h * u / (1 - h * u)),
            ("kahan", Fraction(9 if n <= 2 ** (k - 5) else 12, 4) * n / 2**k),
        ]:
            assert ratio(name, 0, 1) == (1 + relaxation, 1 + relaxation)
            assert ratio(name, -1, 1) == (1 + relaxation / 2, 2 + relaxation)  # the ideal is 2 for a public size


def test_a_plan_is_a_line_and_plans_are_a_table():
    plans = ss.plans(ss.Problem("float32", 0, 1000, "change_one", size=1000))
    of = "float32 records in [0, 1,000], change_one neighbours, n = 1,000"
    assert repr(plans[0]) == f"<grid for {of}: one record moves the sum by at most 1,000 (ideal 1,000, ratio 1)>"
    unmet = next(plan for plan in plans if plan.unmet)
    assert repr(unmet) == f"<{unmet.method}, which does not apply to {of}: {'; '.join(unmet.unmet)}>"
    lines = repr(plans).splitlines()
    assert lines[0] == f"<plans for {of}"
    assert [line.split()[0] for line in lines[2:]] == [plan.method for plan in plans]


def test_a_plan_that_does_not_apply_gives_no_number():
    """Nor a sum, where the method alone would give one but not by group."""
    limited = ss.Problem("float64", 0, 1, "change_one", size=2)
    made = Plan(limited, Iterated(), Unit(2))
    assert not made.adder.unmet(limited)
    assert made.unmet
    assert made.unmet[0].startswith("sums by group")
    for asked in (lambda: made.accuracy, lambda: made.sum([0.5, 1.0]), lambda: made.sensitivity):
        with refused("method", Reason.UNSOUND, method="iterated", reasons="; ".join(made.unmet)):
            asked()


@pytest.mark.parametrize("problem", [ss.Problem("int32", 0, 1000), ss.Problem("int8", -1, 1)])
def test_the_least_epsilon_for_an_error(problem):
    """The least of 21 bits: a 2^21st of the power of two above it less would move the sum further."""
    p = ss.plan(problem)
    for error in (1, 2, 3, 7, 19, 100, 4567, 10**6, 10**9):
        epsilon = p.epsilon_for(error)
        power = Fraction(2) ** next(e for e in range(-40, 40) if Fraction(2) ** e >= epsilon)
        unit = power / 2**21
        assert epsilon % unit == 0
        assert p.error(epsilon) <= error < p.error(epsilon - unit)


def test_an_error_is_told_with_a_confidence_of_95_percent_unless_another_is_asked_for():
    p = ss.plan(ss.Problem("float64", 0, 1000))
    assert p.error(1) == p.error(1, 0.95) < p.error(1, 0.96)


def test_what_a_plan_says_of_itself_in_json():
    iterated = ss.plan(ss.Problem("float64", -1, 3, max_size=1000), "iterated")
    told = iterated.to_json()
    assert told["applies"] is True
    assert iterated.ratio != 1
    assert (told["sensitivity"], told["ideal"]) == (str(iterated.sensitivity), str(iterated.ideal))
    assert told["ratio"] == str(iterated.ratio)
    assert told["sensitivity_l2_squared"] == str(iterated.sensitivity**2)
    assert ss.plan(ss.Problem("float64", 0, 0)).to_json()["ratio"] == "1"
    refused = Plan(ss.Problem("float64", -1, 1), Iterated()).to_json()
    assert refused["applies"] is False
    assert refused["unmet"]
    assert "sensitivity" not in refused


def test_of_sums_that_cost_the_same_a_plain_one_comes_before_a_modular_one():
    listed = ss.plans(ss.Problem("int8", 0, 1, "insert_delete", max_size=100))
    same = [p for p in listed if not p.unmet and p.sensitivity == 1]
    assert [p.modulus is None for p in same] == sorted((p.modulus is None for p in same), reverse=True)
    assert {p.modulus is None for p in same} == {True, False}


def test_what_a_theorem_says_of_records_comes_before_what_follows_from_their_steps():
    class Careful(Wide):
        def sensitivity(self, problem):
            return 2 * super().sensitivity(problem)

    assert Plan(ss.Problem("int8", 0, 5), Careful()).sensitivity == 10
