"""Spark in trouble: a job that is cancelled, an executor that is lost and one that is lost for good; real processes."""

import json
import os
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.engines.databases.servers import find_java
from tests.refusing import refused

SLOW = "CASE WHEN reflect('java.lang.Thread', 'sleep', 250L) <> 'x' THEN CAST(id AS DOUBLE) END AS x"
"""A column that takes its time."""


@pytest.mark.xdist_group("spark")
def test_a_job_that_is_cancelled(spark):
    slow = spark.range(0, 400, 1, 40).selectExpr(SLOW)
    budget = ss.Budget(epsilon=2)
    status = spark.sparkContext.statusTracker()

    def cancel():
        while not status.getActiveJobsIds():
            time.sleep(0.1)
        time.sleep(0.5)
        spark.sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(ss.ReadFailed) as failed:
        ss.sum(slow, 0, 400, 1, column="x", budget=budget)
    thread.join()
    assert failed.value.__cause__ is None
    assert budget.spent.epsilon == 1
    assert not status.getActiveJobsIds()


@pytest.mark.xdist_group("spark")
def test_a_frame_cannot_be_padded(spark):
    with pytest.raises(TypeError, match="spark cannot be asked from the process that reads a padded table; give"):
        ss.Private(spark.range(9), budget=ss.Budget(epsilon=1), pad="3s")


@pytest.mark.xdist_group("spark")
def test_times_that_spark_does_not_have(spark, tmp_path):
    table = pa.table({"x": [1.0], "at": pa.array([0], pa.timestamp("ns"))})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", version="2.6")
    budget = ss.Budget(epsilon=1)
    with refused("engine", Reason.UNSUPPORTED, ValueError):
        ss.sum(tmp_path / "t.parquet", 0, 1, 1, column="x", engine="spark", budget=budget)
    assert budget.spent.epsilon == 0


@pytest.mark.xdist_group("spark")
def test_what_is_refused_before_a_job_runs(spark):
    budget = ss.Budget(epsilon=1)
    frame = spark.createDataFrame([(1.5, "a", [1])], "x double, word string, many array<int>")
    deep = frame.selectExpr("CAST(1 AS decimal(38, 20)) AS deep", "x", "x AS X")
    for data, options, words in (
        (frame, {"column": "y"}, "column 'y' is not in the table"),
        (frame, {"column": "word"}, "column 'word' is text, not numbers"),
        (frame, {"column": "many"}, "column 'many' is array<int>, not numbers"),
        (frame, {"column": "x", "method": "kahan", "max_size": 9}, "not one that spark can run"),
        (frame, {"column": "x", "table": "t"}, "leave table= out"),
        (frame, {"column": "x", "privacy_unit": "many"}, "column 'many' is array<int>, not ids"),
        (frame, {"column": "x", "privacy_unit": "word", "max_rows": 10**30}, "beyond Spark's 38 digits"),
        (deep, {"column": "deep"}, "20 decimal places"),
        (deep, {"column": "x"}, "Spark cannot tell"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            ss.sum(data, 0, 1, 1, budget=budget, **options)
    assert budget.spent.epsilon == 0


CLUSTER = """
import json, os, signal, sys, threading, time
from pathlib import Path
from pyspark.sql import SparkSession
import soundsum as ss

for_good, slow = sys.argv[1] == "for good", sys.argv[2]
settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.ui.showConsoleProgress": "false",
            "spark.deploy.maxExecutorRetries": "2" if for_good else "10"}
builder = SparkSession.builder.master("local-cluster[2,1,1024]")
for name, value in settings.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")
frame = session.range(0, 20, 1, 20).selectExpr(slow)
application, status = session.sparkContext.applicationId, session.sparkContext.statusTracker()
killed, done = set(), threading.Event()

def executors():
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            said = (folder / "cmdline").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        if "CoarseGrainedExecutorBackend" in said and application in said:
            found.append(int(folder.name))
    return found

def kill():
    while not any(info and info.numActiveTasks for info in map(status.getStageInfo, status.getActiveStageIds())):
        time.sleep(0.05)
    while not done.is_set():
        for pid in executors()[: None if for_good else 1]:
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        if killed and not for_good:
            return
        time.sleep(0.2)

thread = threading.Thread(target=kill)
thread.start()
try:
    made = ss.sum(frame, 0, 1000, 10**9, column="x").value
except ss.ReadFailed:
    made = "ReadFailed"
done.set()
thread.join()
print(json.dumps({"made": made, "killed": len(killed)}))
"""


@pytest.mark.parametrize("how, expected", [("once", 190.0), ("for good", "ReadFailed")])
@pytest.mark.xdist_group("cluster")
def test_an_executor_that_is_lost(how, expected):
    """Two executors as processes of their own; one is killed in mid-job and Spark tries again, or all are, always."""
    environment = os.environ | {"JAVA_HOME": find_java()}
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, how, SLOW], capture_output=True, text=True, env=environment, timeout=600
    )
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["killed"] >= 1, done.stderr[-2000:]
    assert said["made"] == (pytest.approx(expected, abs=0.001) if isinstance(expected, float) else expected)
