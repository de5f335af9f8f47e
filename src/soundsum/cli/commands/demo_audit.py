"""The end of the walk: an audit of a library from PyPI, in an environment of its own, and one of soundsum."""

from __future__ import annotations

import subprocess

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from soundsum.auditor import own_methods
from soundsum.auditor.adapters import environment_of, open_adapter
from soundsum.auditor.auditing import Audit
from soundsum.auditor.finding import Finding, Verdict
from soundsum.cli.views.audited import watch
from soundsum.tables.relations import Relation

LIBRARY, FUNCTION = "diffprivlib", "sum.float64"
ATTACKS = ["rounding"]  # which the paper published
OPTIONS = {"runs": 500, "seconds": 20.0}


def run(console: Console) -> None:
    console.print(
        f"[bold]5. An audit[/bold] of {LIBRARY}, installed from PyPI in an environment of its own, and of soundsum. "
        "It takes about 20 seconds, and a minute more the first time, for installing.\n"
    )
    try:
        with console.status(f"installing {LIBRARY} in an environment of its own, the first time only"):
            theirs = open_adapter(LIBRARY, install=True, function=FUNCTION)
    except (ValueError, OSError) as error:
        console.print(f"  {LIBRARY} was left out: {error}\n", highlight=False, soft_wrap=True)
    else:
        _show(console, watch(console, theirs, ATTACKS, OPTIONS))
    ours = [target for target in own_methods.targets("grid") if target.relation is Relation.CHANGE_ONE]
    _show(console, watch(console, ours, ATTACKS, OPTIONS))


def _show(console: Console, done: Audit) -> None:
    """Print the findings on each target, and run the first violation's program where only its library is installed."""
    for target in done.targets:
        found = [finding for finding in done.findings if finding.target.name == target.name]
        name = f"[bold]{escape(target.name)}[/bold] {target.version}"
        verdict = done.verdict_of(target)
        why = f"; {'; '.join(done.unsettled[target.name])}" if verdict is Verdict.INCONCLUSIVE else ""
        is_clean = verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_REFUTED)
        said = f"no violation found (an audit cannot prove more{why})" if is_clean else verdict
        console.print(f"  {name}: {said}", highlight=False)
        for finding in found:
            console.print(Padding(escape(f"{finding.rule}: {finding.headline}"), (0, 0, 0, 4)), highlight=False)
        violation = next((finding for finding in found if finding.verdict.violation and finding.repro), None)
        if violation is not None:
            _reproduce(console, violation)
    console.print()


def _reproduce(console: Console, finding: Finding) -> None:
    environment = environment_of(LIBRARY)
    if environment is None or finding.repro is None:
        return
    ran = subprocess.run([environment.python, "-c", finding.repro], capture_output=True, text=True, timeout=120)
    lines = len(finding.repro.strip().splitlines())
    console.print(f"    a program of {lines} lines that needs {LIBRARY} alone says:", highlight=False)
    for line in ran.stdout.strip().splitlines():
        console.print(f"      {line}", highlight=False, soft_wrap=True)
