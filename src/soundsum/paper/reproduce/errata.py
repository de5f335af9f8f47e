"""Errata about sums of floats: the printed and the corrected statement, computed side by side.

docs/paper/errata.md has the words; here is the arithmetic. Each function computes both statements; the verdict follows.
Attacks of 2^30 records are shown on a type with 12 mantissa bits, where 2^8 are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from soundsum.attacks import attack
from soundsum.numbers import models
from soundsum.numbers.rationals import Rounding
from soundsum.numbers.types import FloatType, float64
from soundsum.paper.reproduce.bounds import (
    LOW,
    PROMISED,
    STEP,
    K,
    N,
    X,
    alternating,
    drift,
    roadmap,
    rounding_condition,
    toward_zero_one_sign,
)
from soundsum.paper.reproduce.reproduction import Cell, Check, Erratum


def of_floats() -> Iterator[Erratum]:
    data = [Fraction(x) for x in (16, -(2**57 + 32), 119, -(2**57 + 32), -128)]
    error = abs(Fraction(models.kahan(float64).sum(data)) - sum(data)) / float64.unit_roundoff
    yield Erratum(
        "the constant quoted for Kahan, in one line of a proof",
        "thrm:acc-upper-bounds",
        "2 u sum|x|, up to higher orders",
        "3 u n M; the theorem's O(n/2^k) stands",
        Check(error / sum(map(abs, data)), "<=", 2),
        Check(error / (len(data) * max(map(abs, data))), "<=", 3),
        label="kahan",
    )
    plus = -STEP * (Fraction(1, 2) + Fraction(1, 2**K))
    yield Erratum(
        "the sign in repeated rounding 2",
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
    yield from _rounding_conditions()
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


def _rounding_conditions() -> Iterator[Erratum]:
    cell = rounding_condition()
    pair = attack("rounding", FloatType(5, 8), relation="hamming", j=2, m=0)
    yield Erratum(
        "the condition for rounding in Table 1",
        "table:lowerbounds",
        "U >= 2^k (U - L) gives (n - 1)(U - L)",
        "the theorem's own L, U and n do",
        _as_printed(cell),
        Check(Fraction(pair.measure()), "=", (pair.records - 1) * pair.ideal),
        label="rounding-condition",
    )
    two, four = (_one_rounding(before) for before in (2, 4))
    yield Erratum(
        "the smallest rounding attack",
        "sec:lowerbounds",
        "n - 1 may be 2",
        "n - 1 is 4 or more",
        Check(two, "=", 2),
        Check(four, "=", 4),
        label="rounding-two",
    )


def _one_rounding(before: int, k: int = 10) -> Fraction:
    """Over U - L, as 1.6 has it with Q = 1: `before` copies of L and then U, against L."""
    L, U = (1 + Fraction(before + more, 2 ** (k + 1)) for more in (0, 2))
    add = models.iterated(FloatType(k, 8))
    return (Fraction(add.sum([L] * before + [U])) - Fraction(add.sum([L] * before + [L]))) / (U - L)


def _ratios() -> Iterator[Erratum]:
    cell = toward_zero_one_sign()
    yield Erratum(
        "toward zero, one sign, public n",
        "table:upperbounds",
        "a factor of at most 2 over the ideal U - L",
        "over max(|L|, |U|)",
        _as_printed(cell),
        Check(dict(cell.also)["relative to max(|L|, |U|)"], "<=", 2),
        label="toward-zero-ratio",
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
        "the theorem gives at most 2 U",
        _as_printed(cell),
        Check(cell.found, cell.sign, cell.corrected),
        label="roadmap",
    )


def _as_printed(cell: Cell) -> Check:
    """The note on the printed value, for a table's cell."""
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
