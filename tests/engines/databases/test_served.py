"""The owner's server on PostgreSQL, DuckDB and Spark: what it answers, and a database that goes down and comes back."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.engines.databases.servers import find_java, load_into_postgres
from tests.server.running import VISITS, Server, say_nothing_private, wait_until

OWNER = """
[tables.visits]
{data}
privacy_unit = "patient"
max_rows = 3
max_groups = 3
{pad}
budget = {{epsilon = "1000000", path = "visits.db", max_failures = 1000}}
[tables.visits.schema]
ward = ["a", "b", "z"]
cost = {{type = "float64", lower = 0, upper = 100}}
"""
FILE = 'data = "visits.parquet"\nengine = "{}"'
EXACT = {"epsilon": "100000", "by": "ward", "statistics": {"total": {"statistic": "sum", "column": "cost"}}}
SMALL = {"epsilon": "1/10", "statistics": {"total": {"statistic": "sum", "column": "cost"}}}
PAD = 'pad = "3s"'


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Start the server on a table; it ends with the test."""
    started = []

    def start(data, pad=""):
        monkeypatch.setenv("JAVA_HOME", find_java())
        options = [] if pad else ["--no-pad"]
        server = Server(tmp_path, *options, owner=OWNER.format(data=data, pad=pad))
        token = server.add(epsilon="1000000", max_failures=1000)
        started.append(server.start(patience=300))  # in which Java starts on a busy machine
        started.append(server.client(token))
        return server, started[-1]

    yield start
    for server, client in zip(started[::2], started[1::2], strict=True):
        client.close()
        server.kill()


@pytest.fixture
def in_postgres(postgres):
    load_into_postgres(postgres.address(), "visits", VISITS)
    return f'data = "{postgres.address()}"\ntable = "visits"'


def ask(client, request=SMALL):
    return client.post("/v1/tables/visits/release", json=request)


def free(client):
    """What costs nothing, and comes from the schema as it was at the start."""
    asked = [client.get("/v1/tables"), client.post("/v1/tables/visits/plan", json=SMALL)]
    return [(one.status_code, one.content) for one in asked]


def answers_as_it_should(server, client):
    made = ask(client, EXACT)
    assert made.status_code == 200, made.text
    releases = made.json()["releases"]
    values = {one["group"]: one["value"] for one in releases}
    costs = {"a": 0.0, "b": 0.0, "z": 0.0}
    for row in VISITS.to_pylist():
        costs[row["ward"]] += min(row["cost"], 100)
    assert values == pytest.approx(costs, abs=1)
    assert server.budget.spent.epsilon == 100_000
    assert client.post("/v1/tables/visits/dummy", json=EXACT).json()["dummy"] is True
    return releases[0]["certificate"]["engine"]


def goes_by(server, client, begin, end):
    """While it cannot be opened every answer is the same, and nothing is charged; then service is back."""
    before = free(client)
    assert ask(client).status_code == 200
    begin()
    lost = [say_nothing_private(ask(client), server) for _ in range(2)]
    assert {(one.status_code, one.content) for one in lost} == {(503, lost[0].content)}
    assert free(client) == before
    end()
    assert ask(client).status_code == 200
    assert [entry.state for entry in server.budget.entries()] == ["released", "released"]


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("pad", ["", PAD], ids=["no pad", "a pad"])
def test_a_table_in_postgres(serve, in_postgres, pad):
    assert answers_as_it_should(*serve(in_postgres, pad)) == "postgres"


@pytest.mark.parametrize("pad", ["", PAD], ids=["no pad", "a pad"])
def test_a_table_that_duckdb_reads(serve, pad):
    assert answers_as_it_should(*serve(FILE.format("duckdb"), pad)) == "duckdb"


@pytest.mark.xdist_group("spark")
def test_a_table_that_spark_reads(serve):
    assert answers_as_it_should(*serve(FILE.format("spark"))) == "spark"


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("pad", ["", PAD], ids=["no pad", "a pad"])
def test_postgres_goes_down_and_comes_back(serve, in_postgres, postgres, pad):
    goes_by(*serve(in_postgres, pad), postgres.kill, postgres.start)


@pytest.mark.parametrize("pad", ["", PAD], ids=["no pad", "a pad"])
def test_the_file_that_duckdb_reads_is_lost_and_comes_back(serve, tmp_path, pad):
    file, elsewhere = tmp_path / "visits.parquet", tmp_path / "elsewhere"
    goes_by(*serve(FILE.format("duckdb"), pad), lambda: file.rename(elsewhere), lambda: elsewhere.rename(file))


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("pad", ["", PAD], ids=["no pad", "a pad"])
def test_postgres_goes_down_while_it_reads(serve, in_postgres, postgres, pad):
    """What was charged stays charged, as a failed read, and the answer is the one sentence."""
    with psycopg.connect(postgres.address()) as connection:
        connection.execute(
            "CREATE VIEW slow_visits AS "
            "SELECT patient, ward, CASE WHEN pg_sleep(0.1) IS NOT NULL THEN cost END AS cost FROM visits"
        )
    server, client = serve(in_postgres.replace('"visits"', '"slow_visits"'), pad)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, client)
        wait_until(lambda: server.budget.entries())
        postgres.kill()
        lost = say_nothing_private(answer.result(), server)
    postgres.start()
    assert lost.status_code == 503
    assert [entry.state for entry in server.budget.entries()] == ["failed"]
    with psycopg.connect(postgres.address()) as connection:
        connection.execute("CREATE OR REPLACE VIEW slow_visits AS SELECT patient, ward, cost FROM visits")
    assert ask(client).status_code == 200


@pytest.mark.xdist_group("spark")
def test_spark_dies_and_is_started_again(serve):
    server, client = serve(FILE.format("spark"))
    assert ask(client).status_code == 200
    for pid in find_java_below(server.process.pid):
        os.kill(pid, signal.SIGKILL)
    first, then = ask(client), ask(client)
    assert first.status_code in (200, 503)
    assert then.status_code == 200, say_nothing_private(then, server).text


def find_java_below(pid):
    """The processes of Java that a process started, or whatever it started."""
    below = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    own = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    found = []
    for one in {*below, *map(int, own)}:
        name = Path(f"/proc/{one}/comm").read_text().strip()
        found += [one] if name == "java" else find_java_below(one)
    return found
