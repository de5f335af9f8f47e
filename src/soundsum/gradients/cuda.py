"""The clipped sum and its noise on CUDA: gradients.cu, built on demand where there is a toolkit (nvcc).

The library is built once for a source, compiler and GPU, into the user's cache folder ($XDG_CACHE_HOME). Without a
toolkit, plain torch gives the same integers. Only the noise waits for the GPU, to learn how many draws it
left undecided.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from soundsum.gradients.lazy_import import torch
from soundsum.numbers.clipping import Grid

SOURCE = Path(__file__).with_name("gradients.cu")
OPTIONS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC")
TYPES = {"torch.float32": 0, "torch.bfloat16": 1, "torch.float16": 2}
THREADS, PER_THREAD, PARTS = 256, 256, 120  # as in gradients.cu
FILLS = 1056
"""Thread blocks that fill a large GPU; where the columns need fewer, the rows are split too."""


class TensorPart(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("columns", ctypes.c_int64),
        ("first", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
    )


class PartTable(ctypes.Structure):
    _fields_ = (("part", TensorPart * PARTS), ("count", ctypes.c_int))


@lru_cache(maxsize=1)
def available() -> bool:
    """Says whether there is a GPU and a library for it; a warning says once why the library cannot be built."""
    if not torch.cuda.is_available():
        return False
    compiler = find_compiler()
    if compiler is None:
        warnings.warn("no nvcc is on the path or in CUDA_HOME: gradients are added in plain torch", stacklevel=2)
        return False
    try:
        library()
    except (OSError, subprocess.CalledProcessError) as failure:
        said = getattr(failure, "stderr", "") or str(failure)
        warnings.warn(f"the CUDA kernels cannot be built; plain torch is used: {said[-500:]}", stacklevel=2)
        return False
    return True


def find_compiler() -> str | None:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which("nvcc") or shutil.which(str(Path(home) / "bin" / "nvcc"))


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    compiler = find_compiler()
    if compiler is None:
        raise FileNotFoundError("nvcc")
    major, minor = torch.cuda.get_device_capability()
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    options = [*OPTIONS, f"-arch=sm_{major}{minor}"]
    name = hashlib.sha256(f"{SOURCE.read_text()}{version}{options}".encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "soundsum"
    built = folder / f"gradients-{name}.so"
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = Path(scratch) / built.name
            subprocess.run([compiler, *options, "-o", made, SOURCE], check=True, capture_output=True, text=True)
            os.replace(made, built)  # another process may build the same
    return ctypes.CDLL(str(built))


def add_batch(
    tensors: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    limits: Sequence[Sequence[int]],
    grid: Grid,
    into: Sequence[Any],
) -> None:
    """Adds the clipped gradients of a batch on one GPU, in a few launches for all tensors.

    Whatever the first launch does not need is prepared after it, while the GPU reads.
    """
    rows, device = len(limits[0]), tensors[0].device
    cells, a = rows * len(blocks), grid.exponent
    by_type: dict[int, list[tuple[Any, Any, int]]] = {}
    for b, block in enumerate(blocks):
        for i in block:
            by_type.setdefault(TYPES[str(tensors[i].dtype)], []).append((tensors[i], into[i], b))
    with torch.cuda.device(device.index):
        stream = _stream()
        sums = torch.zeros(4 * cells + (cells + 1) // 2, dtype=torch.int64, device=device)
        low, high, top = (ctypes.c_void_p(sums.data_ptr() + 8 * start) for start in (0, 2 * cells, 4 * cells))
        reads = []
        for read in _launches(by_type, reading=True):
            _call("measure", *read, _i64(rows), a, top, low, high, _i64(cells), 0, stream)
            reads.append(read)
        for read in reads:  # returns at once for rows that need no coarser step
            _call("measure", *read, _i64(rows), a, top, low, high, _i64(cells), 1, stream)
        bounds = _limits(limits, device)
        found = torch.empty((3, cells), dtype=torch.int32, device=device)
        _call("factors", _i64(rows), len(blocks), a, bounds, top, low, high, *found, stream)
        for kind, parts, thread_blocks in _launches(by_type, reading=False):
            split = max(1, min(-(-rows // 32), FILLS // max(1, thread_blocks.value)))
            per_block = -(-rows // split)
            _call("add", kind, parts, thread_blocks, _i64(rows), _i64(per_block), *found, stream)


def add_noise(total: Any, key: bytes, table: Sequence[int], sigma: int, first: int) -> list[int]:
    """Adds the noise of coordinates `first` and on to a vector; returns those left undecided."""
    d = total.numel()
    if not d:
        return []
    room = 4096 + d // 64
    with torch.cuda.device(total.device):
        left = torch.zeros(room + 1, dtype=torch.int64, device=total.device)
        words = (ctypes.c_uint32 * 8).from_buffer_copy(key)
        cells = (ctypes.c_uint64 * len(table))(*table)
        _call(
            "noise", words, cells, ctypes.c_uint64(sigma), ctypes.c_uint64(first), _i64(d), total, left[1:], left,
            ctypes.c_uint32(room), _stream(),
        )  # fmt: skip
        count = int(left[0])
    if count > room:
        raise RuntimeError(f"{count} draws of {d} were left undecided, more than there is room for; use less noise")
    return [int(coordinate) for coordinate in left[1 : 1 + count].tolist()]


def _launches(
    by_type: dict[int, list[tuple[Any, Any, int]]], reading: bool
) -> Iterator[tuple[int, Any, ctypes.c_uint32]]:
    """Tables of up to PARTS tensors of one type, and how many thread blocks their columns take."""
    for kind, chosen in by_type.items():
        for start in range(0, len(chosen), PARTS):
            table, first = PartTable(), 0
            for place, (g, total, block) in enumerate(chosen[start : start + PARTS]):
                data, columns, size = g.data_ptr(), g.shape[1], g.element_size()
                table.part[place] = TensorPart(data, total.data_ptr(), columns, first, block)
                table.count = place + 1
                vectors = columns * size % 16 == 0 and data % 16 == 0
                width = THREADS * (PER_THREAD if reading else 16 // size if vectors else 1)
                first += -(-columns // width)
            yield kind, ctypes.byref(table), ctypes.c_uint32(first)


def _limits(limits: Sequence[Sequence[int]], device: Any) -> Any:
    flat = [k for block in limits for k in block]
    if len(set(flat)) == 1:
        return torch.full((len(flat),), flat[0], dtype=torch.int32, device=device)
    return torch.tensor(flat, dtype=torch.int32).pin_memory().to(device, non_blocking=True)


def _i64(n: int) -> ctypes.c_int64:
    return ctypes.c_int64(n)


def _stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _call(name: str, *arguments: Any) -> None:
    pointers = [ctypes.c_void_p(x.data_ptr()) if isinstance(x, torch.Tensor) else x for x in arguments]
    code = getattr(library(), f"soundsum_{name}")(*pointers)
    if code:
        raise RuntimeError(f"CUDA error {code} in {name}")
