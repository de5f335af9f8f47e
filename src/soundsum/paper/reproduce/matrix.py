"""The table of attacks and libraries (`sec:attacks`), decided by the models: by the privacy loss of one threshold.

An attack works on a model if the guess alone has a larger privacy loss than epsilon. The datasets are the paper's;
where they fail because the library adds in another order, a note names datasets that work.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from soundsum.attacks import Attack, attack
from soundsum.numbers.models import numpy_pairwise
from soundsum.numbers.types import FloatType, float64
from soundsum.paper.reproduce import libraries
from soundsum.paper.reproduce.experiments import HALF, of_floats
from soundsum.paper.reproduce.libraries import (
    AIRAVAT,
    CHORUS,
    DIFFPRIVLIB,
    GOOGLE,
    GOOGLE_MEAN,
    OPACUS,
    OPENDP,
    PINQ,
    PaperLibrary,
    Scaled,
)
from soundsum.paper.reproduce.mechanisms import IntegerLaplace, Mechanism
from soundsum.paper.reproduce.reproduction import Cell, privacy_loss
from soundsum.tables.runs import Runs

WORKS, DOES_NOT = "works", "does not"

MOST_LOSS = HALF + Fraction(1, 10**40)
"""Epsilon plus the error of 50 digits: a sum that moves by the ideal loses exactly epsilon."""

CLAIMED: dict[str, tuple[PaperLibrary, ...]] = {
    "overflow": (DIFFPRIVLIB,),
    "rounding": (GOOGLE, DIFFPRIVLIB, OPENDP, CHORUS),
    "repeated rounding 1": (GOOGLE, DIFFPRIVLIB, OPENDP, CHORUS, PINQ),
    "repeated rounding 2": (GOOGLE, DIFFPRIVLIB, OPENDP, CHORUS, PINQ),
    "reordering": (GOOGLE, DIFFPRIVLIB, OPENDP, CHORUS, PINQ),
}
"""Attacks that the paper says work ("our repeated rounding attacks": both)."""

DENIED: dict[str, tuple[PaperLibrary, ...]] = {"overflow": (GOOGLE, OPENDP)}
"""Attacks that it says fail: only diffprivlib was susceptible to overflow. The sums of Chorus and PINQ are taken
as exact here, so their immunity is not a result; where the paper is silent, there is no figure to match.
"""

IN_ORDER = ("repeated rounding 1", "repeated rounding 2", "reordering")
"""Attacks whose datasets are made for sums in order. diffprivlib adds with np.sum, where their effect is measured;
other datasets may do better.
"""

LIBRARIES = (GOOGLE, DIFFPRIVLIB, OPENDP, CHORUS, PINQ)

PAIRWISE = "np.sum adds in blocks and pairs: datasets made for sums in order are measured to move it less; others may"


def matrix(full: bool = False) -> Iterator[Cell]:
    yield from (_overflow(library) for library in LIBRARIES)
    for name in ("rounding", "repeated rounding 1", "repeated rounding 2", "reordering"):
        yield from (_floats(name, library, full) for library in LIBRARIES)


def underestimates() -> Iterator[Cell]:
    """1.4: the libraries that scale their noise to the idealised sensitivity."""
    yield from map(_underestimated, (GOOGLE, OPENDP, OPACUS, AIRAVAT, DIFFPRIVLIB, GOOGLE_MEAN, CHORUS))


def _underestimated(library: Scaled) -> Cell:
    """By how much, on one pair of datasets."""
    if library.sized:
        pair = attack("rounding", dtype="float64", relation="hamming", j=5, m=-1)
    else:
        pair = attack("repeated_rounding_2", dtype="float32", relation="insert_delete", j=16, upper=1)
    left, right = (library.total(side, pair.problem) for side in (pair.left, pair.right))
    return Cell(
        f"{library.name}: a sum moves by more than the sensitivity it takes",
        "sec:ideal-sens-libraries",
        1,
        abs(left - right) / library.sensitivity(pair.problem),
        ">",
        at=f"{pair.problem.dtype}, n = {pair.records:,}, {pair.problem.relation}",
        note=f"adds {library.adds}; {library.noise}",
    )


def _cell(name: str, library: PaperLibrary, works: bool, at: str, ratio: Fraction, note: str = "") -> Cell:
    pairwise = library is DIFFPRIVLIB and name in IN_ORDER
    printed = WORKS if library in CLAIMED[name] and not pairwise else DOES_NOT
    also = (("reordered inside blocks of 128, k = 8", reordered_blocks()),) if pairwise and name == "reordering" else ()
    silent = library not in CLAIMED[name] and library not in DENIED.get(name, ())
    return Cell(
        f"{name} on {library.name}",
        "sec:attacks",
        printed,
        WORKS if works else DOES_NOT,
        at=at,
        note=note or (PAIRWISE if pairwise else ""),
        also=(("difference / ideal", ratio), *also),
        ours=pairwise or silent,
    )


def _overflow(library: PaperLibrary) -> Cell:
    """Integers, in the library's own arithmetic."""
    dtype, most = ("int32", 2**24) if library is DIFFPRIVLIB else ("int64", 2**47)
    pair = attack("overflow", dtype=dtype, relation="insert_delete", upper=most)
    lower, upper = int(pair.problem.lower), int(pair.problem.upper)
    n = pair.records
    kind = "modular" if library in (DIFFPRIVLIB, GOOGLE) else "saturating" if library is OPENDP else "wide"
    left, right = (Fraction(x) for x in pair.sums(kind))
    if library is DIFFPRIVLIB:
        left, right = (libraries.numpy_int32_sum(side, pair.problem) for side in (pair.left, pair.right))
        mechanism: Mechanism = libraries.diffprivlib_integers(lower, upper, n, HALF)
        note = "np.sum with dtype=int32 wraps, its noise does not"
    else:
        mechanism = libraries.google_integers(upper, HALF) if library is GOOGLE else IntegerLaplace(upper / HALF)
        note = {
            GOOGLE.name: "sum and noise both wrap, which is private (theorem on modular noise)",
            OPENDP.name: "integers saturate, or are refused where a public size could overflow",
            CHORUS.name: "taken as exact: databases widen or raise",
            PINQ.name: "taken as exact: it sums doubles, which do not wrap",
        }[library.name]
    loss = _loss(mechanism, (left, right), (left + right) / 2, left, right, Fraction(0))
    return _cell("overflow", library, loss > MOST_LOSS, f"n = {n:,}", abs(left - right) / pair.ideal, note)


def _floats(name: str, library: PaperLibrary, full: bool) -> Cell:
    pair, v = _pair(name, library, full)
    used = GOOGLE_MEAN if library is GOOGLE and name == "rounding" else library
    setup = of_floats(name, "sec:attacks", used, pair, HALF, 1, v)
    # A mean lies between the bounds, which here are neighbouring floats: it is either of them.
    thresholds = [pair.problem.lower] if used is GOOGLE_MEAN else [setup.threshold, *setup.sums]
    loss = _loss(setup.mechanism, setup.sums, *thresholds)
    ratio = abs(setup.sums[0] - setup.sums[1]) / setup.ideal
    note = "through the mean, as its sum has no public size" if used is GOOGLE_MEAN else ""
    if library is PINQ and name == "rounding":
        note = "not on the paper's list: noise for a private size hides one rounding"
    of_arrays = library is DIFFPRIVLIB and name == "repeated rounding 2"
    smaller = name == "repeated rounding 1" or (name != "rounding" and (not full or of_arrays))
    at = f"{pair.problem.dtype}, n = {setup.u.size:,}" + (
        "; smaller than the paper's, by the same theorem" if smaller else ""
    )
    return _cell(name, library, loss > MOST_LOSS, at, ratio, note)


def _loss(mechanism: Mechanism, sums: tuple[Fraction, Fraction], *thresholds: Fraction) -> Fraction:
    """The largest privacy loss of a guess by one of the thresholds."""
    return max(Fraction(privacy_loss(*(mechanism.above(total, t) for total in sums))) for t in thresholds)


def _pair(name: str, library: PaperLibrary, full: bool) -> tuple[Attack, Runs | None]:
    sized = "change_one" if library.sized else None
    if name == "rounding":
        return attack("rounding", dtype="float64", relation="hamming", j=7 if library is GOOGLE else 5, m=-1), None
    if name == "repeated rounding 1":  # of doubles it has 2^53 records and more; of 32-bit floats 2^23 do
        return attack("repeated_rounding_1", dtype="float32", relation=sized or "insert_delete", j=2), None
    if name == "repeated rounding 2":
        # np.sum needs an array, which 2^28 doubles would make too large; for it, and without `full`, 32-bit floats.
        small = not full or library is DIFFPRIVLIB
        pair = attack(
            "repeated_rounding_2",
            dtype="float32" if small else "float64",
            relation="insert_delete",
            j=16 if small else 28,
            upper=1,
        )
        return pair, pair.right + Runs(pair.left.type, [(0, 1)]) if sized else None
    if full and library is not DIFFPRIVLIB:
        return attack("reordering", dtype="float64", relation=sized or "symmetric", a=26, d=26, j=-26), None
    a, d = (0, 1) if full else (8, 8)
    return attack("reordering", dtype="float32", relation=sized or "symmetric", a=a, d=d, j=-d), None


def reordered_blocks(blocks: int = 8, k: int = 8) -> Fraction:
    """The change of np.sum by a reordering made for it, over U: inside its blocks of 128, every eighth in order.

    Eight large records before or after the 120 small ones of each block: after a large one every small one is lost.
    The ratio grows with the number of blocks; on a float type with k mantissa bits 2^(k-6) of them give 1.
    """
    kind = FloatType(k, float64.l)
    small, large = [Fraction(1)] * 120, [Fraction(2 ** (k + 1))] * 8
    add = numpy_pairwise(kind)
    sums = [Fraction(add.sum(block * blocks)) for block in (small + large, large + small)]
    return abs(sums[0] - sums[1]) / large[0]
