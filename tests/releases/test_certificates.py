"""`soundsum check --budget`: every value in a file was charged for, once, as the statistic it is and with its share."""

import json
from datetime import date, datetime

import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app

TABLE = {
    "pay": [1.0, 2.0, 3.0],
    "age": [30, 40, 50],
    "dept": ["a", "b", "a"],
    "id": [1, 1, 2],
    "day": [date(2024, 1, 5), date(2024, 2, 1), None],
}
THREE = {"total": ss.Sum("pay", 0, 9), "n": ss.Count(), "mean": ss.Mean("pay", 0, 9)}


@pytest.fixture
def budget(tmp_path):
    return ss.Budget(epsilon=100, path=tmp_path / "ledger.db")


@pytest.fixture
def check(tmp_path):
    """What `soundsum check --budget` says of releases in one file: its exit code, and its words in one line."""

    def run(releases):
        plain = [release.to_dict() if hasattr(release, "to_dict") else release for release in releases]
        (tmp_path / "r.json").write_text(json.dumps(plain))
        done = CliRunner().invoke(app, ["check", str(tmp_path / "r.json"), "--budget", str(tmp_path / "ledger.db")])
        said = done.output or str(done.exception)
        return (2 if isinstance(done.exception, ValueError) else done.exit_code), " ".join(said.split())

    return run


def releases_of(outcome):
    written = json.loads(outcome.to_json())
    return written.get("releases", [written])


def name_charge(release, of):
    """A release that names another's charge as its own."""
    return {**release, "ledger": of["ledger"]}


def test_three_certificates_of_all_of_a_charge_that_three_share(budget, check):
    paid = releases_of(ss.release(TABLE, THREE, 1, budget=budget))
    assert check(paid) == (0, check(paid)[1])
    alone = [releases_of(ss.release(TABLE, {name: one}, 1))[0] for name, one in THREE.items()]
    forged = [name_charge(one, of) for one, of in zip(alone, paid, strict=True)]
    for tried in ([one] for one in forged):
        code, said = check(tried)
        assert code == 1, said
    code, said = check(forged)
    assert code == 1
    assert "the certificate promises epsilon = 1, and 1/3 of the charge is epsilon = 1/3" in said


def test_fifteen_releases_that_name_one_charge(budget, check):
    (paid,) = releases_of(ss.sum(TABLE, 0, 9, 1, column="pay", budget=budget))
    others = [name_charge(releases_of(ss.sum(TABLE, 0, 9, 1, column="pay"))[0], paid) for _ in range(14)]
    assert check([paid])[0] == check(others[:1])[0] == 0  # nobody knows which of them was paid for
    code, said = check([paid, *others])
    assert code == 1
    assert "charge 1 was for one value of the sum of pay, and there are 15" in said


def test_copies_of_one_release_are_one_release(budget, check):
    several = releases_of(ss.release(TABLE, THREE, 1, budget=budget))
    code, said = check([*several, *several, {key: value for key, value in several[0].items() if key != "name"}])
    assert code == 0, said


def test_charges_in_one_file_are_told_apart(budget, check):
    several = [one for _ in range(3) for one in releases_of(ss.release(TABLE, THREE, 1, budget=budget))]
    assert check(several)[0] == 0
    moved = {**several[0], "ledger": {**several[0]["ledger"], "entry": several[3]["ledger"]["entry"]}}
    code, said = check([*several, moved])
    assert code == 1, said


def test_two_of_the_same_kind_in_one_charge_have_a_value_each(budget, check):
    twice = ss.release(TABLE, [ss.Count(), ss.Count()], 1, budget=budget)
    assert check(releases_of(twice))[0] == check([*twice])[0] == 0
    again = releases_of(ss.release(TABLE, [ss.Count(), ss.Count()], 1))
    code, said = check([*twice, name_charge(again[0], twice[0].to_dict())])
    assert code == 1, said


GROUPED = [
    {"by": "dept", "groups": ["a", "b"]},
    {"by": ["dept", "age"], "groups": [["a", "b"], [30, 40]]},
    {"by": ["dept", "age"], "groups": [("a", 30), ("b", 40)]},
    {"by": ss.month("day", "2024-01", "2024-03")},
    {"by": ["dept", ss.month("day", "2024-01", "2024-02")], "groups": [["a"], None]},
    {"by": "age", "groups": [30, 40], "where": [("pay", ">", 0.5), ("day", "!=", date(2024, 1, 1))]},
    {"by": "age", "groups": [30.5, float("inf")]},
]
CELLS = [
    ss.Histogram("pay", [0, 1.5, 3]),
    ss.Histogram("dept", categories=["a", "b"]),
]


@pytest.mark.parametrize("statistic", [*THREE.values(), *CELLS], ids=lambda one: one.name)
@pytest.mark.parametrize("options", [{}, *GROUPED, {"where": ("age", ">", 20)}], ids=str)
@pytest.mark.parametrize("whom", [{}, {"privacy_unit": "id", "max_rows": 2}], ids=["records", "persons"])
def test_whatever_is_released_is_found_in_its_ledger(tmp_path, check, statistic, options, whom):
    unit = {"privacy_unit": "id"} if whom else {}
    budget = ss.Budget(epsilon=100, path=tmp_path / "ledger.db", **unit)
    released = releases_of(ss.release(TABLE, [statistic], 1, budget=budget, **options, **whom))
    code, said = check(released)
    assert code == 0, said
    assert ss.check(released) == []
    (entry,) = budget.entries()
    assert entry.query == ss.budget.Query.from_json(released[0]["ledger"]["query"])
    if len(released) > 1:
        code, said = check([{**released[0], "group": released[1]["group"], "at": "then"}, *released[1:]])
        assert code in (1, 2), said
        code, said = check([{**released[0], "group": "zz"}, *released[1:]])
        assert code in (1, 2), said


@pytest.mark.parametrize("relation", ["change_one", "hamming", "insert_delete"])
@pytest.mark.parametrize(
    "options", [{}, {"missing": "drop"}, {"by": "dept", "groups": ["a"]}, {"where": ("age", ">", 20)}]
)
def test_also_under_other_relations(tmp_path, check, relation, options):
    budget = ss.Budget(epsilon=100, path=tmp_path / "ledger.db", relation=relation)
    asked = [ss.Sum("pay", 0, 9), ss.Count("pay"), ss.Mean("pay", 0, 9), *CELLS]
    several = ss.release(TABLE, asked, 1, budget=budget, relation=relation, **options)
    code, said = check(releases_of(several))
    assert code == 0, said


def test_weights_methods_sizes_and_decimals(tmp_path, check):
    import pyarrow as pa

    budget = ss.Budget(epsilon=100, path=tmp_path / "ledger.db", relation="change_one")
    table = pa.table({"x": pa.array([100, 200]).cast(pa.decimal128(21, 2)), "i": pa.array([1, 2], pa.int8())})
    asked = [
        ss.Sum("x", "0.1", 9, weight=2),
        ss.Sum("i", 0, 4, method="modular"),
        ss.Sum("i", 0, 4, size=2),
        ss.Count(),
    ]
    several = releases_of(ss.release(table, asked, 1, budget=budget, relation="change_one"))
    code, said = check(several)
    assert code == 0, said
    (entry,) = budget.entries()
    assert [str(one.share) for one in entry.query.statistics] == ["1/2", "1/4", "1/4", "0"]  # a public count is free
    assert [one.unit_value for one in entry.query.statistics] == [ss.Cost("1/100").epsilon, 1, 1, 1]
    swapped = name_charge({**several[1]}, several[2])
    assert check([swapped])[0] == 1


def test_more_cells_than_a_ledger_lists(budget, check):
    cells = ss.Histogram("pay", bins=200, lower=0, upper=1)
    released = releases_of(ss.release(TABLE, [cells], 1, by="dept", groups=["a", "b"], budget=budget))
    assert len(released) == 400
    assert check(released)[0] == 0
    assert check([*released[:-1], {**released[-1], "group": ["b", [1, 2]]}])[0] == 1
    assert check(released[:200])[0] == 0  # every cell is there, of one group
    assert check(released[:199])[0] == 2


def test_a_group_that_was_not_asked_for(budget, check):
    released = releases_of(ss.count(TABLE, 1, by="dept", groups=["a", "b"], budget=budget))
    code, said = check([{**released[0], "group": "c"}])
    assert (code, "the query did not ask for the group 'c'" in said) == (1, True)
    alone = {key: value for key, value in released[0].items() if key != "group"}
    assert check([alone])[0] == 1
    assert check(released[1:])[0] == 0


def test_of_more_groups_than_a_ledger_lists_all_are_needed(budget, check):
    groups = [f"group {i}" for i in range(1000)]
    released = releases_of(ss.count(TABLE, 1, by="dept", groups=groups, budget=budget))
    assert len(json.dumps(released[0]["ledger"])) < 2000
    assert check(released)[0] == 0
    code, said = check(released[1:])
    assert code == 2
    assert "all 1,000 of them" in said
    code, said = check([*released[:-1], {**released[-1], "group": "another"}])
    assert (code, "charge 1 was for other groups" in said) == (1, True)
    assert check([*released, {**released[-1], "group": "another"}])[0] == 1


def test_a_note_of_somebody_s_own_is_no_query(budget, check):
    (paid,) = releases_of(ss.count(TABLE, 1, budget=budget))
    number = budget.charge(ss.Cost(1), str(budget.entries()[0].query))
    noted = budget.entries()[-1]
    assert (noted.query, noted.what) == (None, budget.entries()[0].what)
    code, said = check([{**paid, "ledger": {**paid["ledger"], "entry": number}}])
    assert (code, "was for something else" in said) == (1, True)


@pytest.mark.parametrize(
    "place, value",
    [
        (("statistics", 0, "share"), "1"),
        (("statistics", 0, "lower"), "-1"),
        (("statistics", 0, "missing"), "drop"),
        (("statistics", 0, "method"), "wide"),
        (("where",), [["age", ">", "1"]]),
        (("source",), "elsewhere"),
        (("max_rows",), 5),
        (("groups",), {"count": 3, "names": ["a", "b", "c"]}),
    ],
)
def test_a_query_that_was_changed_in_the_release(budget, check, place, value):
    """Both that the query is not the one charged for, and that the release is not what its query says."""
    released = releases_of(ss.release(TABLE, THREE, 1, by="dept", groups=["a", "b"], budget=budget))
    changed = json.loads(json.dumps(released[0]))
    inner = changed["ledger"]["query"]
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    code, said = check([changed])
    assert code in (1, 2), said
    if place != ("source",):
        assert ss.check(changed) != []


def test_a_count_counts_every_record_as_one(budget, check):
    """A certificate for records within [0, 0] would need no noise."""
    (paid,) = releases_of(ss.count(TABLE, 1, budget=budget))
    from soundsum.privacy.guarantee import guarantee
    from soundsum.releases.certificates import certify
    from soundsum.statistics.task import make_claim

    claim = make_claim(ss.Count, ss.Problem("uint8", 0, 0), ss.plan(ss.Problem("uint8", 0, 0)).adder, ss.Unit(), 1)
    forged = certify(claim, guarantee(1), claim.noises(guarantee(1)), "memory")
    code, _ = check([{**paid, "certificate": forged, "bounds": ["0", "0"]}])
    assert code == 1


def test_what_is_shown_is_said_anew_from_what_is_stored(budget, tmp_path):
    ss.release(TABLE, THREE, 1, by="dept", groups=["a", "b"], budget=budget)
    budget.charge(ss.Cost(1), "sum of pay from staff, protecting one record")
    charges = json.loads(CliRunner().invoke(app, ["budget", "show", str(tmp_path / "ledger.db"), "--json"]).stdout)
    first, second = charges["charges"]
    assert first["query"]["groups"] == {"count": 2, "names": ["a", "b"]}
    assert [one["share"] for one in first["query"]["statistics"]] == ["1/3"] * 3
    assert str(ss.budget.Query.from_json(first["query"])) == first["what"]
    assert (second["query"], second["what"]) == (None, "sum of pay from staff, protecting one record")


def test_times_and_dates_as_groups_are_texts(budget, check):
    table = {"t": [datetime(2024, 1, 1, 12)], "x": [1.0]}
    released = releases_of(ss.count(table, 1, by="t", groups=[datetime(2024, 1, 1, 12)], budget=budget))
    assert check(released)[0] == 0
