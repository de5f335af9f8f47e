"""Totals that were added up in parts are those of one release over all the data, whatever the parts and their order."""

import copy
import hashlib
import pickle
import random
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, QUESTIONS, answers, table_of

TABLE = table_of(400)
PERSONS = [name for name, (_, options) in QUESTIONS.items() if "privacy_unit" in options]
COST = [ss.Sum("cost", 0, 100), ss.Count()]
WEEK = {"cost": [12.5, 80.0, 41.0], "ward": ["a", "b", "a"], "who": [1, 1, 2]}
BY_WARD = {"by": "ward", "groups": ["a", "b"]}


def totals(partial):
    """The integers before any noise, and the number of rows where it is public."""
    found, n = partial._held.add_up(partial._plan.tasks)
    return found, n if partial._plan.counts_rows else None


def copied(partial):
    """What a file of it holds."""
    return ss.Partial._from_bytes(partial._to_bytes())


def cut(table, count, seed=0):
    """The rows of a table, each in one of so many parts, in no order."""
    places = np.random.default_rng(seed).integers(0, count, table.num_rows)
    return [table.filter(pa.array(places == place)) for place in range(count)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_parts_add_up_to_the_whole(question):
    statistics, options = QUESTIONS[question]
    plan = ss.Partial.plan(statistics, **options)
    parts = [plan.add(part, part=str(place)) for place, part in enumerate(cut(TABLE, 4))]
    expected = answers(TABLE, statistics, **options)
    assert totals(reduce(add, map(copied, parts))) == expected
    assert totals(copied((parts[3] + parts[1]) + (parts[2] + parts[0]))) == expected


@pytest.mark.parametrize("question", PERSONS)
def test_shards_add_up_to_the_whole(question):
    statistics, options = QUESTIONS[question]
    plan = ss.Partial.plan(statistics, **options)
    shards = [copied(plan.shard(place, of=3).add(TABLE)) for place in (2, 0, 1)]
    assert totals(sum(shards)) == answers(TABLE, statistics, **options)


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows_in_every_part(question):
    statistics, options = HEAVY_QUESTIONS[question]
    plan = ss.Partial.plan(statistics, **options)
    parts = [plan.add(part, part=str(place)) for place, part in enumerate(cut(HEAVY, 3))]
    assert totals(sum(map(copied, parts))) == answers(HEAVY, statistics, **options)


ROWS = st.lists(
    st.tuples(
        st.floats(-150, 150) | st.none(),
        st.sampled_from(["a", "b", "c", None]),
        st.integers(1, 5) | st.none(),
        st.integers(0, 2),
    ),
    max_size=40,
)
CAPS = st.tuples(st.integers(1, 3), st.integers(1, 3))
ASKED = [
    ss.Sum("x", -100, 100),
    ss.Mean("x", -100, 100),
    ss.Variance("x", -10, 10),
    ss.Std("x", 0, 10),
    ss.Count(),
    ss.Histogram("x", [-100, 0, 100]),
    ss.Quantile("x", 0.5, -100, 100, candidates=9),
    ss.Clipped("x", 0, 1),
]


@settings(max_examples=60)
@given(ROWS, CAPS, st.randoms(use_true_random=False), st.sampled_from(["int64", "string", "objects"]))
def test_any_division_merged_in_any_order_gives_the_same_integers(rows, caps, order, ids):
    values, wards, who, places = ([row[i] for row in rows] for i in range(4))
    if ids == "objects":
        own = [None if one is None else (one, "p") for one in who]
    else:
        own = pa.array(who if ids == "int64" else [None if one is None else f"p{one}" for one in who], ids)
    options = {"by": "ward", "groups": ["a", "b", "c"], "privacy_unit": "who"}
    options |= dict(zip(("max_rows", "max_groups"), caps, strict=True))

    def table(chosen):
        take = own.take(pa.array(chosen, "int64")) if ids != "objects" else [own[i] for i in chosen]
        return {
            "x": pa.array([values[i] for i in chosen], "float64"),
            "ward": pa.array([wards[i] for i in chosen], "string"),
            "who": take,
        }

    plan = ss.Partial.plan(ASKED, **options)
    parts = [plan.add(table([i for i, at in enumerate(places) if at == p]), part=str(p)) for p in range(3)]
    order.shuffle(parts)
    merged = parts[0] + (parts[1] + parts[2]) if order.random() < 0.5 else (parts[0] + copied(parts[1])) + parts[2]
    assert totals(merged) == answers(table(range(len(rows))), ASKED, **options)


def test_merging_changes_neither_side():
    plan = ss.Partial.plan(COST, privacy_unit="who", **BY_WARD)
    one, two = (plan.add(WEEK, part=name) for name in "ab")
    before = totals(one), totals(two)
    assert totals(one + two) != before[0]
    assert (totals(one), totals(two)) == before


def test_pairs_that_come_again_are_added_up_before_they_take_much_memory():
    plan = ss.Partial.plan(COST, privacy_unit="who")
    merged = reduce(add, [plan.add(WEEK, part=str(day)) for day in range(20)])
    assert sum(len(some.rows) for some in merged._held.tasks[0]) <= 4
    assert totals(merged) == answers({"cost": WEEK["cost"] * 20, "who": WEEK["who"] * 20}, COST, privacy_unit="who")


def test_no_rows_are_a_part_too():
    statistics, options = QUESTIONS["persons and groups"]
    plan = ss.Partial.plan(statistics, **options)
    both = plan.add(NOTHING, part="a") + copied(plan.add(TABLE, part="b"))
    assert totals(both) == answers(TABLE, statistics, **options)


def test_the_shard_of_a_person_is_the_hash_of_the_id():
    people = [f"person {i}" for i in range(50)]
    plan = ss.Partial.plan([ss.Count()], privacy_unit="who")
    digests = [int.from_bytes(hashlib.sha256(one.encode()).digest()[:8], "big") % 4 for one in people]
    for place in range(4):
        (((count,),),), _ = totals(plan.shard(place, of=4).add({"who": people}))
        assert count == digests.count(place)


def test_a_release_is_as_one_over_all_the_data(silent):
    options = {"relation": "change_one", **BY_WARD}
    plan = ss.Partial.plan({"total": COST[0], "rows": COST[1]}, **options)
    ours = (plan.add(WEEK, part="a") + plan.add(WEEK, part="b")).release(epsilon=1)
    whole = {name: values * 2 for name, values in WEEK.items()}
    theirs = ss.release(whole, {"total": COST[0], "rows": COST[1]}, epsilon=1, **options)
    for name in ("total", "rows"):
        assert {group: one.exact for group, one in ours[name].items()} == {
            g: one.exact for g, one in theirs[name].items()
        }
        one, other = ours[name]["a"], theirs[name]["a"]
        assert one.certificate | {"engine": ""} == other.certificate | {"engine": ""}
        assert ss.check(one) is not None
        assert one.interval() == other.interval()
    assert ours["total"]["a"].certificate["engine"] == "parts"


def test_the_public_number_of_rows_is_that_of_all_parts(silent):
    plan = ss.Partial.plan([ss.Mean("cost", 0, 100)], relation="change_one")
    (mean,) = (plan.add(WEEK, part="a") + copied(plan.add({"cost": [0.0]}, part="b"))).release(epsilon=1)
    assert mean.facts.n == 4
    assert mean.value == pytest.approx(133.5 / 4)


def test_a_size_that_is_not_the_number_of_rows_is_refused_and_not_charged():
    budget = ss.Budget(epsilon=1, relation="change_one")
    plan = ss.Partial.plan([ss.Sum("cost", 0, 100, size=7)], relation="change_one")
    parts = plan.add(WEEK, part="a") + plan.add(WEEK, part="b")
    with pytest.raises(ValueError, match="size"):
        parts.release(epsilon=1, budget=budget)
    assert budget.left.epsilon == 1


def test_periods_keep_their_zone(silent):
    times = pa.array([0, 3600], pa.timestamp("s", "UTC"))
    plan = ss.Partial.plan([ss.Count()], by=ss.hour("at", "1970-01-01T00", "1970-01-01T02"))
    one = copied(plan.add({"at": times}, part="a") + plan.add({"at": times}, part="b"))
    (counts,) = one.release(epsilon=1)
    (whole,) = ss.release({"at": times}, [ss.Count()], epsilon=1, by=plan.request.by)
    assert list(counts) == list(whole)
    assert [one.exact for one in counts.values()] == [2, 2, 0]


def test_python_sums_them():
    plan = ss.Partial.plan(COST)
    assert repr(sum(plan.add(WEEK, part=str(i)) for i in range(3))) == "<partial sums: sum of cost; count; 3 parts>"
    with pytest.raises(TypeError):
        1 + plan.add(WEEK, part="a")
    with pytest.raises(TypeError):
        plan.add(WEEK, part="a") + {"cost": 1}


# Budgets


def test_every_release_is_charged_before_it_is_drawn():
    budget = ss.Budget(epsilon=2)
    part = ss.Partial.plan(COST).add(WEEK, part="a")
    part.release(epsilon=1, budget=budget)
    part.release(epsilon=1, budget=budget)
    with pytest.raises(ss.BudgetExceeded):
        part.release(epsilon=1, budget=budget)
    assert budget.left.epsilon == 0


def test_a_budget_about_another_unit_refuses():
    budget = ss.Budget(epsilon=2, privacy_unit="who")
    with pytest.raises(ss.BudgetMismatch):
        ss.Partial.plan(COST).add(WEEK, part="a").release(epsilon=1, budget=budget)


def make_owner(**options):
    budget = ss.Budget(epsilon=3, privacy_unit="who", data="visits")
    schema = {"cost": ("float64", 0, 100), "ward": ["a", "b"]}
    return ss.Private(WEEK, privacy_unit="who", max_rows=2, name="visits", budget=budget, schema=schema, **options)


def test_parts_on_an_owners_terms_are_charged_to_the_owners_budget(tmp_path):
    owner = make_owner()
    plan = owner.partial([ss.Sum("cost"), ss.Count()], by="ward")
    part = plan.add(WEEK, part="a")
    assert totals(part) == answers(WEEK, COST, **BY_WARD, privacy_unit="who", max_rows=2)
    (part + pickle.loads(pickle.dumps(plan)).add(WEEK, part="b")).release(epsilon=1)
    assert owner.budget.left.epsilon == 2
    part.save(tmp_path / "a.sum")
    loaded = ss.Partial.load(tmp_path / "a.sum")
    refuses(lambda: loaded.release(epsilon=1), "budget", "missing")
    loaded.release(epsilon=1, budget=owner.budget)
    assert owner.budget.left.epsilon == 1
    refuses(lambda: part.release(epsilon=1, budget=ss.Budget(epsilon=9)), "budget", "mismatch")
    with pytest.raises(ss.BudgetExceeded):
        part.release(epsilon=2)


def test_an_owners_schema_is_held_against_every_part():
    plan = make_owner().partial([ss.Sum("cost")])
    wrong = {"cost": pa.array([1], "int64"), "ward": ["a"], "who": [1]}
    refuses(lambda: plan.add(wrong, part="a"), "dtype", "conflict")


def test_parts_of_two_owners_do_not_merge():
    one, two = (make_owner().partial([ss.Count()]).add(WEEK, part=name) for name in "ab")
    refuses(lambda: one + two, "budget", "mismatch")


def test_a_plan_leaves_its_budget_behind():
    plan = make_owner().partial([ss.Count()])
    assert pickle.loads(pickle.dumps(plan)).budget is None


# What shows


def test_nothing_of_the_contents_is_shown():
    plan = ss.Partial.plan(COST, privacy_unit="who", **BY_WARD)
    for partial in (plan.add(WEEK, part="a"), plan.shard(0, of=2).add(WEEK)):
        for said in (repr(partial), str(partial), f"{partial}"):
            assert not {"12", "80", "133", "'a'"} & set(said.replace(",", " ").split())
        assert not hasattr(partial, "_repr_html_")
    assert repr(plan.add(WEEK, part="a")) == "<partial sums: sum of cost; count; all by ward; 1 part>"
    assert repr(plan.shard(0, of=2).add(WEEK)) == "<partial sums: sum of cost; count; all by ward; 1 of 2 shards>"
    assert repr(plan.shard(1, of=2)) == "<plan of partial sums: sum of cost, count, shard 1 of 2>"


def test_a_copy_is_made_through_the_checked_bytes():
    part = ss.Partial.plan(COST, privacy_unit="who").add(WEEK, part="a")
    assert part.__reduce__()[0] == ss.Partial._from_bytes
    assert totals(copy.deepcopy(part)) == totals(pickle.loads(pickle.dumps(part))) == totals(part)


def test_failures_while_adding_are_shown_to_the_owner(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 of something else")
    refuses(lambda: ss.Partial.plan(COST).add(tmp_path / "broken.parquet", part="a"), "data", "unreadable")
    batches = pa.RecordBatchReader.from_batches(pa.schema({"cost": pa.float64()}), failing())
    with pytest.raises(OSError, match="the disk is gone"):
        ss.Partial.plan([COST[0]]).add(batches, part="a")


def failing():
    yield pa.record_batch({"cost": [1.0]})
    raise OSError("the disk is gone")


# Refusals


def refuses(ask, option, reason):
    with pytest.raises((ValueError, TypeError)) as refused:
        ask()
    assert (refused.value.option, refused.value.reason) == (option, reason)


def test_parts_of_equal_names_do_not_merge():
    plan = ss.Partial.plan(COST)
    one, two = plan.add(WEEK, part="a") + plan.add(WEEK, part="b"), plan.add(WEEK, part="b")
    refuses(lambda: one + two, "part", "repeated")
    refuses(lambda: one + one, "part", "repeated")


BASE = {"statistics": COST, "privacy_unit": "who", **BY_WARD}
OTHERS = {
    "statistics": {"statistics": COST[:1]},
    "statistics, bounds": {"statistics": [ss.Sum("cost", 0, 101), ss.Count()]},
    "statistics, weight": {"statistics": [ss.Sum("cost", 0, 100, weight=2), ss.Count()]},
    "statistics, column": {"statistics": [ss.Sum("price", 0, 100), ss.Count()]},
    "statistics, names": {"statistics": {"a": COST[0], "b": COST[1]}},
    "statistics, missing": {"missing": "drop", "statistics": [COST[0], ss.Count("cost")]},
    "groups": {"groups": ["a", "c"]},
    "groups, order": {"groups": ["b", "a"]},
    "by": {"by": "price"},
    "where": {"where": [("ward", "==", "a")]},
    "relation": {"relation": "change_one", "privacy_unit": None},
    "max_rows": {"max_rows": 2},
    "max_groups": {"max_groups": 2},
    "name": {"name": "visits"},
    "privacy_unit": {"privacy_unit": "ward", "by": None, "groups": None},
}


@pytest.mark.parametrize("difference", OTHERS)
def test_parts_of_another_plan_do_not_merge(difference):
    data = {**WEEK, "price": [1.0, 2.0, 3.0]}
    options = BASE | OTHERS[difference]
    base = BASE | ({"privacy_unit": None} if "relation" in difference else {})
    base |= {"by": None, "groups": None} if difference == "privacy_unit" else {}
    if difference == "by":
        data["price"] = ["a", "b", "a"]
    one, two = (
        ss.Partial.plan(own.pop("statistics"), **own).add(data, part=part)
        for part, own in (("a", dict(base)), ("b", dict(options)))
    )
    option = difference.partition(",")[0]
    refuses(lambda: one + two, option, "mismatch")
    refuses(lambda: copied(two) + one, option, "mismatch")


def test_columns_of_another_type_do_not_merge():
    plan = ss.Partial.plan(COST)
    one, two = (plan.add({"cost": np.array([1.0], kind)}, part=kind) for kind in ("float32", "float64"))
    refuses(lambda: one + two, "statistics", "mismatch")


def test_ids_of_another_type_do_not_merge():
    plan = ss.Partial.plan([ss.Count()], privacy_unit="who")
    one = plan.add({"who": pa.array([1, 2], "int32")}, part="a")
    assert totals(one + plan.add({"who": pa.array([2, 3], "int64")}, part="b"))[0] == [[[3]]]
    for other in (pa.array(["1"]), pa.array([1.0]), pa.array([1], pa.date32()), pa.array([1], "uint64"), [1]):
        part = plan.add({"who": other}, part="c")
        refuses(lambda part=part: one + part, "privacy_unit", "mismatch")


def test_groups_of_another_type_do_not_merge():
    day = ss.Partial.plan([ss.Count()], by="ward", groups=["2024-01-01"])
    date = ss.Partial.plan([ss.Count()], by="ward", groups=[np.datetime64("2024-01-01").item()])
    one = day.add({"ward": ["x"]}, part="a")
    refuses(lambda: one + date.add({"ward": pa.array([1], pa.date32())}, part="b"), "groups", "mismatch")


def test_shards_merge_once_each_and_only_with_their_like():
    plan = ss.Partial.plan(COST, privacy_unit="who")
    one, two, three = plan.shard(0, of=2).add(WEEK), plan.shard(1, of=2).add(WEEK), plan.shard(1, of=3).add(WEEK)
    refuses(lambda: one + one, "part", "repeated")
    refuses(lambda: one + three, "of", "mismatch")
    refuses(lambda: one + plan.add(WEEK, part="1"), "of", "mismatch")
    budget = ss.Budget(epsilon=1, privacy_unit="who")
    refuses(lambda: one.release(epsilon=1, budget=budget), "of", "missing")
    assert budget.left.epsilon == 1
    (one + two).release(epsilon=1, budget=budget)


@pytest.mark.parametrize(
    ("place", "of", "option", "reason"),
    [
        (0, 0, "of", "too-small"),
        (0, 1 << 21, "of", "too-many"),
        (2, 2, "place", "unknown"),
        (-1, 2, "place", "unknown"),
        (True, 2, "place", "not-whole"),
        (0, 2.0, "of", "not-whole"),
    ],
)
def test_a_shard_is_one_of_a_number(place, of, option, reason):
    refuses(lambda: ss.Partial.plan(COST, privacy_unit="who").shard(place, of=of), option, reason)


def test_what_cannot_be_added_up_in_parts_is_refused():
    plan = ss.Partial.plan
    refuses(lambda: plan(COST).shard(0, of=2), "place", "needs")
    refuses(lambda: plan(COST, by="ward", groups=ss.Found(delta="1e-9")), "groups", "unsupported")
    refuses(lambda: plan([]), "statistics", "empty")
    refuses(lambda: plan(COST, by=WEEK["ward"], groups=["a"]).add(WEEK, part="a"), "by", "repeated")
    refuses(lambda: plan(COST, by=np.array([1, 2]), groups=["a"]), "by", "wrong-type")
    refuses(lambda: plan(COST, by="ward", groups=[{"a": 1}]).add(WEEK, part="a"), None, "unsupported")
    kahan = [ss.Sum("cost", 0, 100, method="toward_zero", size=3)]
    refuses(lambda: plan(kahan, relation="change_one").add(WEEK, part="a"), "method", "unsupported")
    named = [ss.Sum("cost", 0, 100, method="grid")]
    refuses(lambda: plan(named, relation="change_one"), "size", "needs")
    refuses(lambda: plan(COST).add(WEEK), "part", "missing")
    refuses(lambda: plan(COST).add(WEEK, part=""), "part", "missing")
    refuses(lambda: plan(COST).add(WEEK, part=7), "part", "wrong-type")
    refuses(lambda: plan(COST, privacy_unit="who").shard(0, of=2).add(WEEK, part="a"), "part", "conflict")


def test_duckdb_and_polars_read_parts(tmp_path):
    import duckdb
    import polars as pl

    plan = ss.Partial.plan(COST, privacy_unit="who", **BY_WARD)
    week = pa.table(WEEK)
    with duckdb.connect() as connection:
        connection.register("week", week)
        both = plan.add(connection, part="a", table="week") + plan.add(pl.from_arrow(week).lazy(), part="b")
    whole = pa.concat_tables([week, week])
    assert totals(both) == answers(whole, COST, privacy_unit="who", **BY_WARD)


def test_more_and_fewer_of_a_kind_of_records_take_the_same_path():
    """A seeded walk over divisions: the same integers, however rows without ids or values are divided."""
    draw = random.Random(5)
    statistics, options = QUESTIONS["persons and groups, missing ones dropped"]
    plan = ss.Partial.plan(statistics, **options)
    expected = answers(TABLE, statistics, **options)
    for seed in range(5):
        parts = [plan.add(part, part=str(i)) for i, part in enumerate(cut(TABLE, draw.randint(2, 9), seed))]
        draw.shuffle(parts)
        assert totals(sum(parts)) == expected
