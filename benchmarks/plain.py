"""The peers written in C: plain_loops.c, compiled once per run by the system's compiler and called through ctypes."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("plain_loops.c")
# Optimised as a person would, but no addition reordered, fused or moved across a change of rounding mode.
FLAGS = ("-O2", "-fno-fast-math", "-frounding-math", "-ffp-contract=off", "-fPIC", "-shared")


class NotMeasured(Exception):
    """A row cannot be measured here; the message says why."""


def compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


@functools.cache
def _library() -> ctypes.CDLL:
    command = compiler()
    if shutil.which(command[0]) is None:
        raise NotMeasured(f"no C compiler {command[0]!r}; install one or set CC")
    folder = tempfile.mkdtemp(prefix="soundsum-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "plain_loops.so")
    done = subprocess.run([*command, *FLAGS, SOURCE, "-o", path, "-lm"], capture_output=True, text=True)
    if done.returncode:
        raise NotMeasured(f"{SOURCE.name} does not compile: {done.stderr.strip()}")
    library = ctypes.CDLL(str(path))
    for name in ("iterated", "kahan", "toward_zero"):
        function = library[name]
        function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_double
        setattr(library, name, function)
    library.bare_read.argtypes, library.bare_read.restype = (ctypes.c_void_p, ctypes.c_size_t), ctypes.c_uint64
    return library


def plain_loop(name: str, array: NDArray[np.float64]) -> float:
    return float(getattr(_library(), name)(array.ctypes.data, array.size))


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def bare_read(array: NDArray[Any], threads: int = 1) -> int:
    """Read every byte once, in Python threads: ctypes releases the GIL."""
    read = _library().bare_read
    if threads == 1:
        return int(read(array.ctypes.data, array.nbytes))
    pieces = np.array_split(array, threads)
    return sum(_pool(threads).map(lambda piece: read(piece.ctypes.data, piece.nbytes), pieces))
