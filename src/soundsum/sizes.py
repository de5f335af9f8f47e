"""Where to truncate, when nobody knows how many records there are: from a private count, with its own epsilon."""

from __future__ import annotations

from typing import Any

from soundsum.budget import Budget, Cost, charged
from soundsum.privacy import guarantee
from soundsum.tables import table
from soundsum.units import Moved


def private_max_size(data: Any, epsilon: Any, confidence: float = 0.999, budget: Budget | None = None) -> int:
    """A limit that keeps all records with the confidence given, chosen by an epsilon-private count of the data.

    One record changes the count by 1 under symmetric and insert_delete, so Laplace noise of scale 1/epsilon is enough;
    the margin added on top is public. Spend the rest of the budget on the sum.
    """
    promise = guarantee(epsilon)
    assert promise.epsilon is not None
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence}: give a number between 0 and 1, such as 0.999")
    where = table(data)
    size = charged(
        budget, Cost(promise.epsilon), "private limit on the size", lambda: sum(batch.rows for batch in where.batches())
    )
    noise = promise.noise(Moved(1, 1))
    return max(1, size + noise.draw(1)[0] + noise.half_width(confidence))
