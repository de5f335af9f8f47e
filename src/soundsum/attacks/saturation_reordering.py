"""Reordering with saturation (`thrm:sens-ints-sat-unknown`, `ea:saturation`): signed integers held at their limits.

Enough negative records hold the sum at the bottom and enough positive ones carry it to the top; in the other order it
ends at the bottom. The same records, the whole range of the type apart. Needs L < 0 < U.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import UNORDERED, Family, Setting, Wish, whole
from soundsum.attacks.overflow import default_upper
from soundsum.numbers import int32


def build(setting: Setting, lower: int | None = None, upper: int | None = None) -> Attack:
    kind = setting.integers
    L, U = (int(b) for b in setting.bounds) if setting.bounds else (None, None)
    U = upper if upper is not None else U if U is not None else max(1, default_upper(kind))
    L = lower if lower is not None else L if L is not None else -max(1, U // 2)
    whole("lower", L, kind.min, -1, f"{kind.min} <= lower < 0")
    whole("upper", U, 1, kind.max, f"0 < upper <= {kind.max}")
    b, c = -(-(kind.max - kind.min) // -L), -(-(kind.max - kind.min) // U)
    return Attack(
        name="saturation_reordering",
        left=setting.runs((L, b), (U, c)),
        right=setting.runs((U, c), (L, b)),
        problem=setting.problem(L, U, b + c),
        totals=(kind.max, kind.min),
        parameters={"lower": L, "upper": U},
        aimed_at="saturating",
        reference="thrm:sens-ints-sat-unknown",
        statement="Sums held at the limits of the type forget what came first, so the order decides where they end.",
    )


def candidates(setting: Setting, wish: Wish) -> Iterator[dict[str, Any]]:
    """For a private size max(|L|, U) counts, so |L| = U; for a public one U - L, so about that."""
    if setting.bounds:
        yield {}
        return
    kind = setting.integers
    reach = kind.max - kind.min
    if wish.ratio is not None:
        most = int(reach / wish.ratio)
        lower, upper = _fewest_records(reach, most) if setting.relation.sized else (most, most)
    else:
        records = max(2, wish.max_records or 2)
        half = -(-reach // (records // 2))
        lower, upper = _least_spread(reach, records) if setting.relation.sized else (half, half)
    yield {"lower": -max(1, min(lower, -kind.min)), "upper": max(1, min(upper, kind.max))}


def _fewest_records(reach: int, spread: int) -> tuple[int, int]:
    """|L| and U with |L| + U = spread that take the fewest records: near the middle, but rounding decides."""
    middle = max(1, 2 * reach // max(1, spread))
    tried = {min(spread - 1, -(-reach // b)) for b in _near(middle)} or {1}
    lower = min(tried, key=lambda low: -(-reach // max(1, low)) - (-reach // max(1, spread - low)))
    return lower, spread - lower


def _least_spread(reach: int, records: int) -> tuple[int, int]:
    """|L| and U with the least sum that take no more than so many records."""
    pairs = ((-(-reach // b), -(-reach // (records - b))) for b in _near(records // 2) if b < records)
    return min(pairs, key=sum)


def _near(middle: int) -> range:
    return range(max(1, middle - 500), middle + 500)


FAMILY = Family(
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
