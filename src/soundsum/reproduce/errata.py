"""Where the paper prints what does not hold, about sums of floats and integers: both statements computed side by side.

docs/errata.md has the words; here is the arithmetic. Each function computes from what is printed, and from what works,
and the verdict follows. Attacks of 2^30 records are shown on a type with 12 mantissa bits, where 2^8 do.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from soundsum.arithmetic import models
from soundsum.arithmetic.numbers import FloatType, IntType, float64, int8, int32
from soundsum.arithmetic.rationals import Rounding
from soundsum.attacks import attack
from soundsum.reproduce.bounds import roadmap, saturation_condition, toward_zero_one_sign
from soundsum.reproduce.drift import LOW, PROMISED, STEP, K, N, X, alternating, drift
from soundsum.reproduce.results import Cell, Check, Erratum


def of_floats() -> Iterator[Erratum]:
    data = [Fraction(x) for x in (16, -(2**57 + 32), 119, -(2**57 + 32), -128)]
    error = abs(Fraction(models.kahan(float64).sum(data)) - sum(data)) / float64.unit_roundoff
    yield Erratum(
        "Kahan's error",
        "thrm:acc-upper-bounds",
        "2 u sum|x|, up to higher orders",
        "3 u n M",
        Check(error / sum(map(abs, data)), "<=", 2),
        Check(error / (len(data) * max(map(abs, data))), "<=", 3),
        label="kahan",
    )
    plus = -STEP * (Fraction(1, 2) + Fraction(1, 2**K))
    yield Erratum(
        "the sign in repeated rounding II",
        "ea:rr2",
        "L = -(U m/2^k)(1/2 + 2^-k)",
        "L = -(U m/2^k)(1/2 - 2^-k)",
        Check(drift(alternating(plus)), "=", PROMISED),
        Check(drift(alternating(LOW)), "=", PROMISED),
        label="sign",
    )
    lower = (1 + Fraction(1, 2**49)) / 2
    yield Erratum(
        "U in the rounding attack",
        "ea:ham-round-once",
        "U = (1 + 2^-49 + 2^-53)/2",
        "U = (1 + 2^-49 + 2^-52)/2",
        Check(_rounded_apart(lower, Fraction(float64.round(lower + Fraction(1, 2**54)))), "=", Fraction(1, 2**49)),
        Check(_rounded_apart(lower, Fraction(float64.round(lower + Fraction(1, 2**53)))), "=", Fraction(1, 2**49)),
        label="rounding-upper",
    )
    yield Erratum(
        "the ideal of the reordering attack in doubles",
        "ea:64-nonassoc",
        "max(|L|, U) = 2",
        "max(|L|, U) = 1",
        Check(attack("reordering", "float64", a=26, d=26, j=-26).ideal, "=", 2),
        Check(attack("reordering", "float64", a=26, d=26, j=-26).ideal, "=", 1),
        label="reordering-ideal",
    )
    dropped = attack("reordering", "float64", a=26, d=26, j=-26, drop_last=True)
    left, right = (Fraction(x) for x in dropped.sums())
    yield Erratum(
        "its difference without the last record",
        "fig:google-attack-nonassoc-64",
        "3; 134217729.5 lies half way between the sums",
        "2; 134217729 does",
        Check((left + right) / 2, "=", Fraction("134217729.5")),
        Check((left + right) / 2, "=", 134_217_729),
        label="reordering-dropped",
    )
    yield _pairwise()
    n, U, kind = 41, Fraction(9, 8), FloatType(4, 6)
    product_ = Fraction(kind.round(Fraction(kind.round(n)) * U))
    yield Erratum(
        "the overflow check in floats",
        "sec:61floats",
        "a float product and one step up bound n U",
        "the exact product, rounded up",
        Check(Fraction(kind.next_up(product_)), ">=", n * U),
        Check(Fraction(kind.round_up(n * U)), ">=", n * U),
        label="overflow-check",
    )
    yield Erratum(
        "round toward zero",
        "defn:roundto0",
        "the nearest z with |z| < |x|",
        "the nearest z with |z| <= |x|",
        Check(Fraction(float64.next_down(Fraction(1))), "=", 1),
        Check(Fraction(float64.round(1, Rounding.TOWARD_ZERO)), "=", 1),
        label="toward-zero",
    )
    yield from _ratios()
    yield _pinq()


def _rounded_apart(lower: Fraction, upper: Fraction) -> Fraction:
    add = models.iterated(float64)
    return Fraction(add.sum([lower] * 16 + [upper])) - Fraction(add.sum([lower] * 17))


def _pairwise() -> Erratum:
    def bottom_up(n: int) -> models.Shape:
        nodes: list[models.Shape] = list(range(n))
        while len(nodes) > 1:
            pairs: list[models.Shape] = [(nodes[i], nodes[i + 1]) for i in range(0, len(nodes) - 1, 2)]
            nodes = pairs + nodes[len(nodes) - len(nodes) % 2 :]
        return nodes[0]

    pair = attack("rounding", "float64", j=4, m=0)
    data = [list(side) for side in (pair.left, pair.right)]
    apart = [
        Fraction(add.sum(data[0])) - Fraction(add.sum(data[1]))
        for add in (models.pairwise(float64), models.Tree(bottom_up, float64.add))
    ]
    return Erratum(
        "the rounding attack on pairwise sums",
        "rem:resist-pair",
        "works on the paper's recursion",
        "works where pairs are formed from the bottom up",
        Check(apart[0], "=", 16 * pair.ideal),
        Check(apart[1], "=", 16 * pair.ideal),
        label="pairwise",
    )


def _ratios() -> Iterator[Erratum]:
    cell = toward_zero_one_sign()
    yield Erratum(
        "toward zero, one sign, public n",
        "table:upperbounds",
        "at most 2 (U - L)",
        "at most 2 max(|L|, |U|)",
        _as_printed(cell),
        Check(dict(cell.also)["relative to max(|L|, |U|)"], "<=", 2),
        label="toward-zero-ratio",
    )
    growth = 1 + Fraction(2**60, 2**float64.k)
    yield Erratum(
        "the same in the text",
        "sec:sols2",
        "max(1 + O(n/2^k), 2), at most 2 for every n",
        "min(1 + O(n/2^k), 2)",
        Check(max(growth, Fraction(2)), "<=", 2),
        Check(min(growth, Fraction(2)), "<=", 2),
        label="toward-zero-text",
    )
    low, high, c = -1, 1, 1
    first, second = (1 + c) * max(-low, high, high - low), (2 + c) * max(-low, high)
    yield Erratum(
        "the truncated bound",
        "cor:trunc-sens",
        "the first line is at most the second",
        "max(|L|, U, U - L) + c max(|L|, U) is at most both",
        Check(first, "<=", second),
        Check(max(-low, high, high - low) + c * max(-low, high), "<=", min(first, second)),
        label="truncated-bound",
    )
    cell = next(roadmap())
    assert cell.corrected is not None
    yield Erratum(
        "iterated sums of doubles below 67 million records",
        "sec:roadmap",
        "at most 1.5 U",
        "at most 2 U",
        _as_printed(cell),
        Check(cell.found, cell.sign, cell.corrected),
        label="roadmap",
    )


def _as_printed(cell: Cell) -> Check:
    """What a cell of a table says of the print."""
    return Check(cell.found, cell.sign, cell.printed)


def _pinq() -> Erratum:
    """Rows (uid, bit): the attacked one is N/2, the later ones' bits are 0; U is 1 and the ones come before."""
    rows = [(uid, 0) for uid in range(N // 2 + 1, N + 1)]
    return Erratum(
        "the PINQ query",
        "fig:pinq-code",
        "Item2 % 2 chooses between the small values",
        "Item1 % 2, the user id, does",
        Check(drift(lambda i: X if rows[i][1] % 2 == 1 else LOW), "=", PROMISED),
        Check(drift(lambda i: X if rows[i][0] % 2 == 1 else LOW), "=", PROMISED),
        label="pinq",
    )


def of_integers() -> Iterator[Erratum]:
    kind = IntType(3, signed=False)

    def reached(records: tuple[int, ...]) -> int:
        return max(abs(s - kind.modular_add(s, x)) for s in kind.values() for x in records)

    yield Erratum(
        "modular sums of private size",
        "sec:lowerbounds",
        "2^k - 1 whenever U > L",
        "2^k - 1 with L <= 0 and U >= 1",
        Check(reached((2, 3)), "=", kind.max),
        Check(reached((0, 1)), "=", kind.max),
        label="modular",
    )
    add, few = int8.saturating_add, (-128, -1, 0, 1, 127)
    yield Erratum(
        "saturating addition is associative",
        "thrm:splitsummation",
        "for all numbers",
        "among numbers of one sign",
        Check(all(add(add(a, b), c) == add(a, add(b, c)) for a, b, c in product(few, repeat=3)), "=", True),
        Check(
            all(
                add(add(a, b), c) == add(a, add(b, c))
                for sign in (1, -1)
                for a, b, c in product([x for x in few if x * sign >= 0], repeat=3)
            ),
            "=",
            True,
        ),
        label="associative",
    )
    yield Erratum(
        "the L to disallow",
        "thrm:modular-arith-known",
        "-2^k, the least value of k bits",
        "-2^(k-1)",
        Check(int32.min, "=", -(2**32)),
        Check(int32.min, "=", -(2**31)),
        label="least",
    )
    mean = attack("rounding", "float64", j=7, m=-1).records
    yield Erratum(
        "records of the attack on Google's mean",
        "al:ibm-sized-64",
        "33 with j = 7",
        "2^7 + 1",
        Check(mean, "=", 33),
        Check(mean, "=", 2**7 + 1),
        label="google-mean",
    )
    cell = saturation_condition()
    ends = attack("saturation_reordering", "int4", lower=-1, upper=7, relation="change_one")
    yield Erratum(
        "the condition for saturation in Table 1",
        "table:lowerbounds",
        "n U > max(T) gives max(T) - min(T)",
        "n >= ceil((max - min)/|L|) + ceil((max - min)/U) does",
        _as_printed(cell),
        Check(Fraction(ends.measure()), "=", cell.printed),
        label="saturation",
    )
