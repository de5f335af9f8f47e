"""The kernel of sums by person equals its model, whatever the ids, the batches, the threads and the numbers are."""

import datetime
import decimal
import uuid
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soundsum as ss
from soundsum import native
from soundsum.engines.ids import PersonWords
from soundsum.engines.person_sums import PersonRanks, PersonSums
from soundsum.kernels.persons import MOST_CODES, BoundedPart, IntegerCodes, PairSums, TextWords
from soundsum.methods.problem import Problem
from soundsum.privacy.units import Unit
from soundsum.releases.planning import plan
from soundsum.statistics import Claim, Count, Mean, Sum, Variance
from soundsum.tables.columns import as_keys, plain_keys
from soundsum.tables.records import Column, records

from .model import keep_in_order, lot, person_totals, ranked_cells, rows_of

INTEGERS = native.PersonIds.integers()

LIMITS = {
    "int8": (-128, 127),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
    "float64": (-1e300, 1e300),
}
IDS = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 2**63 - 1, -(2**63)])),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1) | st.sampled_from([0, 2**63, 2**64 - 1])),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "text": (pa.string(), st.text(max_size=9)),
    "large text": (pa.large_string(), st.sampled_from(["", "\0", "\0\0", "a", "a\0", "jane", "jan", "é"])),
    "bytes": (pa.binary(), st.binary(max_size=9)),
    "fixed bytes": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "float64": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, float("nan"), float("inf")])),
    "float32": (pa.float32(), st.floats(width=32) | st.sampled_from([0.0, -0.0])),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates(datetime.date(1970, 1, 1), datetime.date(1970, 1, 9))),
    "decimal": (pa.decimal128(30, 2), st.decimals(-(10**25), 10**25, places=2) | st.just(decimal.Decimal("0.00"))),
    "wide decimal": (pa.decimal256(60, 1), st.decimals(10**28, 10**50, places=1)),
    "interval": (pa.month_day_nano_interval(), st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1))),
    "null": (pa.null(), st.none()),
}


@st.composite
def ids_of(draw, name, most=40):
    kind, values = IDS[name]
    few = draw(st.lists(values, min_size=1, max_size=6))  # so that persons have several rows
    chosen = draw(st.lists(st.none() | st.sampled_from(few), max_size=most))
    return pa.array(chosen, kind)


@st.composite
def asked(draw):
    """A statistic of a type, planned for a unit of persons: its steps and parts."""
    kind = draw(st.sampled_from(list(LIMITS)))
    statistic = draw(st.sampled_from([Sum, Mean, Variance, Count]))
    low, high = LIMITS[kind]
    if statistic is Variance:
        low, high = max(low, -(2**31) + 1), min(high, 2**31 - 1)
    within = st.floats(low, high) if kind == "float64" else st.integers(low, high)
    ends = st.sampled_from([low, high, 0]) | within
    lower, upper = sorted([draw(ends), draw(ends)])
    groups = draw(st.sampled_from([None, 1, 2, 5]))
    max_rows = draw(st.integers(1, 4) | st.sampled_from([2**40, 2**70]))
    unit = Unit(groups, max_rows, draw(st.integers(1, 6)) if groups else 1)
    problem = Problem("uint8", 0, 1) if statistic is Count else Problem(kind, lower, upper)
    claim = Claim(statistic, plan(problem, unit=unit))
    return kind, claim.record_steps, claim.parts, unit, statistic is Count


@st.composite
def column_of(draw, kind, n):
    low, high = LIMITS[kind]
    values = st.floats() if kind == "float64" else st.integers(low, high) | st.sampled_from([low, high])
    array = np.array(draw(st.lists(values, min_size=n, max_size=n)), kind)
    if not draw(st.booleans()):
        return records(array)
    return records(pa.array(array, mask=np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)))


def by_kernel(ids, codes, column, steps, parts, missing, unit, cuts):
    words = PersonWords(plain_keys(ids).type)
    sums = PersonSums(steps, parts, missing, unit, words)
    for begin, end in zip([0, *cuts], [*cuts, len(ids)], strict=True):
        some = slice(begin, end)
        own = None if column is None else records(pa_slice(column, some))
        part = words.find(plain_keys(ids[some]))
        sums.add(own, end - begin, None if codes is None else codes[some], part)
    return sums.totals()


def pa_slice(column, rows):
    return Column(column.values[rows], column.type, column.validity, column.first_bit + rows.start)


@pytest.mark.parametrize("name", IDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_kernel_is_the_model(name, data):
    kind, steps, parts, unit, counts = data.draw(asked())
    ids = data.draw(ids_of(name))
    n = len(ids)
    column = None if counts else data.draw(column_of(kind, n))
    codes = None
    if unit.groups is not None:
        codes = np.array(data.draw(st.lists(st.integers(0, unit.groups), min_size=n, max_size=n)), np.int32)
    missing = data.draw(st.sampled_from(["zero", "drop"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), max_size=4)))
    found = by_kernel(ids, codes, column, steps, parts, missing, unit, cuts)
    assert found == person_totals(rows_of(ids.to_pylist(), codes, column), steps, parts, missing, unit)


GROUPS = 7
PARTS = [BoundedPart((1, 2, 3), -(2**70), 2**64), BoundedPart((0, 1, 0), -(2**32), 2**31)]


@cache
def many_pairs():
    """Three batches with more pairs than any table begins with, how many pairs they have, and their totals."""
    rng = np.random.default_rng(1)
    people, n = 30_000, 100_000
    batches, plain = [], {}
    ids = rng.integers(0, 2**64, people, dtype=np.uint64)
    for _ in range(3):
        persons, codes = rng.choice(ids, n), rng.integers(0, GROUPS + 2, n).astype(np.int32)
        q, counts = rng.integers(-(2**31), 2**31, n), rng.random(n) < 0.9
        batches.append((persons, counts, codes, q))
        for person, code, x, there in zip(persons.tolist(), codes.tolist(), q.tolist(), counts.tolist(), strict=True):
            if there and code < GROUPS:
                rows, first, second = plain.setdefault(person, {}).get(code, (0, 0, 0))
                plain[person][code] = rows + 1, first + x, second + x * x
    wanted = [[0] * GROUPS for _ in PARTS]
    for person, mine in plain.items():
        for code in sorted(mine, key=lambda code: (-mine[code][0], lot(person, code)))[:3]:
            for part, total in zip(PARTS, wanted, strict=True):
                own = sum(w * s for w, s in zip(part.weights, mine[code], strict=True))
                own = own * 2 // mine[code][0] if mine[code][0] > 2 else own
                total[code] += min(max(own, part.least), part.most)
    return batches, sum(map(len, plain.values())), wanted


@pytest.mark.parametrize("threads", [1, 2, 3, 16, 40])
def test_threads_and_growth_change_nothing(threads):
    """Each batch is added, and the totals are made, by as many threads."""
    batches, pairs, wanted = many_pairs()
    sums = PairSums(GROUPS, 2)
    for batch in batches:
        sums.add(*batch, threads=threads)
    assert sums.pairs == pairs
    assert sums.totals(PARTS, 2, 3, in_proportion=True, ids=native.PersonIds.naturals(), threads=threads) == wanted


def test_threads_add_to_the_same_sums_where_there_are_very_many_groups():
    """Of more than 2^18 groups no thread has sums of its own. These have more than 64 bits, of either sign."""
    groups, n, rng = 2**18 + 5, 30_000, np.random.default_rng(2)
    persons = rng.permutation(n).astype(np.uint64)
    codes = rng.choice([0, 1, 2**17, groups - 1], n).astype(np.int32)
    q = rng.integers(-(2**62), 2**62, n) + np.where(codes % 2, 2**61, -(2**61))
    parts = [BoundedPart((0, 1, 0), -(2**70), 2**70), BoundedPart((5, -3, 0), -(2**60), 2**66)]
    wanted = [[0] * groups for _ in parts]
    for code, x in zip(codes.tolist(), q.tolist(), strict=True):
        for own, part in zip(wanted, parts, strict=True):
            own[code] += min(max(part.weights[0] + part.weights[1] * x, part.least), part.most)
    assert min(wanted[0]) < -(2**64)
    assert max(wanted[0]) > 2**64
    sums = PairSums(groups, 1)
    sums.add(persons, np.ones(n, bool), codes, q, threads=2)
    assert sums.totals(parts, 1, groups, in_proportion=False, ids=INTEGERS, threads=2) == wanted


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("powers", [0, 1, 2])
def test_groups_that_stay_have_the_sums_of_the_same_groups_listed(powers, threads):
    """Whether the pairs were put in order for a count before, and whatever rows come afterwards."""
    rng = np.random.default_rng(powers)
    keys, people, n = 300, 2000, 20_000
    numbers = np.full(keys, -1, np.int32)
    kept = rng.permutation(keys)[:40]
    numbers[kept] = np.arange(len(kept))
    parts = [BoundedPart((1, 0, 0), 0, 3), BoundedPart((2, int(powers > 0), int(powers > 1)), -(2**40), 2**50)]
    codes_of_keys = IntegerCodes()
    all_keys = codes_of_keys.find_codes(np.arange(keys), np.ones(keys, bool))  # in an order of their own
    names = native.KeyNames([(codes_of_keys.as_names(), "i")], None)
    new_numbers = np.full(codes_of_keys.codes, -1, np.int32)
    new_numbers[all_keys] = numbers
    for is_counted in (False, True):
        found, listed = PairSums(MOST_CODES, powers), PairSums(len(kept), powers)
        for renumbered in (False, False, True):
            persons, own = rng.integers(0, people, n).astype(np.uint64), rng.integers(0, keys, n)
            q = None if powers == 0 else rng.integers(-(2**31), 2**31, n)
            counts = rng.random(n) < 0.9
            if renumbered:
                if is_counted:
                    found.count(2, INTEGERS, names, codes_of_keys.codes, threads)
                found.renumber(new_numbers, len(kept), threads)
            found.add(persons, counts, numbers[own] if renumbered else all_keys[own], q, threads=threads)
            listed.add(persons, counts, numbers[own], q, threads=threads)
        for max_groups in (1, 2, 40):
            asked = {"max_rows": 2, "max_groups": max_groups, "in_proportion": True, "ids": INTEGERS}
            assert found.totals(parts, threads=threads, **asked) == listed.totals(parts, threads=threads, **asked)
        assert found.pairs == listed.pairs


def test_one_group_that_stays_is_still_a_group():
    sums = PairSums(5, 0)
    ids, one = np.arange(3, dtype=np.uint64), np.ones(3, bool)
    sums.add(ids, one, np.array([0, 1, 4], np.int32), None)
    with pytest.raises(ValueError, match="a number of its own"):
        sums.renumber(np.array([0, 0, -1], np.int32), 1)
    sums.renumber(np.array([-1, -1, -1, -1, 0], np.int32), 1)
    with pytest.raises(ValueError, match="a code per row"):
        sums.add(ids, one, None, None)
    sums.add(ids, one, np.array([0, 1, 4], np.int32), None)
    count = BoundedPart((1, 0, 0), 0, 1)
    assert sums.totals([count], 1, 1, in_proportion=False, ids=INTEGERS) == [[2]]


def test_the_limits_of_64_bits_are_added_exactly():
    largest, least, rows = 2**64 - 1, -(2**63), 100_000
    everybody = np.ones(rows, bool)
    above, below = PairSums(1, 1), PairSums(1, 1)
    above.add(np.zeros(rows, np.uint64), everybody, None, np.full(rows, largest, np.uint64))
    below.add(np.full(rows, largest, np.uint64), everybody, None, np.full(rows, least, np.int64))
    part = [BoundedPart((0, 1, 0), -(2**200), 2**200)]
    assert above.totals(part, 1, 1, in_proportion=False, ids=INTEGERS) == [[largest * rows]]
    assert below.totals(part, 1, 1, in_proportion=False, ids=INTEGERS) == [[least * rows]]


def test_memory_is_what_is_said():
    people = 200_000
    sums, by_group, texts = PairSums(1, 1), PairSums(2, 1), TextWords()
    persons, there = np.arange(people, dtype=np.uint64), np.ones(people, bool)
    sums.add(persons, there, None, persons.astype(np.int64))
    by_group.add(persons, there, (persons % 2).astype(np.int32), persons.astype(np.int64))
    texts.find(
        np.arange(people + 1) * 10, np.frombuffer(b"".join(b"%010d" % i for i in range(people)), np.uint8), there
    )
    taken = [sums.bytes, by_group.bytes, texts.bytes]
    assert (sums.pairs, by_group.pairs) == (people, people)
    for found, (low, high) in zip(
        [*taken, sums.bytes, by_group.bytes],
        [(25, 60), (25, 75), (26 + 18, 52 + 28), (25, 60), (25, 75)],
        strict=True,
    ):
        assert low <= found / people <= high


def test_seeds_come_from_the_operating_system(monkeypatch):
    drawn = []
    monkeypatch.setattr("soundsum.kernels.persons.random_bytes", lambda n: drawn.append(n) or bytes(n))
    PairSums(1, 1), TextWords()
    assert drawn == [native.SEED_SIZE] * 2


def test_ids_that_meet_are_still_told_apart(monkeypatch):
    """With a seed of zeros every id has the same hash, so only the comparison is left."""
    monkeypatch.setattr("soundsum.kernels.persons.random_bytes", bytes)
    words = PersonWords(pa.string())
    texts = pa.array([f"person {i % 50}" for i in range(500)])
    found = words.find(texts).words
    assert len(set(found.tolist())) == 50
    sums = PairSums(3, 1)
    sums.add(found, np.ones(500, bool), (np.arange(500) % 3).astype(np.int32), np.ones(500, np.int64))
    assert sums.pairs == 150
    assert sums.totals([BoundedPart((0, 1, 0), 0, 2)], 2, 3, in_proportion=False, ids=INTEGERS) == [[100, 100, 100]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_zeros_are_one_person_and_nans_nobody(dtype):
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64).view(np.float64)
    with np.errstate(invalid="ignore"):
        ids = np.concatenate([np.array([0.0, -0.0] * 10), nans]).astype(dtype)
    for given_ids in (ids, pa.array(ids), ids.astype(object).tolist()):
        found = ss.count(np.ones(23), 10**9, privacy_unit=given_ids, max_rows=10)
        assert found.value == 10


def test_dictionaries_that_differ_by_chunk():
    """More keys in all than an index of 8 bits has places, nulls among the indices and in a dictionary."""
    chunks = []
    for start in (0, 60, 120):
        listed = pa.array([None, *(f"p{i}" for i in range(start, start + 120))])
        indices = pa.array([*range(121), None], pa.int8())
        chunks.append(pa.DictionaryArray.from_arrays(indices, listed))
    column = pa.chunked_array(chunks)
    assert column.type.index_type == pa.int8()
    keys = as_keys(column)
    assert keys.to_pylist() == [key for chunk in chunks for key in chunk.to_pylist()]
    table = pa.table({"id": column, "x": np.ones(len(column))})
    for data in (table, {"id": column, "x": np.ones(len(column))}):
        assert ss.count(data, 10**9, privacy_unit="id").value == 240
        assert ss.count(data, 10**9, privacy_unit="id", max_rows=2).value == 360


def test_no_rows_and_no_ids():
    for ids in (pa.array([], pa.string()), pa.array([], pa.int64()), pa.nulls(5, pa.string()), pa.nulls(5)):
        assert ss.sum(pa.array(np.ones(len(ids))), 0, 1, 10**9, privacy_unit=ids).value == pytest.approx(0, abs=1e-6)


def test_slices_begin_where_they_should():
    ids = pa.array(["x", None, "a", "b", "a", None, "c"])[2:]
    assert ss.count(pa.array(np.ones(7))[2:], 10**9, privacy_unit=ids).value == 3
    numbers = pa.array([9, None, 1, 2, 1, None, 3])[2:]
    assert ss.count(pa.array(np.ones(7))[2:], 10**9, privacy_unit=numbers).value == 3


SECOND = datetime.timedelta(seconds=1)

TYPED = {
    "int64": pa.int64(),
    "float64": pa.float64(),
    "text": pa.string(),
    "decimal": pa.decimal128(22, 2),
    "date": pa.date32(),
    "objects": None,
}


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("max_groups", [1, 3])
def test_every_group_has_the_same_chance_where_a_person_has_equally_many_rows(name, max_groups):
    """Everybody has one row in each group, and counts in some. Within five standard deviations of a fair draw."""
    people, groups = 6000, 5
    numbers = np.repeat(np.arange(1000, 1000 + people), groups)
    stored = pa.array(numbers, pa.int32() if name == "date" else pa.int64())
    ids = numbers.tolist() if name == "objects" else stored.cast(TYPED[name])
    table = {"id": ids, "group": np.tile(np.arange(groups), people)}
    found = ss.count(table, 10**9, by="group", groups=list(range(groups)), privacy_unit="id", max_groups=max_groups)
    counts = [r.value for r in found.values()]
    assert sum(counts) == people * max_groups
    share = max_groups / groups
    deviation = (people * share * (1 - share)) ** 0.5
    assert all(abs(count - people * share) < 5 * deviation for count in counts)


@pytest.mark.parametrize("two", [(0, 1), (1, 2), (0, 4)])
def test_two_groups_have_the_same_chance_whichever_others_there_are(two):
    people = 4000
    table = {"id": np.repeat(np.arange(people), 2), "group": np.tile(two, people)}
    found = ss.count(table, 10**9, by="group", groups=list(range(5)), privacy_unit="id")
    assert abs(found[two[0]].value - people / 2) < 5 * people**0.5 / 2


def test_lots_are_the_start_of_sha256_of_the_id_and_the_group():
    """Ids of every length around a block of 64 bytes."""
    for size in [*range(1, 75), 119, 120, 127, 128, 1000]:
        name = "x" * size
        table = {"id": pa.array([name] * 4), "group": pa.array([0, 1, 2, 3])}
        found = ss.count(table, 10**9, by="group", groups=[0, 1, 2, 3], privacy_unit="id")
        assert max(found, key=lambda group: found[group].value) == min(range(4), key=lambda group: lot(name, group))


def test_ids_without_a_type_draw_the_lots_of_those_with_one():
    groups, rows = [0, 1, 2, 3], 50
    first = datetime.datetime(1969, 12, 31, 12)
    asked = {"by": "group", "groups": groups, "privacy_unit": "id"}
    for kind, ids in (
        (pa.int64(), range(-20, rows - 20)),
        (pa.float64(), [i / 2 - 9 for i in range(rows)]),
        (pa.string(), [f"ä{i}" for i in range(rows)]),
        (pa.binary(), [b"%d" % i for i in range(rows)]),
        (pa.uint64(), range(2**64 - rows, 2**64)),
        (pa.date32(), [first.date() + datetime.timedelta(i) for i in range(rows)]),
        (pa.timestamp("us"), [first + i * SECOND for i in range(rows)]),
        (pa.timestamp("ms", "UTC"), [first.replace(tzinfo=datetime.UTC) + i * SECOND for i in range(rows)]),
        (pa.timestamp("s"), [first + i * SECOND for i in range(rows)]),
    ):
        each = [person for person in ids for _ in groups]
        values = [
            [r.value for r in ss.count({"id": given_ids, "group": groups * rows}, 10**9, **asked).values()]
            for given_ids in (pa.array(each, kind), each)
        ]
        assert values[0] == values[1]


@pytest.mark.parametrize(
    "name", [lambda i: uuid.UUID(int=i), lambda i: (i, "a"), lambda i: datetime.date.fromordinal(i + 1), np.datetime64]
)
def test_ids_of_pythons_own_classes_do_not_all_prefer_one_group(name):
    people, groups = 400, 4
    unit = ("D",) if name is np.datetime64 else ()
    ids = [name(i, *unit) for i in range(people) for _ in range(groups)]
    table = {"id": ids, "group": list(range(groups)) * people}
    found = ss.count(table, 10**9, by="group", groups=list(range(groups)), privacy_unit="id")
    assert all(60 < r.value < 140 for r in found.values())


def test_ids_in_uuids_draw_the_lots_of_their_texts():
    ids = [uuid.UUID(int=i << 90) for i in range(50) for _ in range(4)]
    asked = {"by": "group", "groups": [0, 1, 2, 3], "privacy_unit": "id"}
    values = [
        [r.value for r in ss.count({"id": given_ids, "group": [0, 1, 2, 3] * 50}, 10**9, **asked).values()]
        for given_ids in (ids, [str(person) for person in ids])
    ]
    assert values[0] == values[1]


def test_decimals_of_whole_hundreds_are_ids():
    ids = pa.array([decimal.Decimal(100 * i) for i in range(100) for _ in range(2)], pa.decimal128(7, -2))
    table = {"id": ids, "group": [0, 1] * 100}
    found = ss.count(table, 10**9, by="group", groups=[0, 1], privacy_unit="id")
    assert sum(r.value for r in found.values()) == 100
    assert all(25 < r.value < 75 for r in found.values())


def test_words_that_no_list_gave_are_spelled_as_nothing():
    """Also the largest, one before the first."""
    listed = native.PersonIds.listed([b"a", b"bc"])
    for word in (2, 2**63, 2**64 - 2, 2**64 - 1):
        sums = PairSums(4, 0)
        sums.add(np.full(4, word, np.uint64), np.ones(4, bool), np.arange(4, dtype=np.int32), None)
        (kept,) = sums.totals([BoundedPart((1, 0, 0), 0, 9)], 1, 1, in_proportion=False, ids=listed)
        assert kept.index(1) == min(range(4), key=lambda group: lot("", group))


def test_ids_of_any_size_count_once():
    for person in (1 + 2j, (1, "a"), 10**4000, 10**-300, float("inf"), decimal.Decimal("Infinity")):
        table = {"id": [person] * 3, "group": [0, 1, 2]}
        found = ss.count(table, 10**9, by="group", groups=[0, 1, 2], privacy_unit="id")
        assert sum(r.value for r in found.values()) == 1


def test_dates_of_numpy_that_arrow_has_no_room_for_are_nobody():
    """Cut to 32 bits, the first two would be one person, and one of them move what the other counts for."""
    ids = np.array([10**10, 10**10 - 2**32, 2**31, 2**31 - 1, 5, "NaT"], "M8[D]")
    found = PersonWords(as_keys(ids[:0]).type).find(as_keys(ids))
    assert found.known.tolist() == [False, False, False, True, True, False]
    assert len(set(found.words[found.known])) == 2
    held = as_keys(np.ma.array(ids, mask=[0, 0, 0, 0, 1, 0]))
    assert held.is_valid().to_pylist() == [False, False, False, True, False, False]


@pytest.mark.parametrize("name", IDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_rows_ranked_are_those_of_the_model(name, data):
    """Whatever the batches and the order are."""
    ids, cells = data.draw(ids_of(name)), data.draw(st.integers(1, 5))
    groups = data.draw(st.sampled_from([None, 1, 2, 5]))
    unit = Unit(groups, data.draw(st.integers(1, 4) | st.just(2**70)), data.draw(st.integers(1, 6)) if groups else 1)
    n, last = len(ids), (groups or 1) * cells
    codes = np.array(data.draw(st.lists(st.integers(0, last), min_size=n, max_size=n)), np.int32)
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    expected = ranked_cells(
        [(x, code // cells, code % cells) for x, code in zip(ids.to_pylist(), codes.tolist(), strict=True)], unit, cells
    )
    for rows in (np.arange(n), order):
        words = PersonWords(plain_keys(ids).type)
        sums = PersonRanks(unit, cells, words)
        for some in np.array_split(rows, data.draw(st.integers(1, 4))):
            sums.add(None, len(some), codes[some], words.find(plain_keys(ids.take(pa.array(some)))))
        assert sums.totals() == [expected]


def test_every_row_of_a_person_is_as_likely_to_count():
    """Each with probability r / m, whatever its place in the order; at fixed distances the outer ones never would."""
    seen, persons, m, r = np.zeros(7), 20_000, 7, 3
    for person in range(persons):
        for cell in keep_in_order(range(m), r, lot(person, 1)):
            seen[cell] += 1
    assert np.all(np.abs(seen - persons * r / m) <= 6 * np.sqrt(persons * r / m * (1 - r / m)))


def test_adding_a_person_changes_nobody_elses_rows():
    unit, cells = Unit(3, 2, 2), 4
    rng = np.random.default_rng(5)
    ids, codes = rng.integers(0, 20, 300), rng.integers(0, 12, 300).astype(np.int32)

    def count(keep):
        words = PersonWords(pa.int64())
        sums = PersonRanks(unit, cells, words)
        sums.add(None, int(keep.sum()), codes[keep], words.find(pa.array(ids[keep])))
        return np.array(sums.totals()[0])

    everybody = count(np.ones(300, bool))
    for person in range(20):
        own = count(ids == person)
        assert (everybody - count(ids != person) == own).all()
        assert own.sum() <= unit.max_rows * unit.max_groups
