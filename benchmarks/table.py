"""The results for a person (a table) and for a program (JSON)."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from benchmarks.measure import Result
from benchmarks.plain import compiler

NOTES = """\
measured: a speed (above 1x ours is faster), for import a time; the median (quartiles) of interleaved repetitions
reached:  ~ where the target lies between the quartiles
CPUs:     CPU time over time; fewer than the threads where other processes were running
of bus:   against a bare read of the same memory by as many threads"""


def machine() -> dict[str, Any]:
    """Describe the machine when a run begins."""
    return {
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "compiler": _compiler(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def _compiler() -> str:
    try:
        return subprocess.run([*compiler(), "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
    except OSError:
        return "none"


def notes(host: dict[str, Any]) -> str:
    """List the notes under the table."""
    where = f"{host['processor']}, {host['cpus']} CPUs, load {host['load']} at the start"
    return f"{where}; NumPy {host['numpy']}; {host['compiler']}\n{NOTES}"


def as_table(results: Sequence[Result], records: int) -> Table:
    table = Table(
        title=f"soundsum's speed, {records:,} records in one run",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for heading in ("work", "against"):
        table.add_column(heading)  # these wrap where the terminal is narrow; numbers never do
    for heading in ("time", "measured", "target"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reached", no_wrap=True)
    for heading in ("CPUs", "GB/s", "of bus"):
        table.add_column(heading, justify="right", no_wrap=True)
    group = ""
    for result in results:
        if result.group != group:
            group = result.group
            table.add_section()
            table.add_row(f"[bold]{group}[/]")
        table.add_row(*_cells(result))
    return table


def _cells(result: Result) -> list[str]:
    rate, bus = result.gigabytes_per_second, result.of_bus
    return [
        f"  {result.name}",
        result.against,
        _time(result),
        _measured(result),
        _target(result),
        _verdict(result),
        f"{result.cpus:.1f}" if result.cpus else "",
        f"{rate:.1f}" if rate else "",
        f"{100 * bus.median:.0f} %" if bus else "",
    ]


def _time(result: Result) -> str:
    if result.seconds is None:
        return ""
    return f"{1e9 * result.seconds / result.records:.2f} ns" if result.records else f"{1e3 * result.seconds:.1f} ms"


def _measured(result: Result) -> str:
    if result.measured is None:
        return ""
    digits = 0 if result.unit in (" MB", " pairs") else 2
    median, low, high = (f"{value:.{digits}f}" for value in result.measured)
    return f"{median}{result.unit} ({low}–{high})"


def _target(result: Result) -> str:
    return "" if result.target is None else f"{'≤' if result.at_most else '≥'} {result.target:g}{result.unit}"


def _verdict(result: Result) -> str:
    if result.fault:
        return "[bold red]see below[/]"
    if result.reached is None:
        return ""
    words = ("yes" if result.reached else "no") + (" ~" if result.within_noise else "")
    return f"[green]{words}[/]" if result.reached else f"[red]{words}[/]"


def as_json(results: Sequence[Result], host: dict[str, Any], records: int) -> dict[str, Any]:
    return {"machine": host, "records": records, "rows": [_plain(result) for result in results]}


def _plain(result: Result) -> dict[str, Any]:
    spreads = {
        name: value and value._asdict() for name, value in (("measured", result.measured), ("of_bus", result.of_bus))
    }
    rate = {"gigabytes_per_second": result.gigabytes_per_second}
    return asdict(result) | spreads | rate | {"reached": result.reached, "within_noise": result.within_noise}
