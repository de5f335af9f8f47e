"""Attacks of every family: what is predicted is what real sums do, on named types and at the paper's full sizes."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from tests.refusing import refused

import soundsum as ss
from soundsum.attacks import FAMILIES, Event, examples, families_for, mironov
from soundsum.attacks.attack import difference
from soundsum.kernels import float_sum
from soundsum.numbers.types import NAMED
from soundsum.refusals import Reason, RefusedValue

TYPES = [*NAMED.values(), ss.FloatType(4, 4), ss.FloatType(8, 4), ss.IntType(5), ss.IntType(9, signed=False)]
MOST_SUMMED = 2**25

EVERY = [
    (name, kind, relation)
    for kind in TYPES
    for name in families_for(kind)
    for relation in FAMILIES[name].relations
    if name != "special_values"
]


@pytest.mark.parametrize("name, kind, relation", EVERY, ids=lambda x: str(getattr(x, "name", x)))
def test_what_is_predicted_is_what_the_kernels_do(name, kind, relation):
    attack = ss.attack(name, kind, relation=relation)
    assert attack.ratio > 1
    assert attack.problem.ideal == attack.ideal
    assert attack.distance == (0 if "reordering" in name else 1)
    if attack.records <= MOST_SUMMED:
        assert attack.sums() == attack.totals
        assert attack.measure() == attack.predicted
        assert [attack.event(total) for total in attack.sums()] == [True, False]
        ours = "wide" if kind.is_integer else "grid"
        assert attack.measure(ours) <= attack.ideal


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_a_default(name):
    attack = ss.attack(name)
    assert attack.name == name
    assert name in attack.explain()
    assert isinstance(attack, ss.Attack)


# The paper's examples


LARGEST = ("ea:64-nonassoc", "ea:rr2")
IN_A_PROCESS = """
import sys
from pathlib import Path
from soundsum.attacks import examples
for example in examples():
    if example.label in sys.argv:
        assert example.attack.measure() == example.attack.predicted == example.printed, example.label
(most,) = (line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(most) // 1024)
"""


def test_the_papers_largest_examples_take_little_memory():
    """2^28 and 2^30 records, every addition done, in a process of their own (a reproduction may take 500 MB)."""
    done = subprocess.run([sys.executable, "-c", IN_A_PROCESS, *LARGEST], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200


@pytest.mark.parametrize(
    "example", [e for e in examples() if e.label not in LARGEST], ids=lambda example: example.label
)
def test_the_papers_other_examples_at_full_size(example):
    attack = example.attack
    assert attack.measure() == attack.predicted == example.printed


def test_the_papers_sizes_and_bounds():
    by_label = {example.label: example.attack for example in examples()}
    sizes = {label: attack.records for label, attack in by_label.items()}
    assert sizes == {
        "ea:modular-sum": 2**17 + 1,
        "ea:saturation": 393216,
        "ea:32-nonassoc": 2**24 + 2**23,
        "ea:64-nonassoc": 2**28,
        "ea:ham-round-once": 17,
        "ea:32-ham-round-accum": 15 * 2**23 + 2,
        "ea:rr2": 2**30,
    }
    assert by_label["ea:ham-round-once"].problem.lower == (1 + Fraction(1, 2**49)) / 2
    assert by_label["ea:64-nonassoc"].problem.lower == Fraction(1, 2**26)
    assert by_label["ea:rr2"].problem.lower == -Fraction(1, 2**23) * (Fraction(1, 2) - Fraction(1, 2**52))


def test_mironovs_datasets_move_by_129_but_are_no_attack():
    pair = mironov()
    left, right = (float_sum("iterated", side, -1, 2**31) for side in (pair.left, pair.right))
    assert left - right == pair.computed == 129
    assert sum(x * count for x, count in (pair.left.counts() - pair.right.counts()).items()) == 2**30 + 1
    assert ss.Relation.HAMMING.distance(pair.left, pair.right) == 1
    assert pair.real == 1
    assert pair.computed < pair.spread


# Special values


@pytest.mark.parametrize("relation", ss.Relation)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", ss.FloatType(4, 4)])
def test_values_that_are_not_numbers_show(dtype, relation):
    for form, moved in (("nan", math.nan), ("inf", math.inf), ("overflow", math.inf)):
        attack = ss.attack("special_values", dtype, form=form, relation=relation)
        assert attack.predicted is None
        assert attack.ratio == math.inf
        assert str(attack.measure()) == str(moved)
        assert [attack.event(total) for total in attack.sums()] == [True, False]
        assert attack.measure("grid") <= attack.ideal


def test_numpy_lets_special_values_through_a_clip():
    attack = ss.attack("special_values", form="nan")
    assert math.isnan(attack.measure(lambda x: np.sum(np.clip(x, 0, 1))))
    clipped = ss.attack("special_values", form="inf").measure(lambda x: np.sum(np.clip(x, 0, 1)))
    assert clipped == 1


def test_differences_of_what_is_not_a_number():
    inf, nan = math.inf, math.nan
    assert difference(inf, inf) == difference(nan, nan) == 0
    assert difference(inf, -inf) == difference(3, inf) == inf
    assert math.isnan(difference(nan, inf))
    assert difference(2, Fraction(1, 2)) == Fraction(3, 2)


# The path


def kahan(x):
    total = lost = 0.0
    for value in x.tolist():
        y = value - lost
        t = total + y
        total, lost = t, (t - total) - y
    return total


SUMS = {"np.sum": np.sum, "math.fsum": math.fsum, "Kahan": kahan, "pandas": lambda x: pd.Series(x).sum()}


@pytest.mark.parametrize("n", [2**16 + 1, 50_000])
@pytest.mark.parametrize("total", SUMS.values(), ids=SUMS)
def test_no_sum_that_returns_a_double_escapes_the_path(total, n):
    attack = ss.attack("path", target=total, n=n, relation="change_one")
    assert attack.records == n
    assert attack.ratio >= Fraction(n, 2)
    assert abs(Fraction(total(np.asarray(attack.left))) - Fraction(total(np.asarray(attack.right)))) == attack.predicted
    assert attack.measure() == attack.predicted


def test_an_exact_sum_escapes_the_path():
    def exact_sum(x):
        return sum(map(Fraction, x.tolist()))

    assert ss.attack("path", target=exact_sum, n=100).ratio == 1
    with refused("ratio", Reason.TOO_LARGE, ValueError, given="16", attack="path", most="1"):
        ss.attack("path", target=exact_sum, ratio=16)


def test_the_path_asks_its_target_only_log_n_times():
    asked = []
    ss.attack("path", target=lambda x: asked.append(1) or np.sum(x), n=2**16 + 1)
    assert len(asked) <= 2 + 17


def test_the_path_takes_any_bounds_where_the_ulp_outgrows_them():
    attack = ss.attack("path", "float32", bounds=(0, 1), ratio=4)
    assert attack.ratio >= 4
    assert (attack.problem.lower, attack.problem.upper) == (0, 1)
    assert attack.records <= 2**27
    assert ss.attack("path", "float64", bounds=(-3, -2), n=2**10, target=np.sum).ratio == 1


# Wishes


@pytest.mark.parametrize(
    "dtype, ratio", [("float32", 2), ("float32", 17), ("bfloat16", 2), ("bfloat16", 5), ("int32", 16), ("uint16", 5)]
)
def test_a_wish_for_a_ratio_takes_the_smallest_dataset(dtype, ratio):
    for name in families_for(NAMED[dtype]):
        if name == "special_values":
            continue
        attack = ss.attack(name, dtype, ratio=ratio)
        assert attack.ratio >= ratio
        with pytest.raises(RefusedValue) as refusal:
            ss.attack(name, dtype, ratio=ratio, max_records=attack.records - 1)
        assert refusal.value.option in ("max_records", "ratio")
        assert ss.attack(name, dtype, max_records=attack.records).ratio >= attack.ratio
        assert ss.attack(name, dtype, ratio=ratio, max_records=attack.records) == attack


@pytest.mark.parametrize("relation, spread", [("symmetric", 0), ("change_one", 1)])
def test_of_all_reorderings_the_smallest_is_taken(relation, spread):
    k = 7
    pairs = [(a, d) for d in range(1, k + 2) for a in range(k + 2 - d)]
    sizes = {pair: sum(2 ** (k + 1 - e) for e in pair) for pair in pairs}
    ratios = {(a, d): Fraction(2 ** (k + 1 - a), 2**d - spread) for a, d in pairs}
    for ratio in (2, 3, 8, 17, 100):
        attack = ss.attack("reordering", "bfloat16", ratio=ratio, relation=relation)
        assert attack.records == min(sizes[pair] for pair in pairs if ratios[pair] >= ratio)
        attack = ss.attack("reordering", "bfloat16", max_records=attack.records, relation=relation)
        assert attack.ratio == max(ratios[pair] for pair in pairs if sizes[pair] <= attack.records)


def test_of_all_overflows_the_smallest_is_taken():
    for ratio in (2, 7, 30):
        sizes = [-(-127 // U) + 1 for U in range(1, 128) if Fraction(255, U) >= ratio]
        assert ss.attack("overflow", "int8", ratio=ratio).records == min(sizes)


def test_of_all_saturations_the_smallest_is_taken():
    for relation, ratio in ((r, x) for r in ("symmetric", "change_one") for x in (2, 7, 30)):
        sizes = [
            -(-255 // -L) - (-255 // U)
            for L in range(-128, 0)
            for U in range(1, 128)
            if Fraction(255, U - L if relation == "change_one" else max(-L, U)) >= ratio
        ]
        assert ss.attack("saturation_reordering", "int8", ratio=ratio, relation=relation).records == min(sizes)


# Bounds


def test_bounds_are_kept_and_the_records_fitted_to_them():
    attack = ss.attack("repeated_rounding_2", "float32", bounds=(-7, 1000), relation="symmetric")
    assert (attack.problem.lower, attack.problem.upper, attack.ideal) == (-7, 1000, 1000)
    assert max(attack.left.counts()) == 512
    assert attack.measure() == attack.predicted > 1000


def test_attacks_are_turned_over_for_bounds_below_zero():
    attack = ss.attack("repeated_rounding_2", "float32", bounds=(-1000, 7))
    assert min(attack.left.counts()) == -512
    assert attack.measure() == attack.predicted > 1000
    assert [attack.event(total) for total in attack.sums()] == [True, False]


def test_parameters_are_found_for_bounds_that_need_others():
    wanted = ss.attack("rounding", "float64", j=9, m=3)
    bounds = (wanted.problem.lower, wanted.problem.upper)
    assert dict(ss.attack("rounding", "float64", bounds=bounds).parameters) == {"j": 9, "m": 3}


# Bad input


U, S, L = Reason.UNSUPPORTED, Reason.TOO_SMALL, Reason.TOO_LARGE


@pytest.mark.parametrize(
    "name, dtype, options, option, reason, facts",
    [
        ("round", None, {}, "name", Reason.UNKNOWN, {"given": "'round'", "known": ", ".join(FAMILIES)}),
        (["rounding"], None, {}, "name", Reason.UNKNOWN, {}),
        ("rounding", "int32", {}, "dtype", U, {"others": "overflow, saturation_reordering"}),
        ("rounding", "int32", {}, "dtype", U, {"why": "it is about floats"}),
        ("overflow", "float64", {}, "dtype", U, {"why": "it is about integers"}),
        ("saturation_reordering", "uint8", {}, "dtype", U, {"why": "it needs negative numbers", "others": "overflow"}),
        ("rounding", ss.FloatType(2, 5), {}, "dtype", U, {"why": "it needs at least 3 mantissa bits"}),
        ("rounding", "float64", {"j": 52}, "j", L, {"given": "52", "condition": "1 < j < k = 52", "works": "51"}),
        ("rounding", "float64", {"j": 1}, "j", S, {"works": "2"}),
        ("rounding", "float64", {"j": 2.5}, "j", Reason.NOT_WHOLE, {"given": "2.5"}),
        ("rounding", "float64", {"m": 5000}, "m", L, {"works": "1019"}),
        ("rounding", "float64", {"d": 3}, "d", Reason.UNKNOWN, {"given": "3", "attack": "rounding", "known": "j, m"}),
        ("rounding", "float64", {"relation": "symmetric"}, "relation", U, {"relations": "hamming, change_one"}),
        ("rounding", "float64", {"bounds": (0, 1)}, "bounds", L, {"bounds": "(0, 1)", "attack": "rounding"}),
        ("rounding", "float64", {"target": np.sum}, "target", U, {"attack": "rounding"}),
        ("reordering", "float64", {"a": 30, "d": 30}, "a", L, {"condition": "0 <= a <= k + 1 - d = 23", "works": "23"}),
        ("reordering", "float64", {"d": 0}, "d", S, {"works": "1"}),
        ("reordering", "float64", {"max_records": 10}, "max_records", S, {"least": 268_435_456}),
        ("overflow", "uint8", {"max_records": 2}, "max_records", S, {"given": 2, "dtype": "uint8"}),
        ("path", "float64", {"bounds": (0, 0)}, "bounds", U, {"bound": "0", "never": "no record can change"}),
        ("reordering", "float64", {"drop_last": True, "relation": "change_one"}, "drop_last", Reason.CONFLICT, {}),
        ("repeated_rounding_1", "float64", {"j": 53}, "j", L, {"works": "52"}),
        ("repeated_rounding_2", "float64", {"upper": 3}, "upper", U, {"given": "3", "below": "2"}),
        ("repeated_rounding_2", "float64", {"upper": -2}, "upper", U, {"given": "-2"}),
        ("repeated_rounding_2", "float64", {"ratio": 2**60}, "ratio", L, {"attack": "repeated_rounding_2"}),
        (
            "repeated_rounding_1",
            ss.FloatType(7, 3),
            {},
            "j",
            U,
            {"condition": "that the sums fit float(7,3), which ends at 15.9375"},
        ),
        ("overflow", "int8", {"upper": 0}, "upper", S, {"works": "1"}),
        ("overflow", "int8", {"upper": 128}, "upper", L, {"works": "127"}),
        (
            "overflow",
            "int8",
            {"bounds": (0, 0), "relation": "symmetric"},
            "bounds",
            U,
            {"never": "no record moves a sum"},
        ),
        ("overflow", "int8", {"bounds": (5, 5)}, "bounds", U, {"bound": "5", "never": "no record can change"}),
        ("overflow", "int8", {"bounds": (0, 500)}, "bounds", Reason.CONFLICT, {"bound": "500", "nearest": "127"}),
        ("saturation_reordering", "int8", {"lower": 0}, "lower", L, {"works": "-1"}),
        ("saturation_reordering", "int8", {"bounds": (1, 5)}, "bounds", U, {"lower": 1, "upper": 5}),
        ("special_values", "float64", {"form": "zero"}, "form", Reason.UNKNOWN, {"known": "nan, inf, overflow"}),
        ("special_values", "float64", {"form": "overflow", "bounds": (0, 1)}, "bounds", U, {"given": "(0, 1)"}),
        ("path", "float64", {"n": 1}, "n", S, {"works": "2"}),
        ("path", "float64", {"target": lambda x: math.nan}, "target", Reason.NOT_A_NUMBER, {"n": 65_537}),
        ("path", "float64", {"target": "chop"}, "target", Reason.UNKNOWN, {"given": "'chop'"}),
        ("path", "float64", {"ratio": 0}, "ratio", S, {"given": "0"}),
        ("path", "float64", {"max_records": 0}, "max_records", S, {"given": "0"}),
        ("path", "float64", {"bounds": (2, 1)}, "bounds", Reason.SWAPPED, {"lower": "2", "upper": "1"}),
        ("path", "float64", {"bounds": (2, math.inf)}, "bounds", Reason.NOT_A_NUMBER, {"upper": "inf"}),
        ("tree_rounding", "float64", {"place": 16}, "place", L, {"works": "15"}),
    ],
)
def test_bad_input_names_the_condition_and_what_works(name, dtype, options, option, reason, facts):
    with refused(option, reason, ValueError, **facts):
        ss.attack(name, dtype, **options)


def test_a_pair_is_checked_when_it_is_made():
    good = ss.attack("rounding", "float64")
    parts = {field: getattr(good, field) for field in ("name", "left", "right", "problem", "totals", "parameters")}
    parts |= {"aimed_at": "iterated", "reference": "", "statement": ""}
    far = ss.Runs("float64", [(good.problem.upper, 17)])
    with refused("right", Reason.MISMATCH, ValueError, distance="17", relation="hamming"):
        ss.Attack(**{**parts, "left": far})
    with refused("left", Reason.MISMATCH, ValueError, upper=str(good.problem.upper)) as error:
        ss.Attack(**{**parts, "left": good.left[:16] + ss.Runs("float64", [(98765, 1)])})
    assert "98765" not in str(error.value)  # which is a record
    with refused("left", Reason.MISMATCH, ValueError, found=16, size=17):
        ss.Attack(**{**parts, "left": good.left[:16]})
    with refused("problem", Reason.CONFLICT, ValueError, bound="1/3", dtype="float64"):
        ss.Attack(**{**parts, "problem": ss.Problem("float64", 0, "1/3", "hamming", 17)})
    with refused("left", Reason.MISMATCH, ValueError, found="float32", dtype="float64"):
        ss.Attack(**{**parts, "left": ss.Runs("float32", [(1, 17)])})


def test_sums_that_would_take_years_are_refused():
    attack = ss.attack("repeated_rounding_1", "float64")
    with refused("dtype", Reason.TOO_MANY, ValueError, records=attack.records):
        attack.measure()
    with refused("total", Reason.UNKNOWN, ValueError, given="'chop'", dtype="float64"):
        ss.attack("rounding").measure("chop")


def test_an_attack_as_json_can_be_read_back():
    attack = ss.attack("repeated_rounding_2", "bfloat16")
    plain = attack.to_json()
    assert ss.Runs.from_json(plain["left"]) == attack.left
    assert Fraction(plain["predicted"]) == attack.predicted
    assert ss.attack("special_values").to_json()["predicted"] is None


def test_wishes_under_a_public_size_use_the_least_spread():
    for records in (9, 20, 41):
        attack = ss.attack("saturation_reordering", "int8", max_records=records, relation="change_one")
        spreads = [U - L for L in range(-128, 0) for U in range(1, 128) if records >= -(-255 // -L) - (-255 // U)]
        assert attack.ideal == min(spreads)


def test_events_tell_noisy_outputs_apart():
    assert Event("below", Fraction(5))(4.5)
    assert not Event("below", Fraction(5))(math.nan)
    assert Event("infinite")(-math.inf)
    assert not Event("nan")(0.0)


def test_an_attack_is_a_line():
    shown = repr(ss.attack("rounding", dtype="float64"))
    assert shown == "<rounding on float64, 17 records, 1 apart under hamming: iterated moves by 16 times the ideal>"
    assert repr(ss.attack("special_values")).endswith(": iterated tells them apart>")
