"""`python -m tests.mutants [--only methods/grid ...]`: exit code 1 where a change is noticed by nothing.

What was found is kept in build/mutants, so that an interrupted run goes on where it was, and a later one tries again
only what lived or what has changed.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from tests.mutants import run
from tests.mutants.coverage import ROOT, Reached, digest, load, save, trace
from tests.mutants.generate import SOURCE, UNCHANGED, Mutant, find_mutants

ROOMS: dict[str, list[str]] = {
    "methods": ["tests/methods", "tests/verify", "tests/test_planner.py", "tests/kernels/test_randomised_rounding.py"],
    "planner": ["tests/test_planner.py", "tests/methods", "tests/releases"],
    "privacy": ["tests/privacy", "tests/test_planner.py", "tests/releases"],
    "budget": ["tests/budget"],
    "statistics": ["tests/statistics", "tests/engines", "tests/releases"],
}
"""The tests of each room."""

LEFT_OUT = {
    *("tests/verify/test_run.py", "tests/verify/test_page.py", "tests/methods/test_pages.py"),
    *("tests/budget/test_crashes.py", "tests/budget/test_page.py", "tests/releases/test_memory.py"),
}
"""Tests that work in processes of their own, where a change is not seen, or that look at pages."""

FOLDER = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
MOST_SECONDS = 60.0
"""Tests of a mutant that take longer together are left out, the slowest first."""


def modules_of(room: str) -> list[str]:
    inside = sorted((SOURCE / room).rglob("*.py")) if (SOURCE / room).is_dir() else [SOURCE / f"{room}.py"]
    return [str(path.relative_to(SOURCE).with_suffix("")) for path in inside]


def find_reached(room: str) -> Reached:
    """Coverage of the room by its tests, traced anew where a test file or the room has changed."""
    modules = modules_of(room)
    sources = digest([SOURCE / f"{module}.py" for module in modules])
    known = load(FOLDER / f"{room}.coverage.json")
    reached: Reached = {}
    globs = [given if given.endswith(".py") else f"{given}/test_*.py" for given in ROOMS[room]]
    paths = [path for pattern in globs for path in sorted(ROOT.glob(pattern))]
    wanted = [str(path.relative_to(ROOT)) for path in dict.fromkeys(paths)]
    for name in [*(name for name in wanted if name not in LEFT_OUT), *(["verify"] if room == "methods" else [])]:
        key = f"{name} {sources} {digest([ROOT / name]) if name != 'verify' else ''}"
        if key not in known:
            print(f"tracing {name}", flush=True)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                known[key] = pool.apply(trace, (name, modules))
            save(FOLDER / f"{room}.coverage.json", known)
        reached |= known[key]
    return reached


def choose_tests(mutant: Mutant, reached: Reached) -> list[str]:
    """The tests that reach the line, quick ones first; those that reach its function where the line is never named."""
    lines: set[int] = {mutant.line}

    def reaching() -> list[str]:
        return [test for test, told in reached.items() if lines & set(told["lines"].get(mutant.module, []))]

    found = reaching()
    if not found:
        lines = _function_lines(mutant)
        found = reaching() if lines else list(reached)  # run at import: any test may notice
    chosen, seconds = [], 0.0
    for test in sorted(found, key=lambda test: (test.startswith("verify::"), reached[test]["seconds"])):
        seconds += reached[test]["seconds"]
        if seconds > MOST_SECONDS and chosen:
            break
        chosen.append(test)
    return chosen


def _function_lines(mutant: Mutant) -> set[int]:
    tree = ast.parse((SOURCE / f"{mutant.module}.py").read_text())
    inside = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= mutant.line <= (node.end_lineno or 0)
    ]
    return {line for node in inside for line in range(node.lineno, (node.end_lineno or 0) + 1)}


def _require_control(room: str, reached: Reached, jobs: int) -> None:
    """Unchanged code must live through all tests, run as a mutant's are; otherwise every mutant would seem noticed."""
    every, told = sorted(reached), load(FOLDER / "controls.json")
    files = sorted({test.split("::")[0] for test in every} - {"verify"})
    key = digest([ROOT / name for name in files] + [SOURCE / f"{module}.py" for module in modules_of(room)])
    if told.get(room) == key:
        return
    unchanged = Mutant(modules_of(room)[0], "", "nothing changed", 1, 1, UNCHANGED)
    parts = [(unchanged, every[i::8], 3600.0) for i in range(8)]
    if any(outcome != run.LIVED for _, outcome in run.run_all(parts, jobs)):
        raise SystemExit(f"unchanged code does not pass the tests of {room}: mend that first")
    save(FOLDER / "controls.json", {**told, room: key})


def check_room(room: str, only: set[str], jobs: int, arguments: dict[str, str]) -> tuple[int, list[Mutant]]:
    """How many mutants there are, and which of them lived without an argument."""
    modules = [module for module in modules_of(room) if not only or module in only or room in only]
    mutants = [mutant for module in modules for mutant in find_mutants(module)]
    outcomes_at = FOLDER / f"{room}.outcomes.json"
    outcomes = load(outcomes_at)
    todo, lived = [], []
    reached = find_reached(room)
    sources = {module: digest([SOURCE / f"{module}.py"]) for module in modules}
    for mutant in mutants:
        known = outcomes.get(mutant.name, {})
        if mutant.name in arguments or (known.get("source") == sources[mutant.module] and known["killed"]):
            continue
        tests = choose_tests(mutant, reached)
        if not tests:
            lived.append(mutant)
            continue
        seconds = sum(reached[test]["seconds"] for test in tests)
        todo.append((mutant, tests, 15 + 1.5 * seconds))
    _require_control(room, reached, jobs)
    print(f"{room}: {len(mutants)} mutants, {len(todo)} to try, {len(lived)} reached by no test", flush=True)
    start = time.monotonic()
    for done, (mutant, outcome) in enumerate(run.run_all(todo, jobs), 1):
        outcomes[mutant.name] = {"source": sources[mutant.module], "killed": outcome != run.LIVED}
        if outcome == run.LIVED:
            lived.append(mutant)
            print(f"  lived: {mutant.name} (line {mutant.line})", flush=True)
        if done % 20 == 0:
            save(outcomes_at, outcomes)
            print(f"  {done} of {len(todo)} tried in {time.monotonic() - start:.0f} s, {len(lived)} live", flush=True)
    save(outcomes_at, outcomes)
    return len(mutants), lived


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="rooms or modules, such as methods or methods/grid")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    arguments: dict[str, Any] = tomllib.loads(EQUIVALENT.read_text())
    only = set(given.only)
    rooms = [room for room in ROOMS if not only or room in only or only & set(modules_of(room))]
    if only and not rooms:
        parser.error(f"{', '.join(only)}: no such room or module; the rooms are {', '.join(ROOMS)}")
    every = {mutant.name for room in ROOMS for module in modules_of(room) for mutant in find_mutants(module)}
    stale = [name for name in arguments if name not in every]
    run.preload()
    count, lived = 0, list[Mutant]()
    for room in rooms:
        found = check_room(room, only, given.jobs, arguments)
        count, lived = count + found[0], lived + found[1]
    print(f"{count} mutants, {len(lived)} live; {len(arguments)} are argued equivalent in {EQUIVALENT.name}")
    for mutant in lived:
        print(f"  {mutant.name} (line {mutant.line})")
    for name in stale:
        print(f"  argued about, but there is no such mutant any more: {name}")
    return 1 if lived or stale else 0


if __name__ == "__main__":
    sys.exit(main())
