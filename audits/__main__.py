"""Audits each library in its own environment, runs the program of every violation, and writes the table.

The table shows findings that the paper or the library has published. New findings go to `undisclosed/` with a report,
and their row reads "to be reported". `python -m audits --table` rewrites both from existing results.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from pathlib import Path

from audits.library_audit import LIMITS, RESULTS, audit_parts
from audits.reports import write_reports
from audits.table import write_table
from soundsum.auditor.adapters import split_name


def main() -> None:
    parser = argparse.ArgumentParser(prog="make audit-all", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(LIMITS), help="libraries or their functions; all by default")
    parser.add_argument("--time", type=float, help="seconds for each target")
    parser.add_argument("--runs", type=int, help="pairs of runs of a release for each attack")
    parser.add_argument("--memory", type=float, default=4, help="gigabytes that a target's datasets may take")
    parser.add_argument("--jobs", type=int, default=2, help="libraries at the same time")
    parser.add_argument("--table", action="store_true", help="audit nothing; write the table from earlier results")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    failed = [] if given.table else audit_all(given)
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    write_table(results, Path("docs/audits.md"))
    write_reports(results, Path("undisclosed"))
    if failed:
        sys.exit(f"these keep their earlier results: {'; '.join(failed)}")


def audit_all(given: argparse.Namespace) -> list[str]:
    """Audit several libraries at the same time, each in a process of its own, and return those that failed, and why."""
    failed = []
    with multiprocessing.get_context("spawn").Pool(given.jobs, maxtasksperchild=1) as pool:
        parts = by_library(given.names).items()
        begun = [(library, pool.apply_async(audit_parts, (names, given))) for library, names in parts]
        for library, one in begun:
            try:
                one.get()
            except Exception as fault:  # it ends its own library's audit, and not the others'
                failed.append(f"{library} ({type(fault).__name__}: {fault})")
    return failed


def by_library(names: list[str]) -> dict[str, list[str]]:
    """Group names by library: parts of one are audited one after another, since the later replace results."""
    parts: dict[str, list[str]] = {}
    for name in names:
        library, _ = split_name(name) or (name, None)
        parts.setdefault(library, []).append(name)
    return parts


if __name__ == "__main__":
    main()
