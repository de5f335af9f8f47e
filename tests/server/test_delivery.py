"""The attack of the paper, carried out over HTTP: a naive endpoint gives the secrets away, an analyst's token does not.

1,024 patients are known to be healthy. The attacker selects them and one other, and clamps to two neighbouring floats.
"""

import json
from fractions import Fraction

import duckdb
import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from soundsum.attacks.attack import Event
from soundsum.attacks.choose import attack

from .naive import serve_naively
from .running import Server

KNOWN, TARGETS, ENOUGH = 1024, 40, 38
"""A fair coin is right about 38 or more of 40 once in 10^9 times."""

EPSILON = Fraction(1, 10)
OWNER = """
[tables.patients]
data = "patients.parquet"
privacy_unit = "uid"
budget = {epsilon = "1000", path = "visits.db"}
[tables.patients.schema]
had_covid = "float64"
"""
NAIVE = """
SELECT SUM(GREATEST($L, LEAST($U, had_covid))) FROM (SELECT had_covid FROM patients WHERE uid < $known
UNION ALL SELECT had_covid FROM patients WHERE uid = $person)"""


def test_a_naive_endpoint_gives_the_secrets_away_and_ours_does_not(tmp_path):
    pair = attack("rounding", "float64", j=KNOWN.bit_length() - 1, relation="change_one")
    lower, upper, ideal = float(pair.problem.lower), float(pair.problem.upper), pair.problem.ideal
    secrets = np.random.default_rng().integers(0, 2, TARGETS)
    had_covid = np.append(np.zeros(KNOWN), secrets).astype(np.float64)
    patients = pa.table({"uid": np.arange(KNOWN + TARGETS), "had_covid": had_covid})
    pq.write_table(patients, tmp_path / "patients.parquet")
    people = range(KNOWN, KNOWN + TARGETS)

    with duckdb.connect() as database:
        database.execute("CREATE TABLE patients AS SELECT * FROM patients")

        def add_up(_, asked):
            return database.cursor().execute(NAIVE, {**json.loads(asked), "known": KNOWN}).fetchone()[0]

        with serve_naively(add_up, ideal, EPSILON) as url, httpx.Client(base_url=url, trust_env=False) as client:
            answers = [client.post("/", json={"L": lower, "U": upper, "person": person}).json() for person in people]
    guessed = [int(pair.event(Fraction(answer["value"]))) for answer in answers]
    assert sum(guessed == secrets) >= ENOUGH

    real = Event.between(pair.left.total(), pair.right.total())
    with Server(tmp_path, "--no-pad", owner=OWNER) as server, server.client(server.add()) as client:
        ours = []
        for person in people:
            total = {"statistic": "sum", "column": "had_covid", "bounds": [lower, upper]}
            where = [f"uid < {KNOWN} or uid == {person}"]
            asked = {"epsilon": str(EPSILON), "where": where, "statistics": {"total": total}}
            answer = client.post("/v1/tables/patients/release", json=asked)
            assert answer.status_code == 200, answer.text
            ours.append(int(real(Fraction(answer.json()["releases"][0]["exact"]))))
    assert sum(ours == secrets) < ENOUGH
