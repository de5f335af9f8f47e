"""Audits each library in its own environment, runs the program of every violation, and writes the table.

The table shows findings that the paper or the library has published. New findings go to `undisclosed/` with a report,
and their row reads "to be reported". `python -m audits --table` rewrites both from existing results.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import soundsum as ss
from audits.quotes import wrong_quotes
from audits.reports import write_reports
from audits.table import write_table
from soundsum.auditor.adapters import environment_of, split_name

RESULTS = Path("build/audits")
AT_ONCE, PATIENCE = 2, 1800  # programs, and seconds for each

LIMITS = {
    "diffprivlib": (8, 300),
    "flwr": (30, 1000),
    "jax-privacy": (30, 1000),
    "opacus": (20, 1000),
    "opendp": (6, 200),
    "opendp-polars": (30, 300),
    "optax": (30, 1000),
    "pipeline-dp": (10, 100),
    "pyqrlew": (20, 300),
    "python-dp": (20, 300),
    "smartnoise-sql": (20, 200),
    "tensorflow-privacy": (60, 300),
    "tmlt-analytics": (60, 100),
    "python-dp.sum.float64": (240, 20),
}
"""Seconds and pairs of runs for each target of a library, by what its calls take; the last once more, for the sizes at
which 64 bits break.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make audit-all", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(LIMITS), help="libraries or their functions; all by default")
    parser.add_argument("--time", type=float, help="seconds for each target")
    parser.add_argument("--runs", type=int, help="pairs of runs of a release for each attack")
    parser.add_argument("--memory", type=float, default=4, help="gigabytes that a target's datasets may take")
    parser.add_argument("--table", action="store_true", help="audit nothing; write the table from earlier results")
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in () if given.table else given.names:
        print(f"{name} ...", flush=True)
        seconds, runs = LIMITS.get(name, (10, 300))
        result = audit(name, given.time or seconds, runs if given.runs is None else given.runs, given.memory)
        path = RESULTS / f"{result['library']}.json"
        if name != result["library"] and path.exists():
            result = replace_targets(json.loads(path.read_text()), result)
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name}: {result['summary']}", flush=True)
    results = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    write_table(results, Path("docs/audits.md"))
    write_reports(results, Path("undisclosed"))


def audit(name: str, seconds: float, runs: int, memory: float) -> dict[str, Any]:
    """Audit one library; return plain data, with the exit code of each violation's program."""
    library, _ = split_name(name) or (name, None)
    command = f"make audit-all ARGS='{name} --time {seconds:g} --runs {runs} --memory {memory:g}'"
    result: dict[str, Any] = {"library": library, "date": f"{datetime.now(UTC):%Y-%m-%d}", "commands": [command]}
    try:
        limits = {"seconds": seconds, "runs": runs, "memory": int(memory * 2**30)}
        found = ss.audit(name, install=True, **limits, watch=show).to_json()
    except ValueError as reason:
        return result | {"summary": f"not reached: {reason}", "findings": [], "targets": []}
    environment = environment_of(name)
    assert environment is not None
    quotes = [x[key] for x in found["findings"] for key in ("claim_quote", "relation_quote", "specials_quote")]
    if wrong := wrong_quotes(quotes, environment.path):
        sys.exit(f"{name}: not in the version that was audited: {'; '.join(wrong)}")
    shown = [finding for finding in found["findings"] if finding["repro"]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = pool.map(lambda finding: run(environment.python, finding["repro"]), shown)
        for finding, code in zip(shown, ended, strict=True):
            finding["repro_exit"] = code
    return result | found | {"summary": summarise(found)}


def replace_targets(whole: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Replace the results of some targets of a library by newer ones."""
    names = {target["name"]: target for target in part["targets"]}
    whole["targets"] = [names.get(target["name"], target) for target in whole["targets"]]
    whole["findings"] = [x for x in whole["findings"] if x["target"] not in names] + part["findings"]
    whole["commands"] += part["commands"]
    return whole | {"summary": summarise(whole)}


def summarise(found: dict[str, Any]) -> str:
    violations = [x for x in found["findings"] if x["verdict"].startswith("VIOLATION")]
    exceeded = sum(x["verdict"] == "SENSITIVITY_EXCEEDED" for x in found["findings"])
    shown = sum(x.get("repro_exit") == 1 for x in violations)
    return (
        f"{len(found['targets'])} targets, {len(violations)} violations, {shown} of them seen again alone, "
        f"{exceeded} sums beyond the sensitivity used"
    )


def show(target: str, done: int, total: int, doing: str) -> None:
    print(f"\r  {done}/{total} {target} {doing}"[:100].ljust(100), end="", file=sys.stderr, flush=True)


def run(python: Path, program: str) -> int | None:
    """Run a program in the library's environment and return its exit code; None if it does not end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "repro.py"
        path.write_text(program)
        try:
            return subprocess.run([python, path], capture_output=True, timeout=PATIENCE, cwd=folder).returncode
        except subprocess.TimeoutExpired:
            return None


if __name__ == "__main__":
    main()
