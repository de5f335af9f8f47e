"""`python -m benchmarks.key_memory integers 1000000`: the memory of a search for groups, in bytes.

The rows lie in a Parquet file, whose number of rows does not depend on that of the keys: the difference between two
searches is what their keys take. Keys are integers or texts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import soundsum as ss

ROWS = 1 << 22


def measure(kind: str, keys: int) -> int:
    numbers = pa.array(np.arange(ROWS) % keys)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        column = numbers.cast(pa.string()) if kind == "texts" else numbers
        pq.write_table(pa.table({"key": column}), file, row_group_size=1 << 16)
        del numbers, column
        pa.default_memory_pool().release_unused()
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
        before = read_status("VmRSS")
        ss.groups(file, "key", 1, "1e-9")
        return read_status("VmHWM") - before


def read_status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return 1024 * int(kilobytes)


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2])))
