"""Nobody gets in without a token, or by another name, or over the network without encryption."""

import json
import os
import re
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from soundsum.refusals import Reason
from soundsum.server.endpoints import MOST_READ, SHORT_REQUEST, LastRead
from soundsum.server.running import Place
from soundsum.server.tokens import Tokens
from tests.refusing import refused

from .running import SUM

PATHS = [("GET", "/v1/tables"), ("GET", "/v1/tables/visits"), ("GET", "/v1/tables/visits/budget"),
         ("POST", "/v1/tables/visits/plan"), ("POST", "/v1/tables/visits/dummy"),
         ("POST", "/v1/tables/visits/release"), ("GET", "/v1/releases"), ("GET", "/v1/releases/visits-1")]  # fmt: skip


@pytest.mark.parametrize("method, path", PATHS)
def test_every_call_needs_a_token(server, method, path):
    good = server.add("carol")
    head, number, secret = good.split("_", 2)
    other = secret[:-2] + ("AA" if secret[-2:] != "AA" else "BB")
    bad = [
        "?",
        "ss_1_",
        f"{head}_{number}_{other}",
        f"{head}_{int(number) - 1}_{secret}",
        f"{head}_9999_{secret}",
        "x" * 9999,
    ]
    with server.client("?") as client:
        answers = [client.request(method, path, headers={"authorization": f"Bearer {token}"}) for token in bad]
        answers += [client.request(method, path, headers={"authorization": good})]
        answers += [client.request(method, f"{path}?token={good}", headers={"authorization": ""})]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    with server.client(good) as client:
        assert client.request(method, path).status_code != 401


def test_tokens_end_and_are_revoked_at_once(server):
    with server.client(server.add("dora")) as client:
        assert client.get("/v1/tables").status_code == 200
        assert server.tokens.revoke("dora") == 1
        assert client.get("/v1/tables").status_code == 401
    token = server.add("dora")
    with sqlite3.connect(server.tokens.path) as db:
        yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
        db.execute("UPDATE tokens SET ends = ? WHERE number = ?", (yesterday, int(token.split("_")[1])))
    with server.client(token) as client:
        assert client.get("/v1/tables").status_code == 401


def test_a_token_is_found_at_once_or_by_whoever_can_wait(tmp_path):
    tokens = Tokens(tmp_path / "owner.toml")
    given = tokens.add("ann")
    assert tokens.find_at_once(given) == tokens.find(given)
    other = Tokens(tmp_path / "other.toml")
    for change in (lambda: tokens.revoke("ann"), lambda: os.replace(other.path, tokens.path)):
        assert tokens.find_at_once(given := tokens.add("ann")).who == "ann"
        change()
        assert tokens.find_at_once(given) is tokens.find(given) is None
    given = tokens.add("ann")
    assert tokens.find_at_once(given).who == "ann"
    with closing(sqlite3.connect(tokens.path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        assert tokens.find_at_once(given) is None
        assert time.monotonic() - begun < 4  # of the 5 s for which others wait
    assert tokens.find_at_once(given).who == "ann"
    tokens.path.unlink()
    assert tokens.find_at_once(given) is None


def test_a_token_is_found_by_the_file_as_it_is_now(tmp_path):
    """Also if a backup was put back into it, and as much was written since as to what was read last."""
    tokens = Tokens(tmp_path / "owner.toml")
    given = tokens.add("ann")
    backup = tokens.path.read_bytes()
    tokens.add("bob")
    assert tokens.find_at_once(given).who == "ann"
    tokens.path.write_bytes(backup)
    tokens.revoke("ann")
    assert tokens.find_at_once(given) is None


def test_no_connection_is_kept_to_tokens_that_took_the_place_of_others(tmp_path, monkeypatch):
    tokens, connect = Tokens(tmp_path / "owner.toml"), sqlite3.connect
    given = tokens.add("ann")
    other, aside = tmp_path / "other", tmp_path / "aside"
    other.write_bytes(tokens.path.read_bytes())

    def connect_to_other(*arguments, **options):
        monkeypatch.undo()
        tokens.path.rename(aside)
        other.rename(tokens.path)
        return connect(*arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", connect_to_other)
    assert tokens.find_at_once(given).who == "ann"
    os.replace(aside, tokens.path)
    tokens.revoke("ann")
    assert tokens.find_at_once(given) is None


def test_a_request_is_known_again_for_its_analyst_alone():
    read, asked = LastRead(), ("digest", ({}, {}))
    read.keep("visits", "ann", b"{}", asked)
    assert read.find("visits", "ann", b"{}") == asked
    for other in (("visits", "bob", b"{}"), ("costs", "ann", b"{}"), ("visits", "ann", b"{ }")):
        assert read.find(*other) is None
    read.keep("visits", "ann", bytes(SHORT_REQUEST + 1), asked)
    assert read.find("visits", "ann", bytes(SHORT_REQUEST + 1)) is None
    for number in range(MOST_READ):
        read.keep("visits", "bob", f"{number}".encode(), asked)
    assert read.find("visits", "ann", b"{}") is None


def test_a_share_belongs_to_an_analyst_and_not_to_a_token(server):
    with server.client(server.add("eve", epsilon="3/20")) as client:
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 200
    with server.client(server.tokens.add("eve")) as client:
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 409


def test_only_a_hash_of_256_random_bits_is_stored(tmp_path):
    tokens = Tokens(tmp_path / "owner.toml")
    given = [tokens.add("alice") for _ in range(50)]
    assert len({token.split("_", 2)[2] for token in given}) == 50
    stored = tokens.path.read_bytes()
    assert not any(token.split("_", 2)[2].encode() in stored for token in given)
    assert tokens.path.stat().st_mode & 0o077 == 0
    assert [tokens.find(token).who for token in given] == ["alice"] * 50


def test_without_a_share_a_table_is_not_there(server):
    with server.client(server.tokens.add("nobody")) as client:
        assert client.get("/v1/tables").json() == []
        answers = [client.get("/v1/tables/visits"), client.post("/v1/tables/visits/release", json=SUM)]
        assert {answer.status_code for answer in answers} == {404}
        assert {answer.content for answer in answers} == {client.get("/v1/tables/secrets").content}
        assert client.get("/v1/releases/visits-1").content == client.get("/v1/releases/secrets-1").content


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "evil@127.0.0.1"])
def test_other_names_are_refused(server, alice, name):
    """A page of a stranger, whose name leads to this machine, would give its own."""
    answer = alice.get("/v1/tables", headers={"host": name})
    assert answer.status_code in (400, 421)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1:1", "LOCALHOST:8000", "[::1]:8000"])
def test_its_own_names_are_taken(server, alice, name):
    assert alice.get("/v1/tables", headers={"host": name}).status_code == 200


def test_a_share_counts_from_when_it_is_given(server):
    with server.client(server.tokens.add("late")) as client:
        assert client.get("/v1/tables/visits").status_code == 404
        server.add("late", epsilon="3/20")
        assert [client.post("/v1/tables/visits/release", json=SUM).status_code for _ in range(2)] == [200, 409]
        server.add("late", epsilon="1/5")  # in place of the other
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 200
        assert client.get("/v1/tables/visits").status_code == 200


def test_without_encryption_it_listens_on_this_machine_alone():
    for host in ("0.0.0.0", "::", "10.0.0.1", "data.example.org"):
        with refused("host", Reason.UNSOUND):
            Place(host)
    assert Place("0.0.0.0", behind_proxy="data.example.org").names >= {"data.example.org", "localhost"}
    assert Place("0.0.0.0", certificate="c.pem", key="k.pem").is_encrypted
    with refused("key", Reason.NEEDS):
        Place(certificate="c.pem")


def test_it_listens_on_this_machine_alone(server):
    listening = subprocess.run(["ss", "-ltnH"], capture_output=True, text=True).stdout
    if not listening:  # where there is no ss
        with open("/proc/net/tcp") as table:
            local = [line.split()[1] for line in table if f":{server.port:04X}" in line.split()[1]]
        assert local == [f"0100007F:{server.port:04X}"]
        return
    assert re.findall(rf"(\S+):{server.port}\b", listening) == ["127.0.0.1"]


def test_every_answer_forbids_what_a_page_of_ours_does_not_need(server, alice):
    for answer in (alice.get("/v1/tables"), alice.get("/nowhere"), httpx.get(server.url, trust_env=False)):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_who_asked_what_is_logged_without_tokens_and_results(server):
    token = server.add("frank")
    with server.client(token) as client:
        answer = client.post("/v1/tables/visits/release", json=SUM).json()
        value = answer["releases"][0]["exact"]
        client.get(f"/v1/tables?token={token}")
        client.get(f"/v1/tables/{token}/{'x' * 9000}")
        client.get(f"/v1/releases/{token}")
    log = (server.folder / "owner.log").read_text()
    (line,) = [one for one in log.splitlines() if '"frank"' in one and "POST" in one]
    assert json.loads(line.partition(" ")[2]) == {
        "who": "frank", "call": "POST /v1/tables/visits/release", "status": 200, "release": answer["id"],
        "what": "total: sum of cost",
    }  # fmt: skip
    assert token.split("_", 2)[2] not in log
    assert max(map(len, log.splitlines())) < 1000
    assert value not in log
    assert (server.folder / "owner.log").stat().st_mode & 0o077 == 0
