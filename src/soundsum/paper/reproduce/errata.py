"""All errata, each with the words it is about; here those about sums of floats, statistics and relations.

docs/paper/errata.md explains them; here is the arithmetic. Each function computes the printed and the corrected
statement side by side, and the verdict follows. Attacks of 2^30 records are shown on a type with 12 mantissa bits,
where 2^8 are enough. PRINTED has the paper's words, with their line in its LaTeX source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import NamedTuple

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
from soundsum.paper.reproduce.counts import corrected_edge, printed_edge
from soundsum.paper.reproduce.errata_integers import of_grids, of_integers
from soundsum.paper.reproduce.mechanisms import exponential
from soundsum.paper.reproduce.reproduction import Cell, Check, Erratum
from soundsum.tables.relations import Relation


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


def _one_rounding(before: int) -> Fraction:
    """Over U - L, as 1.6 has it with Q = 1: `before` copies of L and then U, against L."""
    kind = FloatType(10, 8)
    L, U = (1 + Fraction(before + more, 2 ** (kind.k + 1)) for more in (0, 2))
    add = models.iterated(kind)
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


class Quote(NamedTuple):
    line: int
    words: str


PRINTED: dict[str, Quote] = {
    # Sums of floats
    "kahan": Quote(3190, r"(2t +O(nt^2)) \sum_{i=1}^n |v_i|"),
    "sign": Quote(2319, r"L=2^{-23}\cdot -(\frac{1}{2} + 2^{-52})"),
    "rounding-condition": Quote(683, r"$\geq (n-1) \cdot (U-L)$ & $U \geq 2^k \cdot (U-L)$"),
    "rounding-two": Quote(511, r"let $n-1$ be a power of 2 between 2 and $2^{(k+1)/2}$"),
    "rounding-upper": Quote(2179, r"$U = (1+2^{-49} + 2^{-53})/2$"),
    "reordering-ideal": Quote(2109, r"\max\{|L|,U\} = 2$"),
    "reordering-dropped": Quote(2483, r"$x\geq 134{,}217{,}729.5$"),
    "overflow-check": Quote(
        2662, r"floating-point multiplication with banker's rounding and then going to the next float"
    ),
    "toward-zero": Quote(1719, r"the floating-point value $z$ such that $|z|<|x|$"),
    "toward-zero-ratio": Quote(955, "within a small constant factor of the idealized sensitivity in all cases"),
    "truncated-bound": Quote(3261, r"&\leq \Big( 2 + \dfrac{n_{\max}^2}{2^k} \Big)\cdot \max\{|L|, U\}."),
    "roadmap": Quote(1056, r"at most $1.5 \cdot U$ for datasets of size smaller than 67 million"),
    # Floats as integers
    "randomised-rounding": Quote(3744, "maps $x$ to $y$ with probability $x-y$, and maps $x$ to $z$ otherwise"),
    "accuracy": Quote(3820, r"\leq \dfrac{D}{n^k} + \dfrac{Mn}{2^{k+1}}"),
    "accuracy-randomised": Quote(3829, r"O \Big( \dfrac{D \sqrt{n} + Mn}{2^{k+1}} \Big)"),
    "shift-exact": Quote(3764, "We see that $u_i-M$ is exactly representable as a floating-point number."),
    "overflow-room": Quote(3805, "following from the fact that $2^{m-1} - Kn > Kn$"),
    "grid-d": Quote(3856, r"$D = (U-M)\cdot n_{\max} / (2^m)$"),
    # Integers
    "modular": Quote(497, "we always get an implemented sensitivity of $2^k-1$, provided that $U>L$"),
    "overflow-size": Quote(497, r"datasets $u$ and $u'$ of size at most $n=\lceil 2^k/U\rceil$"),
    "modular-condition": Quote(666, r"Bounded DP & $\max(T)-\min(T)$ & $nU > \max(T)$"),
    "saturation": Quote(674, r"$nU > \max(T)$ \\ & & & \raisebox{0.15cm}{$U>0$ and $L<0$}"),
    "saturation-text": Quote(615, r"if $n\cdot \min\{U,-L\} \geq 2^{k+1}$"),
    "python-overflow": Quote(2845, "overflow in both Python and C++ occurs in the modular fashion"),
    "associative": Quote(2888, "Note that saturation addition is associative."),
    "least": Quote(2777, "disallowing $L=-2^k$"),
    "google-mean": Quote(2569, r"with $\len(u) = \len(v) = 33$"),
    # Elsewhere
    "likelihood": Quote(2505, r"$(1-p_v)\leq e^\varepsilon \cdot p_u$"),
    "pinq": Quote(750, "(tup.Item2 % 2 == 1) ? pos_val : neg_val)"),
    # Gaps in proofs
    "group-privacy": Quote(
        1323, r"The dataset metrics $\dsym, \dco, \dham$, and $\did$ all satisfy the path property."
    ),
    "conversions": Quote(
        1361, r"For every function $f: \mathcal{D}^n \rightarrow \mathbb{R}$, $\Delta_\mathit{CO} f \leq 2"
    ),
    "coupling": Quote(3078, r"By Theorem \ref{lemma:dhamtodid}, then, $\dham(\Pi(u), \Pi(u')) \leq 1$"),
    "truncated-neighbours": Quote(3245, r"the standard bounded sum over all pairs of datasets $u\nham u'$"),
}
"""The paper's words by the erratum's label."""
