"""The owner's file: the words of Private and Budget, anything else refused with its line; and its commands."""

import contextlib
import json
import socket

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from soundsum.budget import ledger
from soundsum.budget.history import Asker
from soundsum.refusals import Reason, Refusal
from soundsum.server.endpoints import MOST_CALLS, Capacity
from soundsum.server.owner_file import read_owner_file
from soundsum.server.running import open_desk
from soundsum.server.tokens import Tokens
from soundsum.server.wire import Reply
from tests.processes import COMMAND, run
from tests.refusing import refused

from .running import OWNER, VISITS

GOOD = OWNER.format(pad='pad = "0.5s"', epsilon="3", max_failures=5)


@pytest.fixture
def write(tmp_path):
    pq.write_table(VISITS, tmp_path / "visits.parquet")

    def write(text):
        (tmp_path / "owner.toml").write_text(text)
        return str(tmp_path / "owner.toml")

    return write


def test_a_file_is_read_in_the_words_of_private_and_budget(write):
    (table,) = read_owner_file(write(GOOD)).values()
    private = table.open()
    assert str(private.budget.epsilon) == "3"
    assert private.schema["ward"].categories == ("a", "b", "c")
    assert (table.terms["privacy_unit"], table.terms["max_rows"], table.pad) == ("patient", 3, "0.5s")
    assert private.budget.binding.data == "visits"


WRONG = {
    "unknown at the top": ("\n[server]\nport = 1\n", 14, "server"),
    "unknown of a table": (GOOD.replace("max_rows", "most_rows"), 5, "most_rows"),
    "unknown of a budget": (GOOD.replace("epsilon =", "epsilom ="), 8, "epsilom"),
    "a type": (GOOD.replace("max_rows = 3", 'max_rows = "3"'), 5, "max_rows"),
    "no data": (GOOD.replace('data = "visits.parquet"', ""), 2, "data"),
    "no ledger": (GOOD.replace('path = "visits.db", ', ""), 8, "path"),
    "a public number of rows": (GOOD.replace("max_rows", 'relation = "change_one"\nmax_rows'), 5, "change_one"),
    "a name": (GOOD.replace("tables.visits", 'tables."vis its"'), None, "vis its"),
    "a column of a number": (GOOD.replace('["a", "b", "c"]', "7"), 11, "ward"),
}


@pytest.mark.parametrize("what", WRONG)
def test_anything_else_is_refused_with_its_line(write, what):
    text, line, said = WRONG[what]
    path = write(GOOD + text if what == "unknown at the top" else text)
    with pytest.raises(Refusal) as caught:
        read_owner_file(path)
    assert said in str(caught.value)
    assert line is None or f"line {line}" in str(caught.value)


def test_a_value_that_private_refuses_is_refused_with_its_table(write):
    with pytest.raises(Refusal, match=r"\[tables.visits\]"):
        open_desk(write(GOOD.replace("max_rows = 3", "max_rows = 0")), Capacity())


def test_a_server_has_a_pad_unless_told(write):
    path = write(GOOD.replace('pad = "0.5s"', ""))
    with refused("pad", Reason.MISSING):
        open_desk(path, Capacity())
    assert list(open_desk(path, Capacity(), needs_pad=False).tables) == ["visits"]


def test_one_ledger_covers_several_tables_under_one_name(tmp_path):
    """Persons in several tables: what is asked of each adds up."""
    for name in ("visits", "stays"):
        pq.write_table(VISITS, tmp_path / f"{name}.parquet")
    text = "".join(
        f'[tables.{name}]\ndata = "{name}.parquet"\nname = "clinic"\nprivacy_unit = "patient"\n'
        'budget = {epsilon = "1", path = "clinic.db"}\n[tables.' + name + '.schema]\ncost = {lower = 0, upper = 9}\n'
        for name in ("visits", "stays")
    )  # fmt: skip
    (tmp_path / "owner.toml").write_text(text)
    desk = open_desk(str(tmp_path / "owner.toml"), Capacity(), needs_pad=False)
    for name, table in desk.tables.items():
        table.budget.set_share(Asker("alice", name), 1)
        asked = table.read({"epsilon": "1/2", "statistics": {"n": {"statistic": "count"}}})
        table.release("alice", "k", "body", asked)
    assert ledger.read(tmp_path / "clinic.db").spent.epsilon == 1
    assert desk.tables["stays"].budget.left.epsilon == 0


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_init_writes_a_file_that_can_be_served_and_token_gives_one_out(tmp_path, kind):
    table = VISITS.append_column("born", pa.array(["2020-01-01"] * len(VISITS)))
    if kind == "csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table, tmp_path / "visits.csv")
    else:
        pq.write_table(table, tmp_path / "visits.parquet")
    owner = tmp_path / "owner.toml"
    named = {"name": "visits", "privacy-unit": "patient", "max-rows": 3, "max-groups": 2, "epsilon": 2, "pad": "0.5s"}
    options = [str(word) for name, value in named.items() for word in (f"--{name}", value)]
    made = run([COMMAND, "serve", "init", owner, "--data", tmp_path / f"visits.{kind}", *options], text=True)
    assert made.returncode == 0, made.stderr
    assert owner.stat().st_mode & 0o077 == 0  # a database's address may have a password
    text = owner.read_text()
    assert all(f"# {column} = " in text for column in ("ward", "cost", "age", "born"))
    assert "patient = " not in text
    owner.write_text(text.replace("# cost =", "cost =").replace("# ward =", "ward =") if kind == "parquet" else text)
    desk = open_desk(str(owner), Capacity())
    assert list(desk.tables) == ["visits"]
    again = run([COMMAND, "serve", "init", owner, "--data", tmp_path / f"visits.{kind}", *options], text=True)
    assert (again.returncode, "there already" in again.stderr) == (2, True)

    given = run([COMMAND, "serve", "token", owner, "add", "alice", "--epsilon", "1/2"], text=True)
    token = given.stdout.strip()
    assert "alice, who may spend epsilon = 0.5 of visits; it is shown this once" in given.stderr
    assert Tokens(owner).find(token).who == "alice"
    assert str(desk.tables["visits"].share("alice").limit) == "epsilon = 0.5"
    (listed,) = json.loads(run([COMMAND, "serve", "token", owner, "list", "--json"], text=True).stdout)
    assert (listed["who"], listed["owner"], listed["valid"]) == ("alice", False, True)
    assert "1 token revoked" in run([COMMAND, "serve", "token", owner, "revoke", "alice"], text=True).stdout
    assert Tokens(owner).find(token) is None
    for words in (
        ["add"],
        ["add", "a b", "--epsilon", "1"],
        ["add", "zoe", "--epsilon", "1", "--table", "secrets"],
        ["add", "zoe", "--rho", "1"],
    ):
        assert run([COMMAND, "serve", "token", owner, *words], text=True).returncode == 2
    assert [one.who for one in Tokens(owner).list()] == ["alice"]


def test_a_port_that_cannot_be_had_is_refused(write):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run([COMMAND, "serve", write(GOOD), "--port", str(port)], text=True)
    assert (ran.returncode, "cannot be listened on" in ran.stderr) == (2, True), ran.stderr
    ran = run([COMMAND, "serve", write(GOOD), "--port", "80000"], text=True)
    assert (ran.returncode, "65535" in ran.stderr) == (2, True), ran.stderr


def test_made_up_rows_have_the_schema_and_nothing_of_the_table(write):
    desk = open_desk(write(GOOD.replace('"3"', '"1000"')), Capacity())
    (table,) = desk.tables.values()
    told = table.dummy({"epsilon": 1000, "by": "ward", "groups": ["a", "z"],
                        "statistics": {"n": {"statistic": "count"}}})  # fmt: skip
    counted = {row["dummy_ward"]: row["dummy_value"] for row in told["releases"]}
    assert counted["a"] > 10
    assert abs(counted["z"]) < 5  # the table has a hundred of them, and its schema none


def test_refusals_about_a_csv_file_name_no_file(write, tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(VISITS, tmp_path / "visits.csv")
    desk = open_desk(write(GOOD.replace("parquet", "csv").replace("ward = [", "# ward = [")), Capacity())
    (table,) = desk.tables.values()
    table.budget.set_share(Asker("alice", "visits"), 1)
    bad = [
        {"statistics": {"a": {"statistic": "sum", "column": "secret", "bounds": [0, 1]}}},
        {"statistics": {"n": {"statistic": "count"}}, "by": "secret", "groups": ["a"]},
        {"statistics": {"n": {"statistic": "count"}}, "where": ["secret == 1"]},
        {"statistics": {"n": {"statistic": "count"}}, "where": ["age >= old"]},
        {"statistics": {"n": {"statistic": "count"}, "m": {"statistic": "sum", "column": "age"}}, "by": "age"},
    ]
    for number, request in enumerate(bad):
        with pytest.raises(Reply) as caught:
            table.release("alice", f"k{number}", "body", table.read({"epsilon": "1/10", **request}))
        assert caught.value.status == 422, caught.value.message
        assert not any(word in caught.value.message for word in (str(tmp_path), ".csv", "soundsum-", "/"))
    assert table.budget.share(Asker("alice", "visits")).spent.epsilon == 0


def test_an_analyst_has_so_many_calls_at_once_and_others_have_theirs(write):
    desk = open_desk(write(GOOD), Capacity())
    with contextlib.ExitStack() as held:
        for _ in range(MOST_CALLS):
            held.enter_context(desk.admit("greedy"))
        with pytest.raises(Reply) as caught, desk.admit("greedy"):
            pass
        assert caught.value.status == 429
        with desk.admit("other"):
            pass
    with desk.admit("greedy"):
        pass
