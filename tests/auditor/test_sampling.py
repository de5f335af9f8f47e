"""Runs of releases that have a state, change their input, decline, or never give a number."""

import pytest
from tests.auditor import mechanisms as m

import soundsum as ss
from soundsum.auditor.worker import Worker


def box(release, **options):
    return ss.Target(release=release, **{"dtype": "float32", "relation": "change_one", **options})


def sampled(target, attacks=("rounding",), **options):
    return ss.audit(target, list(attacks), **{"runs": 1000, "seconds": 10, **options})


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
