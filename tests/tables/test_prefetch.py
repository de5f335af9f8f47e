"""What is read ahead comes in order, fails where it fails, and nobody goes on reading what is no longer wanted."""

import subprocess
import sys
import threading
import time

import pytest

from soundsum.tables.prefetch import DEPTH, read_ahead


def count(start, stop, seen=None):
    for i in range(start, stop):
        if seen is not None:
            seen.append(i)
        yield i


@pytest.mark.parametrize("readers", [1, 2, 3])
def test_the_order_is_kept(readers):
    parts = [count(100 * i, 100 * i + i % 4 * 7) for i in range(20)]
    wanted = [x for i in range(20) for x in range(100 * i, 100 * i + i % 4 * 7)]
    assert list(read_ahead(iter(parts), readers)) == wanted


def test_what_fails_comes_after_what_was_read_before():
    def broken():
        yield 1
        raise RuntimeError("broken")

    batches = read_ahead([count(0, 1), broken(), count(5, 9)], 2)
    assert [next(batches), next(batches)] == [0, 1]
    with pytest.raises(RuntimeError, match="broken"):
        next(batches)


def test_no_more_is_read_than_may_wait():
    seen = []
    batches = read_ahead([count(0, 10**9, seen)], 1)
    assert next(batches) == 0
    time.sleep(0.2)
    batches.close()
    assert len(seen) <= DEPTH + 3
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("soundsum-reader")]


def test_python_ends_though_a_table_is_half_read():
    program = (
        "from itertools import count\nfrom soundsum.tables.prefetch import read_ahead\n"
        "batches = read_ahead([count()], 1)\nprint(next(batches), next(batches))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "0 1\n", "")
