"""Every method's sum is its model's, keeps its proved accuracy, and moves by no more than its sensitivity."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.methods import (
    METHODS,
    Checked,
    Iterated,
    Kahan,
    Modular,
    OnGrid,
    Pairwise,
    Saturating,
    Shifted,
    Split,
    TowardZero,
)
from soundsum.numbers import models
from soundsum.numbers.types import FloatType
from soundsum.refusals import Reason
from tests.refusing import refused
from tests.sweeps import sweep

MADE_BY_HAND = [
    Iterated(accumulator="float64"),
    Pairwise(accumulator="float64"),
    Kahan(accumulator="float64", split=True),
    Shifted(Kahan(accumulator="float64")),
    OnGrid(step="1/3"),
    OnGrid(step="paper"),
    OnGrid(step="paper", bits=16, integers=Checked()),
    OnGrid(step="1/8", bits=16, integers=Saturating()),
    OnGrid(step="1/8", bits=16, integers=Split()),
    OnGrid(step="1/8", bits=8, integers=Modular()),
]
EVERY = list(METHODS.values()) + MADE_BY_HAND
REGISTERED = [m for m in METHODS.values() if m.label != "grid_randomised"]
SOMETIMES_DETERMINISTIC = [m for m in EVERY if m.label != "grid_randomised"]
TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int32", "uint16", ss.FloatType(2, 4), ss.IntType(5)]
SMALL = [Fraction(n, 8) for n in range(-24, 25)]


BOUNDS = [(0, 1), (-1, 0), (-1, 2), (1, 3), (-3, -1), (2, 2), (0, 0)]


@cache
def problems():
    """Small problems of every type, relation and size."""
    sizes = [{"size": n} for n in (0, 1, 4, 6)], [{"max_size": n} for n in (0, 3, 6)]
    return [
        ss.Problem(dtype, lower, upper, relation, **size)
        for dtype, (lower, upper), relation in product(TYPES, BOUNDS, ss.Relation)
        for size in sizes[0 if relation.sized else 1]
        if lower >= 0 or dtype != "uint16"
    ]


@cache
def applicable(method, deterministic):
    return [p for p in problems() if not method.unmet(p) and not (deterministic and method.is_randomised(p))]


@cache
def suitable(method, deterministic):
    return st.sampled_from(applicable(method, deterministic))


@cache
def datasets(dtype, size):
    values = [x for x in (SMALL if isinstance(dtype, FloatType) else range(-4, 5)) if x in dtype]
    return st.lists(st.sampled_from(values), min_size=size or 0, max_size=8 if size is None else size)


@st.composite
def cases(draw, method, deterministic=True):
    """A problem the method applies to, and data for it."""
    assume(applicable(method, deterministic))
    problem = draw(suitable(method, deterministic))
    return problem, draw(datasets(problem.dtype, problem.size))


def modelled(method, problem, data):
    """The sum of exact values by the method's model, with the method's own preparation."""
    values = [models.clean(x, problem.lower, problem.upper) for x in data]
    limit = problem.max_size if "truncate" in method.steps(problem) else None
    model = method.model(problem)
    if getattr(method, "split", False) or ("checked" in method.label and "split" in method.label):
        halves = [[x for x in values if x < 0], [x for x in values if x >= 0]]
        return sum(Fraction(model.sum(half[:limit])) for half in halves)
    if isinstance(method, Shifted):
        values = [problem.dtype.add(x, -problem.lower) for x in values]
    total = Fraction(model.sum(values[:limit]))
    if isinstance(method, Shifted):
        return total + len(values) * problem.lower
    return total + len(values) * method.grid(problem).offset if isinstance(method, OnGrid) else total


@pytest.mark.parametrize("method", sweep(SOMETIMES_DETERMINISTIC, quick=REGISTERED), ids=lambda m: m.label)
@given(data=st.data())
def test_the_sum_is_the_model_s(method, data):
    problem, data = data.draw(cases(method))
    expected = modelled(method, problem, data)
    assert method.sum(problem, ss.Runs.of(data, problem.dtype)) == expected
    if problem.dtype.dtype is not None:
        assert method.sum(problem, np.asarray(ss.Runs.of(data, problem.dtype))) == expected


@pytest.mark.parametrize("method", sweep(EVERY, quick=list(METHODS.values())), ids=lambda m: m.label)
@given(data=st.data())
def test_the_sum_is_as_accurate_as_proved(method, data):
    problem, data = data.draw(cases(method, deterministic=False))
    data = data if problem.relation.sized else data[: problem.max_size]
    accuracy = method.accuracy(problem)
    if accuracy is None:
        return
    true = sum(models.clean(x, problem.lower, problem.upper) for x in data)
    assert abs(method.sum(problem, ss.Runs.of(data, problem.dtype)) - true) <= accuracy


@pytest.mark.parametrize("method", sweep(SOMETIMES_DETERMINISTIC, quick=REGISTERED), ids=lambda m: m.label)
@given(data=st.data(), where=st.integers(0, 8), record=st.sampled_from(range(5)))
def test_one_record_moves_the_sum_by_at_most_the_sensitivity(method, data, where, record):
    problem, left = data.draw(cases(method))
    at = min(where, max(0, len(left) - problem.relation.sized))
    changed = problem.relation.sized and len(left) > 0
    right = (
        [*left[:at], record, *left[at + 1 :]]
        if changed
        else left
        if problem.relation.sized
        else [*left[:at], record, *left[at:]]
    )
    assert problem.relation.distance(left, right) <= 1
    sums = [method.sum(problem, ss.Runs.of(data, problem.dtype)) for data in (left, right)]
    difference = abs(sums[0] - sums[1])
    if modulus := method.modulus(problem):
        step = method.grid(problem).step if isinstance(method, OnGrid) else 1
        difference = min(difference % (modulus * step), -difference % (modulus * step))
    assert difference <= method.sensitivity(problem)


@pytest.mark.parametrize("method", [METHODS[name] for name in ("saturating", "iterated", "toward_zero")], ids=str)
def test_a_permuted_sum_is_the_sum_of_some_order(method):
    """And every order occurs: of two records with different sums both are seen."""
    kind = ss.IntType(4) if method.label == "saturating" else ss.FloatType(2, 3)
    problem = ss.Problem(kind, kind.min if kind.is_integer else -2, kind.max if kind.is_integer else 2, max_size=3)
    data = [7, 7, -8] if kind.is_integer else [2, Fraction(5, 16), Fraction(5, 16)]
    assert method.is_randomised(problem)
    orders = {
        (a, b, c)
        for i, a in enumerate(data)
        for j, b in enumerate(data)
        for k, c in enumerate(data)
        if {i, j, k} == {0, 1, 2}
    }
    possible = {Fraction(method.model(problem).sum(order)) for order in orders}
    seen = {method.sum(problem, ss.Runs.of(data, kind)) for _ in range(200)}
    assert len(possible) > 1
    assert seen == possible


def test_truncation_leaves_out_what_is_beyond_the_limit():
    problem = ss.Problem("float64", 0, 1, "insert_delete", max_size=3)
    assert ss.plan(problem, "iterated").sum(np.array([1, 1, 1, 1, 1.0])) == 3
    mixed = ss.Problem("int32", -1, 1, "insert_delete", max_size=2)
    assert ss.plan(mixed, "split_checked").sum(np.array([1, 1, 1, -1, -1, -1, -1], dtype=np.int32)) == 0
    assert ss.plan(mixed, "checked").sum(np.array([1, -1, 1, 1], dtype=np.int32)) == 0


def test_dropped_records_are_dropped_before_truncation():
    problem = ss.Problem("float64", -1, 1, "insert_delete", max_size=2)
    data = np.array([np.nan, 0.5, np.nan, 0.25])
    for name in ("iterated", "split_kahan", "numpy_pairwise", "grid", "toward_zero"):
        assert ss.plan(problem, name).sum(data, missing="drop") == Fraction(3, 4)
    assert ss.plan(problem, "iterated").sum(data) == Fraction(1, 2)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_pairwise_is_the_call_numpy_makes(dtype):
    data = np.random.default_rng(1).uniform(-1, 1, 5000).astype(dtype)
    problem = ss.Problem(dtype, -1, 1, "change_one")
    assert ss.plan(problem.with_size(5000), "numpy_pairwise").sum(data) == Fraction(float(np.sum(data)))


def test_a_size_that_is_not_the_number_of_records_is_refused():
    p = ss.plan(ss.Problem("float64", 0, 1, "change_one", size=3))
    with refused("size", "mismatch", ValueError, given="3", records="2"):
        p.sum(np.array([1.0, 2.0]))
    with refused("dtype", "conflict", TypeError, kind="float32", given="float64"):
        p.sum(np.zeros(3, dtype=np.float32))


def test_integers_come_back_as_ints_and_floats_as_fractions():
    assert type(ss.plan(ss.Problem("int8", 0, 5)).sum(np.array([1, 9], dtype=np.int8))) is int
    assert type(ss.plan(ss.Problem("float64", 0, 5)).sum([1, 9])) is Fraction


class TestGrid:
    def test_randomised_rounding_is_unbiased_and_within_a_step(self, same_draws):
        problem = ss.Problem("float64", 0, 1, "change_one", size=4000)
        p = ss.plan(problem, OnGrid(step=1, rounding="randomised"))
        assert p.randomised
        total = p.sum(np.full(4000, 0.25))
        assert total.denominator == 1
        assert abs(total - 1000) < 150  # five and a half standard deviations of 27.4

    def test_likely_accuracy_is_of_the_order_of_the_root(self):
        problem = ss.Problem("float64", 0, 1, "change_one", size=10**6)
        randomised = OnGrid(step=Fraction(1, 4), rounding="randomised")
        likely = randomised.likely_accuracy(problem, 0.95)
        assert 250 < likely < 400  # 1.36 sqrt(n) D
        assert randomised.accuracy(problem) == 250_000
        assert OnGrid(step=Fraction(1, 4)).likely_accuracy(problem) == 125_000

    def test_the_paper_s_step_leaves_room_for_the_sum(self):
        for bits, n, lower, upper, relation in [
            (16, 100, 0, 1, "change_one"),
            (12, 7, -3, 5, "symmetric"),
            (16, 9, 4, 5, "symmetric"),
        ]:
            size = {"size": n} if relation == "change_one" else {"max_size": n}
            problem = ss.Problem("float64", lower, upper, relation, **size)
            grid = OnGrid(step="paper", bits=bits).grid(problem)
            assert n * max(abs(grid.low), abs(grid.high)) < 2 ** (bits - 2)

    def test_the_chance_of_overflow_falls_with_epsilon_n(self):
        problem = ss.Problem("float64", 0, 1, "change_one", size=1000)
        method = OnGrid(step="paper", bits=32)
        chances = [method.overflow_chance(problem, Fraction(e)) for e in ("1/1000", "1/100", "1/10", "1")]
        assert chances == sorted(chances, reverse=True)
        assert chances[0] < 1
        assert chances[-1] < 1e-100
        assert OnGrid(step=Fraction(1, 2**40), bits=32).overflow_chance(problem, Fraction(1)) == 1

    def test_integers_that_do_not_fit_are_refused(self):
        problem = ss.Problem("float64", 0, 1, "insert_delete", max_size=10)
        with refused("method", Reason.UNSOUND, ValueError):
            ss.plan(problem, OnGrid(step=Fraction(1, 1024), bits=8, integers=Saturating()))
        with refused("step", "too-small", ValueError, given="0"):
            OnGrid(step=0)

    def test_modular_integers_keep_the_modulus(self):
        p = ss.plan(ss.Problem("float64", 0, 1), OnGrid(step="1/8", bits=8, integers=Modular()))
        assert p.modulus == 256


def test_saturating_of_one_sign_and_toward_zero_shortcuts():
    assert ss.plan(ss.Problem("int8", 0, 5), "saturating").steps == ("saturating",)
    assert ss.plan(ss.Problem("int8", -1, 5), "saturating").steps == ("permute", "saturating")
    assert ss.plan(ss.Problem("int8", -1, 5, "hamming"), "saturating").steps == ("saturating",)
    one = ss.plan(ss.Problem("float64", 2, 3, "insert_delete"), "toward_zero")
    assert one.sensitivity == 5
    assert TowardZero().sensitivity(ss.Problem("float64", -2, 3, "insert_delete")) == 5 + 2
