"""Asks libraries for the groups of two neighbouring tables, many times, and writes the table of docs/auditor.md.

`python -m audits.groups` installs each library in its own environment; Tumult Analytics needs Java.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from soundsum.auditor.output_events import PROGRAMS, audit_groups_of

PAGE = Path(__file__).parents[1] / "docs" / "auditor.md"
BEGIN, END = "<!-- audit-groups: begin -->", "<!-- audit-groups: end -->"
LEFT, RIGHT = [*"aaaaaaaa", "b"], [*"aaaaaaaa"]
"""Nine rows, and the same without the only one of its group."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m audits.groups", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="releases of each table; half of them are counted")
    given = parser.parse_args()
    lines = ["| library | claims | event | with the record | without | verdict |", "|---|---|---|---:|---:|---|"]
    for library in PROGRAMS:
        print(f"{library} ...", flush=True)
        found = audit_groups_of(library, LEFT, RIGHT, runs=given.runs)
        with_it, without = (f"{rate:.3%}" for rate in found.table.rates)
        claims = f"({found.epsilon:g}, {found.delta:.3g})"
        lines.append(
            f"| {version_of(library)} | {claims} | {found.event} | {with_it} | {without} | `{found.verdict}` |"
        )
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]))


def version_of(library: str) -> str:
    """The library, as its adapter pins it."""
    pins = (files("soundsum.auditor.adapters") / f"{library.replace('-', '_')}.txt").read_text()
    pinned = dict(line.split()[0].split("==") for line in pins.splitlines() if "==" in line)
    return f"{library} {pinned.get(library) or pinned[library.replace('-', '.')]}"


if __name__ == "__main__":
    main()
