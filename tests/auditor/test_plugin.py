"""The pytest plugin, in a project of its own, whose targets are repeated where they are and not in fresh processes."""

import json
import subprocess
import sys

import pytest

from tests import processes

PROJECT = """
import pytest
import numpy as np


def spread(lower, upper):
    return upper - lower


def naive(data, lower, upper):
    return np.add.accumulate(np.clip(data, lower, upper))[-1]


def release(data, lower, upper, epsilon, runs):
    return float(naive(data, lower, upper)) + np.random.default_rng().laplace(0, (upper - lower) / epsilon, runs)


def again(datasets, threads):
    return [naive(np.asarray(data), given["lower"], given["upper"]) for data, given in datasets]


def target(**options):
    import soundsum as ss

    return ss.Target(
        noiseless=naive, claimed=spread, dtype="float32", relation="hamming", name="mine", fresh=again, **options
    )


def test_by_fixture(dp_audit):
    audit = dp_audit(target(), attacks=["rounding"])
    assert audit.findings


@pytest.mark.dp_audit(attacks=["rounding"])
def test_by_mark():
    return target()


def test_releases(dp_audit):
    audit = dp_audit(target(release=release), attacks=["rounding"], seconds=20, runs=500)
    assert all((f.sampled is not None) == FULL for f in audit.findings)
"""

OTHERS = ("anyio", "cacheprovider", "hypothesispytest", "schemathesis", "xdist")
PYTEST = [sys.executable, "-m", "pytest", "-q", *(word for name in OTHERS for word in ("-p", f"no:{name}"))]
"""Without plugins that are not tried here: each takes longer to import than ours."""


def run(folder, *options, full=False):
    (folder / "test_mine.py").write_text(f"FULL = {full}\n" + PROJECT)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return processes.run([*PYTEST, *options], cwd=folder, text=True)


def test_a_new_violation_fails_and_says_how_to_see_it(tmp_path):
    ran = run(tmp_path)
    assert ran.returncode == 1
    assert "3 failed" in ran.stdout
    assert "mine: new: rounding" in ran.stdout
    assert "VIOLATION_CERTIFIED rounding: the sum moves by 32 times the sensitivity used" in ran.stdout
    assert "raise SystemExit" in ran.stdout


def test_the_baseline_makes_known_ones_pass_and_vanished_ones_fail(tmp_path):
    assert run(tmp_path, "--dp-audit-update").returncode == 0
    baseline = tmp_path / "dp-audit-baseline.json"
    assert json.loads(baseline.read_text()) == {"violations": {"mine": ["rounding"]}}
    assert run(tmp_path).returncode == 0
    baseline.write_text(json.dumps({"violations": {"mine": ["reordering", "rounding"]}}))
    ran = run(tmp_path)
    assert ran.returncode == 1
    assert "vanished (take them out of the baseline): reordering" in ran.stdout
    baseline.write_text("[]")
    assert "is not a baseline" in run(tmp_path).stdout


def test_releases_are_sampled_on_demand_and_audits_can_be_left_out(tmp_path):
    assert run(tmp_path, "--dp-audit-update", "--dp-audit=full", full=True).returncode == 0
    assert "3 skipped" in run(tmp_path, "--dp-audit=off").stdout


def test_sarif_has_the_violations(tmp_path):
    run(tmp_path, "--dp-audit-sarif=found.sarif")
    (one,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    assert {result["ruleId"] for result in one["results"]} == {"soundsum/rounding"}


def test_soundsum_is_imported_only_when_a_test_audits(tmp_path):
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_nothing():\n    assert not {'numpy', 'soundsum.auditor.target'} & sys.modules.keys()\n"
    )
    ran = subprocess.run([*PYTEST, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_a_target_of_which_nothing_was_audited_fails_with_the_reason(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        "import soundsum as ss\n\n\ndef release(data, lower, upper):\n    raise RuntimeError('database down')\n\n\n"
        "def test_it(dp_audit):\n"
        "    dp_audit(ss.Target(release=release, dtype='float32', relation='hamming', name='mine'), runs=20)\n"
    )
    for option, said in (("deterministic", "no runs were asked for"), ("full", "RuntimeError: database down")):
        ran = processes.run([*PYTEST, f"--dp-audit={option}"], cwd=tmp_path, text=True)
        assert ran.returncode == 1
        assert "mine: nothing was audited" in ran.stdout
        assert said in ran.stdout


@pytest.mark.parametrize("given", ["total", "[total]", "3"])
def test_a_function_without_a_promise_is_told_how_to_make_it_a_target(tmp_path, given):
    (tmp_path / "test_mine.py").write_text(
        f"def total(data, lower, upper):\n    return sum(data)\n\n\ndef test_it(dp_audit):\n    dp_audit({given})\n"
    )
    ran = processes.run(PYTEST, cwd=tmp_path, text=True)
    assert ran.returncode == 1
    assert "does not say what it promises; give ss.Target(release=" in ran.stdout


def test_targets_without_a_name_do_not_share_a_place_in_the_baseline(tmp_path):
    sums = (
        "import numpy as np\n\n\n"
        "def total(data, lower, upper, **_):\n    return np.add.accumulate(np.asarray(data))[-1]\n"
    )
    for name in ("ages", "wages"):
        (tmp_path / f"{name}.py").write_text(sums)
    (tmp_path / "test_mine.py").write_text(
        "import ages, wages\nimport pytest\nimport soundsum as ss\n\n\n"
        "@pytest.mark.parametrize('dtype', ['float32', 'float64'])\n"
        "@pytest.mark.parametrize('module', [ages, wages])\ndef test_it(dp_audit, module, dtype):\n"
        "    claim = lambda lower, upper: upper - lower\n"
        "    again = lambda datasets, threads: [module.total(data, **given) for data, given in datasets]\n"
        "    dp_audit(ss.Target(noiseless=module.total, claimed=claim, dtype=dtype, relation='hamming', fresh=again),\n"
        "             attacks=['rounding'])\n"
    )
    processes.run([*PYTEST, "--dp-audit-update"], cwd=tmp_path)
    known = json.loads((tmp_path / "dp-audit-baseline.json").read_text())["violations"]
    assert known == {
        f"{f}.total[{t}, hamming]": ["rounding"] for f in ("ages", "wages") for t in ("float32", "float64")
    }
