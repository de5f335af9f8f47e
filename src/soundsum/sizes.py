"""Where to truncate, when nobody knows how many records there are: from a private count, with its own epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from soundsum.noise import discrete_laplace
from soundsum.rationals import exact, is_special
from soundsum.records import records


def private_max_size(data: Any, epsilon: Any, confidence: float = 0.999, dtype: object = None) -> int:
    """A limit that keeps all records with the confidence given, chosen by an epsilon-private count of the data.

    One record changes the count by 1 under symmetric and insert_delete, so Laplace noise of scale 1/epsilon is enough;
    the margin added on top is public. Spend the rest of the budget on the sum.
    """
    budget = exact(epsilon, "epsilon")
    if is_special(budget) or budget <= 0:
        raise ValueError(f"epsilon={epsilon}: a privacy budget is a number above 0")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence}: give a number between 0 and 1, such as 0.999")
    count = records(data, dtype).size + discrete_laplace(1 / Fraction(budget))
    margin = math.ceil(-math.log(1 - confidence) / float(budget))
    return max(1, count + margin)
