"""Threads that answer from small tables share a core; everything else may run on all of them."""

import os
import threading

from soundsum.server.cores import SMALL, OneCore
from soundsum.server.endpoints import Capacity
from soundsum.server.running import open_desk

from .running import OWNER, SUM, Server

ALL = os.sched_getaffinity(0)


def test_a_thread_is_kept_on_one_core_and_let_go():
    core, seen = OneCore(), []

    def look():
        for is_kept in (True, True, False, True):
            core.keep(is_kept)
            seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert [len(one) for one in seen] == [1, 1, len(ALL), 1]
    assert os.sched_getaffinity(0) == ALL


def test_the_loop_shares_the_core_where_all_tables_are_small(tmp_path):
    with Server(tmp_path, "--no-pad") as server, server.client(server.add()) as client:
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 200
        assert len(os.sched_getaffinity(server.process.pid)) == 1
        with (tmp_path / "visits.parquet").open("r+b") as file:  # too large to be small, and no table at all
            file.truncate(SMALL + 1)
        assert client.post("/v1/tables/visits/release", json=SUM).status_code == 503
        threads = [int(name) for name in os.listdir(f"/proc/{server.process.pid}/task")]
        assert ALL in [os.sched_getaffinity(thread) for thread in threads]


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
