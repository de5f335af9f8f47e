"""Times of calls are evidence beside the verdicts: they count on neighbours that a function treats differently."""

import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

import soundsum as ss
from soundsum.auditor import audit_page, timing
from soundsum.auditor.limits import Limits
from soundsum.auditor.process import Library
from soundsum.auditor.timing import Timing, _compare, sign_test, time_pairs
from soundsum.cli.views import audit_view

PAIR = ss.attack("rounding", "float64")


def busy(data):
    """Works for longer where a record lies at the upper bound."""
    return sum(range(60_000 if (data == 1).any() else 10)) * 0.0 + float(data.sum())


def target(**more):
    promise = {"dtype": "float64", "relation": "symmetric", "bounds": (0, 1), "claimed": 1, "specials": False}
    return ss.Target(**{**promise, "noiseless": busy, "name": "busy", **more})


def compared(*rounds, pairs=1):
    return _compare(target(), PAIR, "noiseless", rounds, pairs)


def test_a_difference_counts_where_identical_copies_show_none():
    jitter = [1 + (i % 3) / 100 for i in range(40)]
    swapped = [jitter[(i * 7) % 40] for i in range(40)]
    slow = compared(*((2 * a, b, 2 * b, a) for a, b in zip(jitter, swapped, strict=True)))
    assert slow.p_value < timing.SURE
    assert slow.control > timing.SURE
    assert slow.differs
    assert slow.headline.startswith("noiseless: 2.02 s on the left and 1.01 s on the right")


def test_no_difference_counts_where_copies_differ_as_well_or_chance_explains_it():
    drift = compared(*((4.0, 3.0, 2.0, 1.0) for _ in range(40)))
    assert drift.p_value < timing.SURE
    assert not drift.differs
    assert not compared(*((1.0 + i % 2, 1.5, 1.0 + i % 2, 1.5) for i in range(40))).differs
    few = [(2.0, 1.0, 2.0 + (i % 2) / 9, 1.0 + (i % 2) / 9) for i in range(15)]
    assert compared(*few).differs
    assert not compared(*few, pairs=10).differs  # one of many pairs has to show more


def test_ties_say_nothing():
    assert sign_test([0.0] * 10) == 1


def test_every_plain_family_is_timed_and_special_values_where_documented():
    names = {one.attack.name for one in time_pairs(target(specials=True), 60, rounds=25)}
    assert names == {"few_records", "equal_records", "one_record", "another_order", "special_values"}


def test_a_function_that_fails_has_no_times():
    def fails(data):
        raise ValueError("no")

    assert time_pairs(target(noiseless=fails), 5) == []


def test_times_are_evidence_and_change_no_verdict(tmp_path):
    done = ss.audit(target(), ["few_records"], timing=True, runs=0, seconds=8)
    assert done.timings
    assert done.exit_code == 0
    assert not done.violations
    assert json.loads(json.dumps(done.to_json()))["timings"][0]["target"] == "busy"
    assert "Times of calls" in audit_page.page(done)
    console = Console(record=True, width=200)
    audit_view.show(console, done)
    assert "times" in console.export_text()
    assert ss.audit(target(), ["few_records"], runs=0, seconds=5).timings == ()


def test_a_worker_tells_the_time_of_the_call_alone():
    library = Library("toy", Path(sys.executable), Path(__file__).parent / "adapters" / "toy.py", Limits(seconds=5))
    one = next(t for t in library.targets() if t.noiseless is not None and "hangs" not in t.name)
    try:
        (first, *_) = time_pairs(one, 20, rounds=25)
        assert isinstance(first, Timing)
        assert 0 < library.process.seconds < 5
    finally:
        library.process.close()


@pytest.mark.parametrize("function", ["release", "noiseless"])
def test_a_release_is_timed_before_a_noiseless_sum(function):
    one = target(**({"release": busy} if function == "release" else {}), specials=False)
    assert {timed.function for timed in time_pairs(one, 10, rounds=25)} == {function}
