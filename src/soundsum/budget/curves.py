"""Tighter sums for releases whose costs are all fixed before the first, by Google's dp-accounting (extra: accounting).

Each release is replaced by the worst (epsilon, delta)-DP mechanism there is (Kairouz, Oh and Viswanath 2015), and the
privacy losses are convolved. That is numerical work in floats: it rounds losses up, and `MARGIN` is put on top, but it
is no proof like the rest of this package. Nor does it hold where a cost is chosen after seeing earlier releases.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.privacy.cost import Cost, parse_amount
from soundsum.refusals import INSTALL, Reason, RefusedValue

MARGIN = Fraction(1, 1000)  # the delta asked for is this part smaller, the epsilon given this part larger
FAINTEST = Fraction(1, 10**10)  # MARGIN of a smaller delta would come near what the floats lose, some 10^-15
FINENESS = 256  # steps in the smallest epsilon
LONGEST = 2**20  # steps in the sum of the epsilons


def together(costs: Iterable[Cost], delta: Any) -> Cost:
    """One (epsilon, delta) cost for releases planned beforehand and charged at once, never more than their plain sum.

    `together([Cost("0.1")] * 50, delta="1e-6")` has epsilon 3.2, where epsilons add up to 5.
    """
    d, planned = parse_amount("delta", delta), Counter(costs)
    if d < FAINTEST:
        raise RefusedValue(
            "delta",
            Reason.TOO_SMALL,
            "`delta={given}` is too small for floats to see",
            "give one from {faintest} to below 1",
            given=quote(delta),
            faintest=formatting.amount(FAINTEST),
        )
    if d >= 1:
        raise RefusedValue(
            "delta",
            Reason.TOO_LARGE,
            "`delta={given}`: a delta is below 1",
            "give one from {faintest} to below 1",
            given=quote(delta),
            faintest=formatting.amount(FAINTEST),
        )
    counted = [(cost.epsilon, cost.delta, times) for cost, times in planned.items() if cost.epsilon]
    if not counted or len(counted) < len(planned):
        raise RefusedValue(
            "costs",
            Reason.UNSUPPORTED,
            "every cost needs an epsilon above 0",
            "those with a rho alone add up to `Cost(rho=their sum)`",
        )
    simple = Cost(epsilon := sum(e * times for e, _, times in counted), sum(own * times for _, own, times in counted))
    if simple.delta >= d:
        raise RefusedValue(
            "delta",
            Reason.TOO_SMALL,
            "`delta={given}`: the costs' own deltas add up to {own}",
            "give a larger one",
            given=quote(delta),
            own=formatting.amount(simple.delta),
        )
    try:
        tight = Fraction(_epsilon(counted, float(d * (1 - MARGIN)))) * (1 + MARGIN)
    except OverflowError:  # epsilons in the hundreds, or one that is infinite, where nothing is gained
        return simple
    return Cost(tight, d) if tight < epsilon else simple


def _epsilon(counted: Sequence[tuple[Fraction, Fraction, int]], delta: float) -> float:
    """dp-accounting's epsilon for all of them: each an epsilon and a delta, and how many times."""
    accounting = _import_accounting()
    if accounting is None:
        raise RefusedValue(
            None,
            Reason.MISSING,
            "this needs dp-accounting",
            INSTALL + ", or add the costs up",
            extra="accounting",
        )
    common, privacy_loss_distribution = accounting
    most = [(_above(e), _above(d), times) for e, d, times in counted]
    step = _step(min(e for e, _, _ in most), sum(e * times for e, _, times in most))
    losses = [
        privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(e, d), value_discretization_interval=step
        ).self_compose(times)
        for e, d, times in most
    ]
    return float(reduce(lambda x, y: x.compose(y), losses).get_epsilon_for_delta(delta))


def _import_accounting() -> tuple[Any, Any] | None:
    try:
        from dp_accounting.pld import common, privacy_loss_distribution
    except ImportError:
        return None
    return common, privacy_loss_distribution


def _step(least: float, total: float) -> float:
    """A part of the least epsilon that divides it without a remainder, so that rounding up moves nothing of it."""
    parts = max(1, min(FINENESS, int(LONGEST * least / total)))
    while least / (least / parts) != parts:
        parts -= 1
    return max(least / parts, total / LONGEST)


def _above(x: Fraction) -> float:
    """A float at or above x."""
    near = float(x)
    return near if Fraction(near) >= x else math.nextafter(near, math.inf)
