"""A padded answer comes when the pad says, whatever becomes of it, and until then nothing but its charge is seen."""

import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from os import kill
from signal import SIGKILL

import pytest

from .running import SUM, Server, say_nothing_private, wait_until

PAD = 2.0
RELEASE = "/v1/tables/visits/release"


@pytest.fixture(scope="module")
def padded(tmp_path_factory):
    with Server(
        tmp_path_factory.mktemp("padded"), "--slots", "2", "--each", "3", "--waiting", "4", pad="2s"
    ) as running:
        token = running.add("warm")
        with running.client(token) as client, ThreadPoolExecutor(2) as pool:  # the processes that read are started
            list(pool.map(lambda _: client.post(RELEASE, json=SUM), range(2)))
        yield running


def timed(client, request=SUM, **more):
    begun = time.monotonic()
    answer = client.post(RELEASE, json=request, **more)
    return answer, time.monotonic() - begun


def test_until_the_deadline_nothing_but_the_charge_is_seen(padded):
    with (
        padded.client(padded.add("alice")) as client,
        padded.client(padded.add("bob")) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        before = other.get("/v1/tables/visits/budget").json()["table"]["spent"]["epsilon"]
        begun = time.monotonic()
        answer = pool.submit(client.post, RELEASE, json=SUM, headers={"idempotency-key": "k"})
        seen = []
        while time.monotonic() < begun + PAD - 0.06:
            state = (
                client.get("/v1/releases").json(),
                client.get("/v1/tables/visits/budget").json(),
                other.get("/v1/tables/visits/budget").json(),
            )
            ids = [client.get(f"/v1/releases/{one['id']}").status_code for one in state[0]]
            again = client.post(RELEASE, json=SUM, headers={"idempotency-key": "k"}).status_code
            if time.monotonic() < begun + PAD - 0.06:
                seen.append((state, ids, again))
        assert answer.result().status_code == 200
        assert time.monotonic() - begun >= PAD - 0.01
    charged = [one for one in seen if one[0][0]]
    assert len(charged) > 3
    states = {str(one) for one in charged}
    assert len(states) == 1  # the same from the charge to the deadline
    ((listed,), mine, others), ids, again = charged[-1]
    assert (listed["released"], ids, again) == (False, [404], 409)
    assert Fraction(mine["share"]["spent"]["epsilon"]) == Fraction(1, 10)
    assert Fraction(others["table"]["spent"]["epsilon"]) == Fraction(before) + Fraction(1, 10)


def test_another_request_with_a_key_in_use_is_refused_as_one_with_a_key_that_was_used(padded):
    other = {**SUM, "epsilon": "1/20"}
    with padded.client(padded.add("hana")) as client, ThreadPoolExecutor(2) as pool:
        key = {"idempotency-key": "k"}
        first = pool.submit(timed, client, headers=key)
        wait_until(lambda: client.get("/v1/releases").json())
        meanwhile = pool.submit(timed, client, other, headers=key)
        assert client.post(RELEASE, json=SUM, headers=key).status_code == 409
        assert first.result()[0].status_code == 200
        answers = [meanwhile.result(), timed(client, other, headers=key)]
        assert {(answer.status_code, answer.content) for answer, _ in answers} == {(422, answers[0][0].content)}
        assert all(PAD - 0.01 <= took < 2 * PAD for _, took in answers)
        assert len(client.get("/v1/releases").json()) == 1


def test_a_release_and_a_refusal_take_as_long(padded):
    with padded.client(padded.add("carol", epsilon="1/4")) as client:
        answers = [timed(client), timed(client, {**SUM, "statistics": {"a": {"statistic": "sum", "column": "x",
                                                                            "bounds": [0, 1]}}}),
                   timed(client, {**SUM, "epsilon": 9})]  # fmt: skip
    assert [answer.status_code for answer, _ in answers] == [200, 422, 409]
    assert all(PAD - 0.01 <= took < 2 * PAD for _, took in answers)


SUM_OF = {"statistic": "sum", "column": "cost"}
REFUSED = {
    "epsilon 0": {**SUM, "epsilon": 0},
    "an unknown option": {**SUM, "epsilonn": 1},
    "the owner's terms": {**SUM, "privacy_unit": "ward"},
    "many groups": {**SUM, "by": "ward", "groups": [str(i) for i in range(20_000)]},
    "bounds swapped": {"epsilon": 1, "statistics": {"a": {**SUM_OF, "bounds": [5, 1]}}},
    "text alone": "total",
}


def test_whatever_is_wrong_with_a_request_its_refusal_takes_the_pad(padded):
    million = {**SUM, "by": "ward", "groups": [str(i) for i in range(1_000_000)]}
    with padded.client(padded.add("faye")) as client, ThreadPoolExecutor(len(REFUSED) + 2) as pool:
        others = pool.submit(timed, client, SUM, headers={"idempotency-key": "a b"})
        answers = list(pool.map(lambda one: timed(client, one), [million, *REFUSED.values()]))
        answers.append(others.result())
        assert {answer.status_code for answer, _ in answers} == {413, 422}
        assert all(PAD - 0.01 <= took < 2 * PAD for _, took in answers), [took for _, took in answers]
        assert client.get("/v1/releases").json() == []


UNREADABLE = {
    "cut off": b'{"epsilon": 1, "statistics": {"a": {"statistic": "sum"',
    "nothing": b"",
    "no UTF-8": b'{"epsilon": "\xff"}',
    "nested": b"[" * 100_000,
    "quotes": b'"' * 200_000,
    "a name twice": b'{"epsilon": 1, "epsilon": 2}',
    "a null": b'{"epsilon": null}',
    "a long number": b'{"epsilon": ' + b"9" * 100_000 + b"}",
    "no number": b'{"epsilon": NaN}',
    "too long": b" " * (1 << 18) + b"{}",
}


def test_json_that_cannot_be_read_is_refused_when_the_pad_says(padded):
    """As long after the request as any release comes, uncharged, and for each analyst at once."""
    with padded.client(padded.add("ivan")) as client, ThreadPoolExecutor(len(UNREADABLE) + 1) as pool:
        good = pool.submit(timed, client)

        def send(body):
            begun = time.monotonic()
            return client.post(RELEASE, content=body), time.monotonic() - begun

        answers = list(pool.map(send, UNREADABLE.values()))
        released, took = good.result()
        assert (released.status_code, took >= PAD - 0.01) == (200, True)
        assert {name: one.status_code for name, (one, _) in zip(UNREADABLE, answers, strict=True)} == {
            name: 413 if name == "too long" else 422 for name in UNREADABLE
        }
        assert all(PAD - 0.01 <= took < 2 * PAD for _, took in answers), [took for _, took in answers]
        assert len(client.get("/v1/releases").json()) == 1


def test_a_stored_answer_is_not_taken_before_it_is_due(padded):
    """What is stored at the decision, a little before the deadline, is not what `Prefer: stored` finds until then."""
    with padded.client(padded.add("gina")) as client, ThreadPoolExecutor(1) as pool:
        first, _ = timed(client)
        begun = time.monotonic()
        second = pool.submit(timed, client)
        found = []
        while time.monotonic() < begun + PAD - 0.1:
            again = timed(client, headers={"prefer": "stored"})[0].content
            if time.monotonic() < begun + PAD:  # and not late, on a busy machine
                found.append(again)
        assert set(found) == {first.content}
        last, _ = second.result()
        assert timed(client, headers={"prefer": "stored"})[0].content == last.content != first.content


def test_a_reader_that_holds_too_much_memory_is_a_failed_read(tmp_path):
    with Server(tmp_path, "--memory", "1M", pad="1s") as server, server.client(server.add()) as client:
        answer, took = timed(client)
        say_nothing_private(answer, server)
        assert (answer.status_code, took >= 1) == (503, True)
        assert [entry.state for entry in server.budget.entries()] == ["failed"]
        assert client.get("/v1/tables").status_code == 200


def test_a_worker_that_dies_is_a_failed_read_and_the_server_goes_on(padded):
    with (
        padded.client(padded.add("dora")) as client,
        padded.client(padded.add("eve")) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        budget = padded.budget
        charges = len(budget.entries())
        answer = pool.submit(timed, client, SUM, headers={"idempotency-key": "dies"})
        wait_until(lambda: len(budget.entries()) > charges)
        for child in padded.children():
            kill(child, SIGKILL)
        died, took = answer.result()
        say_nothing_private(died, padded)
        entry = budget.entries()[-1]
        assert entry.state in ("failed", "released")  # the noise may have been drawn before
        assert died.status_code == (503 if entry.state == "failed" else 200)
        assert took >= PAD - 0.01
        assert timed(other)[0].status_code == 200  # whose share and table are open
        again = client.post(RELEASE, json=SUM, headers={"idempotency-key": "dies"})
        assert (again.status_code, again.content) == (died.status_code, died.content)
        if entry.state == "failed":
            closed = client.post(RELEASE, json=SUM)
            assert (closed.status_code, closed.json()["error"]["reason"]) == (409, "closed")
            assert budget.share(entry.asker or budget.asked(entry.number).charge.asker).is_closed


def test_who_asks_too_much_at_once_is_told_and_not_charged(padded):
    tokens = [padded.add(f"many{i}") for i in range(4)]
    clients = [padded.client(token) for token in tokens]
    before = len(padded.budget.entries())
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda i: clients[i % 4].post(RELEASE, json=SUM), range(20)))
    for client in clients:
        client.close()
    statuses = [answer.status_code for answer in answers]
    assert set(statuses) == {200, 429}
    assert len(padded.budget.entries()) == before + statuses.count(200)
    assert statuses.count(200) >= 6  # two slots, and four that wait
