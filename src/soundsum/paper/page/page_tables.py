"""A reproduction as rows of words, ready for the page's template to lay out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from soundsum.numbers.formatting import chance, rough, text
from soundsum.paper.reproduce import Cell, Experiment, Section, SideBySide
from soundsum.paper.reproduce.reproduction import Check, EventCount

ON = " on "
"""Between an attack and a library, in the statements of the matrix."""


@dataclass(frozen=True)
class CellRow:
    """A cell: the statement, its circumstances, and both numbers with the sign between them."""

    verdict: str
    what: str
    details: tuple[str, ...]
    printed: str
    found: str
    corrected: str
    also: tuple[tuple[str, str], ...]
    reference: str


def cell_row(cell: Cell) -> CellRow:
    return CellRow(
        cell.verdict.value,
        cell.what,
        tuple(part for part in (cell.at, cell.note) if part),
        with_sign(cell.sign, text(cell.printed)),
        text(cell.found),
        "" if cell.corrected is None else with_sign(cell.sign, text(cell.corrected)),
        tuple((name, text(value)) for name, value in cell.also),
        cell.reference,
    )


def by_reference(cells: Iterable[Cell]) -> list[tuple[str, list[CellRow]]]:
    """The rows of cells in order, grouped by their reference in the paper."""
    return [(reference, list(rows)) for reference, rows in groupby(map(cell_row, cells), key=lambda row: row.reference)]


def with_sign(sign: str, words: str) -> str:
    """A number with its relation in front, except equality.

    >>> with_sign("<=", "2"), with_sign("=", "2")
    ('≤ 2', '2')
    """
    return words if sign == "=" else f"{ {'<=': '≤', '>=': '≥'}.get(sign, sign) } {words}"


def describe_check(check: Check) -> str:
    """Render the computed value and how it compares with the stated one.

    >>> describe_check(Check(8, "<=", 2)), describe_check(Check(1, "<=", 2)), describe_check(Check(0, "=", 3))
    ('8, not ≤ 2', '1 ≤ 2', '0, not 3')
    """
    found, stated = text(check.found), with_sign(check.sign, text(check.stated))
    if not check.holds:
        return f"{found}, not {stated}"
    return found if check.sign == "=" else f"{found} {stated}"


@dataclass(frozen=True)
class Matrix:
    """A table of attacks by libraries, with a cell for each pair that the paper mentions."""

    attacks: tuple[str, ...]
    libraries: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]


def matrix(section: Section) -> Matrix:
    """The statements "attack on library" as a grid, in the order they come in."""
    cells = {}
    for cell in section.cells:
        attack, _, library = cell.what.partition(ON)
        cells[attack, library] = cell
    return Matrix(
        tuple(dict.fromkeys(attack for attack, _ in cells)),
        tuple(dict.fromkeys(library for _, library in cells)),
        cells,
    )


@dataclass(frozen=True)
class CountRow:
    """The truth, and how often "left" and "right" were guessed: in the paper, in a new simulation, and by the model."""

    truth: str
    verdict: str
    printed: tuple[str, str]
    drawn: tuple[str, str]
    chance: str
    interval: str


def count_rows(experiment: Experiment) -> tuple[CountRow, ...]:
    def row(truth: str, count: EventCount) -> CountRow:
        printed = ("–", "–")
        verdict = ""
        if count.printed is not None:
            printed = f"{count.printed:,}", f"{experiment.runs - count.printed:,}"
            verdict = "matches" if count.inside else "differs"
        drawn = f"{count.simulated:,}", f"{experiment.runs - count.simulated:,}"
        return CountRow(
            truth, verdict, printed, drawn, chance(count.probability), f"{count.lowest:,} to {count.highest:,}"
        )

    return row("left", experiment.left), row("right", experiment.right)


@dataclass(frozen=True)
class TrialRow:
    """One mechanism on a pair of neighbours."""

    mechanism: str
    apart: str
    left: str
    right: str
    p_value: str
    told: bool


def trial_rows(pair: SideBySide) -> tuple[TrialRow, ...]:
    return tuple(
        TrialRow(
            trial.mechanism,
            text(abs(sums[0] - sums[1]) / pair.ideal),
            f"{trial.left:,}",
            f"{trial.right:,}",
            rough(trial.p_value),
            trial.distinguished,
        )
        for trial, sums in ((pair.naive, pair.sums), (pair.release, pair.ours))
    )
