"""A filter is a group: what it leaves out, what one record moves through it, and what it refuses to compare."""

import datetime
import itertools
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.requests.parse_conditions import read_condition
from soundsum.tables.filters import COMPARE, Filter
from soundsum.tables.relations import Relation
from tests.refusing import refused

DAY, MOMENT = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12)
COLUMNS = {
    "int8": (pa.array([1, None, 3, -4], pa.int8()), 1),
    "uint64": (pa.array([1, None, 2**64 - 1, 0], pa.uint64()), 2**64 - 1),
    "int64": (pa.array([2**53 + 1, None, 2**53, -1]), 2**53),
    "float64": (pa.array([0.1, None, float("nan"), -0.0]), 0),
    "float32": (pa.array([0.1, None, 0.5, float("inf")], pa.float32()), 0.1),
    "float16": (pa.array(np.array([0.1, 0.5, np.nan, 2], np.float16)), 0.5),
    "decimal": (pa.array([Decimal("1.50"), None, Decimal("-2.00"), Decimal("0.10")]), Decimal("1.5")),
    "bool": (pa.array([True, None, False, True]), True),
    "text": (pa.array(["b", None, "", "é"]), "b"),
    "large text": (pa.array(["b", None, "B", "bb"], pa.large_string()), "b"),
    "dictionary": (pa.array(["b", None, "a", "c"]).dictionary_encode(), "b"),
    "bytes": (pa.array([b"b", None, b"", b"\xff"]), b"b"),
    "date": (pa.array([DAY, None, DAY - datetime.timedelta(1), DAY + datetime.timedelta(1)]), DAY),
    "timestamp": (pa.array([MOMENT, None, MOMENT - datetime.timedelta(1), MOMENT], pa.timestamp("ns")), MOMENT),
}


def wanted(values, sign, value):
    """Python's own comparison; of floats, exactly."""
    return sum(x is not None and x == x and bool(COMPARE[sign](x, value)) for x in values)


@pytest.mark.parametrize("sign", COMPARE)
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_filter_compares_as_python_does(silent, kind, sign, tmp_path):
    column, value = COLUMNS[kind]
    expected = wanted(column.to_pylist(), sign, value)
    tables = [pa.table({"k": column}), {"k": column}, {"k": column.to_pylist()}]
    if kind != "float16":
        pa.parquet.write_table(tables[0], tmp_path / "t.parquet")
        tables.append(tmp_path / "t.parquet")
    for table in tables:
        assert ss.count(table, 1, where=[("k", sign, value)]).value == expected


@pytest.mark.parametrize("kind", COLUMNS)
def test_in_is_equal_to_one_of_the_values(silent, kind, tmp_path):
    column, value = COLUMNS[kind]
    others = [x for x in column.to_pylist() if x is not None and x == x and x != value]
    table = pa.table({"k": column})
    tables = [table, {"k": column}, {"k": column.to_pylist()}]
    if kind != "float16":
        pa.parquet.write_table(table, tmp_path / "t.parquet")
        tables.append(tmp_path / "t.parquet")
    for listed in ([value], [value, *others], others):
        expected = sum(x is not None and x == x and any(x == one for one in listed) for x in column.to_pylist())
        for data in tables:
            assert ss.count(data, 1, where=[("k", "in", listed)]).value == expected


ZONED = pa.array(
    [MOMENT, None, MOMENT - datetime.timedelta(1), MOMENT + datetime.timedelta(1)], pa.timestamp("us", "UTC")
)
TEXTS = {
    "day": ("date", "2024-02-29", DAY),
    "moment": ("timestamp", "2024-02-29T12:00", MOMENT),
    "a day of moments": ("timestamp", "2024-02-29", datetime.datetime(2024, 2, 29)),
    "seconds": ("timestamp", "2024-02-29 12:00:00.000001", MOMENT + datetime.timedelta(microseconds=1)),
    "a zone": ("zoned", "2024-02-29T13:00+01:00", MOMENT.replace(tzinfo=datetime.UTC)),
    "UTC": ("zoned", "2024-02-29T12:00:00Z", MOMENT.replace(tzinfo=datetime.UTC)),
}


@pytest.mark.parametrize("sign", [*COMPARE, "in"])
@pytest.mark.parametrize("kind, text, value", TEXTS.values(), ids=TEXTS)
def test_dates_and_times_are_given_as_text(silent, kind, text, value, sign):
    column = ZONED if kind == "zoned" else COLUMNS[kind][0]
    entries = [
        None if x is None else x.to_pydatetime() if hasattr(x, "to_pydatetime") else x for x in column.to_pylist()
    ]
    expected = wanted(entries, "==" if sign == "in" else sign, value)
    given = [text] if sign == "in" else text
    for table in (pa.table({"k": column}), {"k": entries}, pl.from_arrow(pa.table({"k": column}))):
        assert ss.count(table, 1, where=[("k", sign, given)]).value == expected


@pytest.mark.parametrize(
    "kind, text",
    [
        ("date", "2024-02-31"),
        ("date", "2024-02-29T12:00"),
        ("date", "29.2.2024"),
        ("timestamp", "2024-02-29T12:00Z"),
        ("zoned", "2024-02-29T12:00"),
        ("zoned", "2024-02-29"),
    ],
)
def test_a_text_that_is_no_value_of_the_column_is_refused_with_one_that_is(kind, text):
    column = ZONED if kind == "zoned" else COLUMNS[kind][0]
    with refused("where", Reason.MISMATCH, ValueError, given=repr(text)):
        ss.count(pa.table({"k": column}), 1, where=[("k", ">", text)])


@pytest.mark.parametrize(
    "listed, said",
    [
        ([], r"in takes a list of one or more values, not \[\]; give one such as \['a', 'b'\]"),
        ("a", "in takes a list of one or more values, not 'a'"),
        ([1, "a"], "the values of in must be of one kind"),
        ([1] * 1001, "in takes at most 1,000 values"),
        ([float("nan")], "cannot be compared with nan"),
        (["a"], "'a' is not a value of column 'k', which holds int8"),
    ],
)
def test_lists_that_in_does_not_take(listed, said):
    with pytest.raises(ValueError, match=said):
        ss.count(pa.table({"k": COLUMNS["int8"][0]}), 1, where=[("k", "in", listed)])


def test_in_is_said_in_the_ledger_and_on_the_command_line(silent, tmp_path):
    pa.csv.write_csv(pa.table({"k": ["a", "b, c", "d", None], "n": [1, 2, 3, 4]}), tmp_path / "t.csv")
    pa.parquet.write_table(pa.table({"n": [1, 2, 3], "day": [DAY] * 3}), tmp_path / "t.parquet")
    assert str(Filter.of([("k", "in", ("a", "b"))])) == "k in ['a', 'b']"
    for name, text, condition in [
        ("t.csv", "k in a, 'b, c'", ("k", "in", ["a", "b, c"])),
        ("t.csv", 'k in ("a", d)', ("k", "in", ["a", "d"])),
        ("t.csv", "n in [1, 2.0]", ("n", "in", [1.0, 2.0])),
        ("t.parquet", "n in 1,2", ("n", "in", [1, 2])),
        ("t.parquet", "day in 2024-02-29", ("day", "in", [DAY])),
    ]:
        read = read_condition(text, str(tmp_path / name))
        assert read == condition
        assert ss.count(tmp_path / name, 1, where=[read]).value == (3 if "day" in text else 2)
    with refused("where", Reason.MALFORMED, ValueError):
        read_condition("k in a,'b", str(tmp_path / "t.csv"))
    with refused("where", Reason.MALFORMED, ValueError):
        read_condition("k in ()", str(tmp_path / "t.csv"))


def test_every_kind_of_table(silent, tmp_path):
    frame = {"age": [10, 20, 30], "x": [1.0, 2.0, 4.0], "k": ["a", "b", "b"]}
    pa.csv.write_csv(pa.table(frame), tmp_path / "t.csv")
    duck = duckdb.connect().sql(
        "select * from (values (10, 1.0::double, 'a'), (20, 2.0, 'b'), (30, 4.0, 'b')) t(age, x, k)"
    )
    for table in (frame, pd.DataFrame(frame), pl.DataFrame(frame), pa.table(frame), duck, tmp_path / "t.csv"):
        where = [("age", ">=", 20), ("k", "==", "b")]
        assert ss.sum(table, 0, 3, 1, column="x", where=where).value == 5
        assert ss.mean(table, 0, 4, 1, column="x", where=where).value == 3
        assert ss.count(table, 1, where=("age", "<", 25), by="k", groups=["a", "b"])["b"].value == 1
        assert ss.histogram(table, [0, 2, 5], 1, column="x", where=("age", ">", 10))[(2, 5)].value == 2
        assert ss.count(table, 1, where=where, privacy_unit="k", max_rows=1).value == 1


VALUES, BOUNDS = (-2, 0, 1, 3), (-2, 3)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("low, high", [(-2, 3), (1, 3), (-2, -1)])
def test_what_one_record_moves(silent, relation, low, high):
    """Over every small table and neighbour: never more than claimed, and once as much."""
    rows = list(itertools.product((False, True), VALUES))
    commons = ([], [(True, 3), (False, 1)])

    def release(table):
        data = pa.table(
            {"passes": pa.array([p for p, _ in table], pa.bool_()), "x": pa.array([x for _, x in table], pa.int64())}
        )
        return ss.sum(data, low, high, 1, column="x", where=("passes", "==", True), relation=relation)

    moved = set()
    for common in commons:
        for row in rows:
            for other in rows if relation.sized else [None]:
                left, right = [*common, row], [*common, *([] if other is None else [other])]
                moved.add(abs(release(left).exact - release(right).exact))
    plan = release(rows).plan
    assert (
        max(moved)
        == plan.sensitivity
        == (max(abs(low), abs(high), high - low) if relation.sized else max(abs(low), abs(high)))
    )


def test_under_a_public_size_counts_and_means_are_noisy_all_the_same():
    table = {"age": [10, 20, 30], "x": [1.0, 2.0, 4.0]}
    n = ss.count(table, 1, relation="change_one", where=("age", ">", 15))
    assert n.plan.sensitivity == 1
    mean = ss.mean(table, 0, 4, 1, column="x", relation="change_one", where=("age", ">", 15))
    assert [part["what"] for part in mean.certificate["released"]] == ["sum of c", "count"]
    with refused("size", Reason.CONFLICT, ValueError):
        ss.sum(table, 0, 4, 1, column="x", relation="change_one", size=3, where=("age", ">", 15))


def test_ledger_and_check_know_the_filter(tmp_path):
    budget = ss.Budget(epsilon=2, path=tmp_path / "ledger.db")
    r = ss.sum({"x": [1.0], "k": ["a; b"]}, 0, 4, 1, column="x", where=("k", "==", "a; b"), budget=budget)
    (entry,) = budget.entries()
    assert ", where k == 'a; b', " in entry.what
    assert entry.query.where == ((("k", "==", "'a; b'"),),)
    from soundsum.budget.ledger import read
    from soundsum.releases.ledger_check import compare_with_ledger
    from soundsum.releases.release_check import compare_release

    assert compare_release(r.to_dict()) == []
    assert compare_with_ledger([r.to_dict()], read(tmp_path / "ledger.db")) == [[]]
    assert compare_release(r.to_dict() | {"where": None})


def test_a_row_meets_every_condition_of_one_list(silent):
    """Of all small lists of lists, against Python's own any and all."""
    rows = list(itertools.product((None, 0, 1, 2), (None, False, True)))
    table = pa.table({"x": pa.array([x for x, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.bool_())})
    conditions = [("x", "<", 1), ("x", "!=", 2), ("b", "==", True), ("x", "in", [0, 2])]

    def meets(row, condition):
        column, sign, value = condition
        x = row[column == "b"]
        return x is not None and (x in value if sign == "in" else COMPARE[sign](x, value))

    several = [list(one) for size in (1, 2) for one in itertools.combinations(conditions, size)]
    for where in itertools.chain(([one] for one in several), map(list, itertools.combinations(several, 2))):
        expected = sum(any(all(meets(row, one) for one in every) for every in where) for row in rows)
        assert ss.count(table, 1, where=where).value == expected
    assert ss.count(table, 1, where=[["x", "<", 1]]).value == ss.count(table, 1, where=("x", "<", 1)).value


@pytest.mark.parametrize(
    "where",
    [[[]], [[("x", "<", 1)], []], [("x", "<", 1), [("x", ">", 1)]], [[[("x", "<", 1)]]], [(("x", "<", 1),)]],
)
def test_what_is_no_list_of_conditions(where):
    budget = ss.Budget(epsilon=1)
    with refused("where", Reason.MALFORMED, ValueError):
        ss.count({"x": [1]}, 1, where=where, budget=budget)
    assert budget.entries() == []


def test_alternatives_count_together_and_each_has_values_of_its_columns_type():
    table = pa.table({"x": [1], "k": ["a"]})
    for where, reason in [
        ([[("x", "<", 1)]] * 1001, Reason.TOO_MANY),
        ([[("x", "<", 1)], [("x", "in", [1] * 1000)]], Reason.TOO_MANY),
        ([[("x", "<", 1)], [("k", "<", 1)]], Reason.MISMATCH),
    ]:
        with refused("where", reason):
            ss.count(table, 1, where=where)


class Odd:
    def __ge__(self, other):
        raise RuntimeError("secret")


def test_objects_of_any_kind_do_not_match_and_do_not_raise(silent):
    keys = [18, 17, "18", None, Odd(), float("nan"), [1], Decimal(20), np.float32(18), True, Fraction(19)]
    assert ss.count({"k": keys}, 1, where=("k", ">=", 18)).value == 4


@pytest.mark.parametrize(
    "where, message",
    [
        (("age", ">=", 15.5), "15.5 is not a value of column 'age', which holds int64"),
        (("age", "==", "10"), "'10' is not a value of column 'age'"),
        (("age", "==", True), "True is not a value of column 'age'"),
        (("age", "<", 2**63), "is not a value of column 'age'"),
        (("x", "<", 2**53 + 1), "9007199254740993 is not a value of column 'x', which holds float64"),
        (("k", "<", 5), "5 is not a value of column 'k', which holds text"),
        (("k", "<", "'; drop table t; --" + "\ud800"), "is not a value of column 'k'"),
        (("day", "<", datetime.datetime(2020, 1, 1)), "is not a value of column 'day'"),
        (("none", "<", 5), "column 'none' is not in the table"),
        (("age", "like", 5), "give conditions"),
        ([], "give conditions"),
        ("age > 5", "give conditions"),
        ([("age", ">")], "give conditions"),
        (("x", "==", float("nan")), "cannot be compared with nan"),
        (("x", "==", None), "cannot be compared with None"),
        (("x", "==", [1]), "cannot be compared with"),
        (("x", "==", Decimal("sNaN")), "cannot be compared with"),
        (("x", ["=="], 1), "give conditions"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_charged(where, message):
    table = pa.table({"age": [10], "x": [1.0], "k": ["a"], "day": [DAY]})
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ValueError, match=message):
        ss.count(table, 1, where=where, budget=budget)
    assert budget.entries() == []


def test_a_filter_on_the_very_column_in_csv(silent, tmp_path):
    (tmp_path / "t.csv").write_text("p\n1\n2\n3\n")
    assert ss.sum(tmp_path / "t.csv", 0, 10, 1, column="p", dtype="int64", where=("p", ">", 1)).value == 5


def test_words():
    assert str(Filter.of([("age", ">=", 18), ("k", "==", "it's")])) == 'age >= 18 and k == "it\'s"'
    assert str(ss.count({"x": [1]}, 1, where=("x", "==", 1)).plan.unit) == "one record"


def test_an_empty_cell_of_csv_is_missing_and_that_nothing_is_equal_to_it_is_said(tmp_path, silent):
    (tmp_path / "t.csv").write_text('x,note\n1,\n2,""\n3,"ok, thanks"\n4,"said ""hi"""\n')
    budget = ss.Budget(epsilon=9)
    with refused("where", Reason.UNSUPPORTED, ValueError):
        ss.count(tmp_path / "t.csv", 1, where=[("note", "==", "")], budget=budget)
    assert not budget.entries()
    assert ss.count(tmp_path / "t.csv", 1, where=[("note", "!=", "")]).value == 2
    assert ss.count(tmp_path / "t.csv", 1, where=[("note", "==", 'said "hi"')]).value == 1
    assert ss.count({"note": ["", "a", None]}, 1, where=[("note", "==", "")]).value == 1  # text that is empty


@pytest.mark.parametrize(
    "kind, value, example",
    [
        (pa.timestamp("us"), datetime.date(2024, 6, 1), "datetime.datetime(2024, 1, 31)"),
        (
            pa.timestamp("us", "UTC"),
            datetime.datetime(2024, 6, 1),
            "datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC)",
        ),
        (pa.date32(), datetime.datetime(2024, 6, 1), "datetime.date(2024, 1, 31)"),
        (pa.date32(), "1.6.2024", "datetime.date(2024, 1, 31)"),
    ],
)
def test_dates_and_times_that_are_confused_are_told_apart_with_an_example(kind, value, example):
    table = pa.table({"day": pa.array([None], kind)})
    with refused("where", Reason.MISMATCH, ValueError) as caught:
        ss.count(table, 1, where=[("day", ">=", value)])
    assert str(caught.value).endswith(f" or {example}")
    own = eval(example, {"datetime": datetime})
    assert ss.count(table, 1, where=[("day", ">=", own)]).plan  # and what it shows is taken
