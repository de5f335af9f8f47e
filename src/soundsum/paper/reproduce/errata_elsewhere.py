"""The errata beyond sums: statistics and relations; and all errata, each with the words it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

from soundsum.paper.reproduce.counts import corrected_edge, printed_edge
from soundsum.paper.reproduce.errata import of_floats
from soundsum.paper.reproduce.errata_grids import of_grids
from soundsum.paper.reproduce.errata_integers import of_integers
from soundsum.paper.reproduce.mechanisms import exponential
from soundsum.paper.reproduce.printed import PRINTED
from soundsum.paper.reproduce.reproduction import Check, Erratum
from soundsum.tables.relations import Relation


def errata() -> Iterator[Erratum]:
    """All of them, each with the words it is about."""
    for of in (of_floats, of_grids, of_integers, of_libraries, of_relations):
        for erratum in of():
            yield replace(erratum, **PRINTED[erratum.label]._asdict())


def of_libraries() -> Iterator[Erratum]:
    p, e = Decimal("0.1"), exponential(Fraction(1, 2))
    yield Erratum(
        "the constraint of the likelihood",
        "fig:ibm-ham-round",
        "1 - p_v <= e^eps p_u, which p_u = p_v = 0.1 should meet",
        "1 - p_v <= e^eps (1 - p_u)",
        Check(printed_edge(p, e), "<=", p),
        Check(corrected_edge(p, e), "<=", p),
        label="likelihood",
    )


def of_relations() -> Iterator[Erratum]:
    """Statements whose proofs assume more than they say; docs/theorems/lemmas.md has the mended ones."""
    u, v = [127, 127, -1], [-1, 127, 127]
    yield Erratum(
        "the path property at distance 0",
        "lemma:metrics-path-prop",
        "a path of d(u, v) steps leads from u to v: of 0 steps, at distance 0",
        "one step more does, as two orders of the same records are at distance 0",
        Check(int(u != v), "<=", int(Relation.SYMMETRIC.distance(u, v))),
        Check(int(u != v), "<=", int(Relation.SYMMETRIC.distance(u, v)) + 1),
        label="group-privacy",
    )
    one_length, every_length = (
        [data for n in sizes for data in product((0, 1), repeat=n)] for sizes in ([2], [1, 2, 3])
    )
    yield Erratum(
        "conversions of sensitivities",
        "thm:dsymtoid",
        "change-one at most twice symmetric, for sums of one length too",
        "for sums of datasets of every length",
        Check(_sensitivity(one_length, Relation.CHANGE_ONE), "<=", 2 * _sensitivity(one_length, Relation.SYMMETRIC)),
        Check(
            _sensitivity(every_length, Relation.CHANGE_ONE), "<=", 2 * _sensitivity(every_length, Relation.SYMMETRIC)
        ),
        label="conversions",
    )
    u, v = [1, 2, 3], [2, 3, 4]
    yield Erratum(
        "the coupling for public n",
        "cor:coupling-known-n",
        "insert-delete distance 2 gives Hamming distance 1",
        "change-one distance 1, and so a permutation at Hamming distance 1",
        Check(int(Relation.HAMMING.distance(u, v)), "<=", 1),
        Check(int(Relation.CHANGE_ONE.distance(u, v)), "<=", 1),
        label="coupling",
    )
    u, v, n = [0, 1], [1, 0, 1], 2
    yield Erratum(
        "truncated neighbours",
        "thrm:ideal-trunc-sens",
        "are Hamming neighbours",
        "are change-one neighbours",
        Check(int(Relation.HAMMING.distance(u[:n], v[:n])), "<=", 1),
        Check(int(Relation.CHANGE_ONE.distance(u[:n], v[:n])), "<=", 1),
        label="truncated-neighbours",
    )


def _sensitivity(datasets: list[tuple[int, ...]], relation: Relation) -> int:
    """The largest difference of the sums of two neighbours among these."""
    return max(abs(sum(u) - sum(v)) for u in datasets for v in datasets if relation.distance(u, v) <= 1)
