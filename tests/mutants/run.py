"""One mutant in a process of its own: its module is compiled changed, then the tests that reach the line are run."""

from __future__ import annotations

import importlib.abc
import importlib.util
import io
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

import pytest
from tests.mutants.generate import SOURCE, Mutant, mutated_tree

KILLED, LIVED, TIME = 0, 1, 2

OPTIONS = [
    *("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--no-header"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # hypothesis is imported already
]


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


def start(mutant: Mutant, tests: Sequence[str]) -> int:
    """The id of a process that ends with KILLED or LIVED."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    code = LIVED
    try:
        sys.meta_path.insert(0, _Finder(mutant))
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                code = LIVED if _passes(tests) else KILLED
    except BaseException:
        code = KILLED
    finally:
        os._exit(code)


def _passes(tests: Sequence[str]) -> bool:
    plain = [test for test in tests if not test.startswith("verify::")]
    if plain and pytest.main([*OPTIONS, *plain]):
        return False
    labels = [test.removeprefix("verify::") for test in tests if test.startswith("verify::")]
    if labels:
        from soundsum.verify import verify

        return all(verify(quick=True, only=[label], processes=1).violations == 0 for label in labels)
    return True


def run_all(todo: Sequence[tuple[Mutant, list[str], float]], jobs: int) -> Iterator[tuple[Mutant, int]]:
    """Every mutant with its tests and its time limit, some at a time; what became of each, as they end."""
    waiting, running = list(reversed(todo)), dict[int, tuple[Mutant, float]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant, tests, limit = waiting.pop()
            running[start(mutant, tests)] = mutant, time.monotonic() + limit
        time.sleep(0.01)
        for pid, (mutant, deadline) in list(running.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del running[pid]
                lived = os.WIFEXITED(status) and os.WEXITSTATUS(status) == LIVED
                yield mutant, LIVED if lived else KILLED
            elif time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[pid]
                yield mutant, TIME
