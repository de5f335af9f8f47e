"""The client mirrors Private: its releases are those of an owner's table."""

import contextlib
import inspect
import select
import socket
import threading
from fractions import Fraction

import pytest

import soundsum as ss
from soundsum.budget import BudgetExceeded
from soundsum.budget.history import Asker
from soundsum.refusals import Reason
from soundsum.requests.write_request import write_request
from soundsum.server.client import Connection, RemoteTable
from tests.refusing import refused

from .running import COUNT, FOUND, Server


@pytest.fixture(scope="module")
def visits(server):
    return ss.connect(server.url, token=server.add("python", epsilon="1000000")).table("visits")


def test_it_has_the_calls_of_private(visits):
    own = [name for name, one in vars(ss.Private).items() if inspect.isfunction(one) and not name.startswith("_")]
    own = [name for name in own if name not in ("on_behalf_of", "limit_memory", "partial")]  # the owner's
    assert {"groups", "quantile", "median", "suggest_bounds", "release", "plan"} <= set(own)
    for name in own:
        mirrored = inspect.signature(getattr(RemoteTable, name)).parameters
        original = inspect.signature(getattr(ss.Private, name)).parameters
        plain = [p for p in mirrored if p in original]
        assert plain == [p for p in original if p in mirrored], name
        assert {"options"} | mirrored.keys() >= {"column"} & original.keys()


def test_every_statistic_with_little_noise(visits):
    total = sum(min(i, 100) for i in range(300))
    assert visits.sum("cost", epsilon=100).value == pytest.approx(total, abs=200)
    assert visits.mean("cost", epsilon=100).value == pytest.approx(total / 300, abs=2)
    assert visits.variance("cost", epsilon=100).value > 0
    assert visits.std("cost", epsilon=100).value > 0
    assert visits.count(100).value == pytest.approx(300, abs=5)
    counted = visits.histogram("age", bins=3, lower=0, upper=90, epsilon=100)
    assert [one.value for one in counted.values()] == pytest.approx([120, 90, 90], abs=20)
    by_ward = visits.sum("cost", 0, 10, epsilon=100, by="ward", groups=["a", "b", "z"])
    assert isinstance(by_ward, ss.Releases)
    assert list(by_ward) == ["a", "b", "z"]
    assert ss.check(by_ward) == []


def test_quantiles_and_advice_with_little_noise(visits):
    table = {"patient": [i // 3 for i in range(300)], "cost": [float(i) for i in range(300)]}
    terms = {"privacy_unit": "patient", "max_rows": 3}
    here = ss.quantile(table, [0.1, 0.2], 0, 100, 2000, column="cost", **terms)
    quantiles = visits.quantile("cost", [0.1, 0.2], epsilon=2000)
    assert [one.value for one in quantiles] == pytest.approx([one.value for one in here], abs=2)
    assert list(quantiles.names) == ["0.1", "0.2"]
    assert visits.median("cost", bounds=(0, 300), epsilon=2000).value == pytest.approx(150, abs=3)
    assert visits.suggest_bounds("cost", epsilon=1000).upper == 1000  # of persons' totals
    assert visits.suggest_bounds("cost", epsilon=1000, max_rows=3).upper == 500
    assert visits.suggest_max_rows(epsilon=1000).max_rows >= 3
    (cut,) = visits.release([ss.Clipped("cost")], epsilon=1000)
    assert float(cut) == pytest.approx(2 / 3, abs=0.02)


def test_groups_are_found_and_asked_about(tmp_path):
    with Server(tmp_path, "--no-pad", owner=FOUND) as server:
        server.budget.set_share(Asker("ann", "visits"), "10000", "1/4")
        table = ss.connect(server.url, token=server.tokens.add("ann")).table("visits")
        found = table.groups("ward", epsilon=100, delta="1e-9")
        assert (list(found), ss.check(found)) == (["a", "b", "z"], [])
        assert table.groups("ward", epsilon=10, delta="1e-9", noise="gaussian").threshold > found.threshold
        assert list(table.count(100, by="ward", groups=found)) == ["a", "b", "z"]
        once = ss.Found("1e-9")
        assert list(table.sum("cost", epsilon=100, by="ward", groups=once)) == ["a", "b", "z"]
        both = table.sum("cost", epsilon=100, by="ward", groups=once, noise="gaussian", delta="1e-9")
        assert (list(both), both["a"].guarantee.delta) == (["a", "b", "z"], Fraction(1, 10**9))
        for unclear in (ss.Found("1e-9", weight=3), ss.Found("1e-9", noise="gaussian")):
            with refused("groups", Reason.UNSUPPORTED):
                table.sum("cost", epsilon=1, by="ward", groups=unclear)
        nobody = {"by": "ward", "where": [("ward", "==", "nobody")]}
        none = table.sum("cost", epsilon=100, groups=once, **nobody)
        assert (list(none), list(table.groups(epsilon=100, delta="1e-9", **nobody))) == ([], [])
        again = ss.connect(server.url, token=server.tokens.add("ann"))
        assert list(again.release(again.releases()[-1]["id"])[0]) == []
        asked = {"epsilon": 1, "delta": "1e-9", "by": "ward", "groups": "found"}
        two = {"who": {"statistic": "groups"}, "total": {"statistic": "sum", "column": "cost"}}
        with server.client(server.tokens.add("ann")) as client:
            answer = client.post("/v1/tables/visits/release", json={**asked, "statistics": two})
            assert (answer.status_code, answer.json()["error"]["option"]) == (422, "groups")
            listed = dict.fromkeys(range(100), 1)
            for by, groups in (("ward", listed), (["ward", "cost"], [listed, [1]])):
                asked = {"epsilon": 1, "by": by, "groups": groups, "statistics": {"rows": {"statistic": "count"}}}
                answer = client.post("/v1/tables/visits/release", json=asked)
                assert (answer.status_code, answer.json()["error"]["option"]) == (422, "groups")


def test_several_at_once_and_a_key(visits):
    asked = {"total": ss.Sum("cost", weight=3, lower=None, upper=None), "rows": ss.Count()}
    several = visits.release(asked, epsilon=4, key="mine")
    assert (several["total"].epsilon, several["rows"].epsilon) == (3, 1)
    left = visits.budget.left
    assert visits.release(asked, epsilon=4, key="mine").to_json() == several.to_json()
    assert visits.budget.left == left


def test_conditions_choose_the_same_rows(visits):
    where = {
        "a tuple": ("age", ">=", 45),
        "several": [("age", ">=", 45), ("cost", "<", 50)],
        "alternatives": [[("age", "<", 10), ("ward", "==", "a")], [("age", ">=", 80)]],
        "a list": ("ward", "in", ["a", "z"]),
    }
    table = {"patient": [i // 3 for i in range(300)], "ward": ["abz"[i % 3] for i in range(300)],
             "cost": [float(i) for i in range(300)], "age": [i % 90 for i in range(300)]}  # fmt: skip
    for one in where.values():
        here = ss.count(table, epsilon=10**6, privacy_unit="patient", max_rows=3, where=one).value
        assert visits.count(100, where=one).value == pytest.approx(here, abs=5)


def test_periods_are_written_as_requests_have_them():
    listed = write_request([ss.Count()], {"by": ss.month("day"), "groups": ["2024-01"]})
    assert (listed["by"], listed["groups"]) == ("month(day)", ["2024-01"])
    ranged = write_request([ss.Count()], {"by": ss.month("day", "2024-01", "2024-03")})
    assert (ranged["by"], ranged["groups"]) == ("month(day)", ["2024-01..2024-03"])
    one = write_request([ss.Count()], {"by": ss.day("day", "2024-01-05", "2024-01-05")})
    assert one["groups"] == ["2024-01-05..2024-01-05"]


def test_a_plan_is_computed_here_from_what_the_owner_declared(visits):
    plan = visits.plan("cost", by="ward")
    assert plan.unit == ss.Unit(3, 3, 2)
    assert plan.error(epsilon="1/4") > 0
    assert plan.problem.upper == 100
    assert visits.schema["cost"].upper == 100


def test_refusals_are_those_of_private(visits):
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded) as caught:
        visits.sum("cost", epsilon=5_000_000)
    assert caught.value.left.epsilon == visits.budget.share["left"].epsilon
    with refused("column", Reason.UNKNOWN, ValueError):
        visits.sum("salary", 0, 1, epsilon=1)
    with refused("privacy_unit", Reason.MISMATCH, ValueError):
        visits.sum("cost", epsilon=1, privacy_unit="ward")


def test_only_encrypted_beyond_this_machine():
    for url in ("http://data.example.org", "http://10.0.0.1:8000", "http://127.0.0.1.evil.example"):
        with refused("url", Reason.UNSOUND):
            ss.connect(url, token="ss_1_x")
    for url in ("data.example.org", "ftp://localhost", ""):
        with refused("url", Reason.MALFORMED):
            ss.connect(url, token="ss_1_x")


def test_a_bad_token_and_another_table(server):
    with refused("token", Reason.MISMATCH):
        ss.connect(server.url, token="ss_1_x").tables()
    with refused("table", Reason.UNKNOWN):
        ss.connect(server.url, token=server.add("gus")).table("secrets")


@contextlib.contextmanager
def losing_answers(port, count):
    """Forward connections to a port, and lose the first answers to a release."""
    left = [count]
    listening = socket.create_server(("127.0.0.1", 0))

    def forward(client):
        with client, socket.create_connection(("127.0.0.1", port)) as server:
            asked = b""
            while True:
                for ready in select.select([client, server], [], [], 10)[0] or [client]:
                    piece = ready.recv(1 << 20)
                    if not piece:
                        return
                    asked += piece if ready is client else b""
                    if ready is server and b"/release" in asked and left[0]:
                        left[0] -= 1
                        return
                    (server if ready is client else client).sendall(piece)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=forward, args=(listening.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_lost_connection_is_asked_again_and_charged_once(server):
    token = server.add("lost", epsilon="1")
    with losing_answers(server.port, 2) as url:
        table = Connection(url, token).table("visits")
        assert table.count("1/4").epsilon == Fraction(1, 4)
        assert table.budget.share["spent"].epsilon == Fraction(1, 4)


def test_releases_are_given_again(tmp_path):
    with Server(tmp_path, "--no-pad") as server:
        connection = ss.connect(server.url, token=server.add())
        table = connection.table("visits")
        made = table.release([ss.Count()], epsilon=1)
        (listed,) = connection.releases()
        assert connection.release(listed["id"]).to_json() == made.to_json()
        assert connection.tables() == ["visits"]
        with server.client(server.add("raw")) as client:
            assert client.post("/v1/tables/visits/release", json=COUNT).status_code == 200
        assert len(connection.releases()) == 1
