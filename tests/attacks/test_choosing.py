"""Choosing an attack from a wish, with some parameters fixed or bounds given, and what is said where none can be."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusing import refused

import soundsum as ss
from soundsum.attacks import Event
from soundsum.refusals import Reason, RefusedValue

# Fixed parameters: the best of what is left


@pytest.mark.parametrize(
    "name, dtype, options, records, ratio",
    [
        ("reordering", "float32", {"d": 18, "ratio": 8}, 2**21 + 2**6, 8),
        ("reordering", "float32", {"a": 2, "ratio": 1000}, 2**22 + 2**12, 1024),
        ("saturation_reordering", "int14", {"upper": 66, "max_records": 300}, 300, Fraction(16383, 322)),
        ("saturation_reordering", "int14", {"lower": -66, "max_records": 300}, 300, Fraction(16383, 322)),
    ],
)
def test_a_fixed_parameter_leaves_the_best_of_the_others(name, dtype, options, records, ratio):
    attack = ss.attack(name, dtype, **options)
    assert (attack.records, attack.ratio) == (records, ratio)


def best(made, ratio, max_records):
    """The smallest that is strong enough, or the strongest that is small enough, of all there are."""
    strong = [a for a in made if a.ratio > 1 and (ratio is None or a.ratio >= ratio)]
    small = [a for a in strong if max_records is None or a.records <= max_records]
    if ratio is None:
        return max((a.ratio for a in small), default=None)
    return min((a.records for a in small), default=None)


def check(name, kind, relation, fixed, others, ratio, max_records):
    """What a wish with one parameter fixed gets is the best over all values of the other."""
    made = []
    for values in others:
        try:
            made.append(ss.attack(name, kind, relation=relation, **fixed, **values))
        except ValueError:
            continue
    expected = best(made, ratio, max_records)
    if expected is None:
        with pytest.raises(RefusedValue) as refusal:
            ss.attack(name, kind, relation=relation, ratio=ratio, max_records=max_records, **fixed)
        assert refusal.value.option in ("max_records", "ratio")
    else:
        found = ss.attack(name, kind, relation=relation, ratio=ratio, max_records=max_records, **fixed)
        assert expected == (found.ratio if ratio is None else found.records)


wishes = st.one_of(
    st.tuples(st.fractions(Fraction(8, 7), 200, max_denominator=7), st.none()),
    st.tuples(st.none(), st.integers(1, 700)),
    st.tuples(st.integers(2, 64), st.integers(1, 700)),
)
unordered = st.sampled_from(["symmetric", "change_one"])


@settings(max_examples=60, deadline=None)
@given(wishes, unordered, st.sampled_from("ad"), st.integers(1, 7))
def test_of_all_reorderings_with_one_exponent_fixed_the_best_is_taken(wish, relation, name, value):
    other = "d" if name == "a" else "a"
    others = [{other: x} for x in range(9)]
    check("reordering", "bfloat16", relation, {name: value}, others, *wish)


@settings(max_examples=60, deadline=None)
@given(wishes, unordered, st.integers(-8, 7).filter(bool))
def test_of_all_saturations_with_one_bound_fixed_the_best_is_taken(wish, relation, bound):
    fixed = {"upper": bound} if bound > 0 else {"lower": bound}
    others = [{"lower": x} for x in range(-8, 0)] if bound > 0 else [{"upper": x} for x in range(1, 8)]
    check("saturation_reordering", "int4", relation, fixed, others, *wish)


@settings(max_examples=30, deadline=None)
@given(wishes, st.integers(2, 6), st.integers(-10, 10))
def test_a_fixed_scale_does_not_change_which_size_is_best(wish, j, m):
    for name in ("rounding", "repeated_rounding_1", "tree_rounding"):
        check(name, "bfloat16", None, {"m": m}, [{"j": i} for i in range(1, 11)], *wish)
        check(name, "bfloat16", None, {"j": j}, [{}], *wish)


def test_bounds_with_a_fixed_parameter_are_fitted_by_the_others():
    wanted = ss.attack("rounding", "float64", j=9, m=3)
    bounds = (wanted.problem.lower, wanted.problem.upper)
    assert ss.attack("rounding", "float64", bounds=bounds, m=3) == wanted


def test_what_cannot_be_is_said_of_what_was_given():
    with refused("max_records", Reason.TOO_SMALL, ValueError, given=1) as error:
        ss.attack("reordering", "float64", d=44, max_records=1)
    assert error.value.facts["least"] > 1
    assert "a=" not in str(error.value)


def test_one_exponent_of_a_reordering_leaves_the_other_a_ratio_of_two():
    for given_ in ({"a": 20}, {"d": 20}, {"a": 40}, {"d": 52}, {"d": 1}):
        assert ss.attack("reordering", "float64", **given_).ratio >= 2


# The path


def test_the_path_goes_as_far_as_the_type_reaches():
    assert ss.attack("path", "float16", max_records=2**30).records == 2**29
    assert ss.attack("path", "float16", max_records=2**30, m=-3).records == 2**18
    with refused("ratio", Reason.TOO_LARGE, ValueError, attack="path", most="536,870,912"):
        ss.attack("path", "float16", ratio=2**31)


def test_the_path_refuses_a_target_that_does_not_move():
    with refused("target", Reason.UNSUPPORTED, ValueError, result="0"):
        ss.attack("path", target=lambda x: 0.0)


def test_the_path_of_each_sum_has_its_own_step():
    made = {how: ss.attack("path", "float32", n=2**10, target=how) for how in ("iterated", "kahan", "pairwise")}
    for how, attack in made.items():
        assert attack.measure() == attack.measure(how) == attack.predicted
        assert attack.ratio >= 2**9


def test_the_path_takes_bounds_or_a_scale():
    with refused("m", Reason.CONFLICT, ValueError, given="3"):
        ss.attack("path", bounds=(1, 2), m=3)


# Bounds below zero


def test_overflow_below_zero_takes_the_record_farthest_from_zero():
    attack = ss.attack("overflow", "int8", bounds=(-20, -3))
    assert attack.parameters == {"upper": -20}
    assert attack.statement.endswith("wraps around to the largest.")
    other = ss.attack("overflow", "int8", bounds=(-20, -3), upper=-10)
    assert min(other.left.counts()) >= -10
    assert other.measure() == other.predicted == 255
    assert ss.attack("overflow", "int8", bounds=(-20, -3), **attack.parameters) == attack


@pytest.mark.parametrize(
    "name, options", [("rounding", {}), ("tree_rounding", {"j": 4}), ("repeated_rounding_2", {"j": 4})]
)
def test_bounds_below_zero_are_named_as_given(name, options):
    with pytest.raises(RefusedValue) as error:
        ss.attack(name, "float64", bounds=(-3, -2), **options)
    assert (error.value.option, error.value.facts["bounds"]) == ("bounds", "(-3, -2)")


def test_special_values_are_turned_over():
    top = Fraction(np.finfo(np.float64).max)
    below = ss.attack("special_values", bounds=(-top, 0), form="overflow")
    assert below.sums() == below.totals == (-math.inf, -top)
    private = ss.attack("special_values", bounds=(top / 2, top), form="overflow", relation="symmetric")
    assert private.sums() == (math.inf, top)


# Bounds of one kind or another


def test_any_two_neighbours_with_an_odd_last_bit_round_in_a_tree():
    ulp = Fraction(1, 2**52)
    for L in (1 + 3 * ulp, 1 + 7 * ulp, 2 - ulp):
        attack = ss.attack("tree_rounding", bounds=(L, L + ulp))
        assert attack.measure(np.sum) == attack.measure() == attack.predicted == 16 * ulp
        assert ss.attack("tree_rounding", bounds=(L, L + ulp), **attack.parameters) == attack
    wide = ss.attack("tree_rounding", bounds=(0, 1000))
    assert wide.ratio > 1
    with refused("bounds", Reason.UNSUPPORTED, ValueError, bounds=f"(1, {1 + ulp})", attack="tree_rounding") as error:
        ss.attack("tree_rounding", bounds=(1, 1 + ulp))
    assert "path" in error.value.remedy


def test_close_bounds_overflow_after_many_rounds():
    attack = ss.attack("overflow", "int64", bounds=(2**50, 2**50 + 1))
    assert attack.measure() == attack.predicted == 2**64 - 1
    one = ss.attack("overflow", "int64", bounds=(2**50 + 1, 2**50 + 1), relation="symmetric")
    assert one.measure() == one.predicted == 2**64 - 2**50 - 1
    with refused("bounds", Reason.UNSUPPORTED, ValueError, record=1024, dtype="int64"):
        ss.attack("overflow", "int64", bounds=(1024, 1024), relation="symmetric")


# Remedies


@pytest.mark.parametrize(
    "name, dtype, options",
    [
        ("rounding", "float64", {"j": 60}),
        ("rounding", "float64", {"m": 5000}),
        ("rounding", ss.FloatType(7, 3), {"j": 6}),
        ("rounding", ss.FloatType(7, 3), {"j": 60}),
        ("repeated_rounding_1", ss.FloatType(5, 4), {"j": 49}),
        ("repeated_rounding_1", "float16", {"m": 40}),
        ("repeated_rounding_2", "float32", {"j": 99}),
        ("tree_rounding", "float16", {"j": 40}),
        ("tree_rounding", "float16", {"place": 99}),
        ("reordering", "float32", {"a": 30, "d": 5}),
        ("reordering", "float32", {"d": 99}),
        ("reordering", "float32", {"j": 2000}),
        ("overflow", "int8", {"upper": 4096}),
        ("overflow", "int8", {"bounds": (-20, -3), "upper": 200}),
        ("saturation_reordering", "int8", {"upper": 4096}),
        ("saturation_reordering", "int8", {"lower": -4096}),
        ("path", "float16", {"n": 2**39}),
        ("path", "float16", {"n": 2**39, "bounds": (1, 2)}),
        ("path", "float16", {"n": 1}),
    ],
)
def test_the_nearest_parameter_that_is_named_works(name, dtype, options):
    with pytest.raises(RefusedValue) as error:
        ss.attack(name, dtype, **options)
    assert error.value.option in options
    ss.attack(name, dtype, **{**options, error.value.option: int(error.value.facts["works"])})


def test_an_upper_bound_outside_the_range_is_named_as_one():
    with refused("upper", Reason.TOO_LARGE, ValueError, given="2^1023") as error:
        ss.attack("repeated_rounding_2", "float64", upper=2.0**1020 * 8)
    exponent = int(error.value.facts["works"].removeprefix("2^"))
    assert ss.attack("repeated_rounding_2", "float64", upper=2**exponent).problem.upper == 2**exponent
    with refused("upper", Reason.TOO_LARGE, ValueError):
        ss.attack("repeated_rounding_2", "float64", upper=2 ** (exponent + 1))


@pytest.mark.parametrize(
    "name, dtype, options, option, reason, facts",
    [
        (
            "repeated_rounding_1",
            ss.FloatType(5, 3),
            {"j": 49},
            "j",
            Reason.UNSUPPORTED,
            {"nearest": "5", "other": "j", "further": "that the sums fit float(5,3), which ends at 15.75"},
        ),
        ("overflow", "int8", {"upper": 0.125}, "upper", Reason.NOT_WHOLE, {"given": "0.125"}),
        (
            "overflow",
            "int8",
            {"bounds": (-20, -3), "upper": 0.125},
            "upper",
            Reason.NOT_WHOLE,
            {"given": "0.125"},
        ),
        (
            "overflow",
            "uint7",
            {"bounds": (103, 104), "relation": "symmetric"},
            "bounds",
            Reason.TOO_LARGE,
            {"nearer": "nearer zero"},
        ),
        ("overflow", "int8", {"ratio": 1000}, "ratio", Reason.TOO_LARGE, {"attack": "overflow", "most": "255"}),
        ("rounding", "float64", {"bounds": (1, 1 + 2.0**-52)}, "bounds", Reason.UNSUPPORTED, {"attack": "rounding"}),
        ("rounding", "float64", {"bounds": (1,)}, "bounds", Reason.WRONG_TYPE, {"given": "(1,)"}),
        ("rounding", "float64", {"bounds": 3}, "bounds", Reason.WRONG_TYPE, {"given": "3"}),
        ("rounding", "float64", {"j": True}, "j", Reason.NOT_WHOLE, {"given": "True"}),
    ],
)
def test_what_is_said_where_none_can_be(name, dtype, options, option, reason, facts):
    with refused(option, reason, ValueError, **facts):
        ss.attack(name, dtype, **options)


def test_an_error_of_the_target_is_not_a_refusal():
    def broken(data):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as error:
        ss.attack("path", target=broken)
    assert not isinstance(error.value, RefusedValue)


@pytest.mark.parametrize(
    "name, dtype, options",
    [
        ("rounding", "float64", {"j": 7, "max_records": 5}),
        ("reordering", "float64", {"d": 44, "max_records": 1}),
        ("tree_rounding", "bfloat16", {"place": 5, "max_records": 3}),
        ("overflow", "int16", {"upper": 7, "max_records": 3}),
        ("saturation_reordering", "int14", {"upper": 100, "ratio": 1000}),
        ("saturation_reordering", "int14", {"upper": 97, "ratio": 1000, "relation": "change_one"}),
        ("repeated_rounding_2", "float16", {"ratio": 1000}),
        ("reordering", "bfloat16", {"ratio": 1000, "relation": "change_one", "d": 3}),
        ("path", "float16", {"ratio": 2**31}),
    ],
)
def test_the_sizes_and_ratios_that_are_named_can_be_had(name, dtype, options):
    with pytest.raises(RefusedValue) as error:
        ss.attack(name, dtype, **options)
    facts = error.value.facts
    named = facts["least"] if "max_records" in options else Fraction(facts["most"].replace(",", ""))
    wish = {"max_records": named} if "max_records" in options else {"ratio": named}
    found = ss.attack(name, dtype, **{**options, **wish})
    assert named in (found.records, found.ratio)


def test_remedies_that_are_bounds_work():
    with refused("bounds", Reason.UNSUPPORTED, ValueError, given="(-1, 0)") as error:
        ss.attack("special_values", form="overflow", bounds=(-1, 0))
    ss.attack("special_values", form="overflow", bounds=error.value.facts["works"].strip("()").split(", "))
    neighbours = (1, 1 + 2.0**-52)
    assert ss.attack("path", bounds=neighbours).ratio > 1


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert ss.attack("rounding", j=np.int64(5)) == ss.attack("rounding", j=5)
    limited = ss.attack("rounding", max_records=np.int32(100), m=np.int8(-1))
    assert limited == ss.attack("rounding", max_records=100)


# Defaults, arrays and events


def test_every_default_can_be_measured_and_written_out():
    for name in ss.attacks.FAMILIES:
        attack = ss.attack(name)
        if attack.predicted is not None and attack.records < 2**27:
            assert attack.measure() == attack.predicted
        assert attack.records <= 2**30


def test_arrays_that_fit_no_memory_are_refused():
    big = ss.attack("repeated_rounding_1", "float64")
    with refused(None, Reason.TOO_LARGE, ValueError):
        np.asarray(big.left)
    assert np.asarray(ss.attack("repeated_rounding_1", "float32", max_records=2**24).left).size <= 2**24


def test_an_array_is_written_once():
    """Each record is stored once: an array of 8 MB takes not much more while it is made."""
    runs = ss.Runs("float64", [(1, 2**19), ((0.25, -0.5), 2**18)])
    tracemalloc.start()
    try:
        array = np.asarray(runs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert array.nbytes == 2**23 <= peak < 2**23 + 2**16
    assert array.tolist() == [float(x) for x in runs]


def test_events_take_whatever_a_sum_returns():
    event = Event.between(7, 3)
    assert event == Event("above", Fraction(5))
    for output in (np.float64(6), np.array(6.0), np.array(6, dtype=np.int8), np.float16(6), "6"):
        assert event(output)
    assert not Event.between(3, 7)(np.array(6.0))
    assert Event.between(math.inf, 1)(np.array(np.inf))
    with refused("right", Reason.UNSUPPORTED, ValueError):
        Event.between(2, 2)


def test_json_has_types():
    plain = ss.attack("rounding", "float64", j=5).to_json()
    assert plain["parameters"] == {"j": 5, "m": -1}
    assert plain["event"]["test"] == "above"
    assert Fraction(plain["event"]["threshold"]) == ss.attack("rounding", "float64", j=5).event.threshold
    assert plain["event"]["words"].startswith("the output is above ")
    assert ss.attack("special_values").to_json()["event"] == {
        "test": "nan",
        "threshold": None,
        "words": "the output is NaN",
    }
    assert ss.attack("reordering").to_json()["parameters"]["drop_last"] is False
