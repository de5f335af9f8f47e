"""Every call of the API, and what each refuses, without a charge."""

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import soundsum as ss

from .running import COUNT, SUM, say_nothing_private

SPENT = "/v1/tables/visits/budget"


def spent(client):
    return Fraction(client.get(SPENT).json()["share"]["spent"]["epsilon"])


def ask(client, request, key=None, call="release"):
    headers = {} if key is None else {"idempotency-key": key}
    return client.post(f"/v1/tables/visits/{call}", json=request, headers=headers)


def test_a_table_is_described_by_what_its_owner_declared(alice):
    (table,) = alice.get("/v1/tables").json()
    assert table == alice.get("/v1/tables/visits").json()
    assert (table["name"], table["privacy_unit"], table["max_rows"], table["pad"]) == ("visits", "patient", 3, None)
    assert table["schema"]["ward"]["categories"] == ["a", "b", "c"]
    assert (table["schema"]["cost"]["lower"], table["schema"]["cost"]["upper"]) == (0, 100)
    assert "age" not in table["schema"]


def test_a_release_is_charged_and_can_be_checked_and_asked_for_again(alice, server):
    before = spent(alice)
    answer = ask(alice, {**SUM, "by": "ward"}).json()
    assert spent(alice) == before + Fraction(1, 10)
    assert ss.check({"releases": answer["releases"]}) == []
    assert [one["group"] for one in answer["releases"]] == ["a", "b", "c"]
    again = alice.get(f"/v1/releases/{answer['id']}")
    assert again.json() == answer
    (listed,) = [one for one in alice.get("/v1/releases").json() if one["id"] == answer["id"]]
    assert (listed["released"], listed["cost"]["epsilon"]) == (True, "1/10")
    entry = next(one for one in server.budget.entries() if f"visits-{one.number}" == answer["id"])
    assert server.budget.asked(entry.number).charge.asker.analyst == "alice"


def test_asked_again_with_its_key_a_release_is_given_as_it_was(alice):
    first = ask(alice, SUM, "key-1")
    before = spent(alice)
    again = ask(alice, SUM, "key-1")
    assert (again.status_code, again.content) == (200, first.content)
    assert spent(alice) == before


def test_the_same_is_answered_from_storage_on_wish_and_only_to_the_same_analyst(alice, bob):
    asked = {**SUM, "epsilon": "1/50"}
    first, prefer = ask(alice, asked).json(), {"prefer": "stored"}
    before, others = spent(alice), spent(bob)
    same = dict(reversed(asked.items()))
    assert alice.post("/v1/tables/visits/release", json=same, headers=prefer).json() == first
    assert spent(alice) == before
    assert ask(alice, asked).json()["id"] != first["id"]
    theirs = bob.post("/v1/tables/visits/release", json=asked, headers=prefer).json()
    assert theirs["id"] != first["id"]
    assert spent(bob) == others + Fraction(1, 50)
    other = alice.post("/v1/tables/visits/release", json={**asked, "epsilon": "1/49"}, headers=prefer).json()
    assert other["id"] not in (first["id"], theirs["id"])


def test_one_key_is_for_one_request_of_one_analyst(alice, bob):
    ask(alice, SUM, "key-2")
    before = spent(alice)
    other = ask(alice, COUNT, "key-2")
    assert (other.status_code, other.json()["error"]["option"]) == (422, "key")
    assert spent(alice) == before
    assert ask(bob, COUNT, "key-2").status_code == 200


def test_two_requests_with_one_key_at_once_are_charged_once(alice):
    before = spent(alice)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(alice, SUM, "key-3"), range(8)))
    assert spent(alice) == before + Fraction(1, 10)
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len({answer.content for answer in answers if answer.status_code == 200}) == 1


def test_a_plan_costs_nothing_and_knows_the_error(alice):
    before = spent(alice)
    (told,) = ask(alice, {**SUM, "error": 1000}, call="plan").json()["statistics"]
    plan = ss.Private(
        {"cost": [1.0], "patient": [1]}, privacy_unit="patient", max_rows=3,
        budget=ss.Budget(epsilon=1, privacy_unit="patient"),
    ).plan("cost", 0, 100)  # fmt: skip
    assert told["error"] == pytest.approx(plan.error(epsilon="1/10"))
    assert Fraction(told["epsilon_for_error"]) == plan.epsilon_for(1000)
    (count,) = ask(alice, COUNT, call="plan").json()["statistics"]
    assert count["error"] > 0
    assert spent(alice) == before


def test_made_up_rows_say_so_in_every_field_and_pass_for_no_release(alice):
    before = spent(alice)
    told = ask(alice, {**SUM, "by": "ward"}, call="dummy").json()
    assert told["dummy"] is True
    assert len(told["releases"]) == 3
    assert all(name.startswith("dummy_") for one in told["releases"] for name in one)
    assert ss.check(told) != []
    assert spent(alice) == before


def test_what_a_share_and_the_budget_do_not_allow(alice, bob, server):
    refused = ask(bob, {**SUM, "epsilon": 10})
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert (error["reason"], Fraction(error["left"]["epsilon"])) == ("exceeded", Fraction(1, 2) - spent(bob))
    assert ask(alice, {**SUM, "epsilon": 10_000_000}).json()["error"]["reason"] == "exceeded"


def test_analysts_see_their_own_releases_alone(alice, bob):
    own = ask(alice, SUM).json()["id"]
    assert bob.get(f"/v1/releases/{own}").status_code == 404
    assert bob.get(f"/v1/releases/{own}").content == bob.get("/v1/releases/visits-999999").content
    assert bob.get(f"/v1/releases/{own}").content == bob.get("/v1/releases/nowhere-1").content
    assert own not in [one["id"] for one in bob.get("/v1/releases").json()]
    assert own not in [one["id"] for one in bob.get(SPENT).json()["charges"]]


def test_a_long_request_is_short_in_lists(alice):
    asked = {**SUM, "epsilon": "1/100", "where": [f"ward in {', '.join('w' * 200 + str(i) for i in range(100))}"]}
    own = ask(alice, asked).json()["id"]
    listed = [*alice.get("/v1/releases").json(), *alice.get(SPENT).json()["charges"]]
    said = {one["what"] for one in listed if one["id"] == own}
    assert [len(one) for one in said] == [303]


STATISTIC = {"statistic": "sum", "column": "cost"}
LISTS = {
    "a statistic": ({"statistics": {"a": {"statistic": "summ", "column": "cost"}}}, "is not one of sum, count"),
    "a noise": ({**SUM, "noise": "laplac"}, "is not one of laplace, gaussian"),
    "a type": ({"statistics": {"a": {**STATISTIC, "dtype": "flot64"}}}, "use one of int8"),
    "a column": ({"statistics": {"a": {**STATISTIC, "column": "Age"}}}, "its owner declares ward, cost"),
    "groups of a column": ({**SUM, "by": ["ward", "Age"], "groups": [["a"], [1]]}, "its owner declares ward, cost"),
    "no groups": ({**SUM, "by": "age"}, """"groups": ['a', 'b'], or find them: "groups": "found" and "delta\""""),
}


@pytest.mark.parametrize("asked", LISTS)
def test_a_refusal_lists_what_may_be_written_there_and_no_columns_but_those_that_are_declared(alice, asked):
    written, words = LISTS[asked]
    for call in ("plan", "release"):
        answer = ask(alice, {"epsilon": "1/10", **written}, call=call)
        assert answer.status_code == 422
        message = answer.json()["error"]["message"]
        assert words in message
        assert "patient" not in message


BAD = {
    "no statistics": {"epsilon": 1},
    "an unknown option": {**SUM, "epsilonn": 1},
    "an unknown statistic": {"epsilon": 1, "statistics": {"a": {"statistic": "median", "column": "cost"}}},
    "an unknown column": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "column": "salary"}}},
    "the owner's terms": {**SUM, "privacy_unit": "ward"},
    "a table": {**SUM, "table": "secrets"},
    "an engine": {**SUM, "engine": "duckdb"},
    "a relation": {**SUM, "relation": "change_one"},
    "a path": {**SUM, "data": "/etc/passwd"},
    "a budget": {**SUM, "budget": {"epsilon": 9}},
    "no cost": {"statistics": {"a": STATISTIC}},
    "epsilon 0": {**SUM, "epsilon": 0},
    "epsilon below 0": {**SUM, "epsilon": -1},
    "epsilon of text": {**SUM, "epsilon": "lots"},
    "epsilon of 1e400 in text": {**SUM, "epsilon": "1e400"},
    "epsilon of a list": {**SUM, "epsilon": [1]},
    "rho": {"rho": "0.1", "noise": "gaussian", "statistics": {"a": STATISTIC}},
    "bounds swapped": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "bounds": [5, 1]}}},
    "bounds of text": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "bounds": ["x", {}]}}},
    "many groups": {**SUM, "by": "ward", "groups": [str(i) for i in range(20_000)]},
    "many long answers": {"epsilon": 1, "by": "ward", "groups": [str(i) for i in range(100)],
                          "statistics": {str(i): {"statistic": "mean", "column": "cost"} for i in range(20)}},
    "a long request for each": {**SUM, "by": "ward", "groups": ["a"] * 500, "where": ["age >= 18"] * 900},
    "a thousand statistics": {"epsilon": 1, "statistics": {str(i): STATISTIC for i in range(1500)}},
    "a million bins": {"epsilon": 1, "statistics": {"a": {"statistic": "histogram", "column": "age", "bins": 10**6,
                                                          "bounds": [0, 1]}}},
    "endless days": {**SUM, "by": "day(cost)", "groups": ["0001-01-01..9999-12-31"]},
    "groups without by": {**SUM, "groups": ["a"]},
    "groups that are no list": {**SUM, "by": "ward", "groups": 7},
    "by a dict": {**SUM, "by": {"a": 1}},
    "a condition": {**SUM, "where": ["cost; DROP TABLE visits"]},
    "a condition on what is not there": {**SUM, "where": ["secret == 1"]},
    "many values": {**SUM, "where": ["age in " + "1," * 100_000]},
    "conditions of objects": {**SUM, "where": [{"a": 1}]},
    "a statistic of text": {"epsilon": 1, "statistics": {"a": "sum"}},
    "a name turned around": {"epsilon": 1, "statistics": {"\u202etotal": STATISTIC}},
    "a column with a null byte": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "column": "co\x00st"}}},
    "max_rows of text": {**SUM, "max_rows": "all"},
    "max_rows of 0": {**SUM, "max_rows": 0},
    "dtype of another": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "dtype": "int8"}}},
    "a type by code": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "dtype": "__import__('os')"}}},
    "a method": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "method": {"name": "grid"}}}},
    "a weight": {"epsilon": 1, "statistics": {"a": {**STATISTIC, "weight": "1e999"}}},
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("call", ["release", "plan", "dummy"])
def test_a_bad_request_is_refused_uncharged(what, call, alice, server):
    before = spent(alice)
    answer = say_nothing_private(ask(alice, BAD[what], call=call), server)
    assert answer.status_code == 422, answer.text[:200]
    assert answer.json()["error"]["message"]
    assert spent(alice) == before


TEXTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no object": b"[]",
    "a number": b"17",
    "a name twice": b'{"epsilon": 1, "epsilon": 2}',
    "null": b'{"epsilon": 1, "missing": null}',
    "NaN": b'{"epsilon": NaN}',
    "Infinity": b'{"epsilon": -Infinity}',
    "1e400": b'{"epsilon": 1e400}',
    "a long number": b'{"epsilon": ' + b"9" * 10_000 + b"}",
    "depth": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "bad UTF-8": b'{"\xff": 1}',
    "half a pair": b'{"where": "\\ud800"}',
    "a line's end in a list": b'{"groups": ["a", ["\\n2026 fake"]]}',
    "a text of quotes without an end": b'{"where": "' + b'\\"' * 130_000,  # which once took minutes
}


@pytest.mark.parametrize("what", TEXTS)
def test_a_body_that_is_no_request_is_refused(what, alice, server):
    answer = say_nothing_private(alice.post("/v1/tables/visits/release", content=TEXTS[what]), server)
    assert (answer.status_code, answer.json()["error"]["option"]) == (422, "request")


def test_a_body_has_a_greatest_depth(alice):
    answer = alice.post("/v1/tables/visits/release", content=b'{"where": ' + b"[" * 9 + b"]" * 9 + b"}")
    assert (answer.status_code, "more than 8 deep" in answer.text) == (422, True)
    in_a_text = alice.post("/v1/tables/visits/release", content=b'{"where": "[[[[[[[[[[[["}')
    assert "deep" not in in_a_text.text


def test_a_body_has_a_largest_size(alice):
    answer = alice.post("/v1/tables/visits/release", content=b" " * (1 << 20))
    assert answer.status_code == 413
    assert ask(alice, {**SUM, "by": "ward", "groups": [str(i) for i in range(10**6)]}).status_code == 413


@pytest.mark.parametrize("key", ["", "a b", "k" * 201, "\u00e9".encode().decode("latin-1")])
def test_a_key_is_short_and_printable(alice, key):
    before = spent(alice)
    body = json.dumps(SUM).encode()
    answer = alice.post(
        "/v1/tables/visits/release", content=body, headers=[(b"idempotency-key", key.encode("latin-1"))]
    )
    assert (answer.status_code, answer.json()["error"]["option"]) == (422, "key")
    assert spent(alice) == before


@pytest.mark.parametrize("path", ["/v1/tables/secrets", "/v1/tables/secrets/budget", "/v1/releases/visits-x", "/v1/no",
                                  "/v1/releases/..%2fowner", "/v1/tables/visits%00", "/v1/docs"])  # fmt: skip
def test_what_is_not_there_is_not_found(alice, path):
    assert alice.get(path).status_code == 404


def test_the_request_is_described_without_the_owner_s_terms(alice):
    described = alice.get("/v1/openapi.json").json()
    asked = described["paths"]["/v1/tables/{name}/release"]["post"]["requestBody"]["content"]["application/json"]
    assert {"epsilon", "by", "where", "statistics"} <= asked["schema"]["properties"].keys()
    assert not {"table", "engine", "relation", "privacy_unit"} & asked["schema"]["properties"].keys()
