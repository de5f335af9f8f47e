"""What a record without a value counts as: by default nothing in a mean or variance, wherever n is private."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.engines import Memory
from soundsum.refusals import Reason
from soundsum.releases.prepare import prepare
from soundsum.releases.release_check import compare_release
from soundsum.releases.request import Request
from soundsum.statistics import Count, Mean, Sum, Variance
from tests.refusing import refused

AGES = pa.table({"age": [30.0, None, 50.0, None], "ward": ["a", "a", "b", "b"], "id": [1, 2, 3, 4]})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relation": "insert_delete"},
        {"privacy_unit": "id"},
        {"where": [("id", ">=", 1)]},
        {"where": [("id", ">=", 1)], "relation": "change_one"},
        {"missing": "drop", "relation": "change_one"},
        {"missing": "drop", "relation": "hamming"},
    ],
)
def test_a_mean_is_that_of_the_values_there_are(silent, options):
    mean, variance = (ask(AGES, 0, 100, epsilon=1, column="age", **options) for ask in (ss.mean, ss.variance))
    assert (mean.value, round(variance.value)) == (40, 100)
    for release in (mean, variance):
        assert "missing values left out" in repr(release)
        assert "missing values left out" in release._repr_html_()
        assert release.to_dict()["missing"] == "drop"
        assert compare_release(json.loads(release.to_json())) == []
        assert len(release.certificate["released"]) == (2 if release is mean else 3)  # a noisy count among them


@pytest.mark.parametrize("relation", ["symmetric", "change_one"])
def test_by_group_too(silent, relation):
    means = ss.mean(AGES, 0, 100, epsilon=1, column="age", by="ward", groups=["a", "b"], relation=relation)
    assert [r.value for r in means.values()] == [30, 50]


@pytest.mark.parametrize("relation", ["change_one", "hamming"])
def test_under_a_public_number_of_rows_they_count_unless_asked(silent, relation):
    mean = ss.mean(AGES, 0, 100, epsilon=1, column="age", relation=relation)
    assert mean.value == 20
    assert "missing values as 0" in repr(mean)
    assert len(mean.certificate["released"]) == 1
    assert ss.sum(AGES, 10, 100, epsilon=1, column="age", relation=relation, missing="drop").value == 80
    assert ss.sum(AGES, 10, 100, epsilon=1, column="age", relation=relation).value == 100


@pytest.mark.parametrize("relation", ["change_one", "hamming"])
def test_counts_and_histograms_of_a_public_number_of_rows(silent, relation):
    options = {"relation": relation, "missing": "drop", "column": "age"}
    count = ss.count(AGES, epsilon=1, **options)
    assert (count.value, count.sensitivity) == (2, "1")
    cells = ss.histogram(AGES, [0, 40, 90], epsilon=1, **options)
    assert [r.value for r in cells.values()] == [1, 1]
    assert next(iter(cells.values())).sensitivity == "2"
    with refused("data", Reason.UNSUPPORTED, TypeError):
        ss.mean(ss.Runs("float64", [(1.0, 3)]), 0, 9, epsilon=1, relation=relation, missing="drop")
    assert ss.mean(ss.Runs("float64", [(1.0, 3)]), 0, 9, epsilon=1, missing="drop").value == 1


def test_each_statistic_of_one_release_has_its_own_default(silent):
    total, mean, rows = ss.release(AGES, [Sum("age", 10, 100), Mean("age", 10, 100), Count()], epsilon=1)
    assert (total.value, mean.value, rows.value) == (100, 40, 4)
    assert [r.missing for r in (total, mean, rows)] == [
        "missing values as 10",
        "missing values left out",
        "rows with missing values counted",
    ]
    total, mean, rows = ss.release(AGES, [Sum("age", 10, 100), Mean("age", 10, 100), Count("age")], 1, missing="drop")
    assert (total.value, mean.value, rows.value) == (80, 40, 2)


def test_an_owner_has_the_same_defaults(silent):
    owner = ss.Private(AGES, budget=ss.Budget(epsilon=9))
    assert owner.mean("age", 0, 100, epsilon=1).value == 40
    assert owner.mean("age", 0, 100, epsilon=1, missing="zero").value == 20


@pytest.mark.parametrize("statistic", [Sum, Mean, Variance])
@pytest.mark.parametrize("bounds", [(2, 5), (-5, -2), (-1, 4)])
@pytest.mark.parametrize("relation", ["change_one", "hamming"])
def test_what_one_record_moves_when_missing_ones_are_dropped_from_a_public_number(statistic, bounds, relation):
    """By enumeration, through the engine itself: no change of a record moves a part by more, and some as much."""

    def totals(values):
        request = Request((statistic(None, *bounds),), relation=ss.Relation(relation), missing="drop")
        engine, prepared = prepare(pa.array(values, pa.int8()), request)
        (sums,), n = engine.add_up(prepared.tasks, prepared.rows)
        assert isinstance(engine, Memory)
        assert n == len(values)
        return np.array([total for (total,) in sums]), prepared.tasks[0].claim.parts

    low, high = bounds
    seen = []
    for others in ([], [low, None, high]):
        for before, after in itertools.product([None, *range(low, high + 1)], repeat=2):
            (one, claimed), (other, _) = totals([*others, before]), totals([*others, after])
            seen.append(np.abs(one - other))
    assert np.max(seen, axis=0).tolist() == [part.norms.l1 for part in claimed]
    assert all(part.norms.l2_squared == part.norms.l1**2 for part in claimed)


def test_a_release_that_says_the_wrong_thing_is_found_out():
    said = json.loads(ss.mean(AGES, 0, 100, epsilon=1, column="age", relation="change_one").to_json())
    assert compare_release(said) == []
    assert compare_release({**said, "missing": "drop"})  # its noise is for all rows, and there is no noisy count
    assert compare_release({**said, "missing": "some"})
