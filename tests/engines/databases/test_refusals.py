"""What goes wrong with databases: refused in one line before anything is charged, or ReadFailed and nothing let out."""

import sys
import threading
import time

import psycopg
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.engines.postgres import _say_unplanned
from soundsum.refusals import Reason
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from tests.engines.databases.servers import PostgresServer, load_into_postgres
from tests.refusing import refused

pytestmark = pytest.mark.xdist_group("postgres")

HOSTILE = 'pay"; DROP TABLE visits; --%s {t}'
ROWS = {
    "cost": pa.array([1.5, 2.5, None]),
    "ward": ["a", "b'; DROP TABLE visits; --", None],
    "who": [1, 2, 2],
    HOSTILE: [1.0, 2.0, 3.0],
}


@pytest.fixture(scope="module")
def address(postgres):
    with psycopg.connect(postgres.address()) as connection:
        connection.execute("DROP TABLE IF EXISTS visits CASCADE")
        connection.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.visits (cost float8, ward text)")
        connection.execute("INSERT INTO clinic.visits VALUES (1, 'a'), (2, 'b')")
        columns = f'cost float8, ward text, who int, "{HOSTILE.replace(chr(34), chr(34) * 2)}" float8'.replace(
            "%", "%%"
        )
        connection.execute(f"CREATE TABLE visits ({columns})", {})
        connection.execute("INSERT INTO visits VALUES (1.5, 'a', 1, 1), (2.5, 'b', 2, 2), (NULL, NULL, 2, 3)")
        connection.execute('CREATE TABLE "odd.name; --" (x float8); INSERT INTO "odd.name; --" VALUES (4)')
        connection.execute("CREATE TABLE odd (note json, many numeric, wide numeric(50, 2), short numeric(5, -2))")
        connection.execute("CREATE DOMAIN cents AS numeric(9, 2); CREATE TYPE kind AS ENUM ('in', 'out')")
        connection.execute("CREATE DOMAIN fewer AS cents CHECK (VALUE < 100)")
        connection.execute("CREATE TABLE made (price fewer, kind kind, code char(4), id uuid)")
        connection.execute("INSERT INTO made VALUES (1.25, 'in', 'ab', gen_random_uuid()), (2.5, 'out', 'c', NULL)")
        connection.execute("CREATE TABLE notes (x numeric(9, 2), y float8)")
        connection.execute("INSERT INTO notes VALUES ('NaN', 'NaN'), (3, '-infinity'), (NULL, 'infinity'), (4, 5)")
        connection.execute("CREATE ROLE guest LOGIN; GRANT SELECT (cost) ON visits TO guest")
    return postgres.address()


def total(address, table, column, lower=0, upper=10, **options):
    return ss.sum(address, lower, upper, 10**6, table=table, column=column, **options).value


class TestNames:
    def test_whatever_a_name_is_made_of_it_names_a_column_or_a_table(self, address):
        assert total(address, "visits", HOSTILE) == pytest.approx(6, abs=0.01)
        assert total(address, ("public", "odd.name; --"), "x") == pytest.approx(4, abs=0.01)
        assert total(address, "clinic.visits", "cost") == pytest.approx(3, abs=0.01)

    def test_values_are_bound(self, address):
        groups = ["a", "b'; DROP TABLE visits; --", "%s", "\x00", "b"]
        made = ss.sum(address, 0, 10, 10**6, table="visits", column="cost", by="ward", groups=groups)
        assert [round(one.value, 1) for one in made.values()] == pytest.approx([1.5, 0, 0, 0, 2.5], abs=0.05)
        where = [("ward", "!=", "'; DROP TABLE visits; --")]
        assert total(address, "visits", "cost", where=where) == pytest.approx(4, abs=0.01)
        with psycopg.connect(address) as connection:
            assert connection.execute("SELECT count(*) FROM visits").fetchone() == (3,)

    def test_domains_enums_and_padded_text(self, address):
        assert total(address, "made", "price") == pytest.approx(3.75, abs=0.02)
        for by, groups in (("kind", ["in", "out"]), ("code", ["ab", "c"])):
            made = ss.sum(address, 0, 10, 10**6, table="made", column="price", by=by, groups=groups)
            assert [one.value for one in made.values()] == pytest.approx([1.25, 2.5], abs=0.02)
        counted = ss.count(address, 10**6, table="made", privacy_unit="id")
        assert counted.value == 1

    def test_numeric_that_is_not_a_number(self, address):
        assert total(address, "notes", "x", 1, 10) == pytest.approx(1 + 3 + 1 + 4, abs=0.02)
        assert total(address, "notes", "y", 1, 10) == pytest.approx(1 + 1 + 10 + 5, abs=0.02)
        for options in ({"column": "x", "missing": "drop"}, {"where": [("x", ">", 0)]}, {"privacy_unit": "x"}):
            assert ss.count(address, 10**6, table="notes", **options).value == 2
        for column, expected in (("x", [1, 1]), ("y", [0, 1])):
            cells = ss.histogram(address, [0, 3.5, 1e30], 10**6, table="notes", column=column)
            assert [one.value for one in cells.values()] == expected


class TestRefusedBeforeAnythingIsCharged:
    @pytest.mark.parametrize(
        "table, column, options, words",
        [
            (None, "cost", {}, "table= is missing"),
            ("absent", "cost", {}, "no table 'absent' in the schema 'public'"),
            ("visits; --", "cost", {}, "no table"),
            ("visits", "price", {}, "column 'price' is not in the table"),
            ("visits", "ward", {}, "column 'ward' is text, not numbers"),
            ("odd", "note", {}, "column 'note' is json, not numbers"),
            ("odd", "many", {}, "numeric of any scale"),
            ("odd", "wide", {}, r"numeric\(50,2\), not numbers"),
            ("odd", "short", {}, r"numeric\(5,-2\), not numbers"),
            ("visits", "cost", {"method": "kahan", "max_size": 9}, "not one that postgres can run"),
            ("visits", "cost", {"engine": "spark"}, "engine='spark' cannot add up this data"),
            ("visits", "cost", {"by": "who", "groups": ["x"]}, "cannot be looked up in a column of int32"),
            ("visits", "cost", {"where": [("who", "==", 1.5)]}, "not a value of column 'who'"),
            ("visits", "cost", {"where": [("ward", "!=", "\x00")]}, "has a NUL in it"),
            ("visits", "cost", {"privacy_unit": "note"}, "column 'note' is not in the table"),
        ],
    )
    def test_in_one_line(self, address, table, column, options, words):
        budget = ss.Budget(epsilon=1)
        with pytest.raises((ValueError, TypeError), match=words) as caught:
            ss.sum(address, 0, 1, 1, table=table, column=column, budget=budget, **options)
        assert "\n" not in str(caught.value)
        assert budget.spent.epsilon == 0

    def test_squares_that_would_leave_64_bits(self, address):
        budget = ss.Budget(epsilon=1)
        with refused("upper", Reason.TOO_LARGE, ValueError, engine="postgres"):
            ss.variance(address, 0, 10**8, 1, table="notes", column="x", budget=budget)
        assert budget.spent.epsilon == 0

    @pytest.mark.parametrize("option, bounds", [("upper", (0, 10**400)), ("lower", (-(2**1024), 0))])
    def test_a_bound_beyond_the_doubles(self, address, option, bounds):
        budget = ss.Budget(epsilon=1)
        with refused(option, Reason.TOO_LARGE, ValueError, engine="postgres"):
            ss.sum(address, *bounds, 1, table="notes", column="y", budget=budget)
        assert budget.spent.epsilon == 0
        largest = int(sys.float_info.max)
        ss.sum(address, -largest, largest, 1, table="notes", column="y")

    @pytest.mark.parametrize("scheme", ["mysql", "postgresql+psycopg"])
    def test_an_address_of_something_else(self, scheme):
        with refused("data", Reason.UNKNOWN, ValueError) as caught:
            ss.sum(f"{scheme}://ann:secret@host/db", 0, 1, 1, column="x")
        assert "secret" not in str(caught.value)

    def test_a_column_that_is_only_looked_at(self, postgres, address):
        with pytest.raises(PermissionError, match="no permission to read column 'who'"):
            ss.count(postgres.address("guest"), 1, table="visits", column="who", missing="drop")
        with refused("column", Reason.MISMATCH, TypeError, found="json"):
            ss.count(address, 1, table="odd", column="note", missing="drop")
        with pytest.raises(PermissionError, match="no permission to read the table"):
            ss.count(postgres.address("guest"), 1, table="made")

    def test_no_permission(self, postgres, address):
        guest = postgres.address("guest")
        assert total(guest, "visits", "cost") == pytest.approx(4, abs=0.01)
        with pytest.raises(PermissionError, match="no permission to read column 'who'"):
            total(guest, "visits", "cost", privacy_unit="who")
        with pytest.raises(PermissionError, match="no permission"):
            total(guest, "clinic.visits", "cost")

    def test_a_server_that_is_not_there(self, address):
        budget = ss.Budget(epsilon=1)
        with pytest.raises(ConnectionError, match="does not answer") as caught:
            ss.sum("postgresql://ann:secret@127.0.0.1:1/db", 0, 1, 1, table="t", column="x", budget=budget)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None
        assert budget.spent.epsilon == 0

    def test_on_the_command_line(self, address):
        options = ["--table", "visits", "--column", "cost", "--bounds", "0", "10", "--epsilon", "1000"]
        done = CliRunner().invoke(
            app, ["sum", address, *options, "--by", "ward", "--groups", "a,b", "--where", "who >= 1"]
        )
        assert done.exit_code == 0, done.output
        assert "a" in done.output
        refused = CliRunner().invoke(app, ["sum", address, *options[2:]])
        assert isinstance(refused.exception, ValueError)


def test_an_owner_asks_the_database(address):
    budget = ss.Budget(epsilon=10**7, privacy_unit="who")
    owner = ss.Private(address, table="visits", privacy_unit="who", max_rows=2, budget=budget)
    assert owner.sum("cost", 0, 10, epsilon=10**6).value == pytest.approx(4, abs=0.01)
    assert owner.mean("cost", 0, 10, epsilon=10**6).value == pytest.approx(2, abs=0.01)
    assert ss.private_max_size(address, 10**6, table="visits") == 3


def test_the_ledger_names_the_table_and_not_the_address(address, tmp_path):
    budget = ss.Budget(epsilon=1, path=tmp_path / "ledger.db")
    released = ss.sum(address, 0, 10, 1, table="visits", column="cost", budget=budget)
    assert "visits" in released.origin.query.source
    assert "127.0.0.1" not in str(released.to_dict())
    assert released.certificate["engine"] == "postgres"
    assert ss.check(released.certificate) == []


def test_a_session_finds_no_functions_but_postgres_own(address):
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE FUNCTION public.greatest_of(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT 0.0'"
        )
        connection.execute("CREATE OPERATOR public.* (LEFTARG = float8, RIGHTARG = float8, FUNCTION = greatest_of)")
        connection.execute("ALTER ROLE owner SET search_path = public, pg_catalog")
    try:
        assert total(address, "visits", "cost") == pytest.approx(4, abs=0.01)
    finally:
        with psycopg.connect(address) as connection:
            connection.execute("ALTER ROLE owner RESET search_path; DROP OPERATOR public.* (float8, float8)")


SETTINGS = {"transaction_isolation": "repeatable read", "transaction_read_only": "on", "search_path": "pg_catalog"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_session_sees_one_state_and_writes_nothing(address, setting):
    """A view tells in what kind of transaction it is read."""
    with psycopg.connect(address) as connection:
        is_so = f"current_setting('{setting}') = '{SETTINGS[setting]}'"
        connection.execute(f"CREATE VIEW told_{setting} AS SELECT CASE WHEN {is_so} THEN 1.0 ELSE 0.0 END::float8 AS x")
    assert total(address, f"told_{setting}", "x") == pytest.approx(1, abs=0.01)


def test_a_table_that_changes_between_a_look_and_the_sum_is_not_added_up(address):
    """What was planned for one type would not be the proof for another."""
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE shifting (x real); INSERT INTO shifting VALUES (1), (2)")
    engine, prepared = prepare(address, Request((ss.Sum("x", 0, 10),), table="shifting"))
    assert engine.add_up(prepared.tasks, prepared.rows)[0][0][0] != [0]
    with psycopg.connect(address) as connection:
        connection.execute("ALTER TABLE shifting ALTER COLUMN x TYPE float8")
    with pytest.raises(RuntimeError, match="columns have changed"):
        engine.add_up(prepared.tasks, prepared.rows)


def test_a_view_whose_owner_may_not_read_its_table(address):
    with psycopg.connect(address) as connection:
        connection.execute("CREATE ROLE careless; GRANT CREATE ON SCHEMA public TO careless")
        connection.execute("CREATE VIEW broken AS SELECT cost FROM visits; ALTER VIEW broken OWNER TO careless")
        connection.execute("GRANT SELECT ON broken TO owner")
    budget = ss.Budget(epsilon=1)
    with pytest.raises(PermissionError, match="PostgreSQL refuses to read 'broken'"):
        ss.sum(address, 0, 1, 1, table="broken", column="cost", budget=budget)
    assert budget.spent.epsilon == 0


def test_a_locked_table_is_called_so(address):
    budget, waits = ss.Budget(epsilon=1), f"{address}?options=-c%20lock_timeout%3D50ms"
    with psycopg.connect(address) as other:
        other.execute("LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(TimeoutError, match="the table 'visits' is locked by somebody else; try again when they"):
            ss.count(waits, 1, table="visits", budget=budget)
        other.rollback()
    assert budget.spent.epsilon == 0
    ss.count(waits, 1, table="visits", budget=budget)


@pytest.mark.parametrize(
    "error, kind, said",
    [
        (psycopg.errors.QueryCanceled, TimeoutError, "after its statement_timeout; try again, or raise it"),
        (psycopg.errors.OutOfMemory, OSError, "has too little memory, disk or connections to read 't'"),
        (psycopg.errors.InsufficientPrivilege, PermissionError, "check what the user, and a view's owner, may read"),
        (psycopg.errors.AdminShutdown, ConnectionError, "check that it runs, and try again"),
    ],
)
def test_each_reason_has_words_of_its_own(error, kind, said):
    refusal = _say_unplanned(error("secret"), "t")
    assert type(refusal) is kind
    assert said in str(refusal)
    assert "secret" not in str(refusal)


def test_nothing_goes_on_in_the_server_once_nobody_waits(address):
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE VIEW sleepy AS SELECT cost + (pg_sleep(20) IS NULL)::int AS cost FROM visits")
        owner = ss.Private(address, table="sleepy", budget=ss.Budget(epsilon=1), pad="1s")
        with pytest.raises(ss.ReadFailed):
            owner.sum("cost", 0, 10, epsilon=1)
        time.sleep(1)
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'soundsum'"
        assert connection.execute(asked).fetchone() == (0,)


class TestAServerThatDies:
    """In the middle of a query: ReadFailed, the charge stays and is counted, no session is left behind."""

    def test_the_charge_stays_and_nothing_is_let_out(self):
        server = PostgresServer()
        try:
            load_into_postgres(server.address(), "little", pa.table({"x": [1.0]}))
            with psycopg.connect(server.address()) as connection:  # a view that takes its time
                connection.execute("CREATE VIEW slow AS SELECT x + (pg_sleep(30) IS NULL)::int AS x FROM little")
            budget = ss.Budget(epsilon=2)
            killer = threading.Timer(1.0, server.kill)
            killer.start()
            before = time.monotonic()
            with pytest.raises(ss.ReadFailed) as failed:
                ss.sum(server.address(), 0, 1, 1, table="slow", column="x", budget=budget)
            assert time.monotonic() - before < 20
            assert failed.value.__cause__ is None
            assert "slow" not in str(failed.value)
            assert budget.spent.epsilon == 1
            killer.join()
            server.start()
            with psycopg.connect(server.address()) as connection:
                asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'soundsum'"
                assert connection.execute(asked).fetchone() == (0,)
        finally:
            server.stop()

    def test_a_query_that_is_cancelled(self, address):
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE VIEW waiting AS SELECT cost + (pg_sleep(30) IS NULL)::int AS cost FROM visits")

            def cancel():
                ours = "application_name = 'soundsum' AND wait_event = 'PgSleep'"
                while not connection.execute(
                    f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {ours}"
                ).fetchall():
                    time.sleep(0.1)

            thread = threading.Thread(target=cancel)
            thread.start()
            with pytest.raises(ss.ReadFailed):
                ss.sum(address, 0, 1, 1, table="waiting", column="cost")
            thread.join()
            asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'soundsum'"
            assert connection.execute(asked).fetchone() == (0,)
