"""A server of small tables runs on one core, and on all of them once a table is large."""

import os
import threading

import pyarrow.parquet as pq

from soundsum.server.cores import SMALL, Cores
from soundsum.server.endpoints import Capacity
from soundsum.server.running import open_desk

from .running import OWNER, SUM, VISITS, Server

ALL = os.sched_getaffinity(0)


def test_threads_are_kept_on_one_core_until_all_are_to_be_used():
    cores, seen, ended = Cores(), [], threading.Event()

    def start_another():
        cores.keep_to_one()
        seen.append(os.sched_getaffinity(0))
        other = threading.Thread(target=ended.wait)
        other.start()
        seen.append(os.sched_getaffinity(other.native_id))
        cores.use_all()
        seen.extend([os.sched_getaffinity(0), os.sched_getaffinity(other.native_id)])
        ended.set()
        other.join()

    thread = threading.Thread(target=start_another)
    thread.start()
    thread.join()
    one = seen[0]
    assert len(one) == 1
    assert seen == [one, one, ALL, ALL]


def test_cores_that_were_taken_away_are_let_be():
    """As a container's may be while it runs."""
    cores = Cores()
    cores._all = {max(ALL) + 500}
    cores.use_all()
    assert os.sched_getaffinity(0) == ALL


def test_a_server_runs_on_one_core_until_a_table_has_grown(tmp_path):
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 200
        assert len(os.sched_getaffinity(server.process.pid)) == 1
        with (tmp_path / "visits.parquet").open("r+b") as file:  # too large to be small, and no table at all
            file.truncate(SMALL + 1)
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 503
        threads = [int(name) for name in os.listdir(f"/proc/{server.process.pid}/task")]
        assert all(os.sched_getaffinity(thread) == ALL for thread in threads)


def test_a_server_with_a_large_table_uses_all_cores(tmp_path):
    """A thread that a library starts for a small table is used for large ones, too."""
    large = OWNER.format(pad="", epsilon="1000", max_failures=5).replace("visits", "large")
    small = OWNER.format(pad="", epsilon="1000", max_failures=5)
    pq.write_table(VISITS.replace_schema_metadata({"more": os.urandom(SMALL).hex()}), tmp_path / "large.parquet")
    with Server(tmp_path, "--no-pad", owner=small + large) as server, server.client(server.add()) as client:
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 200
        threads = [int(name) for name in os.listdir(f"/proc/{server.process.pid}/task")]
        assert all(os.sched_getaffinity(thread) == ALL for thread in threads)


def test_a_padded_table_and_one_that_is_large_or_gone_is_not_small(tmp_path):
    server = Server(tmp_path)
    (table,) = open_desk(str(server.owner), Capacity(), needs_pad=False).tables.values()
    assert table.is_small
    file = tmp_path / "visits.parquet"
    file.rename(tmp_path / "elsewhere")
    assert not table.is_small
    file.write_bytes(bytes(SMALL + 1))
    assert not table.is_small
    (tmp_path / "elsewhere").rename(file)
    server.owner.write_text(OWNER.format(pad='pad = "5s"', epsilon="1", max_failures=1).replace("visits.db", "own.db"))
    (table,) = open_desk(str(server.owner), Capacity()).tables.values()
    assert not table.is_small
