"""Audits: what is certified, what runs show, what is neither, and what a target that misbehaves leads to."""

import json
import math
import re
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import soundsum as ss
from soundsum.attacks import attack
from soundsum.attacks.ordinary import total_by_name
from soundsum.auditor.calling import TargetRefused, Unsupported
from soundsum.auditor.limits import Limits
from soundsum.auditor.measuring import IN_FRESH, IN_THIS, confirm, measure
from soundsum.auditor.repros import MOST_LINES
from soundsum.auditor.resolve import imported
from soundsum.auditor.search import search_pair
from soundsum.auditor.target_attacks import attacks_on
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason
from tests.auditor import mechanisms as m
from tests.refusing import refused

pytestmark = pytest.mark.usefixtures("same_draws")

SMALL = {"seconds": 60, "memory": 64 << 20}
TINY = {"seconds": 10, "memory": 1 << 19}


def target(noiseless=m.iterated_sum, **options):
    given = {"claimed": m.spread, "dtype": "float32", "relation": "hamming"}
    return ss.Target(noiseless=noiseless, **{**given, **options})


def verdicts(audit):
    """By rule, those that a finding of the same cause stands for included."""
    return {rule: str(finding.verdict) for finding in audit.findings for rule in finding.rules}


# The deterministic tier


def test_an_iterated_sum_is_certified_by_every_family_made_for_it():
    audit = ss.audit(target(), **SMALL)
    found = verdicts(audit)
    for rule in ("rounding", "path", "repeated_rounding_2", "special_values_nan", "special_values_overflow"):
        assert found[rule] == "VIOLATION_CERTIFIED", found
    assert audit.exit_code == 1
    for finding in audit.violations:
        assert finding.confirmed == IN_FRESH
        assert finding.ratio > 1
        assert finding.measured != finding.measured or finding.measured > finding.claimed


def test_the_measured_difference_is_the_attacks_prediction_exactly():
    made = attack("rounding", "float32", relation="hamming", j=5)
    (finding,) = ss.audit(target(), [made]).findings
    assert finding.measured == made.predicted == 32 * finding.claimed
    assert finding.sums == made.totals
    assert finding.headline == "the sum moves by 32 times the sensitivity used"


def test_an_exact_sum_is_not_refuted_and_never_called_private():
    audit = ss.audit(target(m.exact_sum), **TINY)
    assert set(verdicts(audit).values()) == {"NOT_REFUTED"}
    assert audit.exit_code == 0
    assert "private" not in json.dumps([f.headline for f in audit.findings])


def test_under_one_percent_over_is_a_note():
    made = attack("rounding", "float32", relation="hamming", j=5)
    for share, verdict in ((Fraction(1001, 1000), "NOT_REFUTED"), (Fraction(1011, 1000), "VIOLATION_CERTIFIED")):
        close = target(claimed=made.predicted / share)
        (finding,) = ss.audit(close, [made]).findings
        assert finding.verdict == verdict
        assert ("less than 1%" in finding.note) == (verdict == "NOT_REFUTED")


def test_a_modular_sum_is_measured_modulo_its_modulus():
    made = attack("overflow", "int32", relation="change_one", upper=2**20)

    def wrap(data, lower, upper):
        return np.sum(data, dtype=np.int32)

    plain = target(wrap, dtype="int32", relation="change_one", claimed=2**20)
    assert measure(plain, made).violates
    assert not measure(replace(plain, modulus=2**32), made).violates


def test_reorderings_count_only_where_the_relation_is_unordered():
    assert {a.name for a in attacks_on(target(relation="change_one"))} >= {"reordering"}
    for ordered in (target(relation="hamming"), target(relation="change_one", ordered=True)):
        assert "reordering" not in {a.name for a in attacks_on(ordered)}


def test_a_sum_that_is_random_is_not_certified():
    audit = ss.audit(target(m.random_sum), ["rounding"], **SMALL)
    (finding,) = audit.findings
    assert finding.verdict == "NOT_REFUTED"
    assert "differs from one time to the next" in finding.note
    (finding,) = ss.audit(target(m.random_sum, deterministic=False), ["rounding"]).findings
    assert finding.verdict == "UNSUPPORTED"
    assert "give release=" in finding.note


@pytest.mark.parametrize("coin", [m.coin, lambda data, lower, upper: m.coin(data, lower, upper)])
def test_a_coin_is_never_certified_though_it_often_falls_the_same(coin):
    for _ in range(5):
        audit = ss.audit(target(coin, claimed=1), ["rounding", "tree_rounding", "special_values"], seconds=1)
        assert not audit.violations


def test_one_random_sum_of_a_target_leaves_nothing_certified():
    pairs = [attack("rounding", "float32", relation="hamming", j=j) for j in (3, 5)]

    def sometimes(data, lower, upper):
        return (m.random_sum if len(data) == pairs[1].right.size else m.iterated_sum)(data, lower, upper)

    assert pairs[0].right.size != pairs[1].right.size
    seen = [measure(target(sometimes), pair) for pair in pairs]
    assert [same for same, _ in confirm(target(sometimes), seen[:1])] == [True]
    assert [same for same, _ in confirm(target(sometimes), seen)] == [False, False]


def test_a_function_that_no_other_process_can_import_is_repeated_here_and_says_so():
    here = target(lambda data, lower, upper: m.iterated_sum(data, lower, upper))
    (finding,) = ss.audit(here, ["rounding"], **SMALL).findings
    assert (str(finding.verdict), finding.confirmed) == ("VIOLATION_CERTIFIED", IN_THIS)


def test_fresh_is_asked_with_one_thread_and_two():
    asked = []

    def fresh(datasets, threads):
        asked.append(threads)
        return [m.iterated_sum(np.asarray(data), p["lower"], p["upper"]) for data, p in datasets]

    (finding,) = ss.audit(target(fresh=fresh), ["rounding"], **SMALL).findings
    assert sorted(asked) == [1, 1, 2]
    assert finding.confirmed == IN_FRESH
    wrong = target(fresh=lambda datasets, threads: [0.0] * len(datasets))
    assert ss.audit(wrong, ["rounding"], **SMALL).findings[0].verdict == "NOT_REFUTED"


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_a_sum_that_is_another_in_any_one_process_is_not_certified(odd):
    """Also where the last process agrees with the audit, as one with two threads between two with one."""
    asked = []

    def fresh(datasets, threads):
        asked.append(threads)
        sums = [m.iterated_sum(np.asarray(data), p["lower"], p["upper"]) for data, p in datasets]
        return [total + (len(asked) == odd + 1) for total in sums]

    (finding,) = ss.audit(target(fresh=fresh), ["rounding"], **SMALL).findings
    assert asked == [1, 2, 1]
    assert finding.verdict == "NOT_REFUTED"
    assert "differs from one time to the next" in finding.note


def test_what_takes_long_to_confirm_is_sampled_all_the_same():
    def slow(datasets, threads):
        time.sleep(1)
        return [m.iterated_sum(np.asarray(data), p["lower"], p["upper"]) for data, p in datasets]

    both = target(fresh=slow, release=m.laplace_release)
    (finding,) = ss.audit(both, ["rounding"], runs=100, seconds=2).findings
    assert finding.verdict == "VIOLATION_CERTIFIED"
    assert finding.sampled.pairs == 100


def test_without_a_claim_only_runs_conclude():
    (finding,) = ss.audit(target(claimed=None), ["rounding"], **SMALL).findings
    assert finding.verdict == "UNSUPPORTED"
    assert "does not say which sensitivity" in finding.note


def test_attacks_are_tried_cheapest_first_and_within_memory():
    sizes = [a.records for a in attacks_on(target())]
    assert sizes == sorted(sizes)
    allowance = Limits(60, 1 << 20)
    fits = [a.records for a in attacks_on(target()) if allowance.allow(a)]
    assert max(fits) * 4 * 4 <= 1 << 20
    assert any("memory" in one.limit for one in allowance.left_out)


@pytest.mark.slow
def test_float64_breaks_at_the_sizes_that_the_default_limits_allow():
    """Records that are never all in memory are tried by the hundreds of millions."""
    streamed = ss.Target(
        noiseless=lambda data, lower, upper: total_by_name("iterated", data, ss.Problem("float64", lower, upper)),
        claimed=lambda lower, upper: max(abs(lower), abs(upper)),
        dtype="float64",
        relation="symmetric",
        accepts_runs=True,
    )
    (finding,) = ss.audit(streamed, ["repeated_rounding_2"]).findings
    assert finding.verdict == "VIOLATION_CERTIFIED"
    assert finding.attack.records >= 1 << 28
    array = replace(streamed, accepts_runs=False, streams=False)
    sizes = [a for a in attacks_on(array, ["repeated_rounding_2"]) if Limits().allow(a)]
    assert max(a.records for a in sizes) == 1 << 28


def test_what_takes_too_long_is_left_out_by_how_long_others_took():
    limits = Limits(seconds=10)
    made = list(attacks_on(target(), ["rounding"]))
    limits.took(1 << 20, 5.0)
    assert [a.records <= 1 << 20 for a in made] == [limits.allow(a) for a in made]
    assert all(one.limit == "time (--time)" for one in limits.left_out)


def test_attacks_stay_inside_given_bounds():
    fixed = ss.Target(noiseless=np.sum, claimed=2, dtype="float32", relation="hamming", bounds=(1, 3))
    made = list(attacks_on(fixed))
    assert made
    assert {(a.problem.lower, a.problem.upper) for a in made} == {(1, 3)}


# Errors


def test_an_error_on_one_neighbour_only_is_a_violation():
    found = {f.rule: f for f in ss.audit(target(m.raises_on_large), ["rounding"], **SMALL).findings}
    assert found["exception"].verdict == "VIOLATION_CERTIFIED"
    assert "a value is too large" in found["exception"].headline


def test_what_the_release_declines_is_no_violation_of_the_sum_before_it():
    """Where it fails in another way, the sums are what they are, and the finding says that no output was seen."""

    def release(data, lower, upper):
        raise ValueError("bounds are too close")

    for refuses, verdict, said in (
        ((ValueError,), "REFUSED", "its release declines: ValueError: bounds are too close"),
        ((), "VIOLATION_CERTIFIED", "no output was seen: its release always raises ValueError"),
    ):
        (finding,) = ss.audit(target(release=release, refuses=refuses), ["rounding"], runs=20, **SMALL).findings
        assert finding.verdict == verdict
        assert said in finding.note


def test_an_error_that_comes_four_times_of_five_is_no_violation():
    asked = []

    def flaky(data, lower, upper):
        if np.max(data) >= upper:
            asked.append(1)
            if len(asked) % 5:
                raise RuntimeError("the disk is full")
        return 0.0

    pair = attack("rounding", "float32", relation="hamming", j=5)
    findings = ss.audit(target(flaky), [pair], **SMALL).findings
    assert len(asked) == 5
    assert {(f.rule, str(f.verdict)) for f in findings} == {("rounding", "UNSUPPORTED")}


def test_nan_counts_only_where_the_documentation_allows_it():
    def strict(data, lower, upper):
        if np.isnan(data).any():
            raise RuntimeError("NaN")
        return m.exact_sum(data, lower, upper)

    assert "exception" in verdicts(ss.audit(target(strict), ["special_values"], **SMALL))
    assert "exception" not in verdicts(ss.audit(target(strict, specials=False), ["special_values"], **SMALL))


def refuse(data, lower, upper):
    raise TargetRefused("bounds are too close")


def crash(data, lower, upper):
    raise Unsupported("the worker was killed")


@pytest.mark.parametrize(
    "noiseless, options, verdict, note",
    [
        (refuse, {}, "REFUSED", "bounds are too close"),
        (m.declines, {"refuses": (ValueError,)}, "REFUSED", "ValueError: lower and upper are too close"),
        (m.declines, {}, "UNSUPPORTED", "too close"),
        (crash, {}, "UNSUPPORTED", "the worker was killed"),
        (m.says_text, {}, "UNSUPPORTED", "returned 'about twelve', not a number"),
        (m.always_nan, {}, "UNSUPPORTED", "nan whatever the data"),
    ],
)
def test_targets_that_cannot_be_asked_do_not_end_an_audit(noiseless, options, verdict, note):
    audit = ss.audit([target(noiseless, **options), target()], ["rounding"], **SMALL)
    first, second = audit.findings
    assert first.verdict == verdict
    assert note in first.note
    assert second.verdict == "VIOLATION_CERTIFIED"


def test_targets_of_one_name_are_told_apart():
    def given(data, lower, upper):
        return 0

    names = [
        t.name for t in ss.audit([target(given), target(given), target(given, dtype="float64")], ["rounding"]).targets
    ]
    assert len(set(names)) == 3
    assert names[1] == f"{names[0]} (2)"
    assert names[0].endswith("given[float32, hamming]")
    bounds = [target(given, bounds=(0, upper)).name for upper in (1, 2)]
    assert [name.partition("[")[2] for name in bounds] == ["float32, hamming, 0 to 1]", "float32, hamming, 0 to 2]"]
    assert (
        target(partial(m.spread, lower=0), bounds=(0, 1)).name != target(partial(m.spread, lower=1), bounds=(0, 1)).name
    )


def test_an_audit_of_nothing_does_not_pass_for_one():
    """Exit code 2; a library that declines, or another target that was audited, makes it 0."""
    codes = {"UNSUPPORTED": 2, "REFUSED": 0, "INCONCLUSIVE": 0}
    for one, verdict in ((crash, "UNSUPPORTED"), (refuse, "REFUSED"), (m.exact_sum, "INCONCLUSIVE")):
        audit = ss.audit(target(one), ["rounding"], **TINY)
        assert [str(audit.verdict_of(t)) for t in audit.targets] == [verdict]
        assert audit.exit_code == codes[verdict]
    assert ss.audit([target(crash), target(m.exact_sum)], ["rounding"], **TINY).exit_code == 0


# The statistical tier


def test_a_black_box_is_told_apart_by_runs_alone():
    box = ss.Target(release=m.laplace_release, dtype="float32", relation="hamming")
    found = {f.rule: f for f in ss.audit(box, ["rounding", "special_values"], runs=2000, seconds=120).findings}
    finding = found["rounding"]
    assert finding.verdict == "VIOLATION_STATISTICAL"
    assert finding.p_value < 1e-6
    assert finding.epsilon_lower > 1
    assert finding.table.left_runs == finding.table.right_runs == 500
    assert finding.sampled.pairs_used < 200
    assert sum(finding.sampled.histogram.left) == finding.sampled.pairs
    assert found["special_values_nan"].sampled.event.test == "nan"


def test_low_bits_of_float_noise_are_found_without_being_told():
    """Mironov's attack: sums 0 and 1 have noisy outputs on different lattices."""
    pair = attack("special_values", "float64", relation="hamming", form="inf")
    box = ss.Target(release=m.laplace_release, dtype="float64", relation="hamming")
    (finding,) = ss.audit(box, [pair], runs=3000, seconds=120).findings
    assert (finding.rule, str(finding.verdict)) == ("low_bits", "VIOLATION_STATISTICAL")


def test_what_keeps_its_promise_to_the_letter_is_not_refuted():
    one = ss.Runs("float64", [(1, 1)])
    zero = ss.Runs("float64", [(0, 1)])
    pair = replace(
        attack("rounding", "float64", relation="hamming"),
        left=one,
        right=zero,
        problem=ss.Problem("float64", 0, 1, "hamming", 1),
        totals=(Fraction(1), Fraction(0)),
    )
    box = ss.Target(release=m.randomised_response, dtype="float64", relation="hamming", bounds=(0, 1))
    for _ in range(5):
        (finding,) = ss.audit(box, [pair], runs=2000, seconds=120).findings
        assert finding.verdict == "NOT_REFUTED"
        assert 1 < finding.sampled.detectable < 1.5
    over = replace(box, epsilon=Fraction(1, 2), release=lambda data, runs: m.randomised_response(data, 1, runs))
    assert ss.audit(over, [pair], runs=2000, seconds=120).findings[0].verdict == "VIOLATION_STATISTICAL"


def test_runs_that_raise_are_outputs():
    def release(data, lower, upper, epsilon):
        if np.isnan(data).any():
            raise RuntimeError("NaN")
        return 0.0

    box = ss.Target(release=release, dtype="float64", relation="hamming")
    found = {f.rule: f for f in ss.audit(box, ["special_values"], runs=400, seconds=120).findings}
    assert found["special_values_nan"].verdict == "VIOLATION_STATISTICAL"
    assert found["special_values_nan"].sampled.event.test == "raises"


# Search


@pytest.mark.parametrize("seed", [0, 1])
def test_search_finds_rounding_by_itself_on_an_iterated_sum(seed):
    seen = search_pair(target(relation="change_one"), Limits(20), seed)
    assert seen.violates
    assert Fraction(seen.attack.parameters["most"]) >= 16
    assert seen.attack.records <= 8
    kind = ss.FloatType(23, 8)
    assert seen.attack.problem.upper <= kind.next_up(kind.next_up(seen.attack.problem.lower))


def test_search_finds_nothing_in_an_exact_sum():
    seen = search_pair(target(m.exact_sum, relation="change_one"), Limits(4))
    assert not seen.violates


# Programs that reproduce


def test_every_repro_is_short_and_shows_its_violation_with_the_library_alone(tmp_path):
    audit = ss.audit("numpy.sum[float32]", runs=1500, seconds=60, memory=64 << 20)
    assert verdicts(audit).keys() >= {"rounding", "path", "special_values_nan", "low_bits"}
    for finding in audit.violations:
        assert finding.repro, finding.rule
        assert len(finding.repro.splitlines()) <= MOST_LINES
        assert "soundsum" not in finding.repro
        path = tmp_path / "repro.py"
        path.write_text(finding.repro)
        ran = subprocess.run([sys.executable, path], capture_output=True, text=True)
        assert ran.returncode == 1, (finding.rule, ran.stdout, ran.stderr)
        if finding.rule == "rounding":
            assert ran.stdout == f"the sum moves by {float(finding.ratio)} times the sensitivity used\n"


def test_a_repro_of_an_own_function_imports_it_and_is_quiet_once_mended(tmp_path):
    (finding,) = ss.audit(target(), ["rounding"], **SMALL).findings
    assert "from tests.auditor.mechanisms import iterated_sum" in finding.repro
    path = tmp_path / "repro.py"
    path.write_text(finding.repro.replace("import iterated_sum", "import exact_sum"))
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, env={"PYTHONPATH": "."})
    assert ran.returncode == 0, ran.stderr


def test_a_repro_asks_for_the_claim_so_that_a_claim_that_is_mended_ends_it(tmp_path):
    (finding,) = ss.audit(target(), ["rounding"], **SMALL).findings
    assert "claim = number(claimed(right))" in finding.repro
    path = tmp_path / "repro.py"
    path.write_text(finding.repro.replace("its_claimed(", "32 * its_claimed("))
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, env={"PYTHONPATH": "."})
    assert ran.returncode == 0, ran.stderr
    (written,) = ss.audit(target(claimed=Fraction(1, 1000)), ["rounding"], **SMALL).findings
    assert 'claim = Fraction("1/1000")  # written down here, as no object' in written.repro


def test_a_repro_has_no_function_that_it_does_not_call():
    for finding in ss.audit("numpy.sum[float32]", ["rounding", "special_values"], runs=0, seconds=20).violations:
        defined = re.findall(r"^def (\w+)", finding.repro, re.MULTILINE)
        assert all(len(re.findall(rf"\b{name}\b", finding.repro)) > 1 for name in defined), finding.repro


def test_a_repro_of_an_error_shows_it(tmp_path):
    found = {f.rule: f for f in ss.audit(target(m.raises_on_large), ["rounding"], **SMALL).findings}
    path = tmp_path / "repro.py"
    path.write_text(found["exception"].repro)
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, env={"PYTHONPATH": "."})
    assert ran.returncode == 1
    assert "a value is too large" in ran.stdout


# Ours


@pytest.mark.parametrize(
    "method, seconds",
    [("wide", 2), ("modular", 2), *(pytest.param(m, 20, marks=pytest.mark.slow) for m in ("grid", "kahan"))],
)
def test_our_own_methods_keep_their_claims(method, seconds):
    audit = ss.audit(f"soundsum.{method}", runs=200, seconds=seconds)
    assert not audit.violations, [f.key for f in audit.violations]
    assert any(f.measured for f in audit.findings)


# Targets


@pytest.mark.parametrize(
    "options, option, reason, facts",
    [
        ({}, "release", Reason.MISSING, {}),
        ({"noiseless": 3}, "noiseless", Reason.WRONG_TYPE, {"given": "3"}),
        ({"noiseless": np.sum}, "bounds", Reason.MISSING, {}),
        ({"bounds": (0, 0.1), "dtype": "float32"}, "bounds", Reason.CONFLICT, {"dtype": "float32"}),
        ({"bounds": (1, 0)}, "bounds", Reason.SWAPPED, {"lower": "1", "upper": "0"}),
        ({"bounds": (0, math.inf)}, "bounds", Reason.NOT_A_NUMBER, {"upper": "inf"}),
        ({"bounds": 3}, "bounds", Reason.WRONG_TYPE, {"given": "3"}),
        ({"epsilon": -1}, "epsilon", Reason.TOO_SMALL, {"given": "-1"}),
        ({"delta": 1}, "delta", Reason.TOO_LARGE, {"given": "1", "most": 1}),
    ],
)
def test_a_target_says_what_is_missing(options, option, reason, facts):
    if option not in ("release", "noiseless") and options != {"noiseless": np.sum}:
        options = {"noiseless": np.sum, "bounds": (0, 1), **options}
    with refused(option, reason, TypeError if option == "noiseless" else ValueError, **facts):
        ss.Target(**options)


def test_what_is_no_function_is_quoted_without_its_content():
    with refused("release", Reason.WRONG_TYPE, TypeError, given="a numpy ndarray"):
        ss.Target(release=np.array([98765]))


def test_bounds_may_be_an_array():
    assert ss.Target(noiseless=np.sum, bounds=np.array([0, 1])).bounds == (0, 1)


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match="relation"):
        ss.Target(noiseless=np.sum, bounds=(0, 1), relation="nearby")


@pytest.mark.parametrize(
    "name, reason, facts",
    [
        ("nunpy", Reason.UNKNOWN, {"near": "numpy"}),
        ("numpy.som", Reason.UNKNOWN, {"near": "numpy.sum or numpy.sum_int32"}),
        ("nothing.like.it", Reason.UNKNOWN, {"given": "'nothing.like.it'"}),
        ("pkg.mod:f", Reason.NEEDS, {"given": "'pkg.mod:f'"}),
    ],
)
def test_unknown_names_come_with_the_nearest(name, reason, facts):
    with refused("target", reason, ValueError, **facts):
        ss.audit(name)


@pytest.mark.parametrize(
    "name, reason, facts",
    [
        ("no.such.module:f", Reason.ABSENT, {"missing": "no"}),
        ("math:fsun", Reason.UNKNOWN, {"near": "fsum"}),
        ("math:qqq", Reason.UNKNOWN, {"function": "qqq"}),
        ("math:pi", Reason.WRONG_TYPE, {"type": "a float"}),
    ],
)
def test_a_function_that_cannot_be_had_is_refused(name, reason, facts):
    for option in ("target", "noiseless"):
        with refused(option, reason, ValueError, given=f"{name!r}", **facts):
            imported(name, option)


@pytest.mark.parametrize(
    "option, given, reason",
    [
        ("attacks", ["flooding"], Reason.UNKNOWN),
        ("alpha", 0, Reason.TOO_SMALL),
        ("alpha", 1, Reason.TOO_LARGE),
        ("runs", -1, Reason.TOO_SMALL),
        ("seconds", 0, Reason.TOO_SMALL),
        ("memory", -5, Reason.TOO_SMALL),
    ],
)
def test_bad_options_are_refused(option, given, reason):
    with refused(option, reason, ValueError, given=quote(given[0] if option == "attacks" else given)):
        ss.audit(target(), **{option: given})


def test_what_promises_nothing_is_refused():
    with refused("target", Reason.WRONG_TYPE, TypeError, function="fsum"):
        ss.audit(math.fsum)
    with refused("install", Reason.UNSUPPORTED, ValueError, library="numpy"):
        ss.audit("numpy", install=True)
