"""Run commands and programs as processes of their own that have imported the package already.

Python and the package take a second to start, which is most of what a command takes. One server for each process of
tests has imported everything and draws nothing; every run is a fork of it, with arguments, folder, variables and
standard streams of its own. It ends with the exit code of any other Python process, its threads joined, its files
flushed and its `atexit` functions called, but does not take the imported modules apart, which takes longer than most
commands. A test about how a process starts, ends or what it imports, or about its memory, calls `subprocess.run`
itself.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import IO

import typer.main

# Typer makes the tree of commands anew for every run, which takes longer than most commands. It is the same every time.
typer.main.get_command = cache(typer.main.get_command)

COMMAND = Path(sys.executable).with_name("soundsum")
ROOT = Path(__file__).parents[1]
SUMMED = ["--column", "x", "--bounds", "0", "1", "--epsilon", "1"]


def run(command, *, cwd=None, env=None, input="", text=False, timeout=600) -> subprocess.CompletedProcess:
    """As `subprocess.run(command, capture_output=True)`, for the command `soundsum` and for programs in Python."""
    words = [str(word) for word in command]
    assert words[0] in (str(COMMAND), sys.executable), f"{words[0]} is not known to the server"
    asked = {"words": words, "cwd": str(cwd or Path.cwd()), "env": dict(os.environ if env is None else env)}
    with (
        tempfile.TemporaryFile() as request,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as errors,
    ):
        request.write(json.dumps(asked).encode())
        given.write(input.encode() if isinstance(input, str) else input)
        given.seek(0)
        request.seek(0)
        code = _ask([request, given, printed, errors], words, timeout)
        return subprocess.CompletedProcess(words, code, _read(printed, text), _read(errors, text))


def start(command, *, cwd, printed: IO[bytes]) -> Process:
    """As `subprocess.Popen(command, stdout=printed, stderr=printed)`, for a server in Python."""
    asked = {"words": [str(word) for word in command], "cwd": str(cwd), "env": dict(os.environ)}
    with tempfile.TemporaryFile() as request, open(os.devnull, "rb") as nothing:
        request.write(json.dumps(asked).encode())
        request.seek(0)
        return Process(_begin(b"start", [request, nothing, printed, printed]))


class Process:
    """What `subprocess.Popen` knows of a process, of one that the server of forks has started and waits for."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, None
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        return self._wait(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._wait(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _wait(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._handle], [], [], timeout)[0]:
            server = _start_server(os.getpid())
            server.send(f"end {self.pid}".encode())
            self.returncode = int(server.recv(64))
            os.close(self._handle)
        return self.returncode


def _begin(how: bytes, files: list[IO[bytes]]) -> int:
    server = _start_server(os.getpid())
    socket.send_fds(server, [how], [file.fileno() for file in files])
    return int(server.recv(64))


def _ask(files: list[IO[bytes]], words: list[str], timeout: float) -> int:
    child, server = _begin(b"run", files), _start_server(os.getpid())
    server.settimeout(timeout)
    try:
        return int(server.recv(64))
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        server.settimeout(None)
        server.recv(64)
        raise subprocess.TimeoutExpired(words, timeout) from None
    finally:
        server.settimeout(None)


def _read(file: IO[bytes], text: bool) -> str | bytes:
    file.seek(0)
    return io.TextIOWrapper(io.BytesIO(file.read())).read() if text else file.read()


@cache
def _start_server(_process: int) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # A fork has no threads but its own, so the server starts none: NumPy and Arrow would each start some.
    threadless = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    code = f"from tests.processes import serve; serve({theirs.fileno()})"
    server = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **threadless}, pass_fds=[theirs.fileno()]
    )
    theirs.close()

    def stop() -> None:
        ours.close()
        server.wait()

    atexit.register(stop)
    return ours


def serve(wire: int) -> None:
    """Fork for each request; the fork goes on as the program that was asked for, whose end is its own."""
    import duckdb  # noqa: F401
    import pyarrow.csv
    import pyarrow.dataset
    import pyarrow.parquet  # noqa: F401

    import soundsum.auditor.plugin  # noqa: F401
    from soundsum.cli import main

    # Makes the tree of commands, and imports what explains options, what reads and what refuses.
    for sys.argv in (["soundsum", "sum", "--help"], ["soundsum", "sum", "/nowhere.csv", *SUMMED]):
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
            main()
    _prepare_to_fork()
    with socket.socket(fileno=wire) as client:
        while True:
            message, files, *_ = socket.recv_fds(client, 64, 4)
            if not message:
                gc.unfreeze()
                return
            how, _, ended = message.decode().partition(" ")
            if how == "end":
                _, status = os.waitpid(int(ended), 0)
                client.send(str(os.waitstatus_to_exitcode(status)).encode())
                continue
            if how == "start":
                _import_servers()
            child = os.fork()
            if child == 0:
                client.close()
                break
            for file in files:
                os.close(file)
            client.send(str(child).encode())
            if how == "start":
                continue
            _, status = os.waitpid(child, 0)
            client.send(str(os.waitstatus_to_exitcode(status)).encode())
    _become(*files)


@cache
def _import_servers() -> None:
    import uvicorn.lifespan.on
    import uvicorn.loops.auto
    import uvicorn.protocols.http.auto  # noqa: F401

    import soundsum.server.running  # noqa: F401

    _prepare_to_fork()


def _prepare_to_fork() -> None:
    gc.collect()
    gc.freeze()  # so that no fork goes through what it shares, which would copy it
    assert len(os.listdir("/proc/self/task")) == 1


def _become(request: int, *streams: int) -> None:
    with open(request) as file:
        asked = json.load(file)
    for to, stream in enumerate(streams):
        os.dup2(stream, to)
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115 (for as long as the process lives)
    sys.stderr = open(2, "w", errors="backslashreplace")  # noqa: SIM115
    program, *words = asked["words"]
    paths = [path for path in asked["env"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[1:1] = [os.path.abspath(path) for path in paths]
    try:
        _go_on(program, words, asked["cwd"])
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except Exception:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.modules["__main__"].__dict__.clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


def _go_on(program: str, words: list[str], folder: str) -> None:
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    if program == str(COMMAND):
        from soundsum.cli import main as command

        sys.path[0], sys.argv = str(COMMAND.parent), [program, *words]
        command()
    elif words[0] == "-c":
        sys.path[0], sys.argv = "", ["-c", *words[2:]]
        exec(words[1], main.__dict__)
    elif words[0] == "-m":
        sys.path[0], sys.argv = folder, words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = os.path.dirname(words[0]), words
        runpy.run_path(words[0], run_name="__main__")
