"""Crashes, locks, lost files: nothing is overspent, nothing that was stored is lost, and service comes back."""

import asyncio
import json
import os
import resource
import shutil
import socket
import sqlite3
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from signal import SIGTERM

import httpx
import pytest

from soundsum.budget import ledger
from soundsum.budget.history import Asker

from . import soak
from .running import SUM, Server, say_nothing_private, wait_until

RELEASE = "/v1/tables/visits/release"


def post(client, key=None, request=SUM):
    return client.post(RELEASE, json=request, headers={} if key is None else {"idempotency-key": key})


def test_nobody_overspends_together(tmp_path):
    """Shares that add up to more than there is: the table's budget holds for all of them at once."""
    with Server(tmp_path, "--no-pad", "--each", "100", epsilon="2") as server:
        clients = [server.client(server.add(f"analyst{i}", epsilon="1")) for i in range(4)]
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda i: post(clients[i % 4]), range(80)))
        for client in clients:
            client.close()
        statuses = [answer.status_code for answer in answers]
        assert (statuses.count(200), statuses.count(409)) == (20, 60)
        found = ledger.read(server.ledger)
        assert found.spent.epsilon == 2
        assert all(share.spent.epsilon <= 1 for share in found.shares.values())
        assert sum(share.spent.epsilon for share in found.shares.values()) == 2


def test_charges_made_together_stay_apart(tmp_path):
    """Each analyst gets the release of their own question, as it is stored, whoever else is charged or refused then."""
    with Server(tmp_path, "--no-pad", "--slots", "16") as server:
        clients = {who: server.client(server.add(who, epsilon="1")) for who in [f"analyst{i}" for i in range(12)]}

        def ask_all(who):
            """Ten tenths are allowed; of every other question the cost is too high."""
            for place in range(10):
                name = f"{who}-{place}"
                small = {"epsilon": "1/10", "statistics": {name: {"statistic": "count"}}}
                large = post(clients[who], f"{name}-large", {**small, "epsilon": 5})
                assert large.status_code == 409
                answer = post(clients[who], name, small)
                assert [one["name"] for one in answer.json()["releases"]] == [name]
                assert clients[who].get(f"/v1/releases/{answer.json()['id']}").content == answer.content
                assert post(clients[who], name, small).content == answer.content

        with ThreadPoolExecutor(len(clients)) as pool:
            list(pool.map(ask_all, clients))
        for client in clients.values():
            client.close()
        found = ledger.read(server.ledger)
        assert found.spent.epsilon == len(clients)
        assert {(one.asker.analyst, one.query.statistics[0].name.partition("-")[0]) for one in found.entries} == {
            (who, who) for who in clients
        }


def test_a_second_server_on_a_ledger_is_refused_until_the_first_has_ended(tmp_path):
    """Each would show what the other one hides until it is due."""
    with Server(tmp_path, "--no-pad") as first:
        second = Server(tmp_path, "--no-pad")
        with pytest.raises(RuntimeError, match="another server has the ledger"):
            second.start()
        with first.client(first.add()) as client:
            assert post(client).status_code == 200
        first.kill()
        with second, second.client(second.add()) as client:
            assert post(client).status_code == 200


def test_a_locked_ledger_is_one_sentence_and_goes_by(tmp_path):
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        assert post(client).status_code == 200
        with sqlite3.connect(server.ledger, isolation_level=None) as db:
            db.execute("BEGIN EXCLUSIVE")
            locked = say_nothing_private(post(client), server)
            db.execute("ROLLBACK")
        assert locked.status_code == 503
        assert post(client).status_code == 200
        assert ledger.read(server.ledger).spent.epsilon == Fraction(2, 10)


@pytest.mark.parametrize("what", ["gone", "replaced", "older"])
def test_another_ledger_is_not_charged(tmp_path, what):
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        older, own = tmp_path / "older", tmp_path / "own"
        shutil.copy(server.ledger, older)
        assert post(client).status_code == 200
        server.ledger.rename(own)
        if what == "older":
            shutil.copy(older, server.ledger)
        elif what == "replaced":
            server.add()
        answer = say_nothing_private(post(client), server)
        assert answer.status_code in (503, 404)  # in another ledger nobody has a share
        own.rename(server.ledger)
        assert post(client).status_code == 200
        assert len(ledger.read(server.ledger).entries) == 2


@pytest.mark.parametrize("what", ["gone", "broken", "other columns"])
def test_a_lost_table_is_one_sentence_and_comes_back(tmp_path, what):
    with Server(tmp_path, "--no-pad") as server, server.client(server.add(max_failures=5)) as client:
        table, own = tmp_path / "visits.parquet", tmp_path / "own"
        plan = client.post("/v1/tables/visits/plan", json=SUM).content
        table.rename(own)
        if what == "broken":
            table.write_bytes(b"PAR1" + os.urandom(1000) + b"PAR1")
        elif what == "other columns":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"salary_of_the_boss": [1.0]}), table)
        answer = say_nothing_private(post(client), server)
        assert answer.status_code == 503
        assert "salary" not in answer.text
        assert client.post("/v1/tables/visits/plan", json=SUM).content == plan  # which never looks at the table
        own.rename(table)
        assert post(client).status_code == 200


def test_sigterm_finishes_what_is_charged(tmp_path):
    with Server(tmp_path, pad="2s") as server, server.client(server.add()) as client, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(post, client, "k")
        wait_until(lambda: server.budget.entries())
        assert server.stop() in (0, -SIGTERM)  # uvicorn ends by the signal once it is done
        assert answer.result().status_code == 200
        assert [entry.state for entry in server.budget.entries()] == ["released"]
        children = server.children()
    assert children == []


def test_a_charge_whose_server_died_is_never_run_again(tmp_path):
    server = Server(tmp_path, pad="2s")
    with server, server.client(server.add()) as client:
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(post, client, "k")
            wait_until(lambda: server.budget.entries())
            server.kill()
            with pytest.raises(httpx.TransportError):
                answer.result()
        server.start()
        for _ in range(2):
            again = say_nothing_private(post(client, "k"), server)
            assert again.status_code == 503
        (entry,) = server.budget.entries()
        assert entry.state == "charged"
        assert ledger.read(server.ledger).failures == 0  # nothing says that it was the table's fault
        server.budget.refund(entry.number)
        assert server.budget.share(Asker("alice", "visits")).spent.epsilon == 0
        assert post(client, "k").status_code == 503
        assert post(client, "another").status_code == 200


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that the server left
def test_killed_at_random_moments_the_ledger_and_the_answers_agree(tmp_path):
    assert soak.kill_under_load(tmp_path, kills=4, seed=26)["wrong"] == {}


def test_half_open_connections_do_not_keep_others_out_and_are_closed(tmp_path):
    assert soak.hold_half_open(tmp_path, 120)["wrong"] == {}


def test_many_analysts_at_once_are_served_in_turn_from_one_budget(tmp_path):
    told = asyncio.run(soak.load(tmp_path, Namespace(minutes=0.08, analysts=40, pad="none", slots=4, epsilon="4")))
    for name in ("memory grew", "unfair"):  # which take longer to show
        told["wrong"].pop(name, None)
    assert told["wrong"] == {}
    assert told["epsilon spent"] == "4"


def test_a_full_disk_is_one_sentence_and_goes_by(tmp_path):
    """What is written beyond a file's present size fails, as on a full disk, until the limit is lifted."""
    with Server(tmp_path, "--no-pad") as server, server.client(server.add(max_failures=9)) as client:
        assert post(client).status_code == 200
        before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))
        for _ in range(2):
            assert say_nothing_private(post(client), server).status_code == 503
        assert client.post("/v1/tables/visits/plan", json=SUM).status_code == 200
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
        assert post(client).status_code == 200
        found = ledger.read(server.ledger)
        assert [entry.state for entry in found.entries] == ["released", "released"]
        assert found.spent.epsilon == Fraction(2, 10)


def test_a_folder_that_cannot_be_written_is_one_sentence_and_goes_by(tmp_path):
    """SQLite has no place for its journal."""
    with Server(tmp_path, "--no-pad") as server, server.client(server.add(max_failures=9)) as client:
        assert post(client).status_code == 200
        journal = tmp_path / "visits.db-journal"
        journal.mkdir()
        assert say_nothing_private(post(client), server).status_code == 503
        journal.rmdir()
        assert post(client).status_code == 200
        assert [entry.state for entry in ledger.read(server.ledger).entries] == ["released", "released"]


def test_the_log_turns_over_when_it_is_long_and_no_line_is_lost(tmp_path):
    """Ten older files are kept, each for the owner alone."""
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        log = server.owner.with_suffix(".log")
        older = [log.with_name(f"{log.name}.{place}") for place in range(1, 12)]
        given = []
        for turn in range(12):
            given.append(post(client).json()["id"])
            wait_until(lambda: log.exists() and given[-1] in log.read_text())
            assert [one.exists() for one in older] == [place < min(turn, 10) for place in range(11)]
            os.truncate(log, (10 << 20) - 1)  # as long as it may be
        own = [json.loads(one.read_text().partition("\n")[0].split(" ", 1)[1]) for one in (log, *older[:10])]
        assert [one["release"] for one in own] == given[:0:-1]
        assert {one.stat().st_mode & 0o077 for one in (log, *older[:10])} == {0}


def test_a_clock_that_was_set_back_changes_nothing(tmp_path):
    """What was charged, and who got a token, before that is in the future now."""
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        first = post(client, "k").content
        with sqlite3.connect(server.ledger) as db:
            db.execute("UPDATE lines SET at = replace(at, '20', '21')")
        with sqlite3.connect(server.tokens.path) as db:
            db.execute("UPDATE tokens SET made = replace(made, '20', '21'), ends = replace(ends, '20', '21')")
        assert post(client, "k").json()["releases"] == json.loads(first)["releases"]
        assert post(client, "l").status_code == 200
        listed = [one["id"] for one in client.get("/v1/releases").json()]
        assert listed == ["visits-1", "visits-3"]
        assert ledger.read(server.ledger).spent.epsilon == Fraction(2, 10)


def test_answers_that_nobody_takes_count_as_calls_in_progress(tmp_path):
    """Each is kept in memory until it is taken."""
    asked = {**SUM, "by": "ward", "groups": [f"w{i}" for i in range(1500)]}
    with Server(tmp_path, "--no-pad") as server, server.client(token := server.add()) as client:
        number = post(client, request=asked).json()["id"]
        head = f"GET /v1/releases/{number} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        with ExitStack() as opened:

            def ask_once_more():
                one = opened.enter_context(socket.socket())
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that most of the answer stays there
                one.connect(("127.0.0.1", server.port))
                one.sendall(head.encode())
                return client.get("/v1/tables").status_code == 429

            wait_until(ask_once_more)  # some are refused, as questions in between are calls, too
            with server.client(server.add("bob")) as other:
                assert other.get("/v1/tables").status_code == 200
        wait_until(lambda: client.get("/v1/tables").status_code == 200)
