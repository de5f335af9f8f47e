"""PostgreSQL behind PgBouncer, and what a timeout of the server costs."""

import psycopg
import pyarrow as pa
import pytest

import soundsum as ss
from tests.engines.databases.servers import Bouncer, load_into_postgres

pytestmark = pytest.mark.xdist_group("postgres")
ROWS = pa.table({"x": [float(i % 10) for i in range(1000)], "g": [i % 3 for i in range(1000)]})


@pytest.fixture(params=["session", "transaction", "statement"])
def bouncer(postgres, request):
    load_into_postgres(postgres.address(), "bounced", ROWS)
    running = Bouncer(postgres, request.param)
    running.mode = request.param
    yield running
    running.stop()


def test_sessions_and_transactions_work_and_statements_are_refused(bouncer):
    if bouncer.mode == "statement":
        with pytest.raises(ConnectionError, match="could not be asked for its tables"):
            ss.sum(bouncer.address, 0, 9, 1, column="x", table="bounced")
        return
    owner = ss.Private(bouncer.address, table="bounced", budget=ss.Budget(epsilon=10**9))
    for _ in range(8):  # more often than psycopg runs a query before it prepares it
        assert round(float(owner.sum("x", 0, 9, epsilon=10**6))) == sum(i % 10 for i in range(1000))
        assert [round(float(n)) for n in owner.count(epsilon=10**6, by="g", groups=[0, 1, 2]).values()] == [
            334,
            333,
            333,
        ]


def test_one_timeout_keeps_the_charge_and_closes_the_budget(postgres):
    load_into_postgres(postgres.address(), "bounced", ROWS)
    budget = ss.Budget(epsilon=3)
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute("CREATE OR REPLACE VIEW slow AS SELECT x + (pg_sleep(0.01) IS NULL)::int AS x FROM bounced")
        connection.execute("ALTER ROLE owner SET statement_timeout = '700ms'")
        try:
            with pytest.raises(ss.ReadFailed):
                ss.sum(postgres.address(), 0, 9, 1, column="x", table="slow", budget=budget)
        finally:
            connection.execute("ALTER ROLE owner RESET statement_timeout")
    assert budget.left.epsilon == 2
    with pytest.raises(ss.BudgetExceeded):
        ss.sum(postgres.address(), 0, 9, 1, column="x", table="bounced", budget=budget)
