"""Measures the chosen rows and prints the table.

It never fails on a time: a person reads whether a target is reached. Exit code 1 means that a row has a wrong sum or
could not be measured.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from benchmarks import arrays, audits, engines, found, gradients, neighbours, noise, processes, serving, table, tables
from benchmarks.measure import Group, Result, Row, measure

GROUPS = (*arrays.GROUPS, *noise.GROUPS, *gradients.GROUPS, *tables.GROUPS, *found.GROUPS, *engines.GROUPS)
ALONE = {**tables.ROWS, **found.ROWS, **neighbours.ROWS, **processes.ROWS, **serving.ROWS, **audits.ROWS}
"""Rows that are not one work against another on the same array."""

RESULTS = Path(__file__).with_name("results")
FULL, QUICK = 10**8, 10**7
WIDTH = 120
"""Of the table where no terminal says otherwise."""


def main() -> int:
    options = _options()
    records = QUICK if options.quick else FULL
    chosen, alone = _chosen(options.only)
    if not chosen and not alone:
        names = "\n  ".join(sorted({_label(g, r) for g in GROUPS for r in g.rows} | set(ALONE)))
        print(f"--only {options.only!r} matches no row; the rows are\n  {names}", file=sys.stderr)
        return 2
    host = table.machine()
    results = list(_results(chosen, alone, records))
    document = json.dumps(table.as_json(results, host, records), indent=2)
    name = options.name or "-".join(filter(None, ("quick" if options.quick else "full", options.only)))
    path = RESULTS / f"{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-')}.json"
    RESULTS.mkdir(exist_ok=True)
    path.write_text(document + "\n")
    if options.json:
        print(document)
    else:
        console = Console()
        if not console.is_terminal:
            console.width = WIDTH
        console.print(table.as_table(results, records))
        console.print(table.notes(host), style="dim", highlight=False)
        for result in results:
            if result.fault:
                console.print(f"[red]{result.group}, {result.name}[/]: {escape(result.fault)}")
        console.print(f"Written to {path.relative_to(RESULTS.parents[1])}")
    return 1 if any(result.fault for result in results) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="soundsum's speed against its peers.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} records instead of {FULL:,}")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the rows with this in their name or group")
    parser.add_argument("--json", action="store_true", help="JSON on standard output instead of the table")
    parser.add_argument("--name", default="", help="of the file in benchmarks/results/ (default: full or quick)")
    return parser.parse_args()


def _label(group: Group, row: Row) -> str:
    return f"{group.name}: {row.name}" + (f" against {row.against}" if row.against else "")


def _chosen(only: str) -> tuple[list[tuple[Group, list[Row]]], list[str]]:
    wanted = only.lower()
    groups = [(group, [row for row in group.rows if wanted in _label(group, row).lower()]) for group in GROUPS]
    return [(group, rows) for group, rows in groups if rows], [name for name in ALONE if wanted in name.lower()]


def _results(chosen: list[tuple[Group, list[Row]]], alone: list[str], records: int) -> Iterator[Result]:
    # Drawn between repetitions only: a thread that redraws would take time from one of the two sides.
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    console = Console(stderr=True)
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task("", total=sum(len(rows) for _, rows in chosen) + len(alone))
        finished = 0

        def tick(part: float) -> None:
            progress.update(task, completed=finished + part, refresh=True)

        def say(words: str) -> None:
            progress.update(task, completed=finished, description=words, refresh=True)

        for group, rows in chosen:
            size = records // group.share
            say(f"{group.name}: making {size:,} records")
            data = group.make(size)
            for row in rows:
                say(_label(group, row))
                yield measure(group, row, data, size, tick)
                finished += 1
            del data  # before the next group's is made
        for name in alone:
            say(name)
            yield ALONE[name](tick)
            finished += 1


if __name__ == "__main__":
    sys.exit(main())
