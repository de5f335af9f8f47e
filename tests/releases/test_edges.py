"""The edges: types that are not there, records that are odd, promises that nearly went unkept."""

import datetime
import json
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.budget.ledger import read
from soundsum.engines import Memory
from soundsum.methods import Kahan, Modular, OnGrid
from soundsum.refusals import Reason
from soundsum.releases.certificates import Unreadable
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.releases.release_check import compare_release
from soundsum.statistics import Claim, Task
from soundsum.tables.rows import Rows
from tests.refusing import refused

MANY = 300_000  # rows, over a megabyte of CSV, so that the types are guessed from others than the last


def csv(path, header, *last, many="1,2"):
    path.write_bytes(("\n".join([header, *[many] * MANY]) + "\n").encode() + b"\n".join(last) + b"\n")
    return path


class TestUnits:
    def test_a_plan_knows_whose_rows_it_is_for(self):
        problem = ss.Problem("float64", 0, 1, max_size=100)
        with refused("method", Reason.UNSOUND, ValueError):
            ss.plan(problem, "float", ss.Unit(max_rows=2))
        with refused("method", Reason.UNSOUND, ValueError):
            ss.plan(ss.Problem("float64", 0, 1, "hamming"), unit=ss.Unit(max_rows=2))
        with refused("plan", Reason.UNSUPPORTED, ValueError):
            ss.plan(ss.Problem("float64", 0, 1), unit=ss.Unit(groups=2)).release([1.0], epsilon=1)

    @pytest.mark.parametrize("relation", ["change_one", "hamming"])
    def test_dropped_records_would_change_a_public_size(self, relation):
        """Also where a plan is released: with bounds far from 0 a dropped record moves the sum by more than U - L."""
        problem = ss.Problem("int64", 5, 10, relation)
        with refused("missing", Reason.UNSOUND, ValueError):
            ss.plan(problem).release(np.ma.masked_array([7, 7], [0, 1]), epsilon=1, missing="drop")

    def test_plans_that_do_not_apply_are_not_released(self):
        unmet = next(p for p in ss.plans(ss.Problem("float64", 0, 1)) if p.unmet)
        with refused("method", Reason.UNSOUND, ValueError):
            unmet.release([1.0], epsilon=1)

    def test_numpy_integers_are_whole_numbers(self, silent):
        table = {"x": np.ones(4), "id": np.zeros(4, int)}
        assert ss.sum(table, 0, 1, 1, column="x", privacy_unit="id", max_rows=np.int64(3)).value == 3


class TestPersons:
    def test_ids_in_csv_are_text(self, silent, tmp_path):
        """As numbers, 7 and 07 would be one person, and removing one of the two could move the sum by twice as much."""
        rows = ["7,-5"] * 4 + ["07,5"] * 8
        (tmp_path / "t.csv").write_text("id,x\n" + "\n".join(rows))
        options = {"column": "x", "privacy_unit": "id", "max_rows": 2, "dtype": "float64"}
        assert ss.sum(tmp_path / "t.csv", -5, 5, 1, **options).value == 0
        (tmp_path / "t.csv").write_text("id,x\n" + "\n".join(rows[:4]))
        assert ss.sum(tmp_path / "t.csv", -5, 5, 1, **options).value == -10

    def test_ids_of_later_rows_may_be_anything(self, silent, tmp_path):
        path = csv(tmp_path / "t.csv", "id,x", b"bob,2", b"\xff,2", b",2")
        assert ss.count(path, 1, privacy_unit="id").value == 2  # what is not UTF-8, or empty, is no id

    @pytest.mark.parametrize("ids", [[1, "1", None, float("nan"), [2]], np.array([1, "1", None, np.nan, 5.5], object)])
    def test_ids_without_a_type_are_compared_as_python_does(self, silent, ids):
        expected = 2 if isinstance(ids, list) else 3
        assert ss.count(np.ones(5), 1, privacy_unit=ids).value == expected

    def test_nan_is_no_id(self, silent):
        table = pa.table({"x": [1.0, 1.0, 1.0], "id": [1.5, float("nan"), None]})
        assert ss.sum(table, 0, 1, 1, column="x", privacy_unit="id").value == 1
        assert ss.sum(pl.from_arrow(table), 0, 1, 1, column="x", privacy_unit="id").value == 1

    def test_ids_that_cannot_be_compared_are_refused_by_their_type(self):
        table = pa.table({"x": [1.0], "id": pa.array([[1]])})
        with refused("privacy_unit", Reason.WRONG_TYPE, TypeError):
            ss.sum(table, 0, 1, 1, column="x", privacy_unit="id")

    def test_polars_objects_and_categories_are_what_they_hold(self, silent):
        frame = pl.DataFrame({"x": [1.0] * 3, "o": pl.Series(["u"] * 3, dtype=pl.Object), "c": ["u", "v", "u"]})
        frame = frame.with_columns(c=pl.col("c").cast(pl.Categorical), e=pl.col("c").cast(pl.Enum(["u", "v"])))
        assert ss.sum(frame, 0, 1, 1, column="x", privacy_unit="o").value == 1
        for name in "ce":
            assert ss.sum(frame, 0, 1, 1, column="x", privacy_unit=name).value == 2
            assert ss.sum(frame, 0, 1, 1, column="x", by=name, groups=["v"])["v"].value == 1
            assert ss.count(frame, 1, column=name, missing="drop").value == 3

    def test_ids_are_text_whatever_else_is_asked_of_them(self, tmp_path):
        (tmp_path / "t.csv").write_text("i,x\n7,1\n07,1\n")
        with refused("column", Reason.CONFLICT, ValueError):
            ss.release(tmp_path / "t.csv", [ss.Histogram("i", categories=[7])], 1, privacy_unit="i")

    @pytest.mark.parametrize("odd", [np.array([1]), pd.Series([1]), Decimal("sNaN"), {}])
    def test_odd_objects_are_no_ids(self, silent, odd):
        assert ss.count(np.ones(2), 1, privacy_unit=[1, odd]).value == 1

    @pytest.mark.slow
    def test_more_text_than_32_bits_count(self, silent):
        """66 texts too long to be ids, of 2^31 bytes and more together, and 30 rows of two persons after them."""
        texts = [pa.array([mark * (1 << 25)]) for mark in "ab"]
        ids = pa.chunked_array([*texts * 33, pa.array(["a", "b"] * 15)])
        many = pa.table({"id": ids, "x": np.ones(96)})
        assert sum(len(chunk[0].as_buffer()) for chunk in ids.chunks) > 2**31
        assert ss.sum(many, 0, 1, 1, column="x", privacy_unit="id", max_rows=10).value == 20
        assert ss.sum(np.ones(96), 0, 1, 1, privacy_unit=ids, max_rows=10).value == 20

    def test_without_a_limit_there_is_no_promise(self):
        with refused("max_rows", Reason.NOT_WHOLE, ValueError):
            ss.count(np.ones(2), 1, privacy_unit=[1, 1], max_rows=None)


class TestWhatIsKept:
    def test_a_release_holds_nothing_about_the_data(self):
        """Not even the number of rows, where it is private: all of it survives a pickle, where one can look."""
        for relation, seen in (("symmetric", False), ("change_one", True)):
            table = {"x": np.ones(1_234_567), "k": ["a"] * 1_234_567}
            made = ss.sum(table, 0, 1, 1, column="x", by="k", groups=["a", "b"], relation=relation)
            again = pickle.loads(pickle.dumps(made))
            assert again["a"].value == made["a"].value
            assert ((1_234_567).to_bytes(4, "little") in pickle.dumps(made)) == seen
            assert (made["a"].plan.problem.size == 1_234_567) == seen


class TestOneOddRecord:
    """Nothing the analyst can see may depend on one record except through the noise."""

    ODD = (b"oops,2", b"1,2,SECRET", b"1", b"\xff\xfe,2", b"99999999999999999999999999999999999999999999,2", b"inf,2")

    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("dtype", [None, "float64"])
    def test_in_a_csv_file(self, silent, tmp_path, odd, dtype):
        path = csv(tmp_path / "t.csv", "x,k", odd)
        total = ss.sum(path, 0, 1, 1, column="x", by="k", groups=[2], dtype=dtype)[2].value
        assert MANY <= total <= MANY + 1
        assert MANY <= ss.count(path, 1).value <= MANY + 1

    def test_in_a_column_of_booleans_or_dates(self, silent, tmp_path):
        path = csv(tmp_path / "t.csv", "x,k", b"oops,oops", many="1,2026-01-01")
        assert ss.sum(path, 0, 1, 1, column="x").value == MANY
        assert ss.count(path, 1).value == MANY + 1
        day = datetime.date(2026, 1, 1)
        assert ss.count(path, 1, by="k", groups=[day])[day].value == MANY
        assert ss.count(path, 1, privacy_unit="k").value == 2

    def test_a_cell_of_many_lines_is_one_record(self, silent, tmp_path):
        """Also where it lies across the blocks a file is read in."""
        cell = b'1,"' + b"\n10,z" * 100_000 + b'"'
        path = csv(tmp_path / "t.csv", "x,k", cell, b"1,c")
        assert ss.sum(path, 0, 10, 1, column="x", dtype="float64").value == MANY + 2
        assert ss.count(path, 1, privacy_unit="k").value == 2  # the long cell is no id

    def test_types_are_refused_before_a_row_is_seen(self):
        """Otherwise an error would say whether there is one, for nothing."""
        for table in (pa.table({"x": [1.0], "k": [1], "i": [[1]]}), pa.table({"x": [1.0], "k": [1], "i": [[1]]})[:0]):
            for options in ({"by": "k", "groups": ["a"]}, {"privacy_unit": "i"}):
                with pytest.raises((ValueError, TypeError), match=r"cannot be looked up|ids are numbers or text"):
                    ss.count(table, 1, **options)

    def test_no_warning(self, silent):
        quiet = np.array([0x7F800001], np.uint32).view(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert [r.value for r in ss.histogram(quiet, [0, 1], 1).values()] == [0]
            assert ss.sum(quiet, 0, 1, 1, method="grid_randomised").value == 0
            assert ss.sum([1.0, np.ma.masked, np.complex128(1j)], 0, 1, 1).value == 1

    @pytest.mark.parametrize("odd", [None, "SECRET", 10**400, Decimal("nan"), 2.5, [1], object(), True])
    def test_among_python_objects(self, silent, odd):
        for data in ([1, 2, odd], pd.Series([1, 2, odd], dtype=object)):
            r = ss.sum(data, 0, 3, 1)
            assert 3 <= r.value <= 6
            assert r.plan.problem.dtype.name == "float64"
        table = {"x": [1, 2, odd], "k": ["a", "a", odd], "id": [1, 2, odd]}
        for data in (table, pd.DataFrame(table, index=["u", 3, None])):
            made = ss.sum(data, 0, 3, 1, column="x", by="k", groups=["a"], privacy_unit="id")
            assert made["a"].value == 3

    def test_a_record_at_the_end_of_the_floats(self, silent):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ss.sum(np.array([1.7e308, -1.7e308]), 0, 1, 1, method="grid_randomised").value == 1

    def test_no_records(self, silent):
        for data in ({"x": []}, {"x": [None]}, pa.table({"x": pa.nulls(2)})):
            assert ss.sum(data, 0, 1, 1, column="x").value == 0
        assert ss.sum([1.0], 0, 1, 1, by=[None], groups=["a"])["a"].value == 0
        assert ss.sum([], 0, 1, 1, by=[], groups=["a"])["a"].value == 0


class TestFilesThatDiffer:
    def write(self, folder, **columns):
        for i, column in enumerate(columns.values()):
            pa.parquet.write_table(pa.table({"x": column}), folder / f"{i}.parquet")
        return folder / "*.parquet"

    def test_narrower_types_are_widened(self, silent, tmp_path):
        path = self.write(tmp_path, a=pa.array([2**40]), b=pa.array([1], pa.int32()))
        assert ss.sum(path, 0, 5, 1, column="x").value == 6

    def test_a_cast_never_depends_on_a_value(self, tmp_path):
        for wide in (pa.array([1]), pa.array([2**40]), pa.array([2.5])):
            path = self.write(tmp_path, a=pa.array([1], pa.int32()), b=wide)
            with refused("data", Reason.MISMATCH, ValueError, column="'x'", kind="int32"):
                ss.sum(path, 0, 5, 1, column="x")

    def test_a_file_without_the_column(self, tmp_path):
        path = self.write(tmp_path, a=pa.array([1]))
        pa.parquet.write_table(pa.table({"y": [1]}), tmp_path / "1.parquet")
        with refused("data", Reason.MISMATCH, ValueError, column="'x'"):
            ss.sum(path, 0, 5, 1, column="x")


class TestNumbers:
    def test_variances_and_means_far_from_zero(self, silent):
        data = np.array([1e9, 1e9 + 1] * 500)
        assert ss.variance(data, 1e9, 1e9 + 1, 1).value == pytest.approx(0.25)
        assert ss.mean(data, 1e9, 1e9 + 1, 1).value == 1e9 + 0.5
        assert ss.variance(-data, -1e9 - 1, -1e9, 1, by=["a"] * 1000, groups=["a"])["a"].value == pytest.approx(0.25)
        for relation in ss.Relation:
            assert ss.mean(np.full(9, 7.5), 7, 8, 1, relation=relation).value == 7.5
            assert ss.mean(np.full(9, 7.5), 7.5, 7.5, 1, relation=relation).value == 7.5

    @pytest.mark.parametrize("bounds", [(1e9, 1e9 + 1), (-3, 5), (0.1, 0.3), (-7, -6.5)])
    def test_moments_move_by_no_more_than_they_say(self, bounds):
        """The integers themselves, which the noise is for, at both ends of the bounds and beyond."""
        low, high = bounds
        for statistic in (ss.Mean(None, low, high), ss.Variance(None, low, high)):
            task = Task(statistic, Claim(type(statistic), ss.plan(ss.Problem("float64", low, high))))

            def totals(values, task=task):
                (sums,), _ = Memory(np.array(values, float), {}).add_up([task], Rows())
                return [total for (total,) in sums]

            for x in (low, high, (low + high) / 2, -1e300, 1e300, np.nan, np.inf):
                moved = [abs(a - b) for a, b in zip(totals([low, x]), totals([low]), strict=True)]
                assert all(m <= part.norms.l1 for m, part in zip(moved, task.claim.parts, strict=True))

    def test_booleans_and_decimals_need_no_table(self, silent):
        for data in ([True, False], np.array([True, False]), pa.array([True, False]), pl.Series([True, False]),
                     np.ma.masked_array([True, True], [0, 1])):  # fmt: skip
            assert ss.sum(data, 0, 1, 1).value == 1
        cents = [Decimal("1.10"), None, Decimal("-0.25")]
        for kind in (pa.decimal128(5, 2), pa.decimal64(5, 2), pa.decimal128(38, 2)):
            assert ss.sum(pa.array(cents, kind), 0, 9, 1).exact == Fraction(11, 10)
        assert ss.sum(pl.Series(cents), 0, 9, 1).exact == Fraction(11, 10)
        assert ss.sum(pa.array([Decimal("12e3")], pa.decimal128(5, -3)), 0, 10**5, 1).value == 12_000
        huge = pa.array([Decimal(10) ** 30, -(Decimal(10) ** 30)], pa.decimal128(38, 2))
        assert ss.sum(huge, -5, 9, 1).exact == 4

    def test_decimals_are_certified_in_their_own_units(self):
        r = ss.sum(pa.array([Decimal("1.25")]), 0, 10, 1)
        assert r.certificate["unit_value"] == "1/100"
        assert r.certificate["released"][0]["sensitivity"] == "10"
        assert r.sensitivity == "10"
        v = ss.variance(pa.array([Decimal("1.25")]), 0, 10, 1)
        assert [part["sensitivity"] for part in v.certificate["released"]] == ["5", "25", "1"]
        assert ss.check(r.certificate) == ss.check(v.certificate) == []

    def test_integer_edges_are_exact(self, silent):
        data = np.array([2**53, 2**53 + 1, 2**53 + 2])
        cells = ss.histogram(data, [2**53, 2**53 + 1, 2**53 + 2], 1)
        assert {cell: r.value for cell, r in cells.items()} == {(2**53, 2**53 + 1): 1, (2**53 + 1, 2**53 + 2): 2}
        high = np.array([2**60 + 1], np.uint64)
        for edges in ([2**60, 2**60 + 1, 2**60 + 2], [-(2**70), 2**60 + 1, 2**70]):
            assert [r.value for r in ss.histogram(high, edges, 1).values()] == [0, 1]
        assert ss.variance(np.array([1, 3], np.int8), -(10**30), 10**30, 1, by=[1, 1], groups=[1])[1].value == 1


class TestTables:
    def test_vectors_as_tables(self, silent):
        table = {"x": [1.0, 7.0], "k": ["a", "b"]}
        cells = ss.histogram(table, [0, 5, 10], 1, column="x", by="k", groups=["a", "b"]).to_arrow()
        assert cells.to_pydict() == {
            "k": ["a", "a", "b", "b"], "from": [0, 5, 0, 5], "to": [5, 10, 5, 10], "value": [1, 0, 0, 1],
            "low": cells["low"].to_pylist(), "high": cells["high"].to_pylist(),
            "informative": [True] * 4,
        }  # fmt: skip
        assert ss.histogram(table, epsilon=1, categories=["b"], column="k").to_arrow()["category"].to_pylist() == ["b"]
        large = {"x": np.full(3, 2**64 - 1, np.uint64), "k": ["a"] * 3}
        sums = ss.sum(large, 0, 2**64 - 1, 1, column="x", by="k", groups=["a"])
        assert sums["a"].value == 3 * (2**64 - 1)
        assert sums.to_arrow()["value"].to_pylist() == [float(3 * 2**64)]

    def test_names_without_a_common_type(self, silent):
        made = ss.sum([1.0, 2.0], 0, 5, 1, by=[1, "a"], groups=[1, "a"]).to_arrow()
        assert made["group"].to_pylist() == ["1", "a"]
        assert ss.histogram([1.0], [-1, 0, 2**64], 1).to_arrow()["value"].to_pylist() == [0, 1]

    def test_tables_of_many_entries_say_what_the_releases_say(self):
        rng = np.random.default_rng(5)
        table = {"x": rng.random(1000) * 7 - 3, "n": rng.integers(-5, 5, 1000), "k": rng.integers(0, 50, 1000)}
        for column in ("x", "n"):
            made = ss.sum(table, -3, 4, "1/3", column=column, by="k", groups=range(50))
            shown = made.to_arrow(0.9).to_pydict()
            assert shown["value"] == [r.value for r in made.values()]
            intervals = [r.interval(0.9) for r in made.values()]
            assert list(zip(shown["low"], shown["high"], strict=True)) == intervals

    def test_csv_words_are_not_missing_and_booleans_are_groups(self, silent, tmp_path):
        (tmp_path / "t.csv").write_text("k,b\nNA,true\nNA,FALSE\nEU,true\nnull,\n")
        made = ss.count(tmp_path / "t.csv", 1, by="k", groups=["NA", "EU", "null"])
        assert [r.value for r in made.values()] == [2, 1, 1]
        assert [r.value for r in ss.count(tmp_path / "t.csv", 1, by="b", groups=[True, False]).values()] == [2, 1]

    def test_empty_lines_of_a_single_column_are_missing_records(self, silent, tmp_path):
        (tmp_path / "t.csv").write_text("x\n1\n\n3\n")
        assert ss.count(tmp_path / "t.csv", 1, relation="change_one").value == 3

    def test_a_public_size_is_that_of_what_is_read(self, silent, tmp_path):
        (tmp_path / "t.csv").write_text("x,k\n1,a\n1,2,3\n1,b\n")
        r = ss.sum(tmp_path / "t.csv", 0, 5, 1, column="x", dtype="float64", relation="change_one", method="kahan")
        assert r.plan.problem.size == 2

    def test_groups_from_any_list(self, silent):
        days = np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]")
        table = pa.table({"x": [1.0, 2.0], "d": days})
        for groups in (days, pa.array(days), pd.Series(days), pl.Series(days)):
            made = ss.sum(table, 0, 5, 1, column="x", by="d", groups=groups)
            assert [r.value for r in made.values()] == [1, 2]

    def test_one_column_as_numbers_and_as_categories(self, silent):
        total, cells = ss.release(np.array([1.0, 2.0]), [ss.Sum(None, 0, 5), ss.Histogram(None, categories=[2.0])], 1)
        assert (total.value, cells[2.0].value) == (3, 1)

    def test_a_column_has_one_type_for_all_that_is_asked_of_it(self, silent, tmp_path):
        (tmp_path / "t.csv").write_text("x\n1\n2\n")
        asked = [ss.Sum("x", 0, 5), ss.Mean("x", 0, 5, dtype="float64"), ss.Histogram("x", [0, 5])]
        total, *_ = ss.release(tmp_path / "t.csv", asked, 1)
        assert total.plan.problem.dtype.name == "float64"
        with refused("dtype", Reason.CONFLICT, ValueError):
            ss.release(tmp_path / "t.csv", [ss.Sum("x", 0, 5, dtype="int64"), *asked], 1)

    @pytest.mark.parametrize("kind", ["float16", "float32", "float64", "list", "csv", "dictionary"])
    def test_zero_is_one_group_whatever_its_sign(self, silent, tmp_path, kind):
        keys = [0.0, -0.0, 1.0, float("nan")]
        if kind == "csv":
            (tmp_path / "t.csv").write_text("k\n0\n-0.0\n1\nnan\n")
        made = {
            "list": keys,
            "csv": tmp_path / "t.csv",
            "dictionary": pa.array(keys).dictionary_encode(),
        }.get(kind) or np.array(keys, kind)
        table = made if kind == "csv" else {"k": made}
        for zero in (0.0, -0.0):
            assert [r.value for r in ss.count(table, 1, by="k", groups=[zero, 1.0]).values()] == [2, 1]

    def test_what_is_no_time_is_missing(self, silent):
        times = np.array(["2020-01-01", "NaT"], "M8[D]")
        assert ss.count(times, 1, missing="drop").value == 1

    def test_a_structured_array_is_refused_by_its_type(self):
        budget = ss.Budget(epsilon=1)
        with refused("data", Reason.WRONG_TYPE, TypeError, fields="('a',)"):
            ss.count(np.zeros(2, [("a", int)]), 1, missing="drop", budget=budget)
        assert not budget.entries()

    def test_missing_text_can_be_counted(self, silent):
        table = pa.table({"k": ["a", None, "b"]})
        for data in (table, table.to_pandas(), pl.from_arrow(table), table.to_pydict()):
            assert ss.count(data, 1, column="k", missing="drop").value == 2
        assert ss.count(pd.Series([1, pd.NA, np.ma.masked], dtype=object), 1, missing="drop").value == 1

    def test_names_that_are_not_text(self, silent):
        assert ss.sum(pd.DataFrame({0: [1.0, 2.0]}), 0, 5, 1, column=0).value == 3

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda: ss.sum(5, 0, 1, 1), TypeError, "neither a table nor a column"),
            (lambda: ss.sum([1.0], 0, 1, 1, by=7, groups=[1]), TypeError, "by=7 is neither"),
            (lambda: ss.release([1.0], ss.Count(), 1), TypeError, "statistics is a list"),
            (lambda: ss.release([1.0], ["x"], 1), TypeError, "statistics is a list"),
            (lambda: ss.sum(pa.table([[1.0], [2.0]], names=["x", "x"]), 0, 1, 1, column="x"), ValueError, "2 times"),
            (lambda: ss.variance(ss.Runs("float64", [(1, 3)]), 0, 1, 1, by=[1] * 3, groups=[1]), TypeError, "Runs"),
            (lambda: ss.histogram([1.0], [0], 1), ValueError, "at least one cell"),
            (lambda: ss.count([1.0], 1, size=3), TypeError, "size"),
            (lambda: ss.sum({"x": ["a"], "y": [1, 2]}, 0, 1, 1, column="x"), ValueError, "not of the same length"),
            (lambda: ss.sum(np.array(["a"]), 0, 1, 1), TypeError, "data is text"),
            (lambda: ss.sum([1.0], 0, 1, 1, budget="ledger.db"), TypeError, "give ss.Budget"),
            (
                lambda: ss.sum([1.0], 0, 1, 1, privacyunit="x"),
                TypeError,
                "unexpected keyword argument 'privacyunit'",
            ),
            (lambda: ss.mean([1.0], 0, 1, 1, method="grid"), TypeError, "unexpected keyword argument 'method'"),
            (lambda: ss.sum([1.0], 0, 1, 1, noise="gaussian"), ValueError, "such as delta=1e-6"),
            (lambda: ss.histogram([1.0], 10, 1), ValueError, "not a list of numbers"),
            (lambda: ss.histogram([1.0], ["a", "b"], 1), ValueError, "not a list of numbers"),
            (lambda: ss.sum({"x": "abc"}, 0, 1, 1, column="x"), TypeError, "str is not a column"),
            (lambda: ss.sum(b"abc", 0, 1, 1), TypeError, "bytes is neither"),
            (lambda: ss.count([1.0], 1, privacy_unit=[1], max_groups=2), ValueError, "max_groups=2 is about groups"),
            (lambda: ss.sum(pd.DataFrame({"x": [1j]}), 0, 1, 1, column="x"), TypeError, "complex128"),
        ],
    )
    def test_mistakes_are_named(self, call, error, message):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(error, match=message):
                call()


def test_help_shows_every_option():
    import inspect

    for function in (ss.sum, ss.mean, ss.variance, ss.count, ss.histogram):
        shown = inspect.signature(function).parameters
        assert {"data", "epsilon", "column", "by", "groups", "privacy_unit", "max_rows", "budget"} <= shown.keys()
        assert shown["max_rows"].default == 1


class TestBudget:
    def test_what_needs_no_noise_costs_nothing(self):
        budget = ss.Budget(epsilon=1)
        ss.count([1.0, 2.0], 1, relation="change_one", budget=budget)
        assert [entry.cost for entry in budget.entries()] == [ss.Cost(epsilon=0)]

    def test_what_has_one_noisy_number_is_charged_for(self):
        """A mean within [3, 3] has a sum that needs no noise, and a count that does."""
        budget = ss.Budget(epsilon=1)
        mean = ss.mean([3.0, 3.0], 3, 3, 1, budget=budget)
        assert {part["noise"] for part in mean.certificate["released"]} == {"none", "laplace"}
        assert [entry.cost for entry in budget.entries()] == [ss.Cost(epsilon=1)]

    def test_the_ledger_says_what_was_asked(self):
        budget = ss.Budget(epsilon=1)
        ss.sum({"pay": [1.0], "dept": ["a"]}, 0, 9, 1, column="pay", by="dept", groups=["a"], budget=budget)
        (entry,) = budget.entries()
        assert "pay" in entry.what
        assert "by dept" in entry.what

    def test_a_private_limit_is_charged(self):
        budget = ss.Budget(epsilon=1)
        assert ss.private_max_size(np.ones(100), "1/2", budget=budget) > 50
        assert budget.spent.epsilon == Fraction(1, 2)

    def test_a_huge_release_can_be_read(self):
        r = ss.sum(np.array([1]), 0, 2**62, Fraction(1, 10**320))
        assert "sum" in repr(r)
        assert "sum" in r._repr_html_()
        assert len(repr(r)) < 250


class TestCertificates:
    @pytest.mark.parametrize(
        "method", [OnGrid(step=Fraction(1, 8)), Kahan(accumulator="float64"), OnGrid(integers=Modular())], ids=repr
    )
    def test_methods_made_by_hand_can_be_made_again(self, method):
        r = ss.sum(np.ones(3, np.float32), 0, 1, 1, relation="change_one", method=method)
        assert ss.check(json.loads(json.dumps(r.certificate))) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"privacy": {"epsilon": "-1"}},
            {"privacy": {"delta": "1/1000"}},
            {"privacy": {"epsilon": "inf"}},
            {"statistic": "nonsense"},
            {"unit": {"groups": "x"}},
            {"unit_value": "0"},
            {"unit_value": "-1"},
            {"unit_value": "1/1000"},
            {"parameters": {"name": "nothing"}},
        ],
    )
    def test_nonsense_does_not_hold(self, change):
        certificate = ss.sum([1.0], 0, 1, 1).certificate
        assert ss.check({**certificate, **change})
        assert ss.check({})
        cells = next(iter(ss.histogram([1.0], [0, 1, 2], 1, relation="change_one").values())).certificate
        assert ss.check({**cells, "unit": {"groups": None, "max_rows": None, "max_groups": 1}})

    @pytest.mark.parametrize(
        "path, value",
        [
            (("unit", "groups"), 1e-9),
            (("unit", "groups"), -5),
            (("unit", "groups"), True),
            (("unit", "max_rows"), 2.0),
            (("released", 0, "l1_steps"), 1.0),
            (("released", 0, "extra"), 1),
            (("problem", "extra"), 1),
            (("released", 0, "extra"), None),
            (("theorem", "extra"), None),
            (("format",), "1"),
            (("extra",), None),
            (("versions",), {}),
            (("versions", "numpy"), 2),
        ],
    )
    def test_types_ranges_and_what_is_besides(self, path, value):
        certificate = json.loads(json.dumps(ss.sum([1], 0, 1, 1, dtype=None, by=["a"], groups=["a"])["a"].certificate))
        assert ss.check(certificate) == []
        inner = certificate
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        assert ss.check(certificate) != []

    @pytest.mark.parametrize("path", [("problem", "size"), ("unit", "max_rows"), ("modulus",)])
    def test_what_is_null_is_missed_too(self, path):
        certificate = json.loads(json.dumps(ss.sum([1.0], 0, 1, 1).certificate))
        inner = certificate
        for step in path[:-1]:
            inner = inner[step]
        assert inner.pop(path[-1]) is None
        assert any("is missing" in problem for problem in ss.check(certificate))

    def test_a_ledger_knows_the_names_that_were_given(self, tmp_path):
        budget, names = ss.Budget(epsilon=1, path=tmp_path / "l.db"), ["total; all", "n\\x3b", "sum of x, called it"]
        statistics = dict(zip(names, [ss.Sum("x", 0, 1), ss.Count(), ss.Sum("x", 0, 2)], strict=True))
        said = json.loads(ss.release({"x": [1.0]}, statistics, 1, budget=budget).to_json())["releases"]
        ledger = read(tmp_path / "l.db")
        for one, name in zip(said, names, strict=True):
            assert one["name"] == name
            assert compare_with_ledger([one], ledger) == [[]]
            assert compare_release({**one, "name": "other"}) == [
                f"name: the query says {name!r}, and the release 'other'"
            ]
            assert compare_release({key: one[key] for key in one if key != "name"}) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"query": None},
            {"query": {}},
            {"entry": True},
            {"statistic": 1},
            {"statistic": -1},
            {"statistic": True},
            {"cost": {"delta": "0"}},
            {"cost": {"epsilon": "x"}},
            {"what": "a count"},
        ],
    )
    def test_a_charge_that_cannot_be_read_is_said_to_be_so(self, tmp_path, change):
        said = json.loads(ss.count([1.0], 1, budget=ss.Budget(epsilon=1, path=tmp_path / "l.db")).to_json())
        changed = {**said, "ledger": {**said["ledger"], **change}}
        for compare in (
            lambda: compare_release(changed),
            lambda: compare_with_ledger([changed], read(tmp_path / "l.db")),
        ):
            with pytest.raises(Unreadable, match="the charge that the release names cannot be read"):
                compare()

    @pytest.mark.parametrize(
        "asked, options, what",
        [
            (
                ss.Sum("x", 0, 5),
                {},
                "sum of x from a dict, float64 in [0, 5], missing values as 0, protecting one record",
            ),
            (
                ss.Mean("x", 0, 5),
                {"by": "g", "groups": ["a", "b"]},
                "mean of x from a dict, float64 in [0, 5], by g, missing values left out, "
                "protecting one record (in one of 2 groups)",
            ),
            (
                ss.Count(),
                {"where": [("x", ">", 0.5)]},
                "count from a dict, where x > 0.5, rows with missing values counted, protecting one record",
            ),
            (
                ss.Histogram("x", [0, 2, 5]),
                {"privacy_unit": "p", "max_rows": 3},
                "histogram of x from a dict, rows outside the cells or without a value left out, "
                "protecting one person (with at most 3 rows in a group, in at most 1 of 2 groups)",
            ),
        ],
    )
    def test_what_a_ledger_says_of_a_charge(self, asked, options, what):
        budget = ss.Budget(epsilon=1)
        made = ss.release({"x": [1.0], "g": ["a"], "p": [1]}, {"it": asked}, 1, budget=budget, **options)
        assert budget.entries()[0].what == f"{what}, symmetric neighbours, called it"
        assert made.to_dict()["releases"][0]["unit"] == what.partition("protecting ")[2]

    def test_a_truth_is_no_value(self):
        said = json.loads(json.dumps(ss.count([1.0], 10**9).to_dict()))
        assert said["value"] == 1
        assert any(problem.startswith("value") for problem in ss.check({**said, "value": True}))

    def test_a_release_as_plain_data(self):
        budget = ss.Budget(epsilon=1, data="staff")
        table = {"pay": [1.0, 2.0], "dept": ["a", "b"]}
        r = ss.sum(table, 0, 9, "1/2", column="pay", by="dept", groups=["a"], budget=budget, name="staff")["a"]
        plain = json.loads(r.to_json())
        assert plain == json.loads(json.dumps(r.to_dict()))
        assert plain["value"] == r.value
        assert Fraction(plain["exact"]) == r.exact
        assert plain["interval_95"] == list(r.interval(0.95))
        assert (plain["statistic"], plain["column"], plain["group"], plain["data"]) == ("sum", "pay", "a", "staff")
        assert (plain["bounds"], plain["relation"], plain["privacy_unit"]) == (["0", "9"], "symmetric", None)
        assert plain["ledger"]["entry"] == 1
        assert plain["ledger"]["query"] == budget.entries()[0].query.to_json()
        assert plain["version"] == ss.__version__
        assert ss.check(plain["certificate"]) == []
        third = ss.sum([0.2], "1/10", "1/3", 1)
        assert Fraction(1, 10) <= third.bounds[0] <= third.bounds[1] <= Fraction(1, 3)

    def test_only_sums_claim_the_sensitivity_of_a_sum(self):
        assert "sensitivity" in ss.sum([1.0], 0, 1, 1).certificate
        assert "sensitivity" not in ss.mean([1.0], 0, 1, 1).certificate
