"""A short tour for the terminal: what ordinary sums do to two neighbouring datasets, and what ours does."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

from soundsum import release
from soundsum.attacks import Attack, attack
from soundsum.attacks.words import value


def run(console: Console) -> None:
    console.print(
        "\n[bold]One record should move a bounded sum by at most its ideal sensitivity.[/bold]\n"
        "These neighbouring datasets move an ordinary float64 sum by far more.\n"
    )
    for title, made in (("One rounding", attack("rounding")), ("Repeated rounding", attack("repeated_rounding_2"))):
        console.print(_compared(title, made))
    console.print(
        "The datasets are kept as runs: 2^30 records take a few hundred bytes, and every addition is really done.\n"
    )
    pay = np.random.default_rng(7).lognormal(10.5, 0.5, 100_000)
    console.print(
        "[bold]A private sum is one line[/bold], and says what it promises:\n\n"
        "  >>> ss.sum(pay, lower=0, upper=200_000, epsilon=1)\n"
        f"  {release.sum(pay, lower=0, upper=200_000, epsilon=1)!r}\n\n"
        "soundsum plan shows what every way to add would cost, soundsum verify checks the bounds exhaustively, "
        "soundsum attack list shows what else goes wrong.\n"
    )


def _compared(title: str, made: Attack) -> Table:
    began = time.perf_counter()
    plain, ours = Fraction(made.measure()), Fraction(made.measure("grid"))
    table = Table(box=None, pad_edge=False, show_header=False, title=f"[bold]{title}[/bold]", title_justify="left")
    sizes, relation = f"{made.left.size:,} and {made.right.size:,}", made.problem.relation
    table.add_row("  records", f"{sizes}, at {relation} distance {made.distance}")
    table.add_row("  ideal sensitivity", value(made.ideal))
    table.add_row("  plain float64 sum moves by", f"[red]{value(plain)}[/red], {plain / made.ideal} times the ideal")
    table.add_row("  soundsum's grid sum moves by", f"[green]{value(ours)}[/green]")
    table.add_row("  computed in", f"{time.perf_counter() - began:.1f} s\n")
    return table
