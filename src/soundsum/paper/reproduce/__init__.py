"""The reproduction: the paper's tables, attacks and experiments recomputed and compared with the printed figures.

`reproduce` returns frozen data with a verdict for every cell: it matches, is an erratum, or differs. `libraries` models
other libraries at the paper's time; the auditor tests the real ones. See docs/paper/reproduction.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from soundsum.numbers.quoting import quote
from soundsum.pages.draw import Plot
from soundsum.paper.reproduce import bounds, example_attacks, experiments, matrix, series, side_by_side
from soundsum.paper.reproduce.errata import errata
from soundsum.paper.reproduce.reproduction import (
    Agreement,
    Cell,
    Erratum,
    Experiment,
    Reproduction,
    Section,
    SideBySide,
)
from soundsum.refusals import Reason, RefusedValue

__all__ = [
    "SECTIONS",
    "Agreement",
    "Cell",
    "Draft",
    "Erratum",
    "Experiment",
    "Plot",
    "Reproduction",
    "Section",
    "SideBySide",
    "reproduce",
]


@dataclass(frozen=True)
class Draft:
    """A section in the making; `make` gets `full`."""

    title: str
    make: Callable[[bool], Section]


def _cells(name: str, make: Callable[[bool], Iterable[Cell]]) -> Callable[[bool], Section]:
    return lambda full: Section(name, "", cells=tuple(make(full)))


SECTIONS: dict[str, Draft] = {
    "lower": Draft("Table 1: lower bounds, measured", _cells("lower", lambda full: bounds.lower_bounds())),
    "upper": Draft("Table 2: upper bounds, recomputed", _cells("upper", lambda full: bounds.upper_bounds())),
    "verified": Draft(
        "Table 2: its bounds checked exhaustively", _cells("verified", lambda full: bounds.verify_bounds())
    ),
    "roadmap": Draft("1.9: the roadmap's figures", _cells("roadmap", lambda full: bounds.roadmap())),
    "examples": Draft("The numbered Example Attacks", _cells("examples", example_attacks.examples)),
    "matrix": Draft("1.7: which attack works on which library", _cells("matrix", matrix.matrix)),
    "underestimates": Draft(
        "1.4: libraries that take the idealised sensitivity",
        _cells("underestimates", lambda _: matrix.underestimates()),
    ),
    "libraries": Draft(
        "5.7: the attacks on libraries, as models",
        lambda full: Section("libraries", "", experiments=tuple(experiments.experiments())),
    ),
    "errata": Draft("Errata", lambda full: Section("errata", "", errata=tuple(errata()))),
    "ours": Draft(
        "The same neighbours, through ss.sum",
        lambda full: Section("ours", "", side_by_side=tuple(side_by_side.compare_all(full))),
    ),
    "plots": Draft("Series to plot", lambda full: Section("plots", "", plots=series.plots(full))),
}
"""The sections by name, in the order they run."""


def _one(errata: tuple[Erratum, ...], label: str) -> tuple[Erratum, ...]:
    found = tuple(erratum for erratum in errata if erratum.label == label)
    if not found:
        raise RefusedValue(
            "only",
            Reason.UNKNOWN,
            "there is no erratum {given}",
            "the labels are {known}",
            given=quote(label),
            known=", ".join(erratum.label for erratum in errata),
        )
    return found


def reproduce(
    full: bool = False, only: Iterable[str] | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Reproduction:
    """Compute every section, or only those named; `progress` is told which begins, and how many are done of how many.

    One erratum alone is `errata:LABEL`.

    >>> reproduce(only=["roadmap"]).tally
    {'matches': 3, 'erratum': 1, 'differs': 0, 'checked': 0}
    """
    wanted = list(SECTIONS) if only is None else list(only)
    for name in wanted:
        if name not in SECTIONS and not name.startswith("errata:"):
            raise RefusedValue(
                "only",
                Reason.UNKNOWN,
                "there is no section {given}",
                "the sections are {known}, or errata:LABEL",
                given=quote(name),
                known=", ".join(SECTIONS),
            )
    began, made = time.monotonic(), []
    for done, wish in enumerate(wanted):
        name, _, label = wish.partition(":")
        if progress is not None:
            progress(SECTIONS[name].title, done, len(wanted))
        start = time.monotonic()
        section = SECTIONS[name].make(full)
        if label:
            section = replace(section, errata=_one(section.errata, label))
        made.append(replace(section, title=SECTIONS[name].title, seconds=time.monotonic() - start))
    return Reproduction(full, tuple(made), time.monotonic() - began)
