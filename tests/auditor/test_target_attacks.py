"""Faults that need a certain value, missing records, many records or a narrow type show, with sums and with outputs."""

import math

import numpy as np
import pytest

import soundsum as ss
from soundsum.auditor.plain_pairs import plain_pairs
from soundsum.auditor.target_attacks import FURTHER, further_attacks
from soundsum.tables.relations import Relation
from tests.auditor import mechanisms as m

pytestmark = pytest.mark.usefixtures("same_draws")

QUICK = {"seconds": 40, "memory": 64 << 20, "search": False}
PROMISE = {"dtype": "int64", "bounds": (0, 100), "relation": "change_one"}


def twice(lower, upper):
    return 2 * (upper - lower)


def narrow(data, lower, upper):
    return int(np.clip(data, lower, upper).astype(np.int16).sum(dtype=np.int16))


def in_float16(data, lower, upper):
    x = np.nan_to_num(np.clip(data, lower, upper)).astype(np.float16)
    return float(np.add.accumulate(x)[-1]) if len(x) else 0.0


def in_float32(data, lower, upper):
    return float(np.add.accumulate(np.clip(data, lower, upper), dtype=np.float32)[-1]) if len(data) else 0.0


def imputed(data, lower, upper):
    known = data[~np.isnan(data)]
    mean = known.mean() if len(known) else 0.0
    return math.fsum(np.clip(np.where(np.isnan(data), mean, data), lower, upper).tolist())


def coded(data, lower, upper):
    """99 stands for the mean of the others."""
    known = data[data != 99]
    mean = int(known.mean()) if len(known) else 0
    return int(np.clip(np.where(data == 99, mean, data), lower, upper).sum())


def sampled(data, lower, upper):
    x = np.clip(data, lower, upper)
    return int(x.sum()) if len(x) <= 5000 else 4 * int(x[::4].sum())


def needs_thirty(data, lower, upper):
    if len(data) < 30:
        raise ValueError("too few records")
    return m.integer_sum(data, lower, upper)


def needs_none(data, lower, upper):
    if len(data):
        raise TypeError("no such type")
    return 0


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(
    "dtype, bounds", [("int64", (0, 100)), ("int64", None), ("uint8", (3, 9)), ("float64", (-1, 1))]
)
def test_they_are_neighbours_for_every_type_and_relation(dtype, bounds, relation):
    target = ss.Target(noiseless=m.integer_sum, dtype=dtype, bounds=bounds, relation=relation)
    made = [one for one in further_attacks(target) if one.records < 10_000]
    assert {one.name for one in made} >= {"coded_value", "long_walk"}
    assert all(one.distance <= 1 and one.problem.dtype == target.dtype for one in made)
    assert [one.records for one in made] == sorted(one.records for one in made)


@pytest.mark.parametrize(
    "noiseless, promise, rules",
    [
        (narrow, {}, {"overflow"}),
        (in_float16, {"dtype": "float64", "bounds": (0, 1)}, {"reordering"}),
        (in_float32, {}, {"long_order"}),
        (imputed, {"dtype": "float64", "bounds": (-1, 1)}, {"missing_records"}),
        (coded, {}, {"coded_value"}),
        (sampled, {}, {"long_walk"}),
        (needs_thirty, {"relation": "symmetric"}, {"exception"}),
    ],
)
def test_a_fault_is_certified(noiseless, promise, rules):
    target = ss.Target(noiseless=noiseless, claimed=twice, specials=noiseless is imputed, **{**PROMISE, **promise})
    seen = ss.audit(target, **QUICK).violations
    assert {rule for finding in seen for rule in finding.rules} & rules
    assert {str(finding.verdict) for finding in seen} == {"VIOLATION_CERTIFIED"}


def test_what_fails_on_every_record_cannot_be_audited():
    target = ss.Target(noiseless=needs_none, claimed=1, **{**PROMISE, "relation": "symmetric"})
    assert not ss.audit(target, **QUICK).violations


@pytest.mark.parametrize(
    "release",
    [
        lambda data: len(data) > 37,
        lambda data: sum(data.tolist()[: len(data) // 8 * 8]) + round(np.random.default_rng().laplace(0, 100)),
        lambda data: 1000 * (42 in data.tolist()),
    ],
    ids=["threshold", "chunks", "code"],
)
def test_a_few_runs_on_many_pairs_say_which_outputs_to_look_at(release):
    def drawn(data):
        return float(release(data))

    target = ss.Target(release=drawn, **{**PROMISE, "relation": "symmetric"})
    seen = ss.audit(target, runs=1000, seconds=30).violations
    assert {rule for finding in seen for rule in finding.rules} & {"walk", "equal_records", "coded_value"}


def test_a_sound_release_is_not_accused_for_being_looked_at_so_often():
    sound = ss.Target(release=m.geometric, **PROMISE)
    assert not ss.audit(sound, runs=2000, seconds=30).violations


def test_each_family_is_asked_for_by_its_name():
    target = ss.Target(noiseless=coded, claimed=100, **PROMISE)
    for name in FURTHER:
        assert {finding.rule for finding in ss.audit(target, [name], **QUICK).findings} <= {name, "none"}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "uint8", "int8", ss.FloatType(3, 4), ss.IntType(4, False)])
@pytest.mark.parametrize("relation", list(Relation))
def test_without_bounds_every_pair_is_of_values_of_its_type(dtype, relation):
    target = ss.Target(noiseless=in_float32, claimed=twice, dtype=dtype, relation=relation)
    made = [*plain_pairs(target), *further_attacks(target)]
    assert {"walk", "coded_value"} <= {one.name for one in made}
