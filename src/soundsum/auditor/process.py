"""The auditor's side of a worker: starting it, asking it, and the reason when it crashes, hangs or runs out of memory.

A `Library` is an adapter with its environment; each function of its targets asks the worker.
A worker that ended is restarted for the next request, so one bad dataset does not end an audit.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from soundsum.auditor.calling import PASSED, Raised, TargetRefused, Unsupported, failure
from soundsum.auditor.limits import CEILING, Limits, cpu_time_of
from soundsum.auditor.target import Fresh, Target
from soundsum.tables.runs import Runs

WORKER = Path(__file__).with_name("worker.py")

THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("POLARS_MAX_THREADS", "RAYON_NUM_THREADS", "SOUNDSUM_THREADS"),
)
"""The environment variables that set the number of threads of libraries."""

EXHAUSTED = re.compile(
    r"memory allocation of \d+ bytes failed|bad_alloc|MemoryError|OutOfMemoryError|cannot allocate memory",
    re.IGNORECASE,
)
"""Last words of a process that a failed allocation ended: in Rust, C++, Python, Java and the C library.

They are read because nothing else tells: a single large allocation fails while the process is small, and the process
then ends by SIGABRT or with an exit code of its library's own, as after other faults. They choose no verdict, only the
words of the reason.
"""

POLL = 0.5
"""Seconds between looks at the CPU time of a worker that is past its limit."""

START = 300.0
"""Seconds for importing a library and starting its adapter; some start a Java machine."""


class LibraryMissing(ImportError):
    """The library is not in the environment."""


class Process:
    """A worker process, started by the first question and ended by `close` or with this object."""

    def __init__(self, python: Path, adapter: Path, limits: Limits, threads: int = 1) -> None:
        self.python, self.adapter, self.limits, self.threads = python, adapter, limits, threads
        self._running: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._written = 0  # bytes on stderr before the present question
        self._lock = threading.Lock()
        self.seconds = 0.0  # that the last call took in the worker

    def ask(self, request: Mapping[str, Any]) -> Any:
        """The answer to one request; raises TargetRefused, Unsupported or Raised without one."""
        with self._lock:
            if self._running is None or self._running.poll() is not None:
                self._start()
            plain = self._exchange(json.dumps(request).encode())
        if "refused" in plain:
            raise TargetRefused(plain["refused"])
        if "unsupported" in plain:
            raise Unsupported(plain["unsupported"])
        if "raised" in plain:
            raise Raised(plain["raised"])
        self.seconds = plain.get("seconds", 0.0)
        return plain.get("values", plain.get("targets"))

    def close(self) -> None:
        if self._running is not None and self._errors is not None:
            _end(self._running, self._errors)
        self._running = self._errors = None

    def _exchange(self, frame: bytes) -> Any:
        assert self._running is not None
        assert self._running.stdin is not None
        assert self._errors is not None
        self._written = os.fstat(self._errors.fileno()).st_size
        with contextlib.suppress(BrokenPipeError):  # it ended; why, _read finds out
            self._running.stdin.write(len(frame).to_bytes(4, "big") + frame)
            self._running.stdin.flush()
        return self._read(self.limits.seconds)

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process runs)
        self._written = 0
        environment = {**with_threads(self.threads), "PYTHONUNBUFFERED": "1"}
        environment.pop("PYTHONPATH", None)
        self._running = subprocess.Popen(
            [self.python, WORKER, self.adapter, str(self.limits.memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,
        )
        weakref.finalize(self, _end, self._running, self._errors)
        plain = self._read(START)
        if "missing" in plain:
            self.close()
            raise LibraryMissing(plain["missing"])

    def _read(self, seconds: float) -> Any:
        """The next frame within the limit; otherwise the worker is ended, and the reason raised.

        The seconds are CPU time of the worker and its children, under a ceiling of wall-clock time.
        """
        assert self._running is not None
        assert self._running.stdout is not None
        pipe, received = self._running.stdout.fileno(), b""
        began, worked = time.monotonic(), cpu_time_of(self._running.pid)
        while len(received) < 4 or len(received) < 4 + int.from_bytes(received[:4], "big"):
            waited = time.monotonic() - began
            late = waited > seconds and cpu_time_of(self._running.pid) - worked > seconds
            ready, _, _ = select.select([pipe], [], [], 0.0 if late else POLL)
            if not ready:
                if late or waited > CEILING * seconds:
                    self.close()
                    raise Unsupported(f"no answer in {seconds:g} seconds; a longer limit (--time) may do")
                continue
            more = os.read(pipe, 1 << 16)
            if not more:
                raise Unsupported(self._death())
            received += more
        return json.loads(received[4:])

    def _death(self) -> str:
        """Why the worker ended, with the line that says so: that of an allocation that failed, or the last it wrote."""
        assert self._running is not None
        assert self._errors is not None
        code = self._running.wait()
        self._errors.seek(self._written)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        exhausted = next((line for line in lines if EXHAUSTED.search(line)), None)
        if exhausted is not None:
            return f"out of memory: the worker ended {how}: {exhausted[:200]}"
        return f"the worker ended {how}" + (f": {lines[-1][:200]}" if lines else "")


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """End a worker and its children, which share a session of their own."""
    if not errors.closed:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, errors):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def with_threads(threads: int) -> dict[str, str]:
    """The environment variables that set this number of threads."""
    return {**os.environ, **dict.fromkeys(THREADS, str(threads))}


def runs_as_text(data: Runs) -> dict[str, Any]:
    """Runs as a frame carries them: numbers as text that is read back exactly."""
    parts = [[[number_as_text(x) for x in pattern], count] for pattern, count in data.parts]
    return {"dtype": data.type.name, "parts": parts}


def number_as_text(x: Any) -> str:
    """An integer in decimal, a float in hex, and a fraction as the float it is or else as a fraction."""
    if isinstance(x, int):
        return str(x)
    if isinstance(x, float):
        return x.hex()
    value = float(x)
    return value.hex() if value == x else str(x)


def number_from_text(text: str) -> int | float:
    return float.fromhex(text) if "0x" in text or "n" in text else int(text)


@dataclass(frozen=True)
class Library:
    """A library in an environment, as its adapter describes it; its targets share one worker."""

    name: str
    python: Path
    adapter: Path
    limits: Limits

    @cached_property
    def process(self) -> Process:
        return Process(self.python, self.adapter, self.limits)

    def targets(self) -> list[Target]:
        return [self._target(plain) for plain in self.process.ask({})]

    def _target(self, plain: Mapping[str, Any]) -> Target:
        name, roles = plain["name"], plain["roles"]
        functions: dict[str, Any] = {role: _function(self.process, name, role, names) for role, names in roles.items()}
        rest = {key: value for key, value in plain.items() if key not in ("name", "roles")}
        promised = {"streams": False, "specials": bool(rest.get("specials_quote")), **rest}
        return Target(
            **promised,
            **functions,
            name=f"{self.name}.{name}",
            library=self.name,
            accepts_runs=True,
            fresh=self._fresh(name, roles["noiseless"]) if "noiseless" in roles else None,
        )

    def _fresh(self, target: str, names: Sequence[str]) -> Fresh:
        def sums(asked: Sequence[tuple[Runs, Mapping[str, Any]]], threads: int) -> list[Any]:
            process = Process(self.python, self.adapter, self.limits, threads)
            try:
                ask = _function(process, target, "noiseless", names)
                return [
                    _answer(ask, data, {name: x for name, x in given.items() if name in names}) for data, given in asked
                ]
            finally:
                process.close()

        return sums


def _answer(ask: Callable[..., Any], data: Runs, given: Mapping[str, Any]) -> Any:
    """The sum, or the failure that the library ends in: on one of two neighbours that is what has to be confirmed."""
    try:
        return ask(data=data, **given)
    except (Raised, TargetRefused) as error:
        return failure(error)


def _function(process: Process, target: str, role: str, names: Sequence[str]) -> Callable[..., Any]:
    """A function with the signature of the one in the worker."""

    def ask(data: Runs | None = None, **parameters: Any) -> Any:
        given = {key: None if x is None else number_as_text(x) for key, x in parameters.items()}
        request = {"target": target, "role": role, "parameters": given}
        if data is not None:
            request["data"] = runs_as_text(data)
        values = [number_from_text(text) for text in process.ask(request)]
        return values if "runs" in names else values[0]

    shown = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in PASSED if name in names]
    ask.__name__ = role
    ask.seconds = lambda: process.seconds  # type: ignore[attr-defined]
    ask.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return ask
