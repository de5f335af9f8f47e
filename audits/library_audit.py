"""An audit of one library in its own environment, and the program of every violation run on its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import soundsum as ss
from audits.quotes import wrong_quotes
from soundsum.auditor.adapters import environment_of, split_name

RESULTS = Path("build/audits")
PATIENCE = 1800
"""Seconds for a violation's program."""

LIMITS = {
    "jax-privacy": (20, 300),
    "opacus": (16, 300),
    "opendp": (6, 200),
    "tensorflow-privacy": (20, 300),
    "optax": (15, 300),
    "flwr": (15, 300),
    "opendp-polars": (40, 300),
    "python-dp": (15, 300),
    "tmlt-analytics": (25, 200),
    "diffprivlib": (6, 300),
    "pipeline-dp": (10, 200),
    "smartnoise-sql": (12, 200),
    "pyqrlew": (20, 300),
    "python-dp.sum.float64": (240, 20),
}
"""Seconds and pairs of runs for each target of a library, by what its calls take; they begin in this order. 200
pairs can show twice the promised epsilon. The last once more, for the sizes at which 64 bits break.
"""


class WrongQuotes(Exception):
    """An adapter quotes what its library does not say."""


def audit_parts(names: list[str], given: argparse.Namespace) -> None:
    """Audit a library or its functions, and keep the results."""
    for name in names:
        print(f"{name} ...", flush=True)
        began = time.monotonic()
        seconds, runs = LIMITS.get(name, (10, 300))
        result = audit(name, given.time or seconds, runs if given.runs is None else given.runs, given.memory)
        path = RESULTS / f"{result['library']}.json"
        if name != result["library"] and path.exists():
            result = replace_targets(json.loads(path.read_text()), result)
        path.write_text(json.dumps(result, indent=1) + "\n")
        print(f"{name}: {result['summary']}; {(time.monotonic() - began) / 60:.1f} minutes", flush=True)


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
        raise WrongQuotes(f"not in the version that was audited: {'; '.join(wrong)}")
    shown = [finding for finding in found["findings"] if finding["repro"]]
    for finding in shown:
        finding["repro_exit"] = run(environment.python, finding["repro"])
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
    if sys.stderr.isatty():
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
