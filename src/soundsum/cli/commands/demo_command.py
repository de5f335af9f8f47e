"""A walk for the terminal: a secret that leaks, then plan, release, by group, why it leaked, and an audit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from soundsum.attacks import Attack, attack
from soundsum.attacks.delivery import DELIVERIES
from soundsum.auditor import own_methods
from soundsum.auditor.adapters import environment_of, open_adapter
from soundsum.auditor.auditing import Audit
from soundsum.auditor.finding import Finding, Verdict
from soundsum.budget import Budget
from soundsum.cli.commands.attack_command import tell
from soundsum.cli.views.audit_view import watch
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import binary, number
from soundsum.refusals import say_install
from soundsum.releases.api import release
from soundsum.releases.collections import Releases
from soundsum.releases.planning import plan, plans
from soundsum.releases.released import Release
from soundsum.statistics import Count, Mean, Statistic, Sum
from soundsum.tables.relations import Relation

DEPARTMENTS = ["sales", "research", "care"]
METHODS = ("grid", "kahan", "pairwise", "iterated")


def run(console: Console) -> None:
    console.print(
        "\nFive parts, in about half a minute; the first time, the last one also installs a library, which takes a "
        "minute more.\n"
    )
    console.print("[bold]1. A secret that noise should have hidden.[/bold] Finding it takes about 3 seconds.\n")
    _steal(console)
    people = _people(100_000)
    console.print(
        "\n[bold]2. A plan.[/bold] A made-up table of 100,000 people with department and pay. We want to publish the "
        "total without giving away anybody's pay. How far can one person move it, with each method of adding float32?\n"
    )
    console.print(_ways(Problem("float32", 0, 200_000, max_size=100_000)))
    chosen = plan(Problem("float32", 0, 200_000))
    console.print(
        "\nThe default reaches the ideal. "
        f"At epsilon 1 its noise is within {chosen.error(epsilon=1):,.0f}, 95 times in 100; "
        f"for noise within 100,000, epsilon has to be {float(chosen.epsilon_for(error=100_000)):.2f}.\n"
    )
    console.print("[bold]3. Releases[/bold], charged to a budget that cannot be overspent.\n")
    budget = Budget(epsilon=2)
    asked: list[Statistic] = [Sum("pay", 0, 200_000), Mean("pay", 0, 200_000), Count()]
    several = release(people, asked, epsilon=1, budget=budget)
    (by_department,) = release(people, asked[:1], epsilon="1/2", by="dept", groups=DEPARTMENTS, budget=budget)
    assert isinstance(by_department, Releases)
    named = [(name, *one.shown()) for name, one in zip(several.names, several, strict=True) if isinstance(one, Release)]
    console.print(_numbers("For epsilon = 1 together:", named))
    console.print(_numbers("\nThe sum by department, for epsilon = 1/2:", by_department.rows(DEPARTMENTS)))
    console.print(
        "\nThe intervals are for pay clamped to at most 200,000: they cover the noise, and not what clamping cuts off. "
        f"Of epsilon = 2, {budget.left} is left.\n",
        highlight=False,
    )
    console.print(
        "[bold]4. Why the first sum leaked.[/bold] In theory one record moves a bounded sum by at most its ideal "
        "sensitivity. These neighbouring datasets move an ordinary float64 sum by far more than the noise hides. "
        "Adding 2^30 records takes about 5 seconds:\n"
    )
    for title, made in (("One rounding", attack("rounding")), ("Repeated rounding", attack("repeated_rounding_2"))):
        console.print(_compare(title, made))
    console.print(
        "The datasets are kept as runs: 2^30 records take a few hundred bytes, and every addition is really done.\n"
    )
    _audit(console)
    console.print("Go on with: soundsum audit --help, soundsum attack list, soundsum reproduce, soundsum sum --help\n")


def _steal(console: Console) -> None:
    """The attack that needs least to be understood; its tables are in DuckDB."""
    try:
        import duckdb  # noqa: F401  (whether it is there)
    except ImportError:
        console.print("  left out, as it needs DuckDB; " + escape(say_install("duckdb")))
        return
    with console.status("asking for noisy sums..."):
        done = DELIVERIES["top_salary"]()
    tell(console, done)


def _people(n: int) -> pa.Table:
    """Anybody's numbers will do, so they are the same every time; noise never is."""
    rng = np.random.default_rng(7)
    return pa.table({"dept": rng.choice(DEPARTMENTS, n), "pay": rng.lognormal(10.5, 0.5, n).astype(np.float32)})


def _ways(problem: Problem) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("  method", "sensitivity", "times the ideal"):
        table.add_column(heading, justify="left" if heading == "  method" else "right")
    for p in plans(problem):
        if not p.unmet and p.method in METHODS:
            table.add_row(f"  {p.method}", number(p.sensitivity), number(p.ratio))
    return table


def _numbers(title: str, rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", header_style="bold")
    sides: dict[str, Literal["left", "right"]] = {"": "left", "private value": "right", "95% interval": "right"}
    for heading, side in sides.items():
        table.add_column(heading, justify=side)
    for name, *numbers in rows:
        table.add_row(f"  {name}", *numbers)
    return table


def _compare(title: str, made: Attack) -> Table:
    plain, ours = Fraction(made.measure()), Fraction(made.measure("grid"))
    table = Table(box=None, pad_edge=False, show_header=False, title=f"[bold]{title}[/bold]", title_justify="left")
    sizes, relation = f"{made.left.size:,} and {made.right.size:,}", made.problem.relation
    table.add_row("  records", f"{sizes}, at {relation} distance {made.distance}")
    table.add_row("  ideal sensitivity", binary(made.ideal))
    table.add_row("  plain float64 sum moves by", f"[red]{binary(plain)}[/red], {plain / made.ideal} times the ideal")
    table.add_row("  soundsum's grid sum moves by", f"[green]{binary(ours)}[/green]\n")
    return table


LIBRARY, FUNCTION = "diffprivlib", "sum.float64"
ATTACKS = ["rounding"]  # which the paper published
OPTIONS = {"runs": 500, "seconds": 20.0}


def _audit(console: Console) -> None:
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
