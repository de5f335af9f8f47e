"""Neighbours among persons, exhaustively: no cut into batches changes a sum, and nobody moves more than their share.

Tables of a few people who are in both groups equally often, so that lots decide everything, with ids of every type that
there is a reader for. Each is read in every way its rows can be cut into batches, empty ones among them.
"""

import datetime
import itertools
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import answers, search
from soundsum.tables.cells import LONGEST
from tests.sweeps import sweep

DAY, SECOND = datetime.date(1970, 1, 1), datetime.timedelta(seconds=1)
MOMENT = datetime.datetime(1969, 12, 31, 23, 59, 58)
IN_UTC = MOMENT.replace(tzinfo=datetime.UTC)
TEXTS = ["ann", "", "bob", "eve", "ü"]
INTERVALS = [pa.MonthDayNano([i, 0, -i]) for i in range(5)]

KINDS = {
    "null": (pa.null(), [None] * 5),
    "bool": (pa.bool_(), [False, None, True, True, True]),
    **{str(kind): (kind, [0, -1, 100, 7, 8]) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): (kind, [0, 1, 100, 7, 8]) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{str(kind): (kind, [0.0, 1.5, -2.0, 7.0, 8.0]) for kind in (pa.float16(), pa.float32(), pa.float64())},
    **{str(kind): (kind, TEXTS) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{
        str(kind): (kind, [text.encode() for text in TEXTS])
        for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    },
    "fixed bytes": (pa.binary(2), [b"ab", b"\0\0", b"c ", b"de", b"fg"]),
    "decimals": (pa.decimal128(9, 2), [Decimal(x) for x in ("0.00", "-1.50", "7.25", "8.00", "9.00")]),
    "wide decimals": (pa.decimal256(60, 1), [Decimal(x) for x in ("0.0", "-1.5", "1e40", "8.0", "9.0")]),
    **{str(kind): (kind, [DAY + i * datetime.timedelta(1) for i in range(5)]) for kind in (pa.date32(), pa.date64())},
    **{
        str(kind): (kind, [datetime.time(i, 1, 2) for i in range(5)])
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    },
    **{
        str(kind): (kind, [MOMENT + i * SECOND for i in range(5)])
        for kind in map(pa.timestamp, ["s", "ms", "us", "ns"])
    },
    "instants": (pa.timestamp("ms", "Asia/Tokyo"), [IN_UTC + i * SECOND for i in range(5)]),
    **{str(kind): (kind, [i * SECOND for i in range(5)]) for kind in map(pa.duration, ["s", "ms", "us", "ns"])},
    "intervals": (pa.month_day_nano_interval(), INTERVALS),
    "dictionaries of text": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "dictionaries of intervals": (pa.dictionary(pa.int8(), pa.month_day_nano_interval()), INTERVALS),
    "dictionaries of nothing": (pa.dictionary(pa.int8(), pa.null()), [None] * 5),
}
QUICK = [
    "null",
    "bool",
    "int64",
    "float",
    "string",
    "binary_view",
    "decimals",
    "date32[day]",
    "intervals",
    "dictionaries of text",
]  # one of each layout in memory
COMMON = [(0, 0, 1), (0, 1, 1), (2, 0, 1), (2, 1, 1)]  # person, group, value
NOBODY = [(None, 0, 1)]
MORE = {"nobody": [], "a person in one group": [(3, 0, 0)], "a person in both": [(4, 0, 1), (4, 1, 1)]}


def encode(ids, kind):
    """Ids as Arrow has them; a dictionary lists those that are there and no others, perhaps none."""
    if not pa.types.is_dictionary(kind):
        return pa.array(ids, kind)
    known = list(dict.fromkeys(person for person in ids if person is not None))
    places = pa.array([None if person is None else known.index(person) for person in ids], kind.index_type)
    return pa.DictionaryArray.from_arrays(places, pa.array(known, kind.value_type))


def batch_of(rows, kind, persons):
    ids = [None if person is None else persons[person] for person, *_ in rows]
    groups, values = ([row[i] for row in rows] for i in (1, 2))
    columns = {"id": encode(ids, kind), "group": pa.array(groups, pa.int8()), "x": pa.array(values, pa.int8())}
    return pa.record_batch(columns)


def every_cut(rows):
    """All lists of batches that these rows can be cut into; also with empty batches around each."""
    for cuts in itertools.product([False, True], repeat=len(rows) - 1):
        ends = [i + 1 for i, is_cut in enumerate(cuts) if is_cut]
        pieces = [rows[begin:end] for begin, end in zip([0, *ends], [*ends, len(rows)], strict=True)]
        yield pieces
        yield [[], *itertools.chain.from_iterable((piece, []) for piece in pieces)]


def sums_of(pieces, kind, persons):
    batches = [batch_of(rows, kind, persons) for rows in pieces]
    reader = pa.RecordBatchReader.from_batches(batch_of([], kind, persons).schema, batches)
    (((sums,),), _) = answers(reader, [ss.Sum("x", 0, 1)], by="group", groups=[0, 1], privacy_unit="id")
    return tuple(sums)


@pytest.mark.parametrize("name", sweep(list(KINDS), quick=QUICK))
def test_a_person_moves_no_more_than_their_share_however_rows_are_cut(name):
    found = {}
    for who, more in MORE.items():
        seen = {sums_of(pieces, *KINDS[name]) for pieces in every_cut([*more, *COMMON, *NOBODY])}
        assert len(seen) == 1
        found[who] = np.array(seen.pop())
    for sums in found.values():
        assert np.abs(sums - found["nobody"]).sum() <= 1


SOME = pa.record_batch({"id": [1, 2, 3], "x": [5, 6, 7], "flag": [True, False, True]})


@pytest.mark.parametrize("begin", range(4))
def test_a_batch_of_no_rows_may_begin_anywhere_in_its_columns(begin):
    """Arrow's stream hands over a slice of no rows without its buffers, but with its offset."""
    none, flags = SOME.slice(begin, 0), SOME.column("flag")
    table = pa.Table.from_batches([none, SOME])
    assert search(table, "flag", "id") == {True: 2, False: 1}
    for statistic, options, expected in [
        (ss.Sum("flag", 0, 1), {}, [[2]]),
        (ss.Sum("x", 0, 9), {"privacy_unit": "id"}, [[18]]),
        (ss.Sum("x", 0, 9), {"by": "id", "groups": [3, 1]}, [[7, 5]]),
    ]:
        reader = pa.RecordBatchReader.from_batches(SOME.schema, [none, SOME, none])
        assert answers(reader, [statistic], **options) == ([expected], None)
    assert answers(flags.slice(begin, 0), [ss.Sum(None, 0, 1)]) == ([[[0]]], None)


UNALIGNED = {
    "i": pa.array([-1, 2, 2, 7]),
    "u": pa.array([1, 2, 2, 2**64 - 1], pa.uint64()),
    "at": pa.array([MOMENT] * 2 + [None, MOMENT + SECOND], pa.timestamp("us")),
    "day": pa.array([DAY, DAY, None, DAY + datetime.timedelta(1)], pa.date64()),
    "word": pa.array(["", "ann", "ann", None], pa.large_string()),
    "bytes": pa.array([b"", b"ann", b"ann", None], pa.large_binary()),
}


def shifted(array):
    """The same array, whose buffers begin at an odd address, as those that came over a network may."""
    moved = [None if own is None else pa.py_buffer(b"\0" * 17 + own.to_pybytes()).slice(17) for own in array.buffers()]
    return pa.Array.from_buffers(array.type, len(array), moved)


@pytest.mark.parametrize("person", UNALIGNED)
def test_columns_may_lie_at_any_address(person):
    table = pa.table(UNALIGNED)
    moved = pa.table({name: shifted(own) for name, own in UNALIGNED.items()})
    for by in ("i", "u", "day", "word", ["word", "i"]):
        assert search(moved, by, person, 2) == search(table, by, person, 2)
    asked = [ss.Sum("i", -9, 9), ss.Mean("u", 0, 9)], {"privacy_unit": person, "max_rows": 2}
    assert answers(moved, asked[0], **asked[1]) == answers(table, asked[0], **asked[1])


SAME = [  # of each list, all are one person
    [0, -0.0, False, Decimal("-0"), Decimal("0E+1000000"), Fraction(0), np.float32(-0.0), 0j, np.bool_(False)],
    [
        1,
        1.0,
        True,
        Decimal(1),
        Decimal("1.000"),
        Fraction(1),
        np.int64(1),
        np.float16(1),
        np.uint8(1),
        1 + 0j,
        np.True_,
    ],
    [-1, Decimal(-1), np.int8(-1), -1.0, np.longdouble(-1), np.complex64(-1)],
    [-2, Decimal(-2), np.int64(-2)],  # Python gives -1 and -2 one hash
    [2**61 - 2, Decimal(2**61 - 2)],  # which is that of 2^61 - 1 less than itself
    [2**53 + 1, Decimal(2**53 + 1), np.int64(2**53 + 1)],
    [2**53, 2.0**53, np.float64(2**53)],
    [0.1, Fraction(*(0.1).as_integer_ratio()), Decimal.from_float(0.1), np.float64(0.1)],
    [Decimal("0.1"), Fraction(1, 10)],
    [np.float32(0.1)],
    [10**300, Decimal("1E+300"), Fraction(10**300)],
    [1e300, int(1e300)],
    [float("inf"), Decimal("Infinity"), np.float32("inf"), complex("inf")],
    [-float("inf"), Decimal("-Infinity")],
    [1 + 2j, np.complex128(1 + 2j), np.clongdouble(1 + 2j)],
    ["1", np.str_("1")],
    [b"1", np.bytes_(b"1")],
    ["\ud800"],
    ["\ud83d\ude00"],
    ["\U0001f600"],
    [uuid.UUID(int=1)],
    [str(uuid.UUID(int=1))],
    [datetime.date(2020, 1, 1), np.datetime64("2020-01-01"), np.datetime64("2020"), np.datetime64("2020-01")],
    [datetime.datetime(2020, 1, 1), pandas.Timestamp("2020-01-01"), np.datetime64("2020-01-01T00", "ns")],
    [pandas.Timestamp("2020-01-01 00:00:00.000000001"), np.datetime64("2020-01-01T00:00:00.000000001")],
    [
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, 9, tzinfo=datetime.timezone(datetime.timedelta(hours=9))),
        pandas.Timestamp("2019-12-31 19:00", tz="America/New_York"),
    ],
    [datetime.time(0, 0, 1)],
    [datetime.timedelta(seconds=1), np.timedelta64(1, "s"), np.timedelta64(10**9, "ns"), pandas.Timedelta(seconds=1)],
    [(1, "a"), (1.0, "a"), (Decimal(1), np.str_("a"))],
    [("1", "a")],
    [(1, ("a",)), (True, ("a",))],
    [((1, "a"),)],
    [()],
    [pa.scalar(77), 77],
]
NOT_IDS = [
    *(None, float("nan"), np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), complex(0, float("nan")), np.ma.masked),
    *(pandas.NA, pandas.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), pa.scalar(None), pa.scalar(None, pa.int8())),
    *(object(), frozenset([1]), [1], {}, {1}, bytearray(b"a"), range(3), np.arange(2), int, len, ...),
    *((1, None), (float("nan"),), (1, [2]), np.timedelta64(1), np.timedelta64(1, "M")),
]
TOO_LONG = [
    *("x" * (LONGEST + 1), "ä" * (LONGEST // 2) + "x", b"x" * (LONGEST + 1), 10**LONGEST, -(10**LONGEST)),
    *(Decimal("1E+1000000"), Decimal("-1E-1000000"), Decimal("1E+999999999999999999"), Decimal(f"1E{LONGEST}")),
    *(Fraction(1, 10**LONGEST), ("x" * LONGEST,), (0,) * 10**6, Decimal("1" * (LONGEST + 1))),
]
LONG = ["x" * LONGEST, "ä" * (LONGEST // 2), b"x" * LONGEST, 10**LONGEST - 1, Decimal(f"1E{LONGEST - 1}"), 10**4000]


def people(*ids):
    (((count,),),), _ = answers({"id": list(ids), "x": [1] * len(ids)}, [ss.Count()], privacy_unit="id")
    return count


def test_equal_ids_are_one_person_and_others_are_not():
    for one, other in itertools.product(range(len(SAME)), repeat=2):
        for a, b in itertools.product(SAME[one], SAME[other]):
            assert people(a, b) == (1 if one == other else 2), (a, b)
    for own in SAME:
        assert people(*own) == 1


def test_pythons_own_numbers_are_equal_as_python_says():
    own = [x for same in SAME for x in same if type(x) in (int, float, bool, complex, Decimal, Fraction)]
    for a, b in itertools.product(own, repeat=2):
        assert people(a, b) == (1 if a == b else 2), (a, b)


@pytest.mark.parametrize("x", NOT_IDS + TOO_LONG, ids=lambda x: type(x).__name__)
def test_what_is_no_id_is_nobody_whoever_is_beside_it(x):
    assert people(x) == 0
    assert people(1, x, "a", x) == people("a", x, x, 1) == 2


@pytest.mark.parametrize("x", LONG, ids=lambda x: type(x).__name__)
def test_ids_up_to_the_longest_count(x):
    assert people(x, 1, x) == 2


def test_all_objects_together_are_as_many_people_in_any_order():
    everything = [x for same in SAME for x in same] + NOT_IDS + TOO_LONG + LONG
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(everything))
        assert people(*(everything[i] for i in order)) == len(SAME) + len(LONG)


class Text(str):
    """Whose own code says that all are equal."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1

    def encode(self, *_):
        raise RuntimeError

    def __str__(self):
        raise RuntimeError


class Whole(int):
    """Which cannot be hashed, or compared with anything."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError

    __ne__ = __abs__ = __index__ = __int__ = __floordiv__ = __lt__ = __eq__


class Pair(tuple):
    __slots__ = ()

    def __eq__(self, other):
        return False

    def __hash__(self):
        raise RuntimeError

    def __len__(self):
        raise RuntimeError

    __iter__ = __getitem__ = __len__


class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        raise RuntimeError


class Pretender:
    """Says that it is text."""

    @property
    def __class__(self):
        return str

    def __eq__(self, other):
        raise RuntimeError

    def __hash__(self):
        raise RuntimeError


class Moment(datetime.datetime):
    def __sub__(self, other):
        raise RuntimeError

    utcoffset = replace = toordinal = __hash__ = __sub__


def test_code_of_other_classes_decides_nothing():
    assert people(Text("a"), Text("b"), Text("a"), "b") == 2
    assert people(Whole(1), Whole(2), 1, 2.0, Whole(10**LONGEST)) == 2
    assert people(Pair((1, 2)), Pair((1, 2)), (1, 2)) == 1
    assert people(Moment(2020, 1, 1), datetime.datetime(2020, 1, 1), Moment(2021, 1, 1)) == 2
    assert people(Pretender(), 1, datetime.datetime(2020, 1, 1, tzinfo=Zone()), object.__new__(Fraction)) == 1


def test_lots_of_equal_ids_do_not_depend_on_how_they_were_given_or_on_others():
    """Everybody has a row in each of six groups, and every group's id is given in another way."""
    groups = list(range(6))
    for own in SAME:
        chosen = set()
        for before in ([], ["x"], [1, "1", 1.5, None], [np.int64(-2), Decimal(-1), -1]):
            for start in range(len(own)):
                ids = [own[(start + group) % len(own)] for group in groups]
                others = [person for person in before if people(person, own[0]) == 2]
                table = {"id": [*others, *ids], "group": [*(9 for _ in others), *groups]}
                asked = {"by": "group", "groups": groups, "privacy_unit": "id"}
                (((counts,),), _) = answers(table, [ss.Count()], **asked)
                assert sum(counts) == 1
                chosen.add(counts.index(1))
        assert len(chosen) == 1, own


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_that_is_too_long_is_no_id_in_arrow_either(kind):
    ids = ["x" * LONGEST, "x" * (LONGEST + 1), "ä" * (LONGEST // 2), "ä" * (LONGEST // 2) + "x", "y"]
    table = pa.table({"id": encode(ids, kind), "x": [1] * 5})
    (((count,),),), _ = answers(table, [ss.Count()], privacy_unit="id")
    assert count == 3
