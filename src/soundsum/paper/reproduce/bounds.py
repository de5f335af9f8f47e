"""The tables of bounds: lower ones measured on the attacks' datasets, upper ones recomputed by plan and verified.

Table 1 (`table:lowerbounds`) is met by kernels that really add; Table 2 (`table:upperbounds`) prints orders of growth,
so each is compared with how the bound that plan proves grows with n. Exhaustive figures are those of `verify` on
the smallest types. The roadmap's figures (`sec:roadmap`) follow from `plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import isqrt

from soundsum.attacks import Attack, attack
from soundsum.kernels.sums import QUAD
from soundsum.methods import Iterated
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import Number, text
from soundsum.numbers.models import iterated, saturating, toward_zero
from soundsum.numbers.types import FloatType, IntType, float64
from soundsum.paper.reproduce.reproduction import Cell
from soundsum.paper.verify import verify
from soundsum.releases.planning import plan
from soundsum.tables.relations import Relation

LOWER, UPPER = "table:lowerbounds", "table:upperbounds"

K, N = 12, 2**8
NARROW = FloatType(K, 8)
STEP = Fraction(N // 2, 2**K)
X, LOW = STEP * (Fraction(1, 2) + Fraction(1, 2**K)), -STEP * (Fraction(1, 2) - Fraction(1, 2**K))
PROMISED = 1 + Fraction(N**2, 2 ** (K + 3))
"""Repeated rounding 2 with U = 1 and 12 mantissa bits, where 2^8 records have the effect of 2^30 in doubles.

X and LOW are its small records x and L; PROMISED is the difference that the theorem promises.
"""


def lower_bounds() -> Iterator[Cell]:
    """Table 1."""
    rounding = attack("rounding", dtype="float64", relation="hamming", j=4, m=-1)
    yield Cell("idealised, bounded DP: U - L", LOWER, rounding.problem.spread, Fraction(rounding.measure("grid")))
    repeated = attack("repeated_rounding_2", dtype="float32", relation="insert_delete", j=16, upper=1)
    yield Cell("idealised, unbounded DP: U", LOWER, 1, Fraction(repeated.measure("grid")))
    for relation in (Relation.CHANGE_ONE, Relation.INSERT_DELETE):
        pair = attack("overflow", dtype="uint64", relation=relation, upper=2**47)
        yield _lower(f"modular, {_dp(relation)}: max(T) - min(T)", IntType(64, False).max, pair)
    for relation in (Relation.CHANGE_ONE, Relation.SYMMETRIC):
        pair = attack("saturation_reordering", dtype="int32", relation=relation, lower=-(2**14), upper=2**15)
        yield _lower(f"saturation, {_dp(relation)}: max(T) - min(T)", 2**32 - 1, pair)
    yield modular_condition()
    yield modular_without_condition()
    yield saturation_condition()
    n = rounding.records
    yield _lower(f"floats, {_dp(Relation.HAMMING)}: (n - 1)(U - L)", (n - 1) * rounding.problem.spread, rounding)
    yield rounding_condition()
    for j in (14, 16, 18):
        pair = attack("repeated_rounding_2", dtype="float32", relation="insert_delete", j=j, upper=1)
        formula = 1 + Fraction(2 ** (2 * j), 2 ** (23 + 3))
        yield _lower(f"floats, {_dp(Relation.INSERT_DELETE)}: (1 + n^2/2^(k+3)) U", formula, pair)
    condition = -Fraction(N, 2 ** (K + 3))
    yield Cell(
        "floats, unbounded DP: the condition L <= -U n/2^(k+3) is enough",
        LOWER,
        PROMISED,
        drift(alternating(condition)),
        ">=",
        at=f"k = {K}, n = {N}, L = {text(condition)}",
        note="by a tie; the theorem's own records reach nearly twice as far below 0",
    )


def _dp(relation: Relation) -> str:
    return "bounded DP" if relation.sized else "unbounded DP"


def _lower(what: str, formula: Number, pair: Attack) -> Cell:
    measured = Fraction(pair.measure())
    at = f"{pair.problem.dtype}, n = {pair.records:,}, {pair.problem.relation}, U = {text(pair.problem.upper)}"
    also = (("ideal", pair.ideal), ("measured / ideal", measured / pair.ideal))
    return Cell(what, LOWER, formula, measured, ">=", at=at, also=also)


def largest_modular_change(lower: int, upper: int, n: int = 8) -> int:
    """The largest change of a sum modulo 16 of n unsigned 4-bit integers in [lower, upper], one of them changed."""
    kind = IntType(4, signed=False)
    records = range(lower, upper + 1)
    totals = {sum(others) for others in combinations_with_replacement(records, n - 1)}
    return max(abs(kind.wrap(t + x) - kind.wrap(t + y)) for t in totals for x in records for y in records)


def largest_modular_step(lower: int, upper: int) -> int:
    """The largest change of any sum modulo 8 by one more unsigned 3-bit integer in [lower, upper]."""
    kind = IntType(3, signed=False)
    return max(abs(s - kind.modular_add(s, x)) for s in kind.values() for x in range(lower, upper + 1))


def modular_without_condition() -> Cell:
    """The row for private n has no condition, but records of 2 and 3 move a sum by no more than 6 of the 7."""
    kind = IntType(3, signed=False)
    return Cell(
        "modular, unbounded DP: max(T) - min(T) without a condition",
        LOWER,
        kind.max - kind.min,
        largest_modular_step(2, 3),
        ">=",
        corrected=6,
        at=f"{kind}, L = 2, U = 3, every sum and every record",
        note="the theorem has L = 0",
        erratum="modular",
    )


def modular_condition() -> Cell:
    """The table's condition n U > max(T) is not enough for public n where L > 0: every dataset may wrap alike."""
    kind, lower, upper, n = IntType(4, signed=False), 2, 3, 8
    return Cell(
        "modular, bounded DP: max(T) - min(T) whenever n U > max(T)",
        LOWER,
        kind.max - kind.min,
        largest_modular_change(lower, upper, n),
        ">=",
        corrected=upper - lower,
        at=f"{kind}, L = {lower}, U = {upper}, n = {n}, every pair of datasets",
        note="the theorem has L = 0, and every counterexample L > 0",
        erratum="modular-condition",
    )


def rounding_condition() -> Cell:
    """The table's condition U >= 2^k (U - L) is not enough: of these bounds no dataset shows n - 1."""
    kind, L, U, n = FloatType(3, 8), Fraction(1), Fraction(9, 8), 6
    assert 2**kind.k * (U - L) <= U
    add = iterated(kind)
    datasets = list(product((L, U), repeat=n))  # neighbouring floats: there are no others between them
    sums = {data: Fraction(add.sum(data)) for data in datasets}
    largest = max(abs(sums[data] - sums[(*data[:i], U, *data[i + 1 :])]) for data in datasets for i in range(n))
    return Cell(
        "floats, bounded DP: (n - 1)(U - L) whenever U >= 2^k (U - L)",
        LOWER,
        (n - 1) * (U - L),
        largest,
        ">=",
        corrected=(n - 2) * (U - L),
        at=f"{kind}, L = {L}, U = {U}, n = {n}, every pair of datasets",
        note="the theorem's own bounds do it, for n = 2^j + 1",
        erratum="rounding-condition",
    )


def saturation_condition() -> Cell:
    """The table's condition n U > max(T) is not enough for public n: no order of few records gives both ends.

    Returns the largest change-one difference over all datasets of n records from {L, .., U} on 4 bits, in all orders.
    """
    kind, lower, upper, n = IntType(4), -1, 7, 2
    add = saturating(kind)
    sums: dict[tuple[int, ...], list[int]] = {}
    for data in product(range(lower, upper + 1), repeat=n):
        sums.setdefault(tuple(sorted(data)), []).append(int(add.sum(data)))
    largest = max(
        abs(x - y)
        for one, ones in sums.items()
        for other, others in sums.items()
        if Relation.CHANGE_ONE.distance(one, other) <= 1
        for x in ones
        for y in others
    )
    return Cell(
        "saturation, bounded DP: max(T) - min(T) whenever n U > max(T)",
        LOWER,
        kind.max - kind.min,
        largest,
        ">=",
        corrected=upper - lower,
        at=f"{kind}, L = {lower}, U = {upper}, n = {n}, every pair of datasets",
        note="the theorem's own condition is n >= ceil((max - min)/|L|) + ceil((max - min)/U)",
        erratum="saturation",
    )


def upper_bounds() -> Iterator[Cell]:
    """Table 2."""
    yield from _integers()
    n, m = 2**20, 64
    public = Problem("float64", 0, 1, "change_one", size=n)
    to_ints = _upper("floats to ints: 1 + O(n sqrt(n)/2^m)", 1 + Fraction(n * isqrt(n), 2**m), "grid", public)
    yield replace(to_ints, ours=True, note="our grid, which has no such term; with the constant 1 and m = 64")
    yield toward_zero_one_sign()
    yield _upper(
        "toward zero, one sign, private n: 2", Fraction(2), "toward_zero", Problem("float64", 0, 1, "insert_delete")
    )
    signs = Problem("float64", -1, 1, "change_one", size=n)
    yield _upper("toward zero, both signs: 5", Fraction(5), "toward_zero", signs)
    for method, order in (("iterated", "n^2/2^k"), ("pairwise", "n log(n)/2^k"), ("kahan", "n/2^k")):
        yield _growth(f"{method}, public n", method, f"1 + O({order})", _public)
        yield _growth(f"{method}, private n, both signs", method, f"2 + O({order})", _private)
    repeated = attack("repeated_rounding_2", dtype="float32", relation="insert_delete", j=16, upper=1)
    iterated = plan(Problem("float32", repeated.problem.lower, 1, "insert_delete", max_size=2**16), "iterated").ratio
    yield Cell(
        "iterated: the order n^2/2^k is reached",
        UPPER,
        iterated,
        Fraction(repeated.measure()) / repeated.ideal,
        "<=",
        at="float32, n = 65,536; repeated rounding 2 against the bound",
        ours=True,
        also=(("bound / attack", iterated / Fraction(repeated.measure())),),
    )


def _integers() -> Iterator[Cell]:
    checked = Problem("int32", -5, 10, "change_one", size=1000)
    rows = (
        ("RP", "saturating", Problem("int32", -5, 10, "symmetric", max_size=1000)),
        ("ordered relations", "saturating", Problem("int32", -5, 10, "insert_delete")),
        ("checked parameters", "checked", checked),
        ("modular noise", "modular", Problem("int32", -5, 10, "symmetric")),
    )
    for name, method, problem in rows:
        yield _upper(f"integers, {name}: 1", Fraction(1), method, problem)


def _upper(what: str, formula: Fraction, method: str, problem: Problem) -> Cell:
    found = plan(problem, method)
    return Cell(what, UPPER, formula, found.ratio, "<=", at=str(problem), also=(("sensitivity", found.sensitivity),))


def _public(n: int) -> Problem:
    return Problem("float64", 0, 1, "change_one", size=n)


def _private(n: int) -> Problem:
    return Problem("float64", -1, 1, "insert_delete", max_size=n)


ORDERS: dict[str, Callable[[int], int]] = {
    "n/2^k": lambda n: n,
    "n log(n)/2^k": lambda n: n * (n.bit_length() - 1),
    "n^2/2^k": lambda n: n**2,
}
SIZES = (2**12, 2**16, 2**20, 2**24)


def _growth(what: str, method: str, printed: str, problem: Callable[[int], Problem]) -> Cell:
    """The growth of the proven ratio with n: its start, and the order for which its constant converges."""
    beyond = [plan(problem(n), method).ratio for n in SIZES]
    start = int(beyond[0])

    def constants(order: str) -> list[Fraction]:
        return [(ratio - start) * 2**float64.k / ORDERS[order](n) for ratio, n in zip(beyond, SIZES, strict=True)]

    converging = [order for order in ORDERS if abs(constants(order)[-1] / constants(order)[-2] - 1) < Fraction(1, 100)]
    found = f"{start} + O({converging[0]})" if len(converging) == 1 else "another order"
    also = tuple(
        (f"constant at n = 2^{n.bit_length() - 1}", constant)
        for order in converging
        for n, constant in zip(SIZES, constants(order), strict=True)
    )
    bounds = f"[{problem(1).lower}, {problem(1).upper}]"
    return Cell(f"{what}: {printed}", UPPER, printed, found, at=f"float64 in {bounds}, n = 2^12 to 2^24", also=also)


def toward_zero_one_sign() -> Cell:
    """The printed 2 is relative to max(|L|, |U|); relative to the ideal U - L a tiny type shows 2^(k+1)."""
    kind = FloatType(2, 4)
    L, U = Fraction(7, 8), Fraction(1)
    add = toward_zero(kind)
    moved = Fraction(add.sum([U] * 5)) - Fraction(add.sum([U] * 4 + [L]))
    return Cell(
        "toward zero, one sign, public n: min(1 + O(n/2^k), 2)",
        UPPER,
        Fraction(2),
        moved / (U - L),
        "<=",
        corrected=2 ** (kind.k + 1),
        at=f"{kind}, [{L}, {U}], n = 5",
        note="2 is relative to max(|L|, |U|), not to U - L",
        erratum="toward-zero-ratio",
        also=(("relative to max(|L|, |U|)", moved / U),),
    )


VERIFIED = ("checked", "modular", "saturating", "split", "grid", "iterated", "pairwise", "kahan", "toward_zero")


def verify_bounds() -> Iterator[Cell]:
    """The exhaustive figures: violations on the smallest types, and how close the truth comes to the claim."""
    for method in VERIFIED:
        done = verify(quick=True, only=[method], processes=1)
        sensitivities = [r for r in done.by_method() if r.relation in set(Relation)]
        closest = max((r.ratio for r in sensitivities if r.ratio is not None), default=Fraction(0))
        yield Cell(
            f"{method}: violations of its bound",
            UPPER,
            0,
            done.violations,
            at=f"{done.cases:,} cases, {done.pairs:,} pairs of states, quick run",
            also=(("largest true / claimed", closest),),
            ours=True,
        )


def roadmap() -> Iterator[Cell]:
    """1.9: how far iterated sums of doubles go, and the method that takes over beyond."""
    stated, ratio = 67_000_000, Fraction(3, 2)

    def at(n: int, method: str = "iterated") -> Fraction:
        return plan(Problem("float64", 0, 1, "insert_delete", max_size=n), method).ratio

    low, high = 1, 2**30
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) <= ratio else (low, middle)
    yield Cell(
        "iterated sums of doubles: sensitivity / U below 67 million records",
        "sec:roadmap",
        ratio,
        at(stated - 1),
        "<=",
        corrected=2,
        erratum="roadmap",
        also=(("1.5 holds up to n", low), ("ratio at 2^26", at(2**26))),
    )
    for method in ("pairwise", "kahan"):
        yield Cell(
            f"{method} sums of doubles stay below 1.5 U beyond 67 million records",
            "sec:roadmap",
            ratio,
            at(10**10, method),
            "<=",
            at="n = 10,000,000,000",
        )
    many, wide = Problem("float64", 0, 1, "insert_delete", max_size=10**12), Iterated(accumulator=QUAD)
    yield Cell(
        "a 128-bit accumulator stays below 1.5 U beyond 67 million records",
        "sec:roadmap",
        ratio,
        plan(many, wide).ratio,
        "<=",
        at="float64, n = 10^12, added with 112 mantissa bits",
    )


def drift(tail: Callable[[int], Fraction]) -> Fraction:
    """n/2 records of 1 and then n/2 small ones, against one 1 fewer: the difference of the iterated sums."""
    half, add = N // 2, iterated(NARROW)
    small = [tail(i) for i in range(half)]
    sums = [Fraction(add.sum([Fraction(1)] * ones + small)) for ones in (half, half - 1)]
    return sums[0] - sums[1]


def alternating(low: Fraction) -> Callable[[int], Fraction]:
    return lambda i: low if i % 2 else X
