"""The errata beyond sums in one arithmetic: floats as integers, statistics, libraries and relations."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor

from soundsum.arithmetic import models
from soundsum.arithmetic.grids import stepped_grid
from soundsum.arithmetic.numbers import IntType, int8
from soundsum.arithmetic.rationals import round_half_even
from soundsum.attacks import attack
from soundsum.data.relations import Relation
from soundsum.data.runs import Runs
from soundsum.reproduce.counts import corrected_edge, printed_edge
from soundsum.reproduce.errata import of_floats, of_integers
from soundsum.reproduce.libraries import numpy_sum
from soundsum.reproduce.matrix import reordered_blocks
from soundsum.reproduce.mechanisms import exponential
from soundsum.reproduce.results import Check, Erratum


def errata() -> Iterator[Erratum]:
    yield from of_floats()
    yield from of_integers()
    yield from of_grids()
    yield from of_libraries()
    yield from of_relations()


def of_grids() -> Iterator[Erratum]:
    U, D = Fraction(26, 10), Fraction(1)
    clamped = stepped_grid(-U, U, D, sized=False)
    yield Erratum(
        "K in the introduction",
        "sec:sols2",
        "K = floor(U/D) with rounding to nearest",
        "the integers clamped to [-K, K], or K = ceil(U/D)",
        Check(round_half_even(U / D), "<=", floor(U / D)),
        Check(max(clamped.integer(U) - floor(U / D), round_half_even(U / D) - ceil(U / D)), "<=", 0),
        label="grid-k",
    )
    x = Fraction(9, 10)
    part = x - floor(x)
    yield Erratum(
        "randomised rounding",
        "defn:rand-round-to-nearest-int",
        "down with probability x - floor(x), mean x",
        "up with probability x - floor(x)",
        Check(floor(x) * part + (floor(x) + 1) * (1 - part), "=", x),
        Check(floor(x) * (1 - part) + (floor(x) + 1) * part, "=", x),
        label="randomised-rounding",
    )
    n = 100
    grid = stepped_grid(Fraction(0), Fraction(10), D, sized=True)
    data = [Fraction(5, 2)] * n
    error = abs(grid.value(int(models.wide().sum(map(grid.integer, data))), n) - sum(data))
    yield Erratum(
        "the last accuracy theorem",
        "sec:floats2ints",
        "an error of at most D/n^k, the offset being 0",
        "at most D n/2",
        Check(error, "<=", D / n),
        Check(error, "<=", D * n / 2),
        label="accuracy",
    )
    most, m, one = 1000, 32, Fraction(1)
    yield Erratum(
        "D for private n",
        "thrm:overflow-unlikely",
        "(U - M) n_max/2^m fits m bits",
        "(U - L) n_max/(2^(m-2) - n_max)",
        Check(most * round(one / (one * most / 2**m)), "<=", IntType(m).max),
        Check(most * round(one / (one * most / (2 ** (m - 2) - most))), "<=", IntType(m).max),
        label="grid-d",
    )


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
    second = attack("repeated_rounding_2", "float32", relation="insert_delete", j=16, upper=1)
    appended = second.right + Runs("float32", [(0, 1)])  # as the paper does for a public size
    first = attack("repeated_rounding_1", "float32", relation="change_one", j=1)
    moved = max(
        abs(numpy_sum(left, problem) - numpy_sum(right, problem)) / problem.spread
        for left, right, problem in (
            (second.left, appended, second.problem),
            (first.left, first.right, first.problem),
        )
    )
    yield Erratum(
        "repeated rounding on diffprivlib",
        "sec:attacks",
        "the paper's datasets move np.sum by more than U - L",
        "by no more, as measured (float32: I with 2^23 + 2 records, II with 2^16); others may do",
        Check(moved, ">", 1),
        Check(moved, "<=", 1),
        label="diffprivlib-rounding",
    )
    swapped = attack("reordering", "float32", relation="change_one", a=8, d=8, j=0)
    ratio = abs(numpy_sum(swapped.left, swapped.problem) - numpy_sum(swapped.right, swapped.problem)) / swapped.ideal
    yield Erratum(
        "reordering on diffprivlib",
        "sec:attacks",
        "the paper's datasets move np.sum by more than U - L",
        "others do, reordered inside its blocks of 128 (shown with k = 8)",
        Check(ratio, ">", 1),
        Check(reordered_blocks(), ">", 1),
        label="diffprivlib-reordering",
    )


def of_relations() -> Iterator[Erratum]:
    """Statements whose proofs assume more than they say; docs/lemmas.md has the mended ones."""
    add = models.saturating(int8)
    u, v = [127, 127, -1], [-1, 127, 127]
    yield Erratum(
        "group privacy at distance 0",
        "thrm:apply-path-prop",
        "sums at symmetric distance 0 are equal",
        "their multisets are; a sum that depends on the order needs its own bound",
        Check(abs(int(add.sum(u)) - int(add.sum(v))), "<=", int(Relation.SYMMETRIC.distance(u, v))),
        Check(abs(int(models.wide().sum(u)) - int(models.wide().sum(v))), "<=", 0),
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
