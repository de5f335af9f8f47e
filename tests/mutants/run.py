"""One mutant in a process of its own: a function is changed there, or its module imported changed; then the tests run.

Most mutants are in functions, and then the process is forked from one that has imported the package already.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import io
import math
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from hypothesis import Phase, settings

from tests.mutants.exchange import Functions, Loaded
from tests.mutants.generate import SOURCE, Mutant, mutated_tree

FAILED, LIVED, TIME = "failed", "lived", "time"
"""What becomes of a mutant: a test fails, none does, or the tests never end."""

OPTIONS = [
    *("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--no-header", "--tb=no"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is imported already
    "--hypothesis-profile=mutants",
]
settings.register_profile("mutants", deadline=None, database=None, phases=[Phase.explicit, Phase.generate])

FIRST = 40
"""Tests that are collected and run before the files of the others are imported."""

MEMORY = 8 * 2**30
"""Bytes that a mutant may ask for."""


class _Changed(SourceFileLoader):
    tree: object

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")  # type: ignore[call-overload, no-any-return]


@dataclass
class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that is changed."""

    mutant: Mutant

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "soundsum." + self.mutant.module.removesuffix("/__init__").replace("/", "."):
            return None
        file = str(SOURCE / f"{self.mutant.module}.py")
        loader = _Changed(fullname, file)
        loader.tree = mutated_tree(self.mutant.module, self.mutant.number)
        inside = [str(SOURCE / self.mutant.module.removesuffix("/__init__"))]
        package = inside if self.mutant.module.endswith("__init__") else None
        return importlib.util.spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=package)


def preload() -> None:
    """What every test imports and no mutant changes, so that it is imported once."""
    import hypothesis
    import numpy
    import pyarrow
    import pyarrow.compute
    import rich.console
    import scipy.stats
    import typer.testing

    assert all((hypothesis, numpy, pyarrow, rich, scipy, typer))
    assert not any(name.startswith("soundsum") for name in sys.modules), "mutants would not be seen"


Todo = tuple[Mutant, list[str], float]
"""A mutant, its tests, and the seconds it may compute."""


def start(todo: Todo, functions: Functions | None, folder: str) -> int:
    """The id of a process that ends with 1 where a test fails, and that is ended when it has computed for too long.

    Its temporary files are in the folder.
    """
    mutant, tests, seconds = todo
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    status = 1
    try:
        cpu = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))  # of each process that a test starts, too
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))  # not of addresses, which Java reserves
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if functions is None:
            sys.meta_path.insert(0, _Finder(mutant))
        for function, code in functions or []:
            function.__code__ = code
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                status = 0 if _passes(tests) else 1
    except BaseException:
        status = 1
    finally:
        os._exit(status)


def _passes(tests: Sequence[str]) -> bool:
    plain = [test for test in tests if not test.startswith("verify::")]
    for some in (plain[:FIRST], plain[FIRST:]):
        if some and pytest.main([*OPTIONS, *some]):
            return False
    labels = [test.removeprefix("verify::") for test in tests if test.startswith("verify::")]
    if labels:
        from soundsum.paper.verify import verify

        return all(verify(quick=True, only=[label], processes=1).violations == 0 for label in labels)
    return True


def run_all(todo: Sequence[Todo], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """What became of each mutant, as they end: first those that can be changed in place, then the others."""
    told = set[int]()
    for i, outcome in _run_in_place(todo, jobs):
        told.add(i)
        yield todo[i][0], outcome
    yield from run_imported([given for i, given in enumerate(todo) if i not in told], jobs)


def run_imported(todo: Sequence[Todo], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """What became of each mutant, imported."""
    for i, outcome in _run(todo, jobs, None):
        yield todo[i][0], outcome


def _run_in_place(todo: Sequence[Todo], jobs: int) -> Iterator[tuple[int, str]]:
    """By number, what became of the mutants that can be changed in place; all are started by one process."""
    if not todo:
        return
    read_end, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            with open(write_end, "w", buffering=1) as out:
                loaded = Loaded(OPTIONS, sorted({test.split("::")[0] for _, tests, _ in todo for test in tests}))
                for i, outcome in _run(todo, jobs, loaded):
                    out.write(f"{i} {outcome}\n")
            status = 0
        finally:
            os._exit(status)
    os.close(write_end)
    with open(read_end) as lines:
        for line in lines:
            i, outcome = line.split()
            yield int(i), outcome
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("the process that changes functions in place has failed")


def _run(todo: Sequence[Todo], jobs: int, loaded: Loaded | None) -> Iterator[tuple[int, str]]:
    """Some at a time; with the package loaded, those alone that can be changed in place.

    The machine may have other work, so the limit is on time spent computing. The one by the clock is for deadlocks.
    """
    waiting, running = list(reversed(list(enumerate(todo)))), dict[int, tuple[int, float, str]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            i, given = waiting.pop()
            functions = None if loaded is None else loaded.find(given[0])
            if loaded is None or functions is not None:
                folder = tempfile.mkdtemp(prefix="mutant-")
                os.chmod(folder, 0o755)  # PostgreSQL runs as somebody else
                running[start(given, functions, folder)] = i, time.monotonic() + 60 + 5 * given[2], folder
        time.sleep(0.01)
        for pid, (i, deadline, folder) in list(running.items()):
            late = time.monotonic() > deadline
            if late:
                os.kill(pid, signal.SIGXCPU)
            ended, status = os.waitpid(pid, 0 if late else os.WNOHANG)
            if ended:
                del running[pid]
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)  # what the tests have started and left
                _clean_up(folder)
                yield i, _outcome(status)


def _clean_up(folder: str) -> None:
    """A PostgreSQL that was not stopped is in a group of processes of its own, and known by its file."""
    for file in Path(folder).glob("*/data/postmaster.pid"):
        with suppress(OSError, ValueError, IndexError):
            os.kill(int(file.read_text().split()[0]), signal.SIGQUIT)
            time.sleep(1)
    shutil.rmtree(folder, ignore_errors=True)


def _outcome(status: int) -> str:
    if os.WIFSIGNALED(status):
        return TIME if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else FAILED
    return FAILED if os.WEXITSTATUS(status) else LIVED
