"""The pages of PostgreSQL and Spark run, from top to bottom."""

import psycopg
import pytest
from typer.testing import CliRunner

from soundsum.cli import app
from tests.test_documents import blocks


@pytest.mark.xdist_group("postgres")
def test_postgres(postgres, monkeypatch):
    with psycopg.connect(postgres.address()) as connection:
        connection.execute("DROP TABLE IF EXISTS visits CASCADE")
        connection.execute("CREATE TABLE visits AS SELECT 5.0::float8 AS cost, 'a' AS ward, 7 AS patient")
    monkeypatch.setenv("CLINIC", postgres.address())
    (block,) = blocks("docs/engines/postgres.md", "python")
    exec(compile(block, "postgres.md", "exec"), {})
    (command,) = blocks("docs/engines/postgres.md", "sh")
    words = command.replace('"$CLINIC"', postgres.address()).split()
    ran = CliRunner().invoke(app, words[1:])
    assert ran.exit_code == 0, ran.output


@pytest.mark.xdist_group("spark")
def test_spark(spark):
    (block,) = blocks("docs/engines/spark.md", "python")
    exec(compile(block, "spark.md", "exec"), {})
