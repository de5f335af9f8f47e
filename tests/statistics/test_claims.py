"""What is claimed of a statistic: its bounds, how its sum is read, how a ledger says it, and what may be left out."""

from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.budget import Binding
from soundsum.methods import Iterated
from soundsum.methods.problem import Problem
from soundsum.numbers.types import IntType
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.planner import Plan
from soundsum.refusals import Reason
from soundsum.releases.planning import plan
from soundsum.statistics import Claim, Mean, Sum
from soundsum.statistics.statistic import Statistic
from soundsum.statistics.task import Task, make_query
from soundsum.tables.rows import Rows
from tests.refusing import refused

UNIT_VALUE = Fraction(1, 100)


def claim(problem, method="auto", unit_value=Fraction(1)):
    return Claim(Sum, plan(problem, method), unit_value)


def test_bounds_are_those_that_records_are_clamped_to():
    """On a grid the bounds are rounded inward; a method without steps for each record keeps them as they are."""
    given = Problem("float64", Fraction("0.1"), Fraction("0.3"), max_size=9)
    lower, upper = claim(given).bounds
    assert given.lower < lower < upper < given.upper
    floats = Problem("float64", 1, 3, max_size=9)
    assert claim(floats, "iterated").bounds == (1, 3)


def test_bounds_of_integers_are_in_units_of_the_last_digit():
    problem = Problem("int8", Fraction("-2.5"), Fraction("4.5"))
    assert claim(problem, unit_value=UNIT_VALUE).bounds == (-2 * UNIT_VALUE, 4 * UNIT_VALUE)
    assert claim(problem, unit_value=UNIT_VALUE).shown_bounds == (-2 * UNIT_VALUE, 4 * UNIT_VALUE)
    assert claim(problem, unit_value=UNIT_VALUE).given_bounds == (
        Fraction("-2.5") * UNIT_VALUE,
        Fraction("4.5") * UNIT_VALUE,
    )
    whole = Problem("int8", -2, 4)
    assert claim(whole, "modular", UNIT_VALUE).bounds == (-2 * UNIT_VALUE, 4 * UNIT_VALUE)
    assert claim(Problem("float64", Fraction("0.1"), 1)).shown_bounds == (Fraction("0.1"), 1)


@pytest.mark.parametrize("bits, signed", [(8, True), (8, False), (64, True)])
def test_a_modular_sum_wraps_in_its_type(bits, signed):
    kind = IntType(bits, signed)
    for method in ("modular", "split_modular"):
        assert [part.wraps for part in claim(Problem(kind, 0, 4), method).parts] == [kind]
    assert [part.wraps for part in claim(Problem(kind, 0, 4)).parts] == [None]


@pytest.mark.parametrize("unit_value", [Fraction(0), Fraction(-1, 100), -UNIT_VALUE / 100])
def test_a_digit_is_worth_more_than_nothing(unit_value):
    with refused("unit_value", Reason.UNSOUND, ValueError, given=str(unit_value)):
        claim(Problem("int8", 0, 4), unit_value=unit_value)


@pytest.mark.parametrize("unit_value", [Fraction(1), UNIT_VALUE, Fraction(10)])
def test_a_sum_is_read_in_what_its_records_are_worth(unit_value):
    found = claim(Problem("int8", 0, 4), unit_value=unit_value)
    read = found.estimator(found.noises(guarantee(1)), None)
    assert (read.exact((7,)), read.is_whole) == (7 * unit_value, unit_value == 1)


def test_a_number_of_records_that_is_known_is_said():
    sized = Task(Sum("x", 0, 1), claim(Problem("float64", 0, 1, "change_one", size=1234)))
    assert ", 1,234 rows, " in str(make_query([sized], Rows(), "data", Binding(relation="change_one")))
    limited = Task(Sum("x", 0, 1), claim(Problem("float64", 0, 1, max_size=1234)))
    assert ", at most 1,234 rows, " in str(make_query([limited], Rows(), "data", Binding()))


@pytest.mark.parametrize("option, relation", [("size", "change_one"), ("max_size", "symmetric")])
def test_a_number_of_records_is_whole_also_where_an_equal_one_was_just_planned_for(option, relation):
    data = np.array([1.0])
    assert ss.sum(data, 0, 1, 1, relation=relation, **{option: 1}).plan.problem.limit == 1
    for wrong in (True, 1.0):
        with pytest.raises(ValueError, match=f"{option}={wrong}"):
            ss.sum(data, 0, 1, 1, relation=relation, **{option: wrong})


@pytest.mark.parametrize(
    "weights, shares, said", [((1, 1), ("1/2", "1/2"), (False, False)), ((1, 3), ("1/4", "3/4"), (True, True))]
)
def test_shares_of_the_cost_are_said_where_they_differ(weights, shares, said):
    planned = claim(Problem("float64", 0, 1))
    tasks = [Task(Sum(name, 0, 1), planned, weight=Fraction(w)) for name, w in zip("xy", weights, strict=True)]
    told = make_query(tasks, Rows(), "data", Binding(), ["one", "two"])
    asked = [(one.column, one.share, one.name) for one in told.statistics]
    assert asked == [("x", Fraction(shares[0]), "one"), ("y", Fraction(shares[1]), "two")]
    assert tuple("of the cost" in text for text in told.sentences) == said
    (alone,) = make_query(tasks[:1], Rows(), "data", Binding(), ["one"]).statistics
    assert (alone.share, alone.name) == (1, "one")


def test_a_share_is_for_what_needs_any_noise():
    """A mean within [3, 3] has a sum that needs none, and a count; a sum within [3, 3] of a public size has nothing."""
    public = claim(Problem("float64", 3, 3, "change_one", size=5))
    planned = [Claim(Mean, plan(Problem("float64", 3, 3))), claim(Problem("float64", 0, 1)), public]
    tasks = [Task(Sum("x", 0, 1), one, weight=Fraction(w)) for one, w in zip(planned, (3, 1, 7), strict=True)]
    told = make_query(tasks, Rows(), "data", Binding())
    assert [one.share for one in told.statistics] == [Fraction(3, 4), Fraction(1, 4), 0]
    assert ["of the cost" in text for text in told.sentences] == [True, True, False]


def test_nothing_is_claimed_where_the_method_does_not_apply():
    """Of a mean neither, which has steps of its own."""
    for kind in (Sum, Mean):
        with refused("method", Reason.UNSOUND, ValueError, method="iterated"):
            Claim(kind, Plan(Problem("float64", 0, 1), Iterated()))


def test_what_a_task_is_unless_it_says_otherwise():
    task = Task(Sum("x", 0, 1), claim(Problem("float64", 0, 1)))
    assert (task.missing, task.weight) == ("zero", 1)


def test_what_a_statistic_does_unless_it_says_otherwise():
    """It takes numbers of a column it needs, keeps missing rows, is read by itself and weighs as much as others."""
    assert (Statistic.takes, Statistic.needs_column, Statistic.drops_missing) == ("numbers", True, False)
    assert (Statistic.is_the_sum, Statistic.weight, Statistic.method) == (False, 1, "auto")
    assert (Statistic.dtype, Statistic.cells, Statistic.entry_name) == (None, None, None)
