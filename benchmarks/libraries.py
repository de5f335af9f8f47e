"""`make compare`: soundsum beside other libraries, each in its own environment: features, noise and time.

All get the same records, bounds [0, 1000] and epsilon 1. The noise is the mean distance of a release from the exact
sum, the scale of Laplace noise; the time is that of the fastest whole call, on a table in the library's own form.
Quantiles are measured by their rank: how many records lie between a release and the true quantile. Writes the tables of
docs/comparison.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import soundsum
from soundsum.auditor.adapters import environment_of, open_adapter

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "comparison.md"
ADAPTERS = HERE.parent / "src" / "soundsum" / "auditor" / "adapters"
UPPER, SIZES = 1000, [10_000, 1_000_000]
QUANTILES, RANKED = [0.5, 0.99], 1_000
MARKS = "<!-- {} begin: written by make compare -->", "<!-- {} end -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make compare", description=__doc__)
    parser.add_argument("libraries", nargs="*", help="all by default; the page is written only for all")
    parser.add_argument("--runs", type=int, default=400, help="releases of each sum at most")
    parser.add_argument("--seconds", type=float, default=20, help="for each sum and size")
    given = parser.parse_args()
    wanted = tomllib.loads((HERE / "libraries.toml").read_text())
    seen = {}
    for name in given.libraries or wanted:
        print(f"{name} ...", file=sys.stderr, flush=True)
        seen[name] = measure(name, wanted[name], given.runs, given.seconds)
    tables = {"features": features(seen), "sums": sums(seen), "ranks": ranks(seen)}
    if not given.libraries:
        from benchmarks.advice import measure as advise  # which takes the helpers of this module

        tables["advice"] = advise()
    print("\n\n".join(tables.values()))
    if not given.libraries:
        write(tables)


def measure(name: str, wanted: dict[str, Any], runs: int, seconds: float) -> dict[str, Any]:
    """Measure one library, installing it if necessary."""
    python, adapter = Path(sys.executable), None
    if name != "soundsum":
        open_adapter(name, install=True)
        environment = environment_of(name)
        assert environment is not None
        python, adapter = environment.python, ADAPTERS / f"{name.replace('-', '_')}.py"
    asked = {
        **wanted,
        "adapter": adapter and str(adapter),
        "sizes": SIZES,
        "upper": UPPER,
        "quantiles": QUANTILES,
        "ranked": RANKED,
        "runs": runs,
        "seconds": seconds,
    }
    ran = subprocess.run([python, HERE / "in_library.py"], input=json.dumps(asked), capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{name}: {ran.stderr[-2000:]}")
    found = json.loads(ran.stdout.splitlines()[-1])
    return {"version": soundsum.__version__, **found}


def features(seen: dict[str, Any]) -> str:
    rows = dict.fromkeys(feature for library in seen.values() for feature in library["features"])
    return table(
        ["", *seen],
        [[row, *("yes" if row in library["features"] else "" for library in seen.values())] for row in rows],
    )


def sums(seen: dict[str, Any]) -> str:
    """The noise of each sum, divided by an ideal sum's (U - L)/epsilon or U/epsilon, and the fastest call."""
    rows = []
    for name, library in seen.items():
        for one in library["sums"]:
            found = [one["sizes"][str(n)] for n in SIZES]
            cells = [cell for each in found for cell in (text(each, "error", spread), text(each, "seconds", duration))]
            rows.append([f"{name} {library['version']}", one["kind"], *cells])
    heads = ["library", "type", *(head for n in SIZES for head in (f"noise, {n:,} records", "time"))]
    return table(heads, rows)


def ranks(seen: dict[str, Any]) -> str:
    """The mean rank error of quantiles, with its standard error, and the fastest call."""
    rows = []
    for name, library in seen.items():
        found = library.get("ranks")
        if found is not None:
            cells = [found.get("fault", "")] * 3
            if "fault" not in found:
                each = [found[str(q)] for q in QUANTILES]
                cells = [f"{one['error']:,.1f} ± {one['spread']:,.1f}" for one in each] + [duration(each[0])]
            rows.append([f"{name} {library['version']}", *cells])
    return table(["library", *(f"quantile {q}" for q in QUANTILES), "time of one"], rows)


def text(found: dict[str, Any], key: str, shown: Any) -> str:
    return shown(found) if key in found else found["fault"].split(":")[0]


def spread(found: dict[str, Any]) -> str:
    """Return the mean error and its standard error: the distance of Laplace noise has its mean as deviation."""
    mean = found["error"] / UPPER
    return f"{mean:,.2f} ± {mean / found['runs'] ** 0.5:,.2f}"


def duration(found: dict[str, Any]) -> str:
    seconds = found["seconds"]
    return f"{seconds:,.1f}&nbsp;s" if seconds >= 1 else f"{seconds * 1000:,.3g}&nbsp;ms"


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(tables: dict[str, str]) -> None:
    page = PAGE.read_text()
    for name, made in tables.items():
        begin, end = (mark.format(name) for mark in MARKS)
        page = re.sub(
            f"{re.escape(begin)}.*?{re.escape(end)}",
            lambda _, b=begin, e=end, m=made: f"{b}\n\n{m}\n\n{e}",
            page,
            flags=re.DOTALL,
        )
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
