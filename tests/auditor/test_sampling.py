"""Runs of releases that have a state, change their input, decline, or never give a number."""

import sys

import numpy as np
import pytest

import soundsum as ss
from soundsum.auditor.repros import MOST_LINES
from soundsum.auditor.worker import Worker
from tests import processes
from tests.auditor import mechanisms as m

pytestmark = pytest.mark.usefixtures("same_draws")


def box(release, **options):
    return ss.Target(release=release, **{"dtype": "float32", "relation": "change_one", **options})


def cli(*words):
    return processes.run([processes.COMMAND, *words], text=True)


def sampled(target, attacks=("rounding",), **options):
    return ss.audit(target, list(attacks), **{"runs": 1000, "seconds": 60, **options})


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("spent", [181, 740])
def test_a_budget_of_queries_that_ends_is_not_evidence(spent, several):
    audit = sampled(box(m.response_until(spent, several)))
    assert {str(f.verdict) for f in audit.findings} == {"UNSUPPORTED"}
    assert any(f"from run {spent + 1} on its release only raises" in f.note for f in audit.findings) or several
    assert all("privacy budget spent" in f.note for f in audit.findings)


def test_a_release_that_changes_its_input_gets_a_fresh_copy_each_time():
    first = []

    def spoils(data, lower, upper):
        first.append(data.tobytes())
        data[:] = 0
        return 0.0

    sampled(box(spoils), runs=40)
    assert not any(set(seen) == {0} for seen in first)


def test_a_function_without_a_hash_is_asked():
    class Unhashable:
        def __eq__(self, other):
            return self is other

        def __call__(self, data, lower, upper):
            return float(len(data))

    assert all(f.verdict != "UNSUPPORTED" for f in sampled(box(Unhashable()), runs=40).findings)


def test_a_worker_gives_a_fresh_copy_each_time_too(tmp_path):
    adapter = tmp_path / "spoiling.py"
    adapter.write_text(
        "def noiseless(data):\n    total = float(data.sum())\n    data[:] = 0\n    return total\n\n"
        "PROGRAM = 'def release(data):\\n    total = float(data.sum())\\n    data[:] = 0\\n    return total\\n'\n\n"
        "def targets():\n    return [{'name': 'one', 'noiseless': noiseless}, {'name': 'many', 'repro': PROGRAM}]\n"
    )
    worker = Worker(str(adapter))
    data = {"dtype": "float64", "parts": [[["0x1p0"], 3]]}
    given = {"lower": "0", "upper": "1", "epsilon": "1", "size": "3", "runs": "2"}
    one = {"target": "one", "role": "noiseless", "parameters": {}, "data": data}
    assert worker.call(one) == worker.call(one) == [(3.0).hex()]
    assert worker.call({"target": "many", "role": "release", "parameters": given, "data": data}) == [(3.0).hex()] * 2


def finite_alone(data, lower, upper, epsilon=1):
    if not np.isfinite(data).all():
        raise ValueError("data must be finite")
    return 0.0


def test_a_declared_refusal_of_nan_is_no_evidence():
    for options in ({}, {"refuses": (ValueError,)}, {"specials": False}):
        for role in ("release", "noiseless"):
            target = ss.Target(**{role: finite_alone}, claimed=1, dtype="float32", relation="change_one", **options)
            findings = sampled(target, ["special_values"], runs=400).findings
            assert any(f.verdict.violation for f in findings) == (not options)
            rules = {f.rule: str(f.verdict) for f in findings}
            assert "refuses" not in options or rules["special_values_nan"] == "REFUSED", rules


def test_a_declared_refusal_within_the_bounds_is_evidence():
    def picky(data, lower, upper):
        if data.max() == upper:
            raise ValueError("too large")
        return 0.0

    assert sampled(box(picky, refuses=(ValueError,))).violations


def test_a_release_that_always_refuses_is_refused():
    def never(data, lower, upper):
        raise ValueError("epsilon must be at least 10")

    (finding,) = sampled(box(never, refuses=(ValueError,))).findings
    assert (str(finding.verdict), finding.note) == ("REFUSED", "ValueError: epsilon must be at least 10")


def test_no_specials_is_an_option(tmp_path, monkeypatch):
    (tmp_path / "finite_sums.py").write_text(
        "import numpy as np\n\n\ndef release(data, lower, upper):\n    if not np.isfinite(data).all():\n"
        "        raise ValueError('finite')\n    return 0.0\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["audit", "finite_sums:release", "--dtype", "float32", "--relation", "change_one"]
    command += ["--attack", "special_values", "--runs", "400"]
    assert cli(*command).returncode == 1
    assert cli(*command, "--no-specials").returncode == 0


@pytest.mark.parametrize("epsilon", [1, 3, 5])
def test_a_repro_is_quiet_on_what_is_private_at_its_epsilon_and_not_on_what_is_not(tmp_path, epsilon):
    target = box(m.tells_nan, epsilon=epsilon, name="tells")
    program = next(f.repro for f in sampled(target, ["special_values"], runs=4000).violations if f.repro)
    assert len(program.splitlines()) <= MOST_LINES
    path = tmp_path / "repro.py"

    def code(function):
        path.write_text(program.replace("import tells_nan", f"import {function}"))
        return processes.run([sys.executable, path], env={"PYTHONPATH": "."}).returncode

    assert code("tells_nan") == 1
    assert {code("tells_nan_privately") for _ in range(5)} == {0}


def raises(data, lower, upper):
    raise RuntimeError("database down")


def leaves(data, lower, upper):
    raise SystemExit(0)


@pytest.mark.parametrize(
    "release, note",
    [
        (raises, "always raises RuntimeError: database down"),
        (leaves, "always raises SystemExit: 0"),
        (lambda data, lower, upper, rng: 0.0, "missing 1 required positional argument: 'rng'"),
        (lambda data, lower, upper: float("nan"), "returns nan whatever the data"),
        (lambda data, lower, upper: "1.5", "returned '1.5', not a number"),
    ],
)
def test_a_release_that_never_gives_a_number_is_unsupported(release, note):
    for finding in sampled(box(release), runs=50).findings:
        assert finding.verdict == "UNSUPPORTED"
        assert note in finding.note


def test_a_noiseless_sum_that_leaves_or_says_text_ends_its_own_audit_alone():
    given = {"claimed": "1", "dtype": "int32", "relation": "change_one"}
    targets = [
        ss.Target(noiseless=f, **given) for f in (leaves, lambda data, lower, upper: "7", lambda data, lower, upper: 0)
    ]
    audit = ss.audit(targets, ["overflow"], seconds=1)
    left, text, number = (str(audit.verdict_of(t)) for t in audit.targets)
    assert (left, text) == ("UNSUPPORTED", "UNSUPPORTED")
    assert number in ("NOT_REFUTED", "INCONCLUSIVE")  # by how much of it a machine tries in a second


@pytest.mark.parametrize("epsilon", [800, 10**6])
def test_a_huge_epsilon_is_refuted_by_nothing(epsilon):
    audit = sampled(box(m.tells_nan, epsilon=epsilon), ["special_values", "rounding", "reordering"], runs=50)
    assert {str(f.verdict) for f in audit.findings} == {"NOT_REFUTED"}


def test_a_release_alone_without_runs_says_that_runs_are_missing():
    (finding,) = ss.audit(box(m.tells_nan), runs=0).findings
    assert "no runs were asked for" in finding.note
