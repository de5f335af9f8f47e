"""Advice on bounds and on rows of a person: what it says of known data, what it costs, and when it says nothing."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.refusals import Reason
from soundsum.releases.advice import find_span
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.statistics.magnitudes import round_cells, row_cells
from tests.refusing import refused

PAY = np.repeat([21.5, 32.0, 18.25, 44.0, 0.0], 500)
SURE = 1000
"""An epsilon at which noise moves no count: the advice is that of the exact counts."""

CELLS = round_cells()
ZERO = CELLS.ends.index((0, 0))


def counts(data, statistic, **options):
    engine, prepared = prepare(data, Request((statistic,), **options))
    ((totals,),) = engine.add_up(prepared.tasks, prepared.rows)[0]
    return {ends: n for ends, n in zip(statistic.cells.ends, totals, strict=True) if n}


def test_cells_lie_between_round_numbers_and_the_number_away_from_zero_belongs_to_them():
    x = [0.0, -0.0, 1.0, 1.0000000000000002, 2.0, -2.0, -1.9999999999999998, 1e-12, -1e-12, 1e18, 1e19, np.inf, np.nan]
    found = counts(np.array(x), ss.Bounds(None))
    assert found == {
        (0, 0): 2, (Fraction(1, 2), 1): 1, (1, 2): 2, (-2, -1): 2, (0, Fraction(1, 10**9)): 1,
        (Fraction(-1, 10**9), 0): 1, (5 * 10**17, 10**18): 1, (10**18, None): 2,
    }  # fmt: skip
    assert len(CELLS.names) == len(CELLS.ends) == len(set(CELLS.names))
    lows, highs = zip(*CELLS.ends, strict=True)
    assert all(a == b for a, b in zip(lows[1:], highs, strict=False))


def test_every_value_is_in_the_cell_whose_ends_it_lies_between():
    values = [s * m * 10.0**e for s in (-1, 1) for m in (1, 1.3, 2, 5, 7) for e in range(-11, 20)]
    for x in values:
        ((low, high),) = counts(np.array([x]), ss.Bounds(None))
        exact = Fraction(x)
        # Cells end at the floats nearest to round numbers, so a value is that close to the ends.
        near = abs(exact) / 2**52
        assert low is None or exact >= low - near
        assert high is None or exact <= high + near


def test_persons_are_counted_once_by_their_total():
    rows = [(1, 3.0), (1, 4.0), (2, -9.0), (2, 9.0), (3, np.nan), (4, 30.0), (4, np.inf), (5, -1.5), (None, 8.0)]
    table = pa.table({"who": pa.array([w for w, _ in rows]), "x": pa.array([x for _, x in rows])})
    beyond = (10**12, 2 * 10**12)  # where one row of infinity is clamped to 2^40
    expected = {(5, 10): 1, (0, 0): 1, beyond: 1, (-2, -1): 1}
    assert counts(table, ss.TotalBounds("x"), missing="drop", privacy_unit="who") == expected
    assert counts(table, ss.MaxRows(), privacy_unit="who") == {(0, 1): 2, (1, 2): 3}


@pytest.mark.parametrize("seed", range(3))
def test_totals_of_persons_are_those_of_exact_arithmetic(seed):
    random = np.random.default_rng(seed)
    who, x = random.integers(0, 40, 400), random.integers(-(10**6), 10**6, 400)
    table = {"who": who, "x": x, "keep": random.integers(0, 2, 400)}
    totals = Counter()
    for person, value, keep in zip(who, x, table["keep"], strict=True):
        if keep:
            totals[person] += int(value)
    expected = Counter()
    for total in totals.values():
        (own,) = [e for e in CELLS.ends if e == (0, 0) == (total, total) or is_within(total, *e)]
        expected[own] += 1
    assert counts(table, ss.TotalBounds("x"), privacy_unit="who", where=[("keep", "==", 1)]) == expected


def is_within(total, low, high):
    if total > 0:
        return low is not None and 0 <= low < total and (high is None or total <= high)
    return total < 0 and high is not None and high <= 0 and total < high and (low is None or total >= low)


def test_one_row_or_person_more_moves_one_count_by_one():
    """Enumerated: every table of two rows, with and without a third one, of three persons."""
    values, persons = (-3, 0, 1, 2), (1, 2)
    rows = list(itertools.product(persons, values))
    for common in itertools.combinations_with_replacement(rows, 2):
        tables = [[*common, *more] for more in itertools.product([(9, x) for x in values], repeat=2)]
        for statistic, by_record in itertools.product(
            (ss.Bounds("x"), ss.TotalBounds("x"), ss.MaxRows()), (True, False)
        ):
            if by_record != isinstance(statistic, ss.Bounds):
                continue
            options = {} if by_record else {"privacy_unit": "who"}
            before = Counter(counts(columns(common), statistic, **options))
            for table in tables:
                more = table[: len(common) + 1] if by_record else table
                after = Counter(counts(columns(more), statistic, **options))
                moved = {cell: after[cell] - before[cell] for cell in after | before}
                assert sum(map(abs, moved.values())) == 1


def columns(rows):
    return {"who": np.array([w for w, _ in rows]), "x": np.array([x for _, x in rows])}


def test_the_noise_is_for_what_one_row_or_person_can_move():
    table = {"x": PAY, "who": np.arange(len(PAY)) % 100}

    def scale(advice):
        (part,) = advice.certificate["released"]
        assert ss.check(advice) == []
        return Fraction(part["scale"])

    assert scale(ss.suggest_bounds(table, "1/10", column="x")) == 10
    assert scale(ss.suggest_bounds(table, "1/10", column="x", relation="change_one")) == 20
    assert scale(ss.suggest_bounds(table, "1/10", column="x", where=[("who", ">", 2)])) == 10
    assert scale(ss.suggest_bounds(table, "1/10", column="x", privacy_unit="who")) == 10
    assert scale(ss.suggest_bounds(table, "1/10", column="x", privacy_unit="who", max_rows=4)) == 40
    assert scale(ss.suggest_max_rows(table, "who", "1/10")) == 10
    (bounds, total) = ss.release(table, [ss.TotalBounds("x"), ss.Sum("x", 0, 9)], 1, privacy_unit="who", max_rows=5)
    assert scale(bounds) == 2  # half of epsilon; a person is in one cell, however many of their rows count
    assert ss.check((bounds, total)[0]) == []


def test_advice_on_known_data():
    advice = ss.suggest_bounds(PAY, SURE)
    assert (advice.lower, advice.upper, tuple(advice)) == (0, 50, (0, 50))  # zeros stand out, and are kept
    assert (advice.outside, bool(advice), advice.reason) == (0, True, None)
    assert tuple(ss.suggest_bounds(PAY[PAY > 0], SURE)) == (0, 50)  # an end so near to zero is zero
    assert tuple(ss.suggest_bounds(PAY[PAY > 20], SURE)) == (20, 50)
    assert tuple(ss.suggest_bounds(-PAY, SURE)) == (-50, 0)
    assert tuple(ss.suggest_bounds(np.r_[PAY, -PAY / 10], SURE)) == (-5, 50)
    assert tuple(ss.suggest_bounds(np.r_[np.full(5, 1e6), PAY], SURE)) == (0, 50)  # 0.2% of the others
    assert tuple(ss.suggest_bounds(np.r_[np.full(5, 1e6), PAY], SURE, coverage=0.999)) == (0, 10**6)
    ids = np.arange(2000) // 5
    assert ss.suggest_max_rows({"id": ids}, "id", SURE).max_rows == 5
    table = {"x": np.ones(2000), "id": ids}
    assert tuple(ss.suggest_bounds(table, SURE, column="x", privacy_unit="id")) == (0, 5)
    assert tuple(ss.suggest_bounds(table, SURE, column="x", privacy_unit="id", max_rows=5)) == (Fraction(1, 2), 1)


def test_bounds_of_totals_have_zero_within_them():
    """A person's total may be of many small rows, which other bounds would move."""
    table = {"x": np.full(3000, 100.0), "id": np.arange(3000)}
    assert tuple(ss.suggest_bounds(table, SURE, column="x", privacy_unit="id")) == (0, 100)
    assert tuple(ss.suggest_bounds(table, SURE, column="x")) == (50, 100)


@pytest.mark.parametrize(
    "data, said",
    [
        (np.zeros(0), "no range of values stands out"),
        (np.ones(3), "no range of values stands out"),
        (np.zeros(5000), "only zeros stand out"),
        (np.full(5000, 1e20), "beyond the largest cell"),
        (np.full(5000, np.nan), "no range of values stands out"),
        (np.full(5000, -np.inf), "beyond the largest cell"),
    ],
)
def test_where_the_counts_say_too_little_there_is_no_advice(data, said):
    given = [ss.suggest_bounds(data, 1) for _ in range(50)]
    assert sum(map(bool, given)) < 15  # noise alone stands out in 5% of them at most
    advice = next(advice for advice in given if not advice)
    assert said in advice.reason
    assert (advice.lower, advice.upper, advice.outside) == (None, None, None)
    assert said in repr(advice)
    assert said in advice._repr_html_()
    with refused("bounds", Reason.EMPTY, ValueError):
        ss.sum(PAY, bounds=advice, epsilon=1)
    assert ss.check(advice) == []
    assert advice.to_arrow().num_rows == 0


def test_what_stands_out_is_kept_within_the_bounds():
    """The rule itself, on counts: thin tails widen the bounds only where they are more than noise."""
    ends, quiet = CELLS.ends, [0] * len(CELLS.ends)

    def span(threshold=20, half_width=10, coverage=Fraction(99, 100), **cells):
        noisy = list(quiet)
        for name, count in cells.items():
            noisy[ZERO + int(name[1:]) * (-1 if name[0] == "n" else 1)] = count
        return find_span(noisy, threshold, half_width, coverage, ends, ZERO)

    assert span() == "few"
    assert span(p30=20) == "few"
    assert span(p0=500) == "zero"
    first, last, outside, _ = span(p30=1000)
    assert (first - ZERO, last - ZERO, outside) == (30, 30, 0)
    assert span(p30=1000, p31=15).last - ZERO == 30  # as much as noise may add
    tail = {f"p{i}": 15 for i in range(31, 37)}
    assert span(p30=1000, **tail).last - ZERO > 30  # and six times that, which it hardly does
    assert span(p30=1000, p31=15).outside == 15
    assert span(p30=1000, p20=30, n25=400)[:2] == (ZERO - 25, ZERO + 30)


def test_nothing_in_the_advice_but_what_the_noisy_counts_say():
    advice = ss.suggest_bounds(PAY, 1)
    again = type(advice)(advice.counts, advice.cells, advice.coverage)
    assert tuple(again) == tuple(advice)
    assert set(vars(advice)) <= {"counts", "cells", "coverage", "noisy", "threshold", "_found"}


def test_it_is_charged_before_anything_is_read():
    budget = ss.Budget(epsilon=1)
    ss.suggest_bounds(PAY, "1/4", budget=budget)
    assert budget.left.epsilon == Fraction(3, 4)
    with pytest.raises(ss.BudgetExceeded):
        ss.suggest_bounds(PAY, 1, budget=budget)
    for refuse in (
        lambda: ss.suggest_bounds(PAY, 1, coverage=1, budget=budget),
        lambda: ss.suggest_bounds({"x": PAY}, 1, column="y", budget=budget),
        lambda: ss.suggest_bounds({"x": ["a"] * 3}, 1, column="x", dtype="text", budget=budget),
    ):
        with pytest.raises((ValueError, TypeError)):
            refuse()
    assert budget.left.epsilon == Fraction(3, 4)


def test_an_owner_s_table_is_asked_for_advice():
    table = {"x": np.tile([3.0, 40.0], 2000), "who": np.arange(4000) // 4, "odd": np.arange(4000) % 2}
    budget = ss.Budget(epsilon=4 * SURE, privacy_unit="who")
    owner = ss.Private(table, privacy_unit="who", max_rows=7, max_groups=3, budget=budget)
    advice = owner.suggest_bounds("x", SURE, where=[("odd", "==", 1)])
    assert tuple(advice) == (0, 100)
    assert advice.certificate["released"][0]["l1_steps"] == 1
    assert owner.suggest_bounds("x", SURE, max_rows=2).certificate["released"][0]["l1_steps"] == 2
    assert owner.suggest_max_rows(SURE).max_rows == 5
    assert budget.left.epsilon == SURE
    assert owner.sum("x", bounds=advice, epsilon=1, max_rows=1).bounds[1] <= 100
    records = ss.Private(table, budget=ss.Budget(epsilon=SURE))
    assert tuple(records.suggest_bounds("x", SURE)) == (0, 50)


def test_bounds_are_given_at_once_or_one_by_one():
    for ask in (ss.sum, ss.mean, ss.variance):
        assert ask(PAY, bounds=(0, 50), epsilon=1).bounds == ask(PAY, 0, 50, 1).bounds
    assert list(ss.histogram(PAY, bins=2, bounds=(0, 50), epsilon=1)) == [(0, 25), (25, 50)]
    owner = ss.Private({"x": PAY}, budget=ss.Budget(epsilon=9))
    assert list(owner.histogram("x", bins=2, bounds=(0, 50), epsilon=1)) == [(0, 25), (25, 50)]
    assert owner.plan("x", bounds=(0, 50)).problem.upper == 50
    with refused("bounds", Reason.CONFLICT, ValueError):
        ss.sum(PAY, 0, 50, 1, bounds=(0, 50))
    for given in (3, (1, 2, 3), "ab"):
        with refused("bounds", Reason.MALFORMED, ValueError):
            ss.sum(PAY, bounds=given, epsilon=1)
    with refused("lower", Reason.MISSING, ValueError):
        ss.sum(PAY, epsilon=1)


def test_bounds_of_totals_are_not_taken_for_rows():
    table = {"x": PAY, "who": list(range(len(PAY)))}
    totals = ss.suggest_bounds(table, 100, column="x", privacy_unit="who")
    rows = ss.suggest_bounds(table, 100, column="x", privacy_unit="who", max_rows=2)
    assert (totals.are_of_totals, rows.are_of_totals) == (True, False)
    ss.sum(table, epsilon=1, column="x", bounds=totals, privacy_unit="who")
    for ask in (ss.sum, ss.mean, ss.variance, ss.std):
        ask(table, epsilon=1, column="x", bounds=rows, privacy_unit="who", max_rows=2)
        with refused("bounds", Reason.CONFLICT, ValueError):
            ask(table, epsilon=1, column="x", bounds=totals, privacy_unit="who", max_rows=2)
    owner = ss.Private(table, privacy_unit="who", max_rows=2, budget=ss.Budget(epsilon=9, privacy_unit="who"))
    owner.sum("x", bounds=totals, epsilon=1, max_rows=1)
    with refused("bounds", Reason.CONFLICT, ValueError):
        owner.sum("x", bounds=totals, epsilon=1)


def test_what_is_refused():
    table = {"x": PAY, "g": ["a"] * len(PAY)}
    with refused("by", Reason.CONFLICT, ValueError):
        ss.release(table, [ss.Bounds("x")], 1, by="g", groups=["a"])
    with refused("privacy_unit", Reason.NEEDS, ValueError):
        ss.release(table, [ss.MaxRows()], 1)
    with refused("max_rows", Reason.NEEDS, ValueError):
        ss.suggest_bounds(table, 1, column="x", max_rows=3)
    for most, reason in ((0, Reason.TOO_SMALL), ("a", Reason.NOT_WHOLE), (True, Reason.NOT_WHOLE)):
        with refused("max_rows", reason, ValueError):
            ss.suggest_bounds(table, 1, column="x", privacy_unit="g", max_rows=most)
    for coverage, reason in ((0, Reason.TOO_SMALL), (1, Reason.TOO_LARGE), (float("nan"), Reason.TOO_SMALL)):
        with refused("coverage", reason, ValueError):
            ss.suggest_bounds(table, 1, column="x", coverage=coverage)


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_every_reader_gives_the_same_counts(engine, tmp_path):
    random = np.random.default_rng(1)
    table = pa.table({"x": random.lognormal(3, 2, 999), "who": random.integers(0, 200, 999)})
    pq.write_table(table, tmp_path / "t.parquet")
    for statistic in (ss.TotalBounds("x"), ss.MaxRows()):
        here = counts(table, statistic, privacy_unit="who")
        assert counts(str(tmp_path / "t.parquet"), statistic, privacy_unit="who", engine=engine) == here
        assert counts(pl.from_arrow(table).lazy(), statistic, privacy_unit="who") == here
    assert counts(table, ss.Bounds("x")) == counts(str(tmp_path / "t.parquet"), ss.Bounds("x"), engine=engine)


def test_the_commands_and_requests(tmp_path):
    path, request = tmp_path / "t.parquet", tmp_path / "r.toml"
    pq.write_table(pa.table({"x": PAY, "who": np.arange(len(PAY)) // 5}), path)

    def run(*arguments):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == 0, result.output
        return result.output

    said = run("suggest-bounds", path, "--column", "x", "--epsilon", SURE)
    assert "at least 99% of the values of x" in said
    assert "50" in said
    plain = run("suggest-bounds", path, "--column", "x", "--epsilon", SURE, "--json")
    assert json.loads(plain)["advice"] == {
        "lower": "0", "upper": "50", "coverage": "99/100", "outside": 0, "outside_at_most": 0,
    }  # fmt: skip
    (tmp_path / "a.json").write_text(plain)
    assert "holds" in run("check", tmp_path / "a.json")
    assert "max_rows" in run("suggest-max-rows", path, "--privacy-unit", "who", "--epsilon", SURE, "--csv")
    request.write_text(
        'epsilon = 1000\nprivacy_unit = "who"\n[statistics.most]\nstatistic = "total_bounds"\ncolumn = "x"\n'
        'coverage = 0.95\n[statistics.rows]\nstatistic = "max_rows"\n'
    )
    assert "most: Bounds for at least 95% of the persons' totals of x" in run("release", path, request)
    run("release", path, request, "--csv")
    (tmp_path / "b.json").write_text(run("release", path, request, "--json"))
    assert "holds" in run("check", tmp_path / "b.json")


def test_rows_of_a_person_end_at_round_numbers():
    cells = row_cells()
    assert [ends for ends, _ in zip(cells.ends, range(5), strict=False)] == [(0, 1), (1, 2), (2, 5), (5, 10), (10, 20)]
    assert cells.ends[-1] == (10**9, None)
