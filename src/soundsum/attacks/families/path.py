"""The path: for any sum that returns a float, even one that is correctly rounded.

The datasets d_i = i copies of U, then n - i of L, walk from all L to all U, one record at a time. The bounds are
neighbouring floats, so the real sum moves by U - L at each step; the computed one must move through floats that are an
ulp of the *sum* apart, so some step jumps by at least that. Bisection finds one with log2(n) sums.
`ea:ham-round-once` is such a step; `rem:resist-kahan-thesis` is why no way to add helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack, as_data
from soundsum.attacks.family import FAMILIES, ORDERED_SIZED, Family, Situation, Unmet, Wish, exponent, index, whole
from soundsum.attacks.ordinary import total_by_name
from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.numbers.types import float64
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.runs import Runs

MOST_RECORDS = 1 << 40

MOST_ASKED = 1 << 20
"""The most records a target sums, unless the caller asks for more."""


def build(situation: Situation, n: int | None = None, m: int | None = None) -> Attack:
    kind = situation.floats
    n = min(2**16 + 1, _most(situation, m)) if n is None else n
    n = whole("n", n, 2, MOST_RECORDS, f"2 <= n <= {MOST_RECORDS:,}")
    if situation.bounds:
        L, U = situation.bounds
        given: dict[str, Any] = {"n": n}
        if m is not None:
            raise RefusedValue(
                "m",
                Reason.CONFLICT,
                "`m={given}`: with `bounds` the records are the bounds",
                "leave `m` out",
                given=quote(m),
            )
        if n * max(abs(L), abs(U)) > kind.max:
            raise Unmet(
                "n", n, 2, _most(situation), f"that the sums fit {kind}, which ends at {formatting.binary(kind.max)}"
            )
    else:
        lower, upper = Fraction(1), 1 + power_of_two(-kind.k)
        least, size = kind.min_exponent, ("n", n, 2)
        m = exponent(situation, "m", m, low=lower, high=upper, total=n * upper, least=least, size=size)
        L, U = lower * power_of_two(m), upper * power_of_two(m)
        given = {"n": n, "m": m}
    problem = situation.problem(L, U, n)

    def walk(i: int) -> Runs:
        return situation.runs((U, i), (L, n - i))

    def total(i: int) -> Fraction:
        data, how = walk(i), situation.target or "rounded"
        answer = how(as_data(data)) if callable(how) else total_by_name(how, data, problem, "target")
        result = exact(answer, "the target's sum")
        if is_special(result):
            raise RefusedValue(
                "target",
                Reason.NOT_A_NUMBER,
                "the sum of {n:,} records in [{lower}, {upper}] by the `target` is {result}",
                "give a smaller `n`, or a `target` that adds",
                n=n,
                lower=str(L),
                upper=str(U),
                result=str(result),
            )
        return Fraction(result)

    step, before, after = steepest(total, n)
    if before == after:
        raise RefusedValue(
            "target",
            Reason.UNSUPPORTED,
            "the sum of {n:,} records is {result}, whether they are all {lower} or all {upper}, so no step moves it",
            "give a `target` that adds, more records or wider bounds",
            n=n,
            result=str(before),
            lower=str(L),
            upper=str(U),
        )
    return Attack(
        name="path",
        left=walk(step + 1),
        right=walk(step),
        problem=problem,
        totals=(after, before),
        parameters={**given, "step": step},
        aimed_at=situation.target if isinstance(situation.target, str) else "rounded",
        reference="rem:resist-kahan-thesis, made general",
        statement="One record at a time from all L to all U the sum must jump from one float to the next somewhere. "
        "Where depends on the sum: each has its own step, which target= finds.",
        target=situation.target if callable(situation.target) else None,
    )


def steepest(total: Callable[[int], Fraction], n: int) -> tuple[int, Fraction, Fraction]:
    """A step i where total(i+1) - total(i) is at least the average over 0..n, with both; in about log2(n) sums.

    Of two halves the steeper is at least as steep as the whole, so the last step is as steep as the average; and where
    the whole moves at all, it moves, which for sums that are floats is by an ulp or more.
    """
    low, high = 0, n
    at_low, at_high = total(low), total(high)
    while high - low > 1:
        middle = (low + high) // 2
        at_middle = total(middle)
        below, above = abs(at_middle - at_low) * (high - middle), abs(at_high - at_middle) * (middle - low)
        # Where both are as steep, larger sums are further apart.
        if below > above or (below == above and abs(at_low) > abs(at_high)):
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return low, at_low, at_high


def own_steps(made: Attack) -> dict[str, Fraction | float | None]:
    """Like `made.measured()`, but each sum is measured at the step where it jumps."""
    problem = made.problem
    if made.records > MOST_ASKED:
        return made.measured()
    situation = Situation(problem.dtype, problem.relation, (problem.lower, problem.upper))
    ways = dict.fromkeys([made.aimed_at, *made.measured()])
    return {how: build(replace(situation, target=how), n=made.records).measure(how) for how in ways}


def _most(situation: Situation, m: int | None = None) -> int:
    """The most records, or with no bounds the largest power of two of them, whose sums fit the type."""
    kind = situation.floats
    if situation.bounds:
        return int(kind.max / max(map(abs, situation.bounds)))
    start = kind.min_exponent if m is None else max(kind.min_exponent, index("m", m))
    return 1 << max(1, floor_log2(kind.max) - start)


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """With n = 2^p and neighbouring bounds the ends are one ulp of the sum apart, which is n (U - L)."""
    most = wish.max_records or (MOST_RECORDS if situation.target is None else MOST_ASKED)
    most = max(2, min(most, MOST_RECORDS, _most(situation, fixed.get("m"))))
    powers = [2**p for p in range(1, most.bit_length())]
    if "n" in fixed:
        yield {}
    elif situation.bounds:  # wider than neighbouring floats: the ulp of the sum has to grow beyond U - L first
        yield from ({"n": n} for n in powers)
    elif wish.ratio is None:
        yield from ({"n": n} for n in powers[-1:])
    else:
        enough = [n for n in powers if n >= wish.ratio]
        yield from ({"n": n} for n in enough[:1] or powers[-1:])


FAMILY = FAMILIES.register(
    Family(
        name="path",
        goes_wrong="a float result must jump somewhere",
        types="floats",
        default=float64,
        relations=ORDERED_SIZED,
        parameters={"n": "the number of records", "m": "records are near 2^m"},
        build=build,
        candidates=candidates,
        asks_target=True,
        measured=own_steps,
        least_k=1,
    )
)
