"""Files are summed in bounded memory: one four times larger than all the memory its reader may have."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

ROWS, ROW_GROUPS = 8_000_000, 8
LIMIT = 256 * 2**20

READER = """
import resource, sys
import soundsum as ss
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
{first}
n, total = ss.release({path!r}, [ss.Count(), ss.Sum("x", 0, 1)], 10**6, by="k", groups=range(1000))
print(sum(r.value for r in n.values()), sum(r.value for r in total.values()))
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    schema = pa.schema([("x", pa.float64()), ("k", pa.int64())])
    x, k = np.random.default_rng(1).random(ROWS), np.arange(ROWS) % 1000
    with pq.ParquetWriter(path, schema, compression="NONE", use_dictionary=False) as writer:
        for _ in range(ROW_GROUPS):
            writer.write_table(pa.table({"x": x, "k": k}), row_group_size=ROWS)
    yield path, x.sum() * ROW_GROUPS
    path.unlink()


def read_within_the_limit(path, first=""):
    # One arena and one pool, so that the limit counts what is used and not what allocators set aside.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    program = READER.format(limit=LIMIT, path=str(path), first=first)
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


def test_a_file_larger_than_memory(large_file):
    path, total = large_file
    assert path.stat().st_size > 3.5 * LIMIT
    ran = read_within_the_limit(path)
    assert ran.returncode == 0, ran.stderr[-2000:]
    counted, summed = ran.stdout.split()
    assert abs(int(counted) - ROWS * ROW_GROUPS) < 100
    assert float(summed) == pytest.approx(total, abs=1)


def test_the_limit_is_one(large_file):
    """The same memory is too little for the whole column."""
    path, _ = large_file
    ran = read_within_the_limit(path, first=f"import pyarrow.parquet; pyarrow.parquet.read_table({str(path)!r})")
    assert "MemoryError" in ran.stderr


GROUPS = """
import resource
import pyarrow as pa
import soundsum as ss

table = pa.table({"k": ["a"]})
ss.count(table, 1, by="k", groups=["a"])  # everything is imported
groups = [str(i) * (16 << 20) for i in range(4)]
used = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + (48 << 20), resource.RLIM_INFINITY))
try:
    ss.count(table, 1, by="k", groups=groups)
except MemoryError as error:
    print("memory:", error)
"""


def test_groups_that_do_not_fit_into_memory_are_not_called_a_type():
    """With malloc for Arrow's buffers, so that the limit holds for them as well."""
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    ran = subprocess.run([sys.executable, "-c", GROUPS], capture_output=True, text=True, env=environment)
    assert ran.stdout == "memory: there is too little memory for 4 groups; list fewer\n", ran.stderr
