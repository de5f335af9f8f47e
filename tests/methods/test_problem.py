"""A Problem is exact and refuses promises that contradict each other."""

import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from soundsum import FloatType, IntType, Problem, Relation
from tests.refusing import refused


def test_bounds_are_exact_whatever_they_come_as():
    assert Problem("float64", "0.1", Decimal("0.2")).lower == Fraction(1, 10)
    assert Problem("float64", 0.1, 1).lower == Fraction(3602879701896397, 2**55)
    assert Problem(np.float32, np.float32(0.1), 1).lower == Fraction(13421773, 2**27)
    assert Problem("int8", "1/3", 5).lower == Fraction(1, 3)


def test_ideal_is_the_sensitivity_over_the_real_numbers():
    for relation, ideal in [("symmetric", 7), ("insert_delete", 7), ("change_one", 10), ("hamming", 10)]:
        assert Problem("int32", -7, 3, relation).ideal == ideal
    assert Problem("int64", -(2**63), 0).ideal == 2**63


def test_dtype_takes_types_of_any_width():
    assert Problem(FloatType(2, 3), 0, 1).dtype == FloatType(2, 3)
    assert Problem(IntType(5, False), 0, 1).type == IntType(5, False)


def test_it_is_frozen_and_hashable():
    problem = Problem("float64", 0, 1)
    with pytest.raises(FrozenInstanceError):
        problem.lower = Fraction(5)
    assert {problem: 1}[Problem("float64", 0.0, "1")] == 1
    assert problem.relation is Relation.SYMMETRIC


@pytest.mark.parametrize(
    "arguments, option, reason, facts",
    [
        (("float64", 2, 1), "lower", "swapped", {"lower": "2", "upper": "1"}),
        (("float64", 5000, 0.5), "lower", "swapped", {"lower": "5000", "upper": "0.5"}),
        (("float64", math.nan, 1), "lower", "not-a-number", {"given": "nan"}),
        (("float64", 0, math.inf), "upper", "not-a-number", {"given": "inf"}),
        (("float64", 0, 1, "symmetric", 5), "size", "conflict", {"given": "5", "relation": "symmetric"}),
        (("float64", 0, 1, "insert_delete", 5), "size", "conflict", {"relation": "insert_delete"}),
        (
            ("float64", 0, 1, "hamming", None, 5),
            "max_size",
            "conflict",
            {"given": "5", "relation": "hamming"},
        ),
        (("float64", 0, 1, "change_one", -1), "size", "too-small", {"given": "-1"}),
        (("float64", 0, 1, "change_one", 1.5), "size", "not-whole", {"given": "1.5"}),
        (
            ("float64", 0, 1, "neighbours"),
            "relation",
            "unknown",
            {"given": "'neighbours'", "names": "symmetric, insert_delete, change_one, hamming"},
        ),
    ],
)
def test_contradictions_are_refused_with_the_remedy(arguments, option, reason, facts):
    with refused(option, reason, ValueError, **facts):
        Problem(*arguments)


@pytest.mark.parametrize("arguments", [("text", 0, 1), ("float64", "a", 1), ("float64", None, 1), ("float64", True, 1)])
def test_what_is_no_number_is_a_type_error(arguments):
    with refused(
        "dtype" if arguments[0] == "text" else "lower",
        "unknown" if arguments[0] == "text" else "not-a-number",
        TypeError,
    ):
        Problem(*arguments)


def test_a_public_size_comes_from_the_data_or_must_agree_with_it():
    assert Problem("float64", 0, 1, "change_one").with_size(7).size == 7
    assert Problem("float64", 0, 1).with_size(7).size is None
    with refused("size", "mismatch", ValueError, given="8", records="7"):
        Problem("float64", 0, 1, "hamming", 8).with_size(7)
