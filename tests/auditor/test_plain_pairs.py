"""Plain neighbours: every promise has some, faults of every kind show on them, and too few are no result."""

import math
import os
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction

import pytest

import soundsum as ss
from soundsum.attacks import attack
from soundsum.auditor.limits import CEILING, Stopwatch, cpu_time_of
from soundsum.auditor.plain_pairs import STATEMENTS, choose_few, plain_pairs
from soundsum.tables.relations import Relation
from tests.auditor import mechanisms as m

pytestmark = pytest.mark.usefixtures("same_draws")

QUICK = {"seconds": 20, "memory": 4 << 20, "search": False}


def free(noiseless=m.integer_sum, **promise):
    return ss.Target(noiseless=noiseless, **{"claimed": m.spread, "dtype": "int64", **promise})


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(
    "dtype", ["int64", "uint8", "int8", "float64", "float16", ss.FloatType(2, 4), ss.IntType(3, True)]
)
def test_every_type_and_relation_has_them_and_they_are_neighbours_within_the_bounds(dtype, relation):
    made = plain_pairs(free(dtype=dtype, relation=relation))
    assert {one.name for one in made} == STATEMENTS.keys() - ({"another_order"} if relation.ordered else set())
    for one in made:
        assert one.distance == (0 if one.name == "another_order" else 1)
        inside = all(one.problem.lower <= x <= one.problem.upper for x in (*one.left.counts(), *one.right.counts()))
        assert inside is (one.name != "out_of_bounds")


def test_bounds_that_are_fixed_are_kept_and_records_beyond_them_are_only_tried_where_they_are_clamped():
    pairs = plain_pairs(free(bounds=(3, 9)))
    assert {(one.problem.lower, one.problem.upper) for one in pairs} == {(3, 9)}
    assert any(one.outside for one in pairs)
    assert not any(one.outside for one in plain_pairs(free(bounds=(3, 9), clamps=False)))
    assert not any(one.outside for one in plain_pairs(free(lambda data: 0, bounds=(3, 9))))
    assert {one.name for one in choose_few(pairs, 12)} >= {
        "few_records",
        "equal_records",
        "one_record",
        "out_of_bounds",
    }


@pytest.mark.parametrize(
    "promise", [{"dtype": "float32", "bounds": (0, 100), "relation": "symmetric"}, {"dtype": "int64", "bounds": (0, 1)}]
)
def test_a_sum_without_noise_is_a_violation(promise):
    audit = ss.audit(ss.Target(release=m.without_noise, specials=False, **promise), runs=300, seconds=30)
    assert audit.exit_code == 1
    assert {finding.rule for finding in audit.violations} & STATEMENTS.keys()


@pytest.mark.parametrize(
    "noiseless, promise, rule",
    [
        (m.unclamped_sum, {}, "out_of_bounds"),
        (m.integer_sum, {"relation": "symmetric", "bounds": (18, 100)}, "few_records"),
        (lambda data, lower, upper: sum(set(data.tolist())), {"bounds": (18, 100), "clamps": False}, "equal_records"),
        (lambda data, lower, upper: 2 * sum(data.tolist()[::2]), {"clamps": False}, "another_order"),
        (lambda data, lower, upper: sum(data.tolist()) // 400 * 400, {"clamps": False}, "walk"),
    ],
)
def test_faults_of_every_kind_are_certified_on_the_smallest_pair_as_one_finding(noiseless, promise, rule):
    (finding,) = (f for f in ss.audit(free(noiseless, **promise), **QUICK).violations if f.rule in STATEMENTS)
    assert rule in finding.rules
    assert finding.verdict == "VIOLATION_CERTIFIED"
    assert finding.attack.records <= (1000 if rule == "walk" else 20)


def test_what_moves_the_sum_no_further_than_plain_neighbours_do_is_no_finding_of_its_own():
    """With a claim of a quarter every record shows it, and attacks on rounding say more of a rounded sum alone."""
    exact, rounded = (
        ss.Target(noiseless=noiseless, claimed=lambda lower, upper: (upper - lower) / 4, dtype="float32")
        for noiseless in (m.exact_sum, m.iterated_sum)
    )
    (finding,) = ss.audit(exact, **QUICK).violations
    assert finding.rule in STATEMENTS
    assert {"rounding", "tree_rounding"} < {*finding.rules}
    rules = {one.rule: one for one in ss.audit(rounded, **QUICK).violations}
    assert len(rules) > 1
    assert "rounding" not in rules.pop("few_records").rules


def test_sizes_around_which_outputs_change_are_told_apart():
    hidden = ss.Target(
        release=m.tells_the_size_below_ten, dtype="int64", relation="symmetric", bounds=(0, 1), clamps=False
    )
    (finding,) = ss.audit(hidden, runs=1000, seconds=30).violations
    assert (finding.rule, finding.attack.records) == ("equal_records", 10)


def test_a_sound_sum_is_not_refuted_once_runs_could_have_shown_twice_its_epsilon():
    sound = ss.Target(noiseless=m.integer_sum, release=m.geometric, claimed=m.spread, dtype="int64", bounds=(0, 5))
    done = ss.audit(sound, runs=1500, **QUICK)
    assert [str(done.verdict_of(target)) for target in done.targets] == ["NOT_REFUTED"]
    assert not done.unsettled
    short = ss.audit(sound, runs=50, **QUICK)
    assert [str(short.verdict_of(target)) for target in short.targets] == ["INCONCLUSIVE"]
    assert short.exit_code == 0
    assert short.tally["INCONCLUSIVE"] == 1
    ((said,),) = short.unsettled.values()
    needed = int(said.rpartition("--runs ")[2].replace(",", ""))
    assert not ss.audit(sound, runs=needed, **QUICK).unsettled


def test_pairs_left_out_and_attacks_not_asked_for_are_inconclusive():
    def slow(data, lower, upper):
        time.sleep(0.1)
        return m.integer_sum(data, lower, upper)

    ((late,),) = ss.audit(free(slow, bounds=(0, 5)), seconds=0.5, search=False).unsettled.values()
    assert "not every pair was summed" in late
    ((few_asked,),) = ss.audit(free(), ["overflow"], **QUICK).unsettled.values()
    assert "ask for all" in few_asked


# Exceeding a sensitivity, and breaking a promise


def test_a_gaussian_sum_slightly_beyond_its_sensitivity_breaks_no_promise_and_is_counted_apart():
    made = attack("rounding", "float32", relation="hamming", j=5)
    target = ss.Target(
        noiseless=m.iterated_sum, dtype="float32", relation="hamming", epsilon=1, delta="1e-5", noise="gaussian",
        claimed=made.predicted / Fraction(106, 100), noise_multiplier=4,
    )  # fmt: skip
    done = ss.audit(target, [made])
    (finding,) = done.findings
    assert finding.verdict == "SENSITIVITY_EXCEEDED"
    assert finding.confirmed
    assert done.exit_code == 1
    assert "does not show" in finding.headline
    clear = replace(target, claimed=made.predicted / 4)
    assert ss.audit(clear, [made]).findings[0].verdict == "VIOLATION_CERTIFIED"
    laplace = replace(target, noise="laplace", delta=Fraction(1, 2))
    assert ss.audit(laplace, [made]).findings[0].verdict == "SENSITIVITY_EXCEEDED"
    assert ss.audit(replace(laplace, delta=Fraction(1, 100)), [made]).findings[0].verdict == "VIOLATION_CERTIFIED"


def test_a_lower_bound_on_epsilon_has_the_digits_that_tell_it_from_the_promise():
    box = ss.Target(release=m.without_noise, dtype="int64", bounds=(0, 1))
    finding = next(f for f in ss.audit(box, runs=300, seconds=20).violations if f.sampled)
    words = [
        replace(finding, sampled=replace(finding.sampled, epsilon_lower=e, epsilon_anytime=0.0)).epsilon_words
        for e in (1.0, 1.00391, 2.719)
    ]
    assert words == [
        "epsilon is above 1, which is promised",
        "epsilon is at least 1.003, and 1 is promised",
        "epsilon is at least 2.71, and 1 is promised",
    ]


# Time


def test_limits_count_the_cpu_time_of_children_under_a_ceiling_of_wall_clock_time():
    watch = Stopwatch()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        while cpu_time_of(busy.pid) < 0.3:
            time.sleep(0.02)
        assert watch.elapsed >= 0.3
    finally:
        busy.kill()
        busy.wait()
    assert watch.elapsed >= 0.3  # those that ended count
    assert cpu_time_of(os.getpid()) > 0
    waited = Stopwatch(cpu=math.inf)
    time.sleep(0.1)
    assert 0.1 / CEILING <= waited.elapsed < 60
