"""Every claim beside its formula, written once more from the pages: `verify` cannot see that a bound is too large.

Conditions are tried where they turn: at the last number of records that is allowed, and one beyond.
"""

import math
from fractions import Fraction
from itertools import accumulate

import pytest

import soundsum as ss
from soundsum.methods import METHODS, Checked, Kahan, Modular, OnGrid, Pairwise, Saturating, Split
from soundsum.methods.method import MOST_PERMUTED
from soundsum.methods.numpy_pairwise import height, safe_height
from soundsum.methods.pairwise import height as pairwise_height
from soundsum.methods.steps import RecordSteps, steps_from_near, steps_from_zero
from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, float64

BOUNDS = [(0, 1), (-1, 0), (-1, 2), (-3, 1), (1, 3), (-3, -2), (2, 2), (0, 0), (-2, 2)]
SMALL_BOUNDS = [(Fraction(1, 8), Fraction(1, 4)), (Fraction(-1, 4), Fraction(-1, 8)), (Fraction(-1, 8), Fraction(1, 4))]
SIZES = [0, 1, 2, 3, 7, 8, 40, 127, 128, 129, 300]
FLOATS = ["float64", "float32", "float16", FloatType(4, 6), FloatType(9, 9)]


def problems(dtypes, relations=ss.Relation, sizes=SIZES):
    for dtype in dtypes:
        for lower, upper in BOUNDS + (SMALL_BOUNDS if "int" not in str(dtype) else []):
            for relation in map(ss.Relation, relations):
                for n in sizes:
                    yield ss.Problem(dtype, lower, upper, relation, **{"size" if relation.sized else "max_size": n})


def applicable(label, dtypes, **wanted):
    found = [p for p in problems(dtypes, **wanted) if not METHODS[label].unmet(p)]
    assert len(found) > 20
    return found


# Heights of trees


def height_of(shape):
    """By looking at the tree itself."""
    return 0 if isinstance(shape, int) else 1 + max(map(height_of, shape))


def test_heights_are_those_of_the_trees():
    for n in [*range(1, 700), 1000, 1023, 1024, 1025, 4095, 5000, 9999]:
        assert height(n) == height_of(models.numpy_pairwise(float64).shape(n)), n
    assert height(0) == 0
    assert [pairwise_height(n) for n in (0, 1, 2, 3, 4, 5, 8, 9)] == [0, 0, 1, 2, 2, 3, 3, 4]


def test_the_safe_height_is_above_every_tree_of_as_many_records_or_fewer():
    highest = list(accumulate((height(n) for n in range(20_000)), max))
    assert all(safe_height(n) >= highest[n] for n in range(20_000))
    assert [n for n in range(129) if safe_height(n) > highest[n]] == list(range(8, 127))  # 24 is reached at 127
    assert [safe_height(n) for n in range(1, 129)] == [*range(7), *[24] * 121]
    for n in range(129, 20_000):
        assert safe_height(n) == 25 + min(j for j in range(20) if 128 << j >= n)


# Sensitivity and accuracy


def tree(h, n, u):
    return h * u / (1 - h * u) * n


def log2_up(n):
    return min(j for j in range(64) if n <= 1 << j) if n else 0


def kahan(n, kind):
    return (Fraction(9, 4) if kind.k >= 7 and n <= 2 ** (kind.k - 5) else 3) * n * kind.unit_roundoff


ERRORS = {  # of n records of magnitude 1, by the number of records and the type
    "iterated": lambda n, kind, sized: n * (n - 1) * kind.unit_roundoff,
    "pairwise": lambda n, kind, sized: tree(log2_up(n), n, kind.unit_roundoff),
    "numpy_pairwise": lambda n, kind, sized: tree(height(n) if sized else safe_height(n), n, kind.unit_roundoff),
    "kahan": lambda n, kind, sized: kahan(n, kind),
}


@pytest.mark.parametrize("name", ERRORS)
def test_sums_of_floats(name):
    for p in applicable(name, FLOATS):
        n, M, spread = p.limit, max(abs(p.lower), abs(p.upper)), p.upper - p.lower
        error = ERRORS[name](n, p.dtype, p.relation.sized) * M
        assert METHODS[name].accuracy(p) == error
        ideal = spread if p.relation.sized else M
        widest = spread if p.relation.sized else max(M, spread)
        assert METHODS[name].sensitivity(p) == (widest + 2 * error if ideal else 0)


@pytest.mark.parametrize("name", ERRORS)
def test_sums_of_floats_in_halves(name):
    for p in applicable(f"split_{name}", FLOATS, relations=["symmetric", "insert_delete"]):
        error = ERRORS[name](p.limit, p.dtype, False)
        assert METHODS[f"split_{name}"].sensitivity(p) == max((1 + 2 * error) * abs(b) for b in (p.lower, p.upper))
        assert METHODS[f"split_{name}"].accuracy(p) == error * (abs(p.lower) + abs(p.upper))


@pytest.mark.parametrize("inner", ["iterated", "pairwise", "numpy_pairwise", "kahan"])
def test_shifted_sums(inner):
    label = "shifted" if inner == "iterated" else f"shifted_{inner}"
    for p in applicable(label, FLOATS, relations=["change_one", "hamming"]):
        error = ERRORS[inner](p.size, p.dtype, True) * p.spread  # the spreads are floats
        assert METHODS[label].sensitivity(p) == (p.spread + 2 * error if p.spread else 0)
        assert METHODS[label].accuracy(p) == error + p.size * p.dtype.unit_roundoff * p.spread


def below(x):
    """The power of two at or below x."""
    return Fraction(0) if x == 0 else max(Fraction(2) ** e for e in range(-80, 80) if Fraction(2) ** e <= x)


def test_toward_zero():
    method = METHODS["toward_zero"]
    for p in applicable("toward_zero", FLOATS):
        n, up, down, M = p.limit, max(p.upper, 0), max(-p.lower, 0), max(abs(p.lower), abs(p.upper))
        one_sign = p.lower >= 0 or p.upper <= 0
        if p.relation.sized:
            du, dd = (min(below(b), below(n * b) / 2**p.dtype.k) for b in (up, down))
            claimed = p.upper - p.lower + max(du, dd) if one_sign else du + up + dd + down + max(du, dd)
            ideal = p.upper - p.lower
        else:
            claimed = max(below(up) + up, below(down) + down) + (0 if one_sign else max(below(up), below(down)))
            ideal = M
        assert method.sensitivity(p) == (claimed if ideal else 0)
        u = p.dtype.unit_roundoff
        error = ((max(n - 1, 0)) * 2 * u + (0 if one_sign else u)) * n * M
        assert method.accuracy(p) == (error if n * M <= p.dtype.max else None)
    assert method.accuracy(ss.Problem("float64", 0, 1)) is None
    most = FloatType(4, 6).max
    assert method.accuracy(ss.Problem(FloatType(4, 6), 0, most, "hamming", size=1)) == 0
    assert method.accuracy(ss.Problem(FloatType(4, 6), 0, most, "hamming", size=2)) is None


def test_sums_of_integers():
    claims = {
        "wide": lambda p: p.ideal,
        "checked": lambda p: p.spread if p.relation.sized else max(p.magnitude, p.spread),
        "modular": lambda p: min(Fraction(2**p.dtype.bits, 2), p.ideal),
        "split_modular": lambda p: min(Fraction(2**p.dtype.bits, 2), p.ideal),
        "saturating": lambda p: p.ideal,
        "split": lambda p: p.ideal,
        "split_checked": lambda p: p.ideal,
    }
    for label, claim in claims.items():
        relations = ["symmetric", "insert_delete"] if label == "split_checked" else ss.Relation
        for p in applicable(label, [IntType(3), IntType(8), "int32"], relations=relations):
            assert METHODS[label].sensitivity(p) == claim(p)
            fits = p.limit * p.upper <= p.dtype.max and p.limit * p.lower >= p.dtype.min
            exact = fits or label in ("wide", "checked", "split_checked")
            assert METHODS[label].accuracy(p) == (0 if exact else None)
        assert METHODS["modular"].accuracy(ss.Problem("int8", 0, 1)) is None


# Conditions, where they turn


def reasons(method, dtype, lower, upper, n, relation="insert_delete"):
    method = METHODS[method] if isinstance(method, str) else method
    size = {"size" if ss.Relation(relation).sized else "max_size": n}
    return method.unmet(ss.Problem(dtype, lower, upper, relation, **size))


@pytest.mark.parametrize("label", ["checked", "split_checked"])
def test_a_checked_sum_may_fill_its_type_and_no_more(label):
    assert not reasons(label, "int8", -1, 1, 127)
    assert reasons(label, "int8", -1, 1, 128) == [
        "n times a bound leaves int8; it holds 127 such records at most: give a smaller n, or use wide"
    ]
    assert not reasons(label, "int8", -64, 63, 2)
    assert "holds 2 such records" in reasons(label, "int8", -64, 63, 3)[0]
    assert not reasons(label, "int8", -128, 127, 1)


def test_a_checked_sum_of_one_sign_asks_for_its_one_bound():
    assert "holds 25 such" in reasons("checked", "int8", 0, 5, 26)[0]
    assert "holds 25 such" in reasons("checked", "int8", -5, 0, 26)[0]
    assert "holds 128 such" in reasons("checked", "int8", -1, 0, 129)[0]
    assert not reasons("checked", "int8", -1, 0, 128)
    assert not reasons("checked", "uint8", 0, 1, 255)


@pytest.mark.parametrize("label", ["checked", "split_checked", "saturating", "toward_zero", "iterated"])
def test_what_is_permuted_fits_in_memory(label):
    dtype = "int64" if METHODS[label].takes is IntType else "float64"
    assert not reasons(label, dtype, -1, 1, MOST_PERMUTED, "symmetric")
    (why,) = reasons(label, dtype, -1, 1, MOST_PERMUTED + 1, "symmetric")
    assert why.startswith("permutes the records in memory")
    assert not reasons(label, dtype, -1, 1, MOST_PERMUTED + 1, "insert_delete")


def test_a_float_sum_may_reach_the_largest_float():
    kind = FloatType(4, 6)
    n = 2
    error = n * (n - 1) * kind.unit_roundoff
    largest = max(x for x in kind.values() if n * x + error * x <= kind.max)
    assert not reasons("iterated", kind, 0, largest, n)
    assert "may overflow" in reasons("iterated", kind, 0, kind.next_up(largest), n)[0]
    assert not reasons("iterated", kind, 0, kind.max, 1)
    assert not reasons("kahan", kind, 0, 1, 8)
    assert reasons("kahan", kind, 0, 1, 9) == ["proved for at most 8 records in float(4,6), and n may be 9; use grid"]
    top = max(x for x in kind.values() if (1 + 3 * kind.unit_roundoff) * 8 * x <= kind.max)
    assert not reasons("kahan", kind, 0, top, 8)
    assert "may overflow" in reasons("kahan", kind, 0, kind.next_up(top), 8)[0]


def test_kahans_sharper_constant_ends_where_it_is_proved():
    for kind, n, constant in [
        (FloatType(7, 9), 4, Fraction(9, 4)),
        (FloatType(7, 9), 5, 3),
        (FloatType(6, 9), 2, 3),
        (FloatType(8, 9), 8, Fraction(9, 4)),
        (FloatType(8, 9), 9, 3),
    ]:
        assert Kahan().error(n, Fraction(1), kind) == constant * n * kind.unit_roundoff
        assert Kahan().reach(n, Fraction(1), kind) == n * (1 + 3 * kind.unit_roundoff)


def test_a_tree_may_be_as_high_as_its_bound_allows():
    kind = FloatType(1, 9)  # u = 1/4, so a height of 3
    assert not reasons("pairwise", kind, 0, 1, 8)
    assert "height below 4" in reasons("pairwise", kind, 0, 1, 9)[0]


# What a method says of itself


def test_who_adds_floats_and_who_reads_in_batches():
    floats = {label for label, method in METHODS.items() if method.adds_floats}
    assert floats == {label for label, method in METHODS.items() if method.takes is FloatType and method.name != "grid"}
    assert {label for label, method in METHODS.items() if method.adds_up} == {"wide", "grid", "grid_randomised"}


def test_methods_come_in_a_fixed_order():
    """Of equals a plan takes the first."""
    assert list(METHODS)[:10] == [
        *("wide", "grid", "grid_randomised", "checked", "modular", "saturating", "split", "split_modular"),
        *("split_checked", "iterated"),
    ]


def test_integers_on_a_grid_are_added_to_an_integer():
    made = OnGrid(step=1, bits=8, integers=Modular())
    problem = ss.Problem("float64", 0, 5)
    assert type(made.integer_sum(problem, ss.Runs("float64", [(2, 3)]))) is int


def test_the_steps_of_sums():
    unsized = {"max_size": 10}
    for label, relation, steps in [
        ("checked", "symmetric", ("permute", "truncate", "checked")),
        ("checked", "insert_delete", ("truncate", "checked")),
        ("split", "symmetric", ("split", "saturating")),
        ("split_modular", "symmetric", ("split", "modular")),
        ("split_checked", "symmetric", ("permute", "split", "truncate", "checked")),
        ("split_checked", "insert_delete", ("split", "truncate", "checked")),
    ]:
        assert METHODS[label].steps(ss.Problem("int8", -1, 2, relation, **unsized)) == steps


@pytest.mark.parametrize("name", ["iterated", "pairwise", "numpy_pairwise", "kahan"])
def test_the_steps_of_sums_of_floats(name):
    def steps(label, relation):
        size = {"size" if ss.Relation(relation).sized else "max_size": 10}
        return METHODS[label].steps(ss.Problem("float64", -1, 2, relation, **size))

    for relation, before in (("symmetric", ("permute",)), ("insert_delete", ())):
        assert steps(name, relation) == (*before, "truncate", name)
        assert steps(f"split_{name}", relation) == (*before, "split", "truncate", name)
    assert steps(name, "hamming") == steps(name, "change_one") == (name,)


@pytest.mark.parametrize("relation", ["change_one", "hamming"])
@pytest.mark.parametrize("inner", ["iterated", "pairwise", "numpy_pairwise", "kahan", "toward_zero"])
def test_the_steps_of_shifted_sums(inner, relation):
    """The one that depends on the order is permuted where orders are private, before anything else."""
    label = "shifted" if inner == "iterated" else f"shifted_{inner}"
    permuted = ("permute",) if inner == "toward_zero" and relation == "change_one" else ()
    assert METHODS[label].steps(ss.Problem("float64", 1, 2, relation, size=5)) == (*permuted, "shift", inner)


@pytest.mark.parametrize("inner", ["iterated", "pairwise", "numpy_pairwise", "kahan"])
def test_halves_are_for_private_sizes_and_both_signs(inner):
    label, why = f"split_{inner}", f"is for unknown sizes and bounds of both signs; here use {inner}"
    assert reasons(label, "float64", -1, 1, 5) == []
    assert reasons(label, "float64", -1, 1, 5, "hamming") == [why]
    assert reasons(label, "float64", 0, 1, 5) == reasons(label, "float64", -1, 0, 5) == [why]


def test_what_sums_are_counted_in():
    floats = ss.Problem("float64", 0, 3, "insert_delete", max_size=4)
    sensitivity = METHODS["iterated"].sensitivity(floats)
    assert METHODS["iterated"].noise_step(floats) == below(sensitivity) / 2**40
    assert METHODS["checked"].noise_step(ss.Problem("int8", 0, 3, max_size=4)) == 1
    assert METHODS["iterated"].noise_step(ss.Problem("float64", 0, 0, max_size=4)) == 1
    assert METHODS["grid"].record_steps(floats) == steps_from_zero(floats) == RecordSteps.on_grid(OnGrid().grid(floats))
    integers = ss.Problem("int8", -2, 3)
    assert METHODS["wide"].record_steps(integers) == RecordSteps(-2, 3, Fraction(1))
    assert METHODS["grid_randomised"].record_steps(floats) is None
    assert OnGrid(step=1, bits=8, integers=Modular()).record_steps(floats) is None
    assert type(steps_from_near(ss.Problem("int8", 0, 3)).low) is int


def test_noise_covers_a_sensitivity_that_is_no_whole_number_of_steps():
    """Floored to steps, two sums within Delta are within ceil(Delta / step); of a tree's bound the last is no step."""
    for label in ("pairwise", "numpy_pairwise", "split_pairwise", "iterated", "kahan", "toward_zero"):
        p = ss.plan(ss.Problem("float64", -1, 1, "insert_delete", max_size=1000), label)
        steps = p.sensitivity / p.step
        assert p.step_norms.l1 - 1 < steps <= p.step_norms.l1
        assert p.step_norms.l2_squared == p.step_norms.l1**2
    p = ss.plan(ss.Problem("float64", -1, 1, "insert_delete", max_size=1000), "pairwise")
    assert p.step_norms.l1 == math.floor(p.sensitivity / p.step) + 1


# The grid


def test_the_grid_of_a_given_accumulator():
    def unmet(bits, n, **more):
        return OnGrid(step="paper", bits=bits, **more).unmet(ss.Problem("float64", 0, 1, "hamming", size=n))

    assert not unmet(8, 63)
    assert unmet(8, 64) == ["8 bits are too few for 64 records; give more bits"]
    assert OnGrid().bits == 64
    grid = OnGrid(step="paper", bits=10).grid(ss.Problem("float64", 9, 10, "symmetric", max_size=6))
    assert grid.step == Fraction(10 * 6, 2**8 - 6)
    sized = OnGrid(step="paper", bits=10).grid(ss.Problem("float64", 9, 10, "hamming", size=6))
    assert sized.step == Fraction(6, 2**8 - 6)
    assert OnGrid(step="paper", bits=10).grid(ss.Problem("float64", 2, 2, "hamming", size=6)).step == 1
    written_out = ss.Problem("float64", 0, 200, "hamming", size=1)
    assert "beyond int8" in OnGrid(step=1, bits=8, rounding="randomised").unmet(written_out)[0]
    assert not OnGrid(step=1, bits=8).unmet(written_out)
    for n, fits in ((2**64 - 1, True), (2**64, False)):
        assert (OnGrid().unmet(ss.Problem("float64", 0, 1, "hamming", size=n)) == []) == fits


def test_the_accuracy_of_grids():
    nearest, randomised = OnGrid(step=1), OnGrid(step=1, rounding="randomised")
    problem = ss.Problem("float64", Fraction(-5, 4), Fraction(14, 5), "insert_delete", max_size=10)
    assert nearest.accuracy(problem) == 10 * Fraction(4, 5)  # the clamp of 14/5 to 2
    assert randomised.accuracy(problem) == 10
    for confidence in (0.95, 0.99):
        c = Fraction(math.nextafter(math.sqrt(math.log(2 / (1 - confidence)) / 2), math.inf))  # rounded up
        assert randomised.likely_accuracy(problem, confidence) == 4 * c + 8
    assert randomised.likely_accuracy(problem) == randomised.likely_accuracy(problem, 0.95)
    assert randomised.likely_accuracy(ss.Problem("float64", 0, 1)) is None
    low = ss.Problem("float64", Fraction(-14, 5), Fraction(5, 4), "insert_delete", max_size=10)
    assert nearest.accuracy(low) == 8
    shifted = ss.Problem("float64", Fraction(41, 10), Fraction(61, 10), "hamming", size=10)
    assert OnGrid(step=Fraction(3, 10)).accuracy(shifted) == 10 * Fraction(2, 10)  # the offset is 41/10, K is 6
    halves = OnGrid(step=1, bits=8, integers=Split("checked"))
    both = ss.Problem("float64", -2, 2, "insert_delete", max_size=10)
    assert halves.accuracy(both) == 2 * 10 * Fraction(1, 2)
    assert OnGrid(step=1, bits=8, integers=Checked()).accuracy(both) == 10 * Fraction(1, 2)
    assert OnGrid(step=1, bits=4, integers=Saturating()).accuracy(both) is None


def test_a_bound_between_two_steps_is_off_by_what_is_cut_off_of_it():
    """By more than half a step here; of a public size, steps are counted from near the bounds."""
    tiny = Fraction(1, 2**60)
    for lower, upper in ((1 + tiny, 2), (1, 2 - tiny), (-2, -1 - tiny), (tiny - 2, -1)):
        problem = ss.Problem("float64", lower, upper, "hamming", size=1)
        step = OnGrid().grid(problem).step
        assert OnGrid().accuracy_per_record(problem) == step - tiny > step / 2


def test_the_chance_of_overflow_is_that_of_the_noise():
    """Two sides, each the discrete Laplace tail beyond what n records leave of m bits."""
    method = OnGrid(step=1, bits=8)
    problem = ss.Problem("float64", -3, 2, "symmetric", max_size=10)
    room, scale = 2**7 - 10 * 3, 3 / 0.5
    tail = math.exp(-room / scale) / (1 + math.exp(-1 / scale))
    assert method.overflow_chance(problem, Fraction(1, 2)) == pytest.approx(2 * tail, rel=1e-12, abs=0)
    half = OnGrid(step=Fraction(1, 2), bits=9)
    assert half.overflow_chance(ss.Problem("float64", 0, 3, "symmetric", max_size=10), Fraction(1)) == pytest.approx(
        2 * math.exp(-(2**8 - 60) / 6) / (1 + math.exp(-1 / 6)), rel=1e-12, abs=0
    )
    third = OnGrid(step=Fraction(1, 4), bits=9)
    assert third.overflow_chance(ss.Problem("float64", -1, 0, "symmetric", max_size=2), Fraction(1)) == pytest.approx(
        2 * math.exp(-(2**8 - 8) / 4) / (1 + math.exp(-1 / 4)), rel=1e-12, abs=0
    )
    assert method.overflow_chance(ss.Problem("float64", 0, 64, "symmetric", max_size=2), Fraction(1)) == 1.0
    near = method.overflow_chance(ss.Problem("float64", 0, 127, "symmetric", max_size=1), Fraction(1))
    assert near == pytest.approx(2 * math.exp(-1 / 127) / (1 + math.exp(-1 / 127)), rel=1e-12, abs=0)
    assert method.overflow_chance(ss.Problem("float64", 2, 2, "hamming", size=3), Fraction(1)) == 0.0


def test_pairwise_in_a_wider_accumulator_has_its_own_limits():
    assert Pairwise(accumulator=float64).unmet(ss.Problem("float32", 0, 1, "hamming", size=2**28)) == []
