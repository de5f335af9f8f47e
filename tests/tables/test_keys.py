"""Keys without a type, looked up among groups: by what each is, whatever else is listed, and nothing raises."""

import datetime
import itertools
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest

from soundsum.tables.columns import presence
from soundsum.tables.keys import Groups
from tests.refusing import refused


class Odd:
    """Neither hashed nor compared nor spelled."""

    def __eq__(self, *others):
        raise RuntimeError

    __ne__ = __hash__ = __str__ = __eq__


class OddText(str):
    def __eq__(self, *others):
        raise RuntimeError

    __ne__ = __hash__ = __str__ = __eq__


ALIKE = [np.int64(-2), Decimal(-1), Decimal(-2), -1, np.int64(-1), -2.0]  # all of one hash, not all comparable


@pytest.mark.parametrize("groups", list(itertools.permutations([Decimal(-1), np.int64(-2), Fraction(1, 2)])))
def test_keys_that_hash_alike_are_found_among_groups_that_do(groups):
    places = Groups(list(groups)).codes(ALIKE).tolist()
    assert places == [[int(group) if group != Fraction(1, 2) else 0 for group in groups].index(int(x)) for x in ALIKE]


def test_groups_that_hash_alike_can_be_listed():
    listed = Groups([Decimal(-1), np.int64(-2)])
    assert listed.codes([-1, -2, Decimal(-2), "a"]).tolist() == [0, 1, 1, 2]
    with refused("groups", "repeated", ValueError, given="-2"):
        Groups([Decimal(-1), np.int64(-2), -2.0])


def test_no_key_raises():
    keys = [
        Odd(),
        OddText("a"),
        [1],
        float("nan"),
        None,
        pandas.NA,
        pandas.NaT,
        Decimal("sNaN"),
        10**5000,
        np.arange(3),
    ]
    assert Groups(["b", 1]).codes(keys).tolist() == [2] * len(keys)
    assert Groups(["a", 1]).codes([OddText("a")]).tolist() == [0]


def test_an_object_that_cannot_be_compared_is_missing():
    assert presence([1, Odd(), np.arange(2), Decimal("sNaN"), pandas.NA, "a"]).missing().tolist() == [
        *(False, True, False, True, True, False)
    ]


def test_objects_of_other_classes_are_found_as_they_compare_themselves():
    bands = [pandas.Interval(0, 10), pandas.Interval(10, 20), pandas.Period("2024-01")]
    assert Groups(bands).codes([bands[1], "x", pandas.Period("2024-01"), pandas.Interval(0, 10)]).tolist() == [
        1,
        3,
        2,
        0,
    ]


def test_instants_are_one_group_in_any_zone():
    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    abroad = noon.astimezone(datetime.timezone(datetime.timedelta(hours=9)))
    assert Groups([noon]).codes([abroad, pandas.Timestamp(noon), noon.replace(tzinfo=None)]).tolist() == [0, 0, 1]
