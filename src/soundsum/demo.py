"""A short tour for the terminal: what ordinary sums do to two neighbouring datasets, and what ours does."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from rich.console import Console
from rich.table import Table

from soundsum.grids import power_of_two_grid
from soundsum.kernels import float_sum, grid_sum
from soundsum.numbers import float64
from soundsum.relations import Relation
from soundsum.release import sum as private_sum
from soundsum.runs import Runs


def rounding_pair(j: int = 4, m: int = -1) -> tuple[Runs, Runs]:
    """2^j copies of L and then U or L: the last addition rounds up or down (`ea:ham-round-once`)."""
    k = float64.k
    lower = (1 + Fraction(2**j, 2 ** (k + 1))) * Fraction(2) ** m
    upper = lower + Fraction(2) ** (m - k)
    return Runs("float64", [(lower, 2**j), (upper, 1)]), Runs("float64", [(lower, 2**j + 1)])


def repeated_rounding_pair(j: int = 30) -> tuple[Runs, Runs]:
    """Half the records are 1, the rest x, L, x, L, ...: each pair rounds up beside 2^(j-1), and not beside one less."""
    k = float64.k
    half = 2 ** (j - 1)
    step = Fraction(half, 2**k)
    x, lower = step * (Fraction(1, 2) + Fraction(1, 2**k)), -step * (Fraction(1, 2) - Fraction(1, 2**k))
    left = Runs("float64", [(1, half), ((x, lower), half // 2)])
    return left, left[1:]


def run(console: Console) -> None:
    console.print(
        "\n[bold]One record should move a bounded sum by at most its ideal sensitivity.[/bold]\n"
        "These neighbouring datasets move an ordinary float64 sum by far more.\n"
    )
    for name, pair, relation in (
        ("One rounding", rounding_pair(), Relation.HAMMING),
        ("Repeated rounding", repeated_rounding_pair(), Relation.INSERT_DELETE),
    ):
        console.print(_compared(name, *pair, relation))
    console.print(
        "The datasets are kept as runs: 2^30 records take a few hundred bytes, and every addition is really done.\n"
    )
    pay = np.random.default_rng(7).lognormal(10.5, 0.5, 100_000)
    console.print(
        "[bold]A private sum is one line[/bold], and says what it promises:\n\n"
        "  >>> ss.sum(pay, lower=0, upper=200_000, epsilon=1)\n"
        f"  {private_sum(pay, lower=0, upper=200_000, epsilon=1)!r}\n\n"
        "soundsum plan shows what every way to add would cost, soundsum verify checks the bounds exhaustively.\n"
    )


def _compared(name: str, left: Runs, right: Runs, relation: Relation) -> Table:
    began = time.perf_counter()
    values = [Fraction(x) for x in {**left.counts(), **right.counts()}]
    lower, upper = min(values), max(values)
    ideal = upper - lower if relation.sized else max(abs(lower), abs(upper))
    sums = [Fraction(float_sum("iterated", data, lower, upper)) for data in (left, right)]
    plain = abs(sums[0] - sums[1])
    grid = power_of_two_grid(float64, lower, upper, relation.sized)
    ours = abs(grid.value(grid_sum(left, grid)) - grid.value(grid_sum(right, grid)))
    table = Table(box=None, pad_edge=False, show_header=False, title=f"[bold]{name}[/bold]", title_justify="left")
    table.add_row(
        "  records", f"{left.size:,} and {right.size:,}, at {relation} distance {relation.distance(left, right)}"
    )
    table.add_row("  ideal sensitivity", _power(ideal))
    table.add_row("  plain float64 sum moves by", f"[red]{_power(plain)}[/red], {plain / ideal} times the ideal")
    table.add_row("  soundsum's grid sum moves by", f"[green]{_power(ours)}[/green]")
    table.add_row("  computed in", f"{time.perf_counter() - began:.1f} s\n")
    return table


def _power(x: Fraction) -> str:
    """Powers of two as such, other numbers as they are."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return f"2^{exponent}" if x == Fraction(2) ** exponent and abs(exponent) > 6 else f"{x}"
