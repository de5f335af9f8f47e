"""Values that are not numbers: one NaN, one infinity, and finite records whose sum is infinite.

If a sum lets one of them through, the output reveals it, whatever noise is added. The first two are
records outside the bounds, for libraries whose clamp lets them pass (a comparison with NaN is false); the third stays
within the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_SIZED_FIRST, FAMILIES, Family, Situation, Wish
from soundsum.numbers import models
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import float64
from soundsum.refusals import Reason, RefusedValue

FORMS = {
    "nan": "One NaN makes the sum NaN, through a clamp that compares.",
    "inf": "One infinity makes the sum infinite, where records are not clamped.",
    "overflow": "Records within the bounds add up to more than the largest float, and the sum is infinite.",
}


def build(situation: Situation, form: str = "nan") -> Attack:
    if form not in FORMS:
        raise RefusedValue(
            "form",
            Reason.UNKNOWN,
            "`form={given}` is not a form of special values",
            "use one of {known}",
            given=quote(form),
            known=", ".join(FORMS),
        )
    kind = situation.floats
    lower, upper = situation.bounds or (Fraction(0), kind.max if form == "overflow" else Fraction(1))
    plain = max(lower, min(Fraction(0), upper))
    sized = situation.relation.sized
    if form == "overflow" and (kind.add(upper, upper) != math.inf or (sized and kind.add(upper, plain) == math.inf)):
        besides = ", and U and the record nearest zero add up to a number" if sized else ""
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "`bounds={given}`: the condition is that 2 U is infinite in {dtype}{besides}",
            "use `bounds={works}`",
            given=situation.as_given(lower, upper),
            dtype=str(kind),
            besides=besides,
            works=situation.as_given(Fraction(0), kind.max),
        )
    odd: Value = upper if form == "overflow" else math.nan if form == "nan" else math.inf
    common = [(upper, 1) if form == "overflow" else (plain, 3)]
    left = situation.runs(*common, (odd, 1))
    right = situation.runs(*common, *([(plain, 1)] if sized else []))
    total = models.iterated(kind).sum
    return Attack(
        name="special_values",
        left=left,
        right=right,
        problem=situation.problem(lower, upper, left.size),
        totals=(total(left), total(right)),
        parameters={"form": form},
        aimed_at="iterated",
        reference="sec:lowerbounds",
        statement=FORMS[form],
        outside=form != "overflow",
    )


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {}


FAMILY = FAMILIES.register(
    Family(
        name="special_values",
        goes_wrong="NaN and infinity show in the output",
        types="floats",
        default=float64,
        relations=ANY_SIZED_FIRST,
        parameters={"form": "nan, inf or overflow"},
        build=build,
        candidates=candidates,
        least_k=1,
        mirrors=True,
    )
)
