"""The servers, started once for all tests of a run, and stopped."""

import gc
import os

import pytest

from tests.engines.databases.servers import PostgresServer, find_java


@pytest.fixture(scope="session")
def postgres():
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def spark():
    os.environ["JAVA_HOME"] = find_java()
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",  # whose clock changes must make no difference
    }
    builder = SparkSession.builder.master("local[2]").appName("soundsum's tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    gc.set_threshold(700, 10, 10)  # Java's memory is held until Python's collector lets go of the frames
    yield session
    session.stop()
