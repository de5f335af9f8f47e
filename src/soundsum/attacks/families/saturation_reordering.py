"""Reordering with saturation (`thrm:sens-ints-sat-unknown`, `ea:saturation`): signed integers held at their limits.

Enough negative records hold the sum at the bottom and enough positive ones carry it to the top; in the other order it
ends at the bottom. The same records, the whole range of the type apart. Needs L < 0 < U.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.families.overflow import default_upper
from soundsum.attacks.family import FAMILIES, UNORDERED, Family, Situation, Wish, index, whole
from soundsum.numbers.types import int32
from soundsum.refusals import Reason, RefusedValue


def build(situation: Situation, lower: int | None = None, upper: int | None = None) -> Attack:
    kind = situation.integers
    bottom, top = (int(b) for b in situation.bounds or (kind.min, kind.max))
    if not bottom < 0 < top:
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "`bounds=({lower}, {upper})`: the condition is L < 0 < U",
            "give bounds of both signs",
            lower=bottom,
            upper=top,
        )
    if upper is None:
        upper = top if situation.bounds else default_upper(kind)
    U = whole("upper", upper, 1, top, f"0 < upper <= {top}")
    if lower is None:
        lower = bottom if situation.bounds else -max(1, U // 2)
    L = whole("lower", lower, bottom, -1, f"{bottom} <= lower < 0")
    b, c = -(-(kind.max - kind.min) // -L), -(-(kind.max - kind.min) // U)
    return Attack(
        name="saturation_reordering",
        left=situation.runs((L, b), (U, c)),
        right=situation.runs((U, c), (L, b)),
        problem=situation.problem(L, U, b + c),
        totals=(kind.max, kind.min),
        parameters={"lower": L, "upper": U},
        aimed_at="saturating",
        reference="thrm:sens-ints-sat-unknown",
        statement="Sums held at the limits of the type forget what came first, so the order decides where they end.",
    )


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """For a private size max(|L|, U) counts, so |L| = U; for a public one U - L, so about that."""
    kind = situation.integers
    reach, sized = kind.max - kind.min, situation.relation.sized
    if situation.bounds or len(fixed) == 2:
        yield {}
        return
    if fixed:
        ((name, given),) = fixed.items()
        size = abs(index(name, given))
        other = max(1, _beside(size, reach, wish, sized)) if size else 1
        yield {"lower": max(kind.min, -other)} if name == "upper" else {"upper": min(kind.max, other)}
        return
    if wish.ratio is not None:
        most = int(reach / wish.ratio)
        lower, upper = _fewest_records(reach, most) if sized else (most, most)
    else:
        records = max(2, wish.max_records or 2)
        half = -(-reach // (records // 2))
        lower, upper = _least_spread(reach, records) if sized else (half, half)
    yield {"lower": -max(1, min(lower, -kind.min)), "upper": max(1, min(upper, kind.max))}


def _beside(size: int, reach: int, wish: Wish, sized: bool) -> int:
    """The other bound's magnitude where one is `size`: as large as the ratio allows, or as small as the records do.

    With a private size the larger of the two is the ideal, so the other may as well be as large.
    """
    if wish.ratio is not None:
        most = int(reach / wish.ratio)
        return most - size if sized else most
    assert wish.max_records is not None
    left = wish.max_records - -(-reach // size)
    least = -(-reach // left) if left > 0 else reach
    return least if sized else max(least, size)


def _fewest_records(reach: int, spread: int) -> tuple[int, int]:
    """|L| and U with |L| + U = spread that take the fewest records: near the middle, but rounding decides."""
    middle = max(1, 2 * reach // max(1, spread))
    tried = {min(spread - 1, -(-reach // b)) for b in _near(middle)} or {1}
    lower = min(tried, key=lambda low: -(-reach // max(1, low)) - (-reach // max(1, spread - low)))
    return lower, spread - lower


def _least_spread(reach: int, records: int) -> tuple[int, int]:
    """|L| and U with the least sum that need at most this many records."""
    pairs = ((-(-reach // b), -(-reach // (records - b))) for b in _near(records // 2) if b < records)
    return min(pairs, key=sum)


def _near(middle: int) -> range:
    return range(max(1, middle - 500), middle + 500)


FAMILY = FAMILIES.register(
    Family(
        name="saturation_reordering",
        goes_wrong="the order decides where saturation ends",
        types="signed integers",
        default=int32,
        relations=UNORDERED,
        parameters={"lower": "the smallest record L, below 0", "upper": "the largest record U, above 0"},
        build=build,
        candidates=candidates,
        signed_only=True,
    )
)
