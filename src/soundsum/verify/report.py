"""A verification as a table for the terminal, as JSON, and as the Markdown of docs/verification.md."""

from __future__ import annotations

import json
from fractions import Fraction

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from soundsum.relations import Relation
from soundsum.verify import verify
from soundsum.verify.results import ACCURACY, Result, Verification


def run(console: Console, quick: bool = False, as_json: bool = False, only: list[str] | None = None) -> int:
    """Verify and print; 1 if there is a violation, otherwise 0."""
    if as_json:
        done = verify(quick, only)
        console.file.write(json.dumps(done.to_json(), indent=2) + "\n")
    else:
        done = verified(console, quick, only)
        print_report(console, done)
    return 1 if done.violations else 0


def verified(console: Console, quick: bool, only: list[str] | None = None) -> Verification:
    """The verification, with a bar while it runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("theorem against model", total=None)
        return verify(quick, only, lambda finished, total: bar.update(task, completed=finished, total=total))


def print_report(console: Console, done: Verification) -> None:
    verdict = "no violation" if not done.violations else f"{done.violations:,} VIOLATIONS"
    console.print(
        f"{verdict} in {done.cases:,} cases (L, U, n) and {done.pairs:,} pairs of states, "
        f"{'quick' if done.quick else 'full'} run, {done.seconds:,.0f} s"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("relation", no_wrap=True)
    for name in ("cases", "pairs", "violations", "true/claimed"):
        table.add_column(name, justify="right", no_wrap=True)
    wide = console.width >= 120
    if wide:
        table.add_column("where", no_wrap=True)
    last = ""
    for result in done.by_method():
        method, *rest, where = _row(result)
        cells = ["" if method == last else method, *rest, *([where] if wide else [])]
        table.add_row(*cells, style="bold red" if result.violations else None)
        last = method
    console.print(table)
    console.print(
        "true/claimed: the largest true difference over the claimed one, of two records or more; 1 is tight. "
        "accuracy: the sum against the exact sum."
    )
    for example in done.counterexamples:
        console.print(f"[bold red]counterexample[/] {example}", highlight=False)


def markdown(done: Verification) -> str:
    """The table of docs/verification.md: one line per method, the largest true/claimed value under each relation."""
    columns = [*Relation, ACCURACY]
    lines = [
        f"| method | cases | pairs of states | violations | {' | '.join(columns)} |",
        f"|---|---:|---:|---:|{'---:|' * len(columns)}",
    ]
    results = done.by_method()
    for method in dict.fromkeys(result.method for result in results):
        found = {result.relation: result for result in results if result.method == method}
        cases, pairs, violations = (
            f"{sum(getattr(result, name) for result in found.values()):,}" for name in ("cases", "pairs", "violations")
        )
        ratios = [ratio(found[column].ratio) if column in found else "" for column in columns]
        lines.append(f"| {' | '.join([method, cases, pairs, violations, *ratios])} |")
    total = f"{done.cases:,} cases, {done.pairs:,} pairs of states, {done.violations:,} violations"
    return "\n".join([f"{total}, {done.seconds / 60:.0f} minutes.", "", *lines])


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.method,
        result.relation,
        f"{result.cases:,}",
        f"{result.pairs:,}",
        f"{result.violations:,}",
        ratio(result.ratio),
        "" if result.at is None or not result.ratio else str(result.at),
    )


def ratio(x: Fraction | None) -> str:
    """A ratio in three digits, rounded down so that 1 means 1; nothing where every claim is 0 and is met.

    >>> ratio(Fraction(2, 3)), ratio(Fraction(1)), ratio(Fraction(999999, 10**6))
    ('0.666', '1', '0.999')
    """
    if x is None:
        return "exact"
    if x.denominator == 1:
        return str(x)
    return f"{int(x * 1000) / 1000:.3f}"
