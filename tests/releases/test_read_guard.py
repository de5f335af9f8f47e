"""Nothing between the first read and the release speaks of a record: readers that fail, and records that are odd."""

import json
import logging
import traceback
import warnings
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.tables.read_guard import OPERATOR, SENTENCE
from tests import processes
from tests.processes import COMMAND
from tests.refusing import refused

SECRET = "Jane Doe, HIV positive"
SCHEMA = pa.schema({"x": pa.float64(), "k": pa.string(), "id": pa.int64()})
BATCH = pa.record_batch({"x": [1.0, 2.0], "k": ["a", "b"], "id": [1, 2]}, schema=SCHEMA)

ERRORS = (ValueError, TypeError, KeyError, OSError, RuntimeError, MemoryError, ArithmeticError, AssertionError,
          UnicodeError, StopIteration, AttributeError, LookupError, pa.ArrowInvalid, NotImplementedError)  # fmt: skip

STATISTICS = {
    "sum": lambda data, **o: ss.sum(data, 0, 9, 1, column="x", **o),
    "mean": lambda data, **o: ss.mean(data, 0, 9, 1, column="x", **o),
    "variance": lambda data, **o: ss.variance(data, 0, 9, 1, column="x", **o),
    "count": lambda data, **o: ss.count(data, 1, column="x", missing="drop", **o),
    "histogram": lambda data, **o: ss.histogram(data, [0, 5, 9], 1, column="x", **o),
    "by group": lambda data, **o: ss.sum(data, 0, 9, 1, column="x", by="k", groups=["a"], **o),
    "by person": lambda data, **o: ss.sum(data, 0, 9, 1, column="x", privacy_unit="id", **o),
    "size": lambda data, **o: ss.private_max_size(data, 1, **o),
}


class Failing:
    """A table whose reader raises after so many batches, with a record in its words."""

    columns = SCHEMA.names

    def __init__(self, error, after):
        self.error, self.after = error, after

    def _batches(self):
        for _ in range(self.after):
            yield BATCH
        raise self.error(f"could not convert {SECRET!r}")

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.RecordBatchReader.from_batches(SCHEMA, self._batches()).__arrow_c_stream__(requested_schema)


def assert_silent(caught, budget=None):
    """The constant sentence, and nothing of the reader anywhere."""
    error = caught.value
    assert type(error) is ss.ReadFailed
    assert str(error) == SENTENCE
    assert error.__cause__ is None
    assert error.__context__ is None
    told = "".join(traceback.format_exception(error))
    assert SECRET not in told
    assert "_batches" not in told
    for frame in traceback.extract_tb(error.__traceback__):
        assert "pyarrow" not in frame.filename
        assert "/engines/" not in frame.filename
    if budget is not None:
        (entry,) = budget.entries()
        assert entry.state == "failed"
        assert SECRET not in entry.what
        assert budget.left.epsilon == 0


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_reader_that_fails(statistic, after, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for error in ERRORS:
            unit = {"privacy_unit": "id"} if statistic == "by person" else {}
            budget = ss.Budget(epsilon=1, **unit)
            with pytest.raises(ss.ReadFailed) as caught:
                STATISTICS[statistic](Failing(error, after), budget=budget)
            assert_silent(caught, budget)
    assert capfd.readouterr() == ("", "")


def test_a_failed_read_without_a_budget_claims_no_charge():
    with pytest.raises(ss.ReadFailed, match="and a charge to a budget stays until its owner refunds it"):
        STATISTICS["sum"](Failing(ValueError, 1))


def test_python_iterables_that_fail():
    def column():
        yield 1.0
        raise ValueError(SECRET)

    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(column(), 0, 1, 1, budget=budget)
    assert_silent(caught, budget)


def test_the_operator_sees_the_reason():
    seen = []
    handler = logging.Handler()
    handler.emit = seen.append
    OPERATOR.addHandler(handler)
    try:
        with pytest.raises(ss.ReadFailed):
            ss.count(Failing(ValueError, 0), 1)
    finally:
        OPERATOR.removeHandler(handler)
    (record,) = seen
    assert SECRET in str(record.exc_info[1])
    assert OPERATOR.propagate is False


def test_an_interrupt_keeps_its_charge():
    def interrupted():
        raise KeyboardInterrupt
        yield

    budget = ss.Budget(epsilon=1)
    with pytest.raises(KeyboardInterrupt):
        ss.sum(interrupted(), 0, 1, 1, budget=budget)
    (entry,) = budget.entries()
    assert (entry.state, budget.left.epsilon) == ("charged", 0)


def test_on_the_command_line(tmp_path):
    path, ledger = tmp_path / "t.parquet", tmp_path / "ledger.db"
    pyarrow.parquet.write_table(
        pa.table({"x": np.random.default_rng(1).random(200_000), "s": [SECRET] * 200_000}), path
    )
    whole = bytearray(path.read_bytes())
    whole[1000:200_000] = b"\xff" * 199_000
    path.write_bytes(whole)
    ss.Budget(epsilon=3, path=ledger)
    options = ("--column", "x", "--bounds", "0", "1", "--epsilon", "1", "--budget", ledger)
    done = processes.run([COMMAND, "sum", path, *options], text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {SENTENCE}")
    assert len(done.stderr.splitlines()) == 1
    shown = json.loads(processes.run([COMMAND, "budget", "show", ledger, "--json"]).stdout)
    assert [charge["state"] for charge in shown["charges"]] == ["failed"]
    again = processes.run([COMMAND, "sum", path, *options], text=True)
    assert "the budget is closed after 1 failed read" in again.stderr


def test_a_query_that_fails_in_duckdb():
    relation = duckdb.sql(f"SELECT cast(t AS INTEGER) AS x FROM (VALUES ('1'), ('{SECRET}')) AS v(t)")
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(relation, 0, 1, 1, column="x", budget=budget)
    assert_silent(caught, budget)
    spent = ss.Budget(epsilon=1)
    ss.count([1.0], 1, budget=spent)
    for table in (relation, duckdb.sql("SELECT 1 AS x"), Failing(ValueError, 0)):  # no oracle once all is spent
        with pytest.raises(ss.BudgetExceeded):
            ss.sum(table, 0, 1, 1, column="x", budget=spent)


class Unopened:
    """A stream that fails before its first batch, and even before its schema."""

    columns = ("x",)

    def __arrow_c_stream__(self, requested_schema=None):
        raise RuntimeError(SECRET)


def test_a_table_that_cannot_be_opened_is_charged_for():
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(Unopened(), 0, 1, 1, column="x", budget=budget)
    assert_silent(caught, budget)
    with pytest.raises(ss.BudgetExceeded):
        ss.sum(Unopened(), 0, 1, 1, column="x", budget=budget)


def test_where_the_size_is_public_and_a_method_needs_it(tmp_path):
    def column():
        yield 1.0
        raise RuntimeError(SECRET)

    for relation in ("change_one", "hamming"):
        budget = ss.Budget(epsilon=1, relation=relation)
        with pytest.raises(ss.ReadFailed) as caught:
            ss.sum(column(), 0, 1, 1, relation=relation, method="kahan", budget=budget)
        assert_silent(caught, budget)


def test_what_is_no_exception_and_warnings(capfd):
    class Panic(BaseException):
        """As Polars raises."""

    def panics():
        raise Panic(SECRET)
        yield

    def warns():
        warnings.warn(SECRET, stacklevel=1)
        yield 1.0

    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(panics(), 0, 1, 1, budget=budget)
    assert_silent(caught, budget)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ss.sum(warns(), 0, 1, 1)
    assert heard == []
    assert SECRET not in "".join(capfd.readouterr())


class TestOddKeys:
    """Each was an error with a record in its words, or on one of two neighbours only."""

    def test_pandas_categoricals_of_mixed_types(self, silent):
        mixed = pd.Series(pd.Categorical(["a", 1, None, SECRET, 2**70, "a"]))
        table = pd.DataFrame({"x": [1.0] * 6, "k": mixed, "id": mixed})
        made = ss.sum(table, 0, 9, 1, column="x", by="k", groups=["a", 2**70], privacy_unit="id", max_rows=9)
        assert {k: r.value for k, r in made.items()} == {"a": 2, 2**70: 1}
        assert ss.count(table, 1, column="k", missing="drop").value == 5

    def test_dictionaries_with_more_keys_than_their_indices_hold(self, silent):
        def chunk(start):
            words = pa.array([f"k{i}" for i in range(start, start + 100)])
            return pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), words)

        keys = pa.chunked_array([chunk(0), chunk(100), chunk(200)])
        table = pa.table({"x": [1.0] * 300, "k": keys})
        for data in (table, {"x": np.ones(300), "k": keys}):
            assert ss.count(data, 1, by="k", groups=["k0", "k150", "k299"])["k150"].value == 1
            assert ss.count(data, 1, privacy_unit="k").value == 300

    def test_nulls_inside_a_dictionary(self, silent):
        keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), pa.array(["a", None]))
        for data in ({"k": keys, "x": [1.0] * 4}, pa.table({"k": keys, "x": [1.0] * 4})):
            assert ss.count(data, 1, by="k", groups=["a"])["a"].value == 2
            assert ss.count(data, 1, privacy_unit="k", max_rows=5).value == 2

    def test_text_that_is_no_unicode(self, silent):
        odd, python_text = ["a", "\ud800", "a"], pd.StringDtype("python")
        for keys in (odd, np.array(odd), pd.Series(odd, dtype=object), pd.Series(odd, dtype=python_text)):
            assert ss.count({"k": keys}, 1, by="k", groups=["a"])["a"].value == 2
            assert ss.count({"k": keys}, 1, privacy_unit="k", max_rows=5).value == 3

    def test_keys_that_cannot_be_hashed(self, silent):
        keys = ["a", memoryview(bytearray(b"x")), [1], "a"]
        assert ss.count({"k": keys}, 1, by="k", groups=["a"])["a"].value == 2
        assert ss.count({"k": keys}, 1, privacy_unit="k", max_rows=5).value == 2

    def test_two_zeros_are_one_person_and_no_number_is_nobody(self, silent):
        ids = [0.0, -0.0, float("nan"), -float("nan"), 1.0]
        for column in (ids, np.array(ids), pa.array(ids), pa.chunked_array([ids[:1], ids[1:]]), pd.Series(ids)):
            table = {"x": np.full(5, 10.0), "id": column}
            assert ss.sum(table, 0, 10, 1, column="x", privacy_unit="id").value == 20
            assert (
                ss.sum(pa.table({"x": table["x"], "id": pa.array(ids)}), 0, 10, 1, column="x", privacy_unit="id").value
                == 20
            )

    def test_no_warning_for_odd_scalars(self, silent):
        odd = [
            1.0,
            np.complex64(1j),
            np.array([5.0]),
            np.float16(1),
            np.str_("2"),
            Fraction(1, 2),
            np.datetime64("2020"),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ss.sum(odd, 0, 9, 1).value == 4.5


class TestCsv:
    def test_a_header_that_is_a_record_is_not_shown(self, tmp_path):
        (tmp_path / "t.csv").write_text(f"{SECRET},41\n1,2\n")
        with refused("column", Reason.UNKNOWN, ValueError) as caught:
            ss.sum(tmp_path / "t.csv", 0, 1, 1, column="x")
        assert "Jane" not in str(caught.value)
        with refused("column", Reason.MISSING, ValueError) as caught:
            ss.sum(tmp_path / "t.csv", 0, 1, 1)
        assert "Jane" not in str(caught.value)

    @pytest.mark.parametrize("text", ["x,k", "x,k\n", "x", "x\n"])
    def test_a_header_alone_is_an_empty_table(self, silent, tmp_path, text):
        (tmp_path / "t.csv").write_text(text)
        assert ss.sum(tmp_path / "t.csv", 0, 9, 1, column="x").value == 0
        assert ss.count(tmp_path / "t.csv", 1).value == 0

    @pytest.mark.parametrize("columns", [1, 2, 3])
    def test_a_blank_line_is_a_row_of_missing_values(self, silent, tmp_path, columns):
        header, row = ",".join("xyz"[:columns]), ",".join("7" * columns)
        for text, rows, values in (
            (f"{header}\n{row}\n\n{row}\n", 3, 2),
            (f"{header}\n\n{row}\n", 2, 1),
            (f"{header}\n{row}\n\n", 2, 1),
            (f"{header}\n{row}", 1, 1),
            (f"{header}\r\n{row}\r\n\r\n{row}\r\n", 3, 2),
        ):
            (tmp_path / "t.csv").write_bytes(text.encode())
            assert ss.count(tmp_path / "t.csv", 1).value == rows, text
            assert ss.count(tmp_path / "t.csv", 1, column="x", missing="drop").value == values, text
            assert ss.sum(tmp_path / "t.csv", 5, 9, 1, column="x").value == 7 * values + 5 * (rows - values), text

    @pytest.mark.parametrize("broken", ["b.parquet", "b.txt", "folder.parquet", "missing", "type"])
    def test_paths_below_the_one_given_are_not_shown(self, tmp_path, broken):
        for name in ("patient=A", "patient=Jane Doe"):
            (tmp_path / name).mkdir()
            pyarrow.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / name / "a.parquet")
        folder = tmp_path / "patient=Jane Doe"
        if broken == "folder.parquet":
            (folder / broken).mkdir()
        elif broken == "missing":
            pyarrow.parquet.write_table(pa.table({"y": [1.0]}), folder / "b.parquet")
        elif broken == "type":
            pyarrow.parquet.write_table(pa.table({"x": ["1"]}), folder / "b.parquet")
        else:
            (folder / broken).write_bytes(b"nothing that can be read")
        with pytest.raises((ValueError, TypeError)) as caught:
            ss.sum(tmp_path / "*" / "*", 0, 1, 1, column="x")
        told = "".join(traceback.format_exception(caught.value))
        assert "Jane" not in told
        assert caught.value.__context__ is None

    def test_a_row_that_is_neither_whole_nor_text(self, silent, tmp_path, capfd):
        for odd in (b"\xff", b"1,2,\xfe\xff", b"\xc3", b"\xed\xa0\x80"):
            for many in (1, 400_000):  # in the first block, or far behind it
                (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,2\n" * many + odd + b"\n1,2\n")
                assert ss.sum(tmp_path / "t.csv", 0, 1, 1, column="a").value == many + 1
                assert ss.count(tmp_path / "t.csv", 1, privacy_unit="b", max_rows=10**6).value == many + 1
        assert capfd.readouterr() == ("", "")

    def test_a_row_that_is_too_long_is_left_out_wherever_it_is(self, silent, tmp_path):
        for rows in ([b"9" * (1 << 23), b"1"], [b"1"] * 400_000 + [b"9" * (1 << 23)]):
            (tmp_path / "t.csv").write_bytes(b"a\n" + b"\n".join(rows) + b"\n")
            assert ss.sum(tmp_path / "t.csv", 0, 1, 1, column="a").value == len(rows) - 1

    def test_headers_with_a_mark_or_in_another_code(self, silent, tmp_path):
        for text in (b"\xef\xbb\xbfa,b", b"\xef\xbb\xbfa,b\n1,2\n", b"a,\xe9\n1,2\n"):
            (tmp_path / "t.csv").write_bytes(text)
            assert ss.sum(tmp_path / "t.csv", 0, 1, 1, column="a").value in (0, 1)
