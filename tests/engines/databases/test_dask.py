"""Dask: the integers of memory, on a cluster of real processes, one of which is killed while it works."""

import os
import signal
import threading
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, QUESTIONS, answers, list_differences, table_of
from soundsum.engines.dask import read_as_declared
from soundsum.refusals import Reason, Refusal
from tests.engines.counted import list_miscounts
from tests.refusing import refused
from tests.test_documents import blocks

pytestmark = pytest.mark.xdist_group("dask")


def frame(table, parts=4):
    return dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=parts, sort=False)


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as opened,
    ):
        yield opened


def test_the_integers_are_those_of_memory():
    with dask.config.set(scheduler="sync"):
        assert list_differences(frame, tables={"awkward": table_of(700), "empty": NOTHING}) == []
        assert list_differences(frame, tables={"heavy": HEAVY}, questions=HEAVY_QUESTIONS) == []


def test_those_count_whom_coq_counts():
    with dask.config.set(scheduler="sync"):
        assert list_miscounts(frame) == []


@pytest.mark.parametrize("question", ["sums of doubles, size public", "by years and words", "persons and groups"])
def test_a_cluster_gives_the_same(client, question):
    statistics, options = QUESTIONS[question]
    table = table_of(5_000)
    assert answers(frame(table, 40), statistics, **options) == answers(table, statistics, **options)


@pytest.mark.parametrize("persons", [{}, {"privacy_unit": "who", "max_rows": 3}], ids=["records", "persons"])
def test_a_worker_that_is_killed_while_it_works_changes_nothing(client, persons):
    table = table_of(3_000)

    def slowly(part):
        time.sleep(0.1)
        return part

    slow = frame(table, 16).map_partitions(slowly, meta=frame(table)._meta)
    killed = []

    def kill():
        while not any(client.processing().values()):
            time.sleep(0.05)
        time.sleep(0.5)
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    statistics = [ss.Sum("x", -1, 1000), ss.Count(), ss.Quantile("h", 0.5, -7, 5)]
    found = answers(slow, statistics, **persons)
    thread.join()
    assert killed
    assert found == answers(table, statistics, **persons)


def test_a_release_and_its_certificate(client):
    budget = ss.Budget(epsilon=1, privacy_unit="who")
    made = ss.sum(frame(table_of(100)), 0, 9, 1, column="h", privacy_unit="who", budget=budget, engine="dask")
    assert made.certificate["engine"] == "dask"
    assert ss.check(made) == []
    assert budget.left.epsilon == 0


def test_frames_as_pandas_has_them_and_objects_as_ids():
    with dask.config.set(scheduler="sync", **{"dataframe.convert-string": False}):
        rows = pd.DataFrame({"x": [1.0, np.nan, 3.0, 4.0], "id": [(1, "a"), "b", (1, "a"), None], "g": list("abab")})
        asked = {"privacy_unit": "id", "by": "g", "groups": ["a", "b"], "max_rows": 2, "max_groups": 2}
        statistics = [ss.Sum("x", 0, 9), ss.Count(), ss.Quantile("x", 0.5, 0, 9)]
        for parts in (1, 2, 4):
            made = dd.from_pandas(rows, npartitions=parts, sort=False)
            assert answers(made, statistics, **asked) == answers(rows, statistics, **asked)


def test_parts_of_a_dask_frame():
    with dask.config.set(scheduler="sync"):
        table = table_of(300)
        part = ss.Partial.plan([ss.Sum("x", 0, 9)]).add(frame(table), part="a")
        assert part._held.totals == answers(table, [ss.Sum("x", 0, 9)])[0]
        with refused("data", Reason.UNSUPPORTED, ValueError):
            ss.Partial.plan([ss.Count()], privacy_unit="who").add(frame(table), part="a")


def change_one(values, changed):
    """Frames of the same rows in two partitions, with one value as it is and changed, each as pandas types them."""
    parts = [pd.DataFrame({"x": values}), pd.DataFrame({"x": [*values[:-1], changed]})]
    return [dd.from_map(lambda i: parts[i], [0, i], meta=parts[0].iloc[:0]) for i in (0, 1)]


ONE_CHANGED = {
    "integers": ([1, 2, 3], None),
    "truth values": ([True, False, True], None),
    "doubles": ([1.5, 2.0, 2.5], None),
    "the only double": ([None, None, 2.5], None),
    "text": (["1", "2", "3"], None),
    "the only text": ([None, None, "3"], None),
    "what is no text": (["1", "2", "3"], b"3"),
    "objects": ([b"1", 2, "3"], None),
    "times": ([pd.Timestamp("2024-01-05"), pd.Timestamp("2024-02-05")], None),
    "the only time": ([None, pd.Timestamp("2024-02-05")], None),
}


@pytest.mark.parametrize("convert", [True, False])
@pytest.mark.parametrize("name", ONE_CHANGED)
def test_one_value_decides_nothing_whatever_type_it_gives_its_partition(name, convert):
    values, changed = ONE_CHANGED[name]
    with dask.config.set(scheduler="sync", **{"dataframe.convert-string": convert}):
        frames = change_one(values, changed)
        for options in (
            {"statistics": [ss.Sum("x", 0, 2)]},
            {"statistics": [ss.Count("x")], "missing": "drop"},
            {"statistics": [ss.Count()], "privacy_unit": "x"},
            {"statistics": [ss.Count()], "by": "x", "groups": [values[-1]]},
            {"statistics": [ss.Count()], "by": ss.month("x", "2024-01", "2024-02")},
            {"statistics": [ss.Count()], "where": ("x", "==", values[-1])},
        ):
            before, after = (outcome(one, **options) for one in frames)
            assert isinstance(before, str) == isinstance(after, str)
            assert before == after or not isinstance(before, str)


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_times_of_another_unit_are_read_in_that_of_the_frame(zone):
    def times(unit, values):
        read = pd.Series(np.array(values, f"M8[{unit}]"))
        return read if zone is None else read.dt.tz_localize("UTC").dt.tz_convert(zone)

    for declared, own, values, expected in (
        ("s", "ms", [-1, 1500, None], [-1, 1, None]),
        ("ns", "s", [1, 2**40, -(2**40)], [10**9, None, None]),  # as 64 bits of nanoseconds are 292 years
    ):
        read = read_as_declared(times(own, values), times(declared, []))
        pd.testing.assert_series_equal(read, times(declared, expected))


def outcome(frame, statistics, **options):
    """The answers, or the words of the refusal."""
    try:
        return answers(frame, statistics, **options)
    except Refusal as refusal:
        return str(refusal)


def test_a_partition_of_another_type_fails_as_a_read_and_says_nothing(capfd):
    made = dd.from_pandas(pd.DataFrame({"x": [1.0, 2.0]}), npartitions=2)
    other = made.map_partitions(lambda part: part.astype(str), meta=made._meta)
    budget = ss.Budget(epsilon=1)
    with dask.config.set(scheduler="sync"), pytest.raises(ss.ReadFailed):
        ss.sum(other, 0, 9, 1, column="x", budget=budget)
    assert budget.left.epsilon == 0
    assert "".join(capfd.readouterr()) == ""


def test_what_a_worker_cannot_do_is_not_logged_with_its_arguments(client, capfd):
    made = frame(pa.table({"x": ["HIV positive"] * 4}))
    other = made.map_partitions(lambda part: part, meta=frame(pa.table({"x": [1.0]}))._meta)
    with pytest.raises(ss.ReadFailed):
        ss.sum(other, 0, 9, 1, column="x")
    assert "HIV" not in "".join(capfd.readouterr())


def test_what_dask_does_not_do_is_refused():
    made = frame(table_of(50))
    with refused("groups", Reason.UNSUPPORTED, ValueError):
        ss.count(made, 1, by="word", groups=ss.Found(delta="1e-9"))
    with dask.config.set(scheduler="sync"):
        numbers = dd.from_pandas(pd.DataFrame({"n": [1, 2], "b": [True, False], "x": [1.0, 2.0]}), npartitions=1)
        budget = ss.Budget(epsilon=2)
        for options in ({"where": ("n", "<", 2)}, {"by": "b", "groups": [True]}):
            with refused("data", Reason.UNSUPPORTED, TypeError):
                ss.count(numbers, 1, budget=budget, **options)
        with refused("data", Reason.UNSUPPORTED, TypeError, column="column 'n'", kind="int64"):
            ss.sum(numbers, 0, 1, 1, column="n", budget=budget)
        assert budget.left.epsilon == 2
        ss.count(numbers, 1, budget=budget)
        ss.sum(numbers.astype({"n": "float64"}), 0, 1, 1, column="n", budget=budget)
    with refused("method", Reason.UNSUPPORTED, ValueError):
        ss.sum(made, 0, 1, 1, column="x", relation="change_one", size=50, method="toward_zero")
    with pytest.raises(TypeError, match="dask cannot be asked from the process that reads a padded table"):
        ss.Private(made, budget=ss.Budget(epsilon=1), pad="3s")


def test_the_page_runs():
    (block,) = blocks("docs/engines/dask.md", "python")
    exec(compile(block, "dask.md", "exec"), {})
