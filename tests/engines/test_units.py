"""What one record or person can move, by enumeration: no pair of neighbours is further apart, and some are as far."""

import itertools
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from soundsum.engines.accumulators import GroupSums
from soundsum.engines.ids import PersonWords
from soundsum.engines.person_sums import PersonSums
from soundsum.methods.problem import Problem
from soundsum.privacy.units import Unit
from soundsum.releases.planning import plan
from soundsum.statistics import Claim, Mean, Sum, Variance
from soundsum.tables.keys import Groups
from soundsum.tables.records import records
from soundsum.tables.relations import Relation

from .model import lot

VALUES = (-2, 0, 1, 3)


def steps_and_parts(kind, chosen):
    claim = Claim(kind, chosen)
    return claim.record_steps, claim.parts


def by_group(rows, groups):
    """The sum for each listed group, by the library itself; rows are (group, value)."""
    chosen = plan(Problem("int8", min(VALUES), max(VALUES)), unit=Unit(len(groups)))
    sums = GroupSums(*steps_and_parts(Sum, chosen), "zero", len(groups))
    values = np.array([value for _, value in rows], np.int8)
    codes = Groups(groups).codes(pa.array([group for group, _ in rows], pa.string()))
    sums.add(records(values), len(rows), codes, None)
    return np.array(sums.totals()[0])


def norms(difference):
    return np.abs(difference).sum(), (difference**2).sum()


@pytest.mark.parametrize("groups", [["a"], ["a", "b"], ["a", "b", "c"]], ids=len)
@pytest.mark.parametrize("relation", list(Relation))
def test_sums_by_group(groups, relation):
    """Rows of groups that are not listed are left out, so under change_one a row can leave what is counted."""
    claimed = Unit(len(groups)).norms(min(VALUES), max(VALUES), relation)
    rows = list(itertools.product([*groups, "other"], VALUES))
    seen = []
    for common in ([], [("a", 3), ("other", 1)]):
        for row in rows:
            others = rows if relation.sized else [None]
            for other in others:
                left, right = [*common, row], [*common, *([other] if other else [])]
                seen.append(norms(by_group(left, groups) - by_group(right, groups)))
    assert max(l1 for l1, _ in seen) == claimed.l1
    assert max(l2 for _, l2 in seen) == claimed.l2_squared


@pytest.mark.parametrize("low, high", [(-3, 3), (0, 5), (2, 5), (-5, -2), (-1, 4), (0, 0)])
def test_the_range_decides(low, high):
    """The same by arithmetic: from any value in one group to any value in another."""
    for groups in (1, 2, 3):
        moves = []
        places = [*range(groups), None]
        for (a, x), (b, y) in itertools.product(itertools.product(places, range(low, high + 1)), repeat=2):
            vector = np.zeros(groups, int)
            if a is not None:
                vector[a] += x
            if b is not None:
                vector[b] -= y
            moves.append(norms(vector))
        claimed = Unit(groups).norms(low, high, Relation.CHANGE_ONE)
        assert (max(m[0] for m in moves), max(m[1] for m in moves)) == (claimed.l1, claimed.l2_squared)


def persons_model(rows, groups, low, high, max_rows, max_groups):
    """Rows are (person, group, value): the definition, slowly."""
    mine = defaultdict(lambda: defaultdict(list))
    for person, group, value in rows:
        if person is not None and group in groups:
            mine[person][group].append(min(max(value, low), high))
    totals = dict.fromkeys(groups, 0)
    for person, by_group in mine.items():
        kept = sorted(by_group, key=lambda g: (-len(by_group[g]), lot(person, groups.index(g))))[:max_groups]
        for group in kept:
            totals[group] += min(max(sum(by_group[group]), max_rows * min(low, 0)), max_rows * max(high, 0))
    return [totals[group] for group in groups]


def by_person(rows, groups, low, high, max_rows, max_groups, batches=1, kind="int8"):
    chosen = plan(Problem(kind, low, high), unit=Unit(len(groups), max_rows, max_groups))
    words = PersonWords(pa.int64())
    sums = PersonSums(*steps_and_parts(Sum, chosen), "zero", chosen.unit, words)
    for part in np.array_split(np.arange(len(rows)), batches):
        some = [rows[i] for i in part]
        values = records(np.array([value for *_, value in some], kind))
        codes = Groups(groups).codes(pa.array([group for _, group, _ in some], pa.string()))
        sums.add(values, len(some), codes, words.find(pa.array([person for person, *_ in some], pa.int64())))
    return sums.totals()[0]


@pytest.mark.parametrize("max_rows, max_groups", [(1, 1), (2, 1), (1, 2), (2, 2), (3, 5)])
def test_a_person_moves_no_more_than_their_share(max_rows, max_groups):
    groups = ["a", "b"]
    own_rows = list(itertools.product(["a", "b", "other"], (-2, 3)))
    claimed = Unit(len(groups), max_rows, max_groups).norms(-2, 3, Relation.SYMMETRIC)
    others = [(7, "a", 3), (7, "a", 3), (8, "b", -2), (None, "a", 3)]
    without = np.array(by_person(others, groups, -2, 3, max_rows, max_groups))
    seen = []
    for n in range(1, 5):
        for own in itertools.combinations_with_replacement(own_rows, n):
            rows = [*others, *((1, *row) for row in own)]
            seen.append(norms(np.array(by_person(rows, groups, -2, 3, max_rows, max_groups)) - without))
    reached = max(l1 for l1, _ in seen), max(l2 for _, l2 in seen)
    assert reached[0] <= claimed.l1
    assert reached[1] <= claimed.l2_squared
    if max_rows * min(max_groups, 2) <= 4:  # four rows can be as much as that
        assert reached == (claimed.l1, claimed.l2_squared)


@pytest.mark.parametrize("statistic", [Mean, Variance])
@pytest.mark.parametrize("max_rows", [1, 2, 3])
def test_a_person_moves_no_part_of_a_moment_by_more(statistic, max_rows):
    chosen = plan(Problem("int8", -2, 3), unit=Unit(None, max_rows))
    steps, claimed = steps_and_parts(statistic, chosen)

    def totals(rows):
        words = PersonWords(None)
        sums = PersonSums(steps, claimed, "zero", chosen.unit, words)
        values = records(np.array([value for _, value in rows], np.int8))
        sums.add(values, len(rows), None, words.find([person for person, _ in rows]))
        return np.array([total for (total,) in sums.totals()])

    others = [("v", 3)] * 5 + [("w", -2)]
    without, reached = totals(others), np.zeros(len(claimed), int)
    for n in range(1, 6):
        for own in itertools.combinations_with_replacement((-2, 0, 3), n):
            moved = np.abs(totals(others + [("u", x) for x in own]) - without)
            reached = np.maximum(reached, moved)
    assert reached.tolist() == [part.norms.l1 for part in claimed]


@pytest.mark.parametrize("kind", ["int8", "int64", "uint64"])
@pytest.mark.parametrize("batches", [1, 3])
def test_persons_are_added_up_as_defined(kind, batches):
    rng = np.random.default_rng(1)
    groups = ["c", "a", "b"]
    largest = {"int8": 127, "int64": 2**63 - 1, "uint64": 2**64 - 1}[kind]
    for _ in range(30):
        n = int(rng.integers(0, 60))
        low, high = sorted(
            int(largest * rng.random()) * (1 if kind == "uint64" else int(rng.choice([-1, 1]))) for _ in "ab"
        )
        values = [int(largest * rng.random()) * (1 if kind == "uint64" else int(rng.choice([-1, 1]))) for _ in range(n)]
        ids = [None if rng.random() < 0.1 else int(rng.integers(0, 6)) for _ in range(n)]
        rows = list(zip(ids, rng.choice(["a", "b", "c", "d"], n).tolist(), values, strict=True))
        limits = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        assert by_person(rows, groups, low, high, *limits, batches, kind) == persons_model(
            rows, groups, low, high, *limits
        )


def test_the_order_of_rows_decides_nothing():
    rng = np.random.default_rng(2)
    rows = [
        (int(p), g, int(v))
        for p, g, v in zip(rng.integers(0, 5, 40), rng.choice(["a", "b"], 40), rng.integers(-9, 9, 40), strict=True)
    ]
    once = by_person(rows, ["a", "b"], -5, 5, 2, 1)
    assert all(by_person([rows[i] for i in rng.permutation(40)], ["a", "b"], -5, 5, 2, 1) == once for _ in range(10))
