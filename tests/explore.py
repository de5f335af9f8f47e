"""`python -m tests.explore [--minutes 30]`: all property tests again and again, each round with a fresh seed.

`make test` always tries the same examples; this looks for others. Exit code 1 where one fails.
"""

import argparse
import re
import secrets
import sys
import time

import pytest

OPTIONS = [
    "-m",
    "hypothesis",
    "--hypothesis-profile=explore",
    "-p",
    "no:cacheprovider",
    "--quiet",
    "--no-header",
    "--no-summary",
]


class Failures:
    """The report of each test that fails; said as soon as it is known."""

    def __init__(self, seed: int) -> None:
        self.seed, self.names, self.passed = seed, list[str](), 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        if report.failed:
            self.names.append(report.nodeid)
            print(f"\nfails with seed {self.seed}: {report.nodeid}\n{find_examples(report.longreprtext)}", flush=True)
            print("To keep it, add @example(...) with these arguments below @given and say by .via(...) what it shows;")
            print("where the test draws from data(), write a test of its own with these values, named after the fault.")
            print(f'To repeat it: make explore ARGS="--seed {self.seed} {report.nodeid}"', flush=True)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)
            print(f"\ncannot be collected: {report.nodeid}\n{report.longreprtext}", flush=True)


def find_examples(report: str) -> str:
    """What Hypothesis says of failing examples in a report; the whole report where it says nothing."""
    lines = [re.sub(r"^E   ?", "", line) for line in report.splitlines()]
    starts = [i for i, line in enumerate(lines) if "Falsifying" in line or "Failing test" in line]
    return "\n".join(lines[starts[0] :]) if starts else report


def explore_once(seed: int, processes: str, names: list[str], known: list[str]) -> Failures:
    found = Failures(seed)
    spread = [] if processes == "0" else ["--numprocesses", processes, "--dist", "worksteal"]
    without = [f"--deselect={name}" for name in known]
    code = pytest.main([*OPTIONS, *spread, f"--hypothesis-seed={seed}", *without, "--tb=short", *names], [found])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        found.names.append(f"pytest itself ({code!r})")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="explore", description=__doc__)
    parser.add_argument("names", nargs="*", default=["tests"], help="tests, as pytest takes them")
    parser.add_argument("--minutes", type=float, default=10, help="no round is started after so many")
    parser.add_argument("--seed", type=int, help="one round, with this seed")
    parser.add_argument("--processes", default="auto", help="as pytest-xdist takes them; 0 for none")
    given = parser.parse_args()
    end, rounds, passed, failing = time.monotonic() + 60 * given.minutes, 0, 0, list[str]()
    while not rounds or (given.seed is None and time.monotonic() < end):
        seed = secrets.randbits(32) if given.seed is None else given.seed
        found = explore_once(seed, given.processes, given.names, failing)
        if not found.passed and not found.names:
            break  # nothing is left to try
        rounds, passed = rounds + 1, passed + found.passed
        failing += dict.fromkeys(found.names)
        print(
            f"round {rounds}, seed {seed}: {found.passed} property tests passed, {len(failing)} failed so far",
            flush=True,
        )
    for name in failing:
        print(f"failed: {name}")
    if not passed and not failing:
        print("no property test was tried: name tests that have @given", file=sys.stderr)
        return 2
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
