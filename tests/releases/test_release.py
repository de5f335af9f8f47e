"""Releases: exact sums plus exact noise, told apart by nothing but the noise."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.privacy import samplers
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason
from tests.refusing import refused

DATA = np.array([1.5, 2.5, 100.0, -7.0, math.nan])


def test_a_sum_is_the_exact_sum_of_clamped_records(silent):
    assert ss.sum(DATA, 0, 10, 1).exact == Fraction("14")
    assert ss.sum(DATA, 0, 10, 1).value == 14.0
    assert ss.sum(DATA.astype(np.float32), 0, 10, 1, relation="change_one").value == 14.0
    assert ss.sum(np.array([1, 2, 300]), 0, 10, 1).value == 13
    assert type(ss.sum(np.array([1, 2, 300]), 0, 10, 1).value) is int


@pytest.mark.parametrize(
    "relation, ideal", [("symmetric", 10), ("insert_delete", 10), ("change_one", 13), ("hamming", 13)]
)
def test_the_noise_is_scaled_to_the_proved_sensitivity(recorded, relation, ideal):
    r = ss.sum(DATA, -3, 10, "1/2", relation=relation)
    (scale,) = recorded
    assert scale * r.estimator.step == 2 * r.plan.sensitivity
    assert r.plan.sensitivity <= ideal


@pytest.mark.parametrize("method", ["grid", "iterated", "kahan", "pairwise", "toward_zero", "shifted"])
def test_every_method_can_be_released(silent, method):
    r = ss.sum(np.array([0.25, 0.5, 0.75]), 0, 1, 1, relation="change_one", method=method)
    assert abs(r.exact - Fraction(3, 2)) < Fraction(1, 2**30)
    assert ss.check(r.certificate) == []


def test_modular_sums_are_released_modulo_two_to_the_w(monkeypatch):
    monkeypatch.setattr(samplers, "discrete_laplace_many", lambda scale, count: [100] * count)
    r = ss.sum(np.array([100, 100], dtype=np.int8), 0, 100, 1, method="modular")
    assert r.exact == 300 - 256
    assert r.plan.modulus == 256


def test_zero_sensitivity_needs_no_noise():
    r = ss.sum(np.array([1.0, 2.0]), 5, 5, 1, relation="change_one")
    assert (r.exact, r.interval(0.95)) == (10, (10.0, 10.0))
    assert "no noise needed" in repr(r)
    assert ss.count([1.0] * 7, 1, relation="hamming").exact == 7


def test_an_empty_dataset_is_released_all_the_same(silent):
    assert ss.sum([], 0, 1, 1).exact == 0
    assert ss.count([], 1).exact == 0
    assert ss.mean([], 0, 10, 1).value == 5


def test_the_interval_covers_the_sum_as_often_as_it_says(same_draws):
    data = np.full(100, 0.5)
    covered = 0
    for _ in range(400):
        low, high = ss.sum(data, 0, 1, "1/2").interval(0.8)
        covered += low <= 50 <= high
    assert covered >= 0.8 * 400 - 5 * 8  # five standard deviations


def test_means_and_variances_of_noiseless_moments(silent):
    values = np.array([1.0, 4.0, 7.0, 20.0])
    held = np.clip(values, 0, 10)
    for relation in ss.Relation:
        assert ss.mean(values, 0, 10, 1, relation=relation).value == pytest.approx(held.mean(), abs=1e-12)
        assert ss.variance(values, 0, 10, 1, relation=relation).value == pytest.approx(held.var(), abs=1e-6)
    integers = np.array([1, 4, 7, 20])
    assert ss.mean(integers, 0, 10, 1).exact == Fraction(22, 4)
    assert ss.variance(integers, 0, 10, 1).exact == Fraction(int(16 * held.var()), 16)
    assert ss.mean(np.array([2.0, np.nan]), 1, 3, 1, missing="drop").value == 2


def test_means_stay_within_the_bounds():
    for _ in range(50):
        assert 3 <= ss.mean([3.5], 3, 4, "1/100").value <= 4
        assert 0 <= ss.variance([3.5], 3, 4, "1/100").value <= 0.25


def test_a_mean_splits_its_promise_between_sum_and_count(recorded):
    r = ss.mean([1.0, 2.0], 0, 4, 1)
    centred, counted = (Fraction(part["scale"]) for part in r.certificate["released"])
    assert counted == 2  # one record, half of epsilon
    assert recorded == [centred, counted]
    assert centred * Fraction(r.certificate["released"][0]["step"]) == 4  # half the spread, half of epsilon


def test_gaussian_noise_by_rho_and_by_epsilon_and_delta(silent):
    r = ss.sum(DATA, 0, 10, noise="gaussian", rho="1/8")
    assert r.certificate["released"][0]["noise"] == "gaussian"
    steps = r.certificate["released"][0]["l1_steps"]
    assert Fraction(r.certificate["released"][0]["sigma_squared"]) == steps**2 * 4
    loose = ss.sum(DATA, 0, 10, 1, noise="gaussian", delta="1e-6")
    assert loose.guarantee.delta == Fraction(1, 10**6)


def test_histograms_count_every_cell_empty_ones_too(silent):
    h = ss.histogram(np.array([0.5, 1.0, 1.5, 9.0, math.nan]), [0, 1, 2, 3], 1)
    assert [r.exact for r in h.values()] == [1, 2, 0]
    assert list(h) == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    c = ss.histogram(["a", "b", "a", None, "z"], epsilon=1, categories=["a", "b", "c"])
    assert {k: r.exact for k, r in c.items()} == {"a": 2, "b": 1, "c": 0}
    assert c.to_arrow().column("value").to_pylist() == [2, 1, 0]


def test_a_changed_record_moves_two_cells(recorded):
    ss.histogram([0.5], [0, 1, 2], 1)
    ss.histogram([0.5], [0, 1, 2], 1, relation="change_one")
    ss.histogram([0.5], [0, 1], 1, relation="change_one")
    assert recorded == [1, 2, 1]


def test_gaussian_noise_on_two_cells_goes_through_zcdp(silent):
    """The discrete Gaussian is not the same in every direction, so two cells are not one cell that changes by more."""
    h = ss.histogram([0.5], [0, 1, 2], 1, noise="gaussian", delta="1e-6", relation="change_one")
    (released,) = next(iter(h.values())).certificate["released"]
    assert released["l2_squared_steps"] == 2
    assert Fraction(released["sigma_squared"]) == 1 / zcdp_rho(Fraction(1), Fraction(1, 10**6))


class TestCertificates:
    def test_a_certificate_follows_from_itself_and_survives_json(self):
        for r in (
            ss.sum(DATA, 0, 10, "1/3"),
            ss.sum(DATA, 0, 10, noise="gaussian", rho="1/10"),
            ss.mean(DATA, 0, 10, 1, relation="change_one"),
            ss.variance(DATA, 0, 10, 1),
            ss.count(DATA, 1),
            *ss.histogram(DATA, [0, 1, 2], 1).values(),
        ):
            assert ss.check(json.loads(json.dumps(r.certificate))) == []

    @pytest.mark.parametrize(
        "path, value",
        [
            (("released", 0, "scale"), "1"),
            (("released", 0, "l1_steps"), 1),
            (("sensitivity",), "1"),
            (("problem", "upper"), "20"),
            (("privacy", "epsilon"), "2"),
            (("method",), "kahan"),
            (("statistic",), "count"),
            (("format",), 2),
        ],
    )
    def test_a_changed_number_is_found(self, path, value):
        certificate = json.loads(json.dumps(ss.sum(DATA, 0, 10, 1).certificate))
        inner = certificate
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        assert ss.check(certificate)


class TestBudget:
    def test_a_release_is_charged_and_an_unaffordable_one_is_not_made(self):
        budget = ss.Budget(epsilon=1)
        ss.sum(DATA, 0, 10, "3/4", budget=budget)
        with pytest.raises(ss.BudgetExceeded):
            ss.sum(DATA, 0, 10, "1/2", budget=budget)
        assert budget.spent.epsilon == Fraction(3, 4)

    def test_noise_is_drawn_after_the_charge(self, monkeypatch):
        budget = ss.Budget(epsilon=1)
        seen = []
        monkeypatch.setattr(
            samplers, "discrete_laplace_many", lambda s, n: seen.append(budget.spent.epsilon) or [0] * n
        )
        ss.sum(DATA, 0, 10, "1/2", budget=budget)
        assert seen == [Fraction(1, 2)]

    def test_bad_input_charges_nothing(self):
        budget = ss.Budget(epsilon=1)
        with refused("size", Reason.MISMATCH, ValueError):
            ss.sum(DATA, 0, 1, 1, relation="change_one", size=3, budget=budget)
        assert budget.left.epsilon == 1
        assert not budget.is_closed


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"epsilon": 0}, "epsilon=0: a privacy parameter is a finite number above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": math.nan}, "epsilon=nan is not a finite number"),
        ({}, "epsilon= is missing; give a number above 0, such as epsilon=1"),
        ({"epsilon": Fraction(1, 2**4090)}, "absurdly small"),
        ({"epsilon": 1, "delta": 0.1}, "Laplace noise is pure"),
        ({"epsilon": 1, "noise": "gaussian"}, "delta= is missing"),
        ({"epsilon": 1, "noise": "gaussian", "delta": 2}, "a delta is below 1"),
        ({"epsilon": 1, "noise": "gaussian", "rho": 1}, "rho= is given together with epsilon= or delta="),
        ({"epsilon": 1, "noise": "uniform"}, "is not one of laplace, gaussian"),
        ({"epsilon": 1, "missing": "none"}, 'neither "zero" nor "drop"'),
    ],
)
def test_impossible_promises_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ss.sum(DATA, 0, 1, **arguments)
