"""`python -m tests.mutants [--only methods/grid ...] [--sample 50]`: exit code 1 where a change is noticed by nothing.

A sample is chosen by the mutants' names, so it is the same everywhere. What was found is kept in build/mutants, so that
an interrupted run goes on where it was, and a later one tries again only what lived or what has changed. A mutant that
runs out of time is counted apart: it should be an endless loop.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import multiprocessing
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from tests.mutants import run
from tests.mutants.coverage import ROOT, Reached, digest, load, save, trace
from tests.mutants.generate import SOURCE, UNCHANGED, Mutant, find_mutants

ROOMS: dict[str, list[str]] = {
    "methods": [
        "tests/methods",
        "tests/paper/verify",
        "tests/privacy/test_planner.py",
        "tests/test_extending.py",
        "tests/kernels/test_randomised_rounding.py",
    ],
    "privacy": [
        "tests/privacy",
        "tests/budget/test_limits.py",
        "tests/methods",
        "tests/releases",
        "tests/test_extending.py",
    ],
    "budget": ["tests/budget"],
    "statistics": ["tests/statistics", "tests/engines", "tests/releases", "tests/test_extending.py"],
    "releases": ["tests/releases", "tests/budget", "tests/statistics", "tests/cli/test_requesting.py"],
    "requests": ["tests/requests", "tests/cli"],
    "engines": ["tests/engines", "tests/engines/databases", "tests/releases", "tests/statistics"],
    "tables": ["tests/tables", "tests/engines", "tests/releases", "tests/statistics"],
    "kernels": ["tests/kernels", "tests/engines", "tests/tables", "tests/methods", "tests/releases"],
    "paper": ["tests/paper/verify"],
    "auditor": ["tests/auditor", "tests/attacks"],
    "gradients": ["tests/gradients"],
}
"""The tests of each room."""

VERIFIED = ("methods", "paper")
"""Rooms that the parts of `soundsum verify --quick` test, too."""

SPARK, POSTGRES = "tests/engines/databases/test_spark.py", "tests/engines/databases/"
STARTING = {SPARK: 200.0, POSTGRES: 20.0}
"""Seconds of computing that the start of a server takes at most; not counted among a test's."""

NO_ROOM_FOR = (
    *("auditor/adapters/", "auditor/corpus", "auditor/environments", "auditor/naive_targets", "gradients/cuda"),
    *("auditor/audit_page", "auditor/ci_files", "paper/page", "paper/reproduce"),
)
"""Modules that are not changed: they need libraries in environments of their own or a GPU, or only show things."""

LEFT_OUT = {
    *("tests/paper/verify/test_run.py", "tests/paper/verify/test_page.py", "tests/methods/test_pages.py"),
    *("tests/budget/test_crashes.py", "tests/budget/test_page.py", "tests/releases/test_memory.py"),
    *("tests/budget/test_ledger.py::test_threads", "tests/budget/test_ledger.py::test_of_many_that_start"),
    "tests/budget/test_ledger.py::test_a_read_only_ledger",
    *("tests/engines/databases/test_lost.py", "tests/engines/databases/test_pages.py"),
    *(f"{POSTGRES}test_postgres.py::test_a_million_rows", f"{SPARK}::test_a_million_rows"),
    *("tests/auditor/test_pages.py", "tests/gradients/test_page.py", "tests/kernels/test_interrupts.py"),
    "tests/gradients/test_interrupts.py",
}
"""Tests that work in processes of their own, where a change is not seen, that look at pages, or that may fail by the
clock where the machine has other work."""

FOLDER = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_SECONDS = 20.0
"""Tests of a mutant that take longer together are left out, the slowest first; --seconds sets another number."""

QUICK = 0.2
"""Seconds of a test that is run with unchanged code imported, too."""


def modules_of(room: str) -> list[str]:
    inside = sorted((SOURCE / room).rglob("*.py")) if (SOURCE / room).is_dir() else [SOURCE / f"{room}.py"]
    modules = [str(path.relative_to(SOURCE).with_suffix("")) for path in inside]
    return [module for module in modules if not module.startswith(NO_ROOM_FOR)]


def find_reached(room: str, jobs: int) -> Reached:
    """Coverage of the room by its tests, traced anew where a test file or the room has changed."""
    known_at = FOLDER / "coverage.json"
    known = load(known_at)
    sources = _digests(modules_of(room))
    every = [module for room in ROOMS for module in modules_of(room)]
    globs = [given if given.endswith(".py") else f"{given}/test_*.py" for given in ROOMS[room]]
    paths = [path for pattern in globs for path in sorted(ROOT.glob(pattern))]
    names = [str(path.relative_to(ROOT)) for path in dict.fromkeys(paths)]
    wanted = [*(name for name in names if name not in LEFT_OUT), *(["verify"] if room in VERIFIED else [])]
    tests = {name: digest([ROOT / name]) if name != "verify" else "" for name in wanted}

    def stale(name: str) -> bool:
        old = known.get(name, {"test": None})
        return old["test"] != tests[name] or not sources.items() <= old["sources"].items()

    missing = [(name, every) for name in wanted if stale(name)]
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        for name, found in pool.imap_unordered(trace, missing, 1):
            print(f"  {name} traced: {len(found)} tests", flush=True)
            known[name] = {"test": tests[name], "sources": _digests(every), "reached": found}
            save(known_at, {**load(known_at), name: known[name]})
    reached = {test: told for name in wanted for test, told in known[name]["reached"].items()}
    return {test: told for test, told in reached.items() if not test.startswith(tuple(LEFT_OUT))}


def _digests(modules: list[str]) -> dict[str, str]:
    return {module: digest([SOURCE / f"{module}.py"]) for module in modules}


def choose_tests(mutant: Mutant, reached: Reached, most_seconds: float) -> list[str]:
    """The tests that reach the line, or else its function; then others of the room, as it may be run at import, too.

    Quick ones come first.
    """
    own = ROOMS[mutant.module.split("/")[0]][0]
    reached = {test: told for test, told in reached.items() if _suits(test, mutant.module)}

    def reaching(lines: set[int]) -> list[str]:
        return [test for test, told in reached.items() if lines & set(told["lines"].get(mutant.module, []))]

    def late(test: str) -> tuple[bool, bool, bool, bool, bool, float]:
        seconds = reached[test]["seconds"]
        is_served, is_verify = test.startswith(POSTGRES), test.startswith("verify::")
        return test not in found, is_verify, is_served, seconds > 1, not test.startswith(own), seconds

    inside = _function_lines(mutant)
    found = set(reaching({mutant.line}) or reaching(inside)) if inside else set()
    if not found:
        most_seconds *= 3
    chosen, seconds = [], 0.0
    for test in sorted(reached, key=late):
        seconds += reached[test]["seconds"]
        if seconds > most_seconds and chosen:
            break
        chosen.append(test)
    return chosen


def _suits(test: str, module: str) -> bool:
    """Spark takes long to start, so only what is Spark's own is tested with it."""
    is_sparks = module.startswith("engines/spark")
    return is_sparks if test.startswith(SPARK) else not (is_sparks and test.startswith(POSTGRES))


def _limit(tests: list[str], reached: Reached) -> float:
    started = sum(seconds for place, seconds in STARTING.items() if any(test.startswith(place) for test in tests))
    return 4 + started + 2 * sum(reached[test]["seconds"] for test in tests)


def choose_sample(mutants: list[Mutant], size: int | None) -> list[Mutant]:
    """As many as there are to be, spread over all by a hash of their names."""
    if size is None:
        return mutants
    return sorted(mutants, key=lambda mutant: hashlib.sha256(mutant.name.encode()).digest())[:size]


def _function_lines(mutant: Mutant) -> set[int]:
    tree = ast.parse((SOURCE / f"{mutant.module}.py").read_text())
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    ]
    return {line for node in inside for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def _require_control(room: str, todo: list[run.Todo], reached: Reached, jobs: int) -> None:
    """Unchanged code must live through the tests, run as a mutant's are; otherwise every mutant would seem noticed."""
    told_at = FOLDER / "controls.json"
    told, sources = load(told_at), list(_digests(modules_of(room)).values())
    unchanged = Mutant(modules_of(room)[0], "", "nothing changed", 1, 1, UNCHANGED)
    chosen = defaultdict[str, list[str]](list)
    for test in sorted({test for _, tests, _ in todo for test in tests}):
        chosen[test.split("::")[0]].append(test)
    keys = {name: [*sources, digest([ROOT / name]) if name != "verify" else "", *chosen[name]] for name in chosen}
    new = [name for name in chosen if told.get(f"{room} {name}") != keys[name]]
    parts = [(replace(unchanged, place=name), chosen[name], 3600.0) for name in new]
    quick = [
        (same, [test for test in tests if reached[test]["seconds"] < QUICK], limit) for same, tests, limit in parts
    ]
    for unharmed, outcome in chain(run.run_all(parts, jobs), run.run_imported(quick, jobs)):
        if outcome != run.LIVED:
            raise SystemExit(f"unchanged code does not pass {unharmed.place}: mend that first")
    save(told_at, {**told, **{f"{room} {name}": keys[name] for name in new}})


@dataclass
class Result:
    """What became of the mutants of a room."""

    room: str
    every: int
    outcomes: Counter[str]
    live: list[Mutant]
    endless: list[Mutant]
    refuted: list[Mutant]

    def __str__(self) -> str:
        counts = self.outcomes
        return (
            f"{self.room}: {sum(counts.values()):,} of {self.every:,} mutants, {counts[run.FAILED]:,} killed by tests, "
            f"{counts[run.TIME]:,} by time alone, {counts[ARGUED]:,} argued equivalent, {len(self.live):,} live"
        )


ARGUED, REFUTED = "argued", "refuted"
"""Of those with a reason why nothing notices them: nothing does, or a test does all the same."""


def check_room(room: str, only: set[str], given: argparse.Namespace, arguments: dict[str, str]) -> Result:
    modules = [module for module in modules_of(room) if not only or module in only or room in only]
    every = [mutant for module in modules for mutant in find_mutants(module)]
    mutants, jobs = choose_sample(every, given.sample), given.jobs
    outcomes_at = FOLDER / f"{room}.outcomes.json"
    outcomes = load(outcomes_at)
    reached, sources = find_reached(room, jobs), _digests(modules)
    found, todo = dict[Mutant, str](), list[run.Todo]()
    for mutant in mutants:
        known = outcomes.get(mutant.name, {})
        is_known = known.get("source") == sources[mutant.module]
        if is_known and (known["outcome"] != run.LIVED or mutant.name in arguments):
            found[mutant] = known["outcome"]
        else:
            tests = choose_tests(mutant, reached, given.seconds)
            todo.append((mutant, tests, _limit(tests, reached)))
    _require_control(room, todo, reached, jobs)
    print(f"{room}: {len(mutants)} mutants of {len(every)}, {len(todo)} to try", flush=True)
    start = time.monotonic()
    for done, (mutant, outcome) in enumerate(run.run_all(todo, jobs), 1):
        outcomes[mutant.name] = {"source": sources[mutant.module], "outcome": outcome}
        found[mutant] = outcome
        if outcome != run.FAILED:
            print(f"  {outcome}: {mutant.name} (line {mutant.line})", flush=True)
        if done % 10 == 0:
            save(outcomes_at, outcomes)
            print(f"  {done} of {len(todo)} tried in {time.monotonic() - start:.0f} s", flush=True)
    save(outcomes_at, outcomes)
    for mutant in mutants:
        if mutant.name in arguments:
            found[mutant] = ARGUED if found[mutant] == run.LIVED else REFUTED
    live, endless, refuted = ([m for m in mutants if found[m] == kind] for kind in (run.LIVED, run.TIME, REFUTED))
    return Result(room, len(every), Counter(found.values()), live, endless, refuted)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="rooms or modules, such as methods or methods/grid")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, help="how many mutants of each room to try; all if not given")
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="of tests for one mutant")
    given = parser.parse_args()
    arguments: dict[str, Any] = tomllib.loads(EQUIVALENT.read_text())
    only = set(given.only)
    rooms = [room for room in ROOMS if not only or room in only or only & set(modules_of(room))]
    if only and not rooms:
        parser.error(f"{', '.join(only)}: no such room or module; the rooms are {', '.join(ROOMS)}")
    every = {mutant.name for room in ROOMS for module in modules_of(room) for mutant in find_mutants(module)}
    stale = [name for name in arguments if name not in every and not name.startswith("src/kernels/")]
    run.preload()
    results = [check_room(room, only, given, arguments) for room in rooms]
    for result in results:
        print(result)
        for mutant in result.endless:
            print(f"  time alone: {mutant.name} (line {mutant.line})")
        for mutant in result.live:
            print(f"  lives: {mutant.name} (line {mutant.line})")
        for mutant in result.refuted:
            print(f"  argued about, but noticed: {mutant.name} (line {mutant.line})")
    for name in stale:
        print(f"  argued about, but there is no such mutant any more: {name}")
    return 1 if stale or any(result.live or result.refuted for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
