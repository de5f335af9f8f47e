"""An audit for the terminal: the verdict of each target first, then what was found, then what it rests on."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from soundsum.attacks.attack import describe_dataset
from soundsum.auditor.auditing import Audit, audit
from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import show_p_value
from soundsum.numbers.formatting import binary, layout, number
from soundsum.numbers.rationals import is_special

STYLE = {
    Verdict.VIOLATION_CERTIFIED: "bold red",
    Verdict.VIOLATION_STATISTICAL: "red",
    Verdict.SENSITIVITY_EXCEEDED: "magenta",
    Verdict.INCONCLUSIVE: "cyan",
    Verdict.NOT_REFUTED: "green",
    Verdict.REFUSED: "yellow",
    Verdict.UNSUPPORTED: "yellow",
}


def watch(console: Console, target: Any, attacks: Any, options: dict[str, Any]) -> Audit:
    """The audit, with a bar that says which attack is under way."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        return audit(
            target,
            attacks,
            **options,
            watch=lambda name, done, total, doing: bar.update(
                task, description=f"{name}: {doing}", completed=done, total=total
            ),
        )


def show(console: Console, done: Audit) -> None:
    console.print(_headline(done))
    for target in done.targets:
        _show_target(console, done, target)
    console.print(_footer(done), highlight=False)


def _headline(done: Audit) -> Text:
    broken = [f for f in done.violations if f.verdict is not Verdict.SENSITIVITY_EXCEEDED]
    exceeded = len(done.violations) - len(broken)
    where = sum(done.verdict_of(target).violation for target in done.targets)
    of = _counted(len(done.targets), "target")
    unasked, open_ones, line = len(done.unasked), len(done.inconclusive), Text()
    if done.violations:
        found = [_counted(len(broken), "violation")] if broken else []
        found += [f"{_counted(exceeded, 'sum')} beyond the sensitivity used"] if exceeded else []
        line.append(" and ".join(found), "bold red").append(f" in {where:,} of {of}")
    elif unasked == len(done.targets):
        return line.append("nothing could be audited", "yellow").append(f" of {of}, {done.seconds:,.1f} s")
    else:
        line.append("no violation found", "cyan" if open_ones else "green").append(f" in {of}")
    if open_ones:
        line.append(f"; too little was tried on {open_ones:,}", "cyan")
    if unasked:
        line.append(f"; {unasked:,} could not be audited", "yellow")
    return line.append(f", {done.seconds:,.1f} s")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _show_target(console: Console, done: Audit, target: Target) -> None:
    findings, verdict = done.of(target), done.verdict_of(target)
    title = Text.assemble("\n", (target.name, "bold"), "  ", (str(verdict), STYLE[verdict]))
    about = " ".join(filter(None, (target.library, target.version)))
    promise = f"epsilon = {number(target.epsilon)}"
    if target.delta:
        promise += f", delta = {number(target.delta)}"
    title.append(f"\n{about + ': ' if about else ''}{target.dtype.name}, {target.neighbours}, {promise}", "dim")
    console.print(title, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("verdict", no_wrap=True)
    table.add_column("attack", no_wrap=True)
    table.add_column("finding", overflow="fold")
    for finding in sorted(findings, key=_telling):
        also = f" (also: {', '.join(finding.also)})" if finding.also else ""
        table.add_row(Text(str(finding.verdict), STYLE[finding.verdict]), finding.rule, Text(finding.headline + also))
    console.print(table)
    if verdict is Verdict.INCONCLUSIVE:
        console.print(Text("inconclusive: " + "; ".join(done.unsettled[target.name]), "cyan"), highlight=False)
    violations = [f for f in findings if f.verdict.violation]
    if violations:
        _show_finding(console, min(violations, key=_telling))
    _show_times(console, done, target)
    left_out = done.left_out.get(target.name, ())
    if left_out:
        names = ", ".join(dict.fromkeys(one.attack for one in left_out))
        console.print(f"[dim]larger attacks left out by --time or --memory: {names}[/dim]", highlight=False)


def _show_times(console: Console, done: Audit, target: Target) -> None:
    """The times that differ, or how many pairs were timed; none of them is a verdict."""
    timed = done.timings_of(target)
    if not timed:
        return
    seen = [one for one in timed if one.differs]
    if not seen:
        console.print(f"times: no difference seen on {_counted(len(timed), 'pair')} of neighbours", highlight=False)
    for one in seen:
        console.print(Text(f"times differ (evidence, not a verdict): {one.attack.name}: {one.headline}", "yellow"))


def _telling(finding: Finding) -> tuple[int, bool, int]:
    """The order of findings: by verdict, those with a program, the smallest datasets first."""
    made = finding.attack
    return list(Verdict).index(finding.verdict), not finding.repro, made.records if made else 0


def _show_finding(console: Console, finding: Finding) -> None:
    """The first violation in full: the others are in the reports."""
    made, t = finding.attack, finding.target
    if made is None:
        return
    problem = made.problem
    rows = [
        ("left", describe_dataset(made.left)),
        ("right", describe_dataset(made.right)),
        ("bounds", f"[{binary(problem.lower)}, {binary(problem.upper)}]"),
    ]
    if finding.sums is not None:
        rows.append(("sums", f"{binary(finding.sums[0])} and {binary(finding.sums[1])}"))
    if finding.claimed is not None:
        moved = (
            ""
            if finding.measured is None or is_special(finding.measured)
            else f"; the sums are {binary(finding.measured)} apart"
        )
        rows.append(("claimed", f"{binary(finding.claimed)}{moved}"))
    quotes = [("says", t.claim_quote), ("neighbours", t.relation_quote), ("confirmed", finding.confirmed)]
    rows += [(heading, text) for heading, text in quotes if text]
    if finding.sampled is not None:
        s, c = finding.sampled, finding.sampled.table
        rows.append(
            (
                "runs",
                f"{s.event.description} in {c.left:,} of {c.left_runs:,} runs on the left and {c.right:,} of "
                f"{c.right_runs:,} on the right (p-value {show_p_value(s.p_value)}); {finding.epsilon_words}; "
                f"decided after {s.pairs_used:,} pairs",
            )
        )
    rows.append(("fix", finding.hint))
    console.print(layout(f"{finding.rule} in detail", rows), highlight=False, markup=False, soft_wrap=True)
    if finding.repro:
        console.print("  to see it alone, run this (exit code 1 while it is there):\n", highlight=False)
        code = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(finding.repro.rstrip())
        console.print(code, soft_wrap=True)  # as it is, to be copied


def _footer(done: Audit) -> str:
    load = done.platform.get("load")
    busy = f"\nThe machine was busy ({load}): audit again when it is idle." if load else ""
    return (
        f"{busy}\nA statistical verdict against a target that keeps its promise has probability {done.alpha:g} "
        "at most; certified ones rest on exact arithmetic. NOT_REFUTED is not a proof of privacy."
    )
