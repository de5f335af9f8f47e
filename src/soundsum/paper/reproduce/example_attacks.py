"""Every numbered Example Attack of the paper, summed over its runs: the exact difference beside the printed one.

With `full` each has its full size, up to 2^30 records. Without, an example of over 2^25 records is replaced by the same
theorem with smaller parameters, whose difference the paper does not print.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from soundsum.attacks import Attack, attack, mironov
from soundsum.attacks import examples as numbered
from soundsum.kernels import float_sum
from soundsum.paper.reproduce.reproduction import Cell
from soundsum.tables.relations import Relation

MOST_QUICK = 1 << 25

SIZES = {
    "ea:modular-sum": 2**17 + 1,
    "ea:saturation": 393_216,
    "ea:32-nonassoc": 2**24 + 2**23,
    "ea:64-nonassoc": 2**28,
    "ea:ham-round-once": 17,
    "ea:32-ham-round-accum": 15 * 2**23 + 2,
    "ea:rr2": 2**30,
}
"""The numbers of records in the paper (for `ea:saturation`, the value of its formula)."""

SMALLER: dict[str, dict[str, Any]] = {
    "ea:64-nonassoc": {"dtype": "float32", "a": 11, "d": 11, "j": -11},
    "ea:32-ham-round-accum": {"dtype": "bfloat16", "j": 7, "m": 0},
    "ea:rr2": {"dtype": "float32", "j": 16, "upper": 1},
}
"""Examples of the theorems on narrower types."""

IDEALS: dict[str, dict[Relation, int | Fraction]] = {
    "ea:modular-sum": {Relation.HAMMING: 2**47},
    "ea:saturation": {},
    "ea:32-nonassoc": {Relation.CHANGE_ONE: 1, Relation.SYMMETRIC: 2},
    "ea:64-nonassoc": {Relation.CHANGE_ONE: 1 - Fraction(1, 2**26), Relation.SYMMETRIC: 2},
    "ea:ham-round-once": {Relation.HAMMING: Fraction(1, 2**53)},
    "ea:32-ham-round-accum": {Relation.INSERT_DELETE: 2**23},
    "ea:rr2": {Relation.INSERT_DELETE: 1},
}
"""The idealised sensitivities the paper prints, by relation; for saturation it prints distance 0."""

CORRECTED_IDEALS = {("ea:64-nonassoc", Relation.SYMMETRIC): 1}


def examples(full: bool = False) -> Iterator[Cell]:
    for example in numbered():
        pair: Attack = example.attack
        yield Cell("records", example.label, SIZES[example.label], pair.records)
        problem = pair.problem
        for relation, ideal in IDEALS[example.label].items():
            corrected = CORRECTED_IDEALS.get((example.label, relation))
            yield Cell(
                "idealised sensitivity",
                example.label,
                ideal,
                problem.spread if relation.sized else problem.magnitude,
                corrected=corrected,
                at=str(relation),
                erratum="" if corrected is None else "reordering-ideal",
            )
        if example.label == "ea:saturation":
            yield Cell("distance of the datasets", example.label, 0, int(pair.distance), at=str(problem.relation))
        smaller = not full and pair.records > MOST_QUICK
        if smaller:
            pair = attack(pair.name, relation=pair.problem.relation, **SMALLER[example.label])
        moved, expected = Fraction(pair.measure()), Fraction(example.printed)
        if smaller:
            assert pair.predicted is not None
            expected = pair.predicted
        scale = f"; smaller than the paper's {SIZES[example.label]:,}, by the same theorem" if smaller else ""
        yield Cell(
            "difference of the sums",
            example.label,
            expected,
            moved,
            at=f"{pair.problem.dtype}, {pair.records:,} records{scale}",
            also=(("difference / ideal", moved / pair.ideal),),
            ours=smaller,
        )
    if full:
        yield _mironov()


def _mironov() -> Cell:
    pair = mironov()
    lower, upper = min(pair.left.counts()), max(pair.left.counts())
    sums = [Fraction(float_sum("iterated", side, lower, upper)) for side in (pair.left, pair.right)]
    return Cell(
        "difference of Mironov's datasets",
        "sec:prior",
        129,
        abs(sums[0] - sums[1]),
        at=f"{pair.left.size:,} records",
        note="no attack yet: the bounds are over 2^30 apart",
    )
