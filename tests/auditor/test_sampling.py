"""Runs of releases that have a state, change their input, decline, or never give a number."""

import pytest
from tests.auditor import mechanisms as m

import soundsum as ss


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
