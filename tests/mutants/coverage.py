"""Which test reaches which line, and how long it takes: found once per test file, by running it under a tracer.

Parts of `soundsum verify --quick` are tests too: one for each method, named verify::<method>.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants.generate import SOURCE

OFTEN = 300
"""Calls of one function in one test after which it is not traced any more: it would take too long."""

ROOT = Path(__file__).parents[2]

Reached = dict[str, dict[str, Any]]
"""By test: its seconds, and its lines by module."""


class Tracer:
    """Collects the lines reached in the package's own files while it is on."""

    def __init__(self, modules: list[str]) -> None:
        self.files = {str(SOURCE / f"{module}.py"): module for module in modules}
        self.lines: dict[str, set[int]] = defaultdict(set)
        self.calls: Counter[CodeType] = Counter()

    def _call(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        module = self.files.get(frame.f_code.co_filename)
        if module is None:
            return None
        self.calls[frame.f_code] += 1
        if self.calls[frame.f_code] > OFTEN:
            return None
        lines = self.lines[module]

        def line(frame: FrameType, event: str, _: Any) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line(frame, event, _)

    @contextmanager
    def on(self) -> Iterator[None]:
        self.lines.clear()
        self.calls.clear()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(None)


class Plugin:
    """Times and traces every test."""

    def __init__(self, modules: list[str]) -> None:
        self.tracer, self.reached = Tracer(modules), Reached()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = _computed()
        with self.tracer.on():
            yield
        lines = {module: sorted(found) for module, found in self.tracer.lines.items()}
        self.reached[item.nodeid] = {"seconds": _computed() - start, "lines": lines}


def _computed() -> float:
    """Seconds of computing so far, by this process and by those it has started and seen end."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))


def trace(given: tuple[str, list[str]]) -> tuple[str, Reached]:
    """A test file by its name, and what each of its tests reaches of some modules."""
    name, modules = given
    return name, _trace_verify(modules) if name == "verify" else _trace_tests(name, modules)


def _trace_tests(path: str, modules: list[str]) -> Reached:
    plugin = Plugin(modules)
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", path], [plugin])
    if code:
        raise RuntimeError(f"{path} does not pass as it is: mend that first")
    return plugin.reached


def _trace_verify(modules: list[str]) -> Reached:
    from soundsum.methods import METHODS
    from soundsum.paper.verify import verify

    tracer, reached = Tracer(modules), Reached()
    for label in METHODS:
        start = _computed()
        with tracer.on():
            verify(quick=True, only=[label], processes=1)
        lines = {module: sorted(found) for module, found in tracer.lines.items()}
        reached[f"verify::{label}"] = {"seconds": _computed() - start, "lines": lines}
    return reached


def digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, data: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data))
    part.replace(path)
