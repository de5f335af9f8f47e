"""Where to truncate, when nobody knows how many records there are: from a private count, with its own epsilon."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import Any

from soundsum.budget import Binding, Budget
from soundsum.engines import open_engine
from soundsum.numbers.quoting import quote
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.units import Norms
from soundsum.releases.pipeline import hold_no_data, make_charge
from soundsum.tables.read_guard import read_within
from soundsum.tables.rows import Rows


@hold_no_data
def private_max_size(
    data: Any,
    epsilon: Any,
    confidence: float = 0.999,
    budget: Budget | None = None,
    name: str | None = None,
    table: Any = None,
) -> int:
    """A limit that keeps all records with the confidence given, chosen by an epsilon-private count of the data.

    One record changes the count by 1 under symmetric and insert_delete, so Laplace noise of scale 1/epsilon is enough;
    the margin added on top is public. Spend the rest of the budget on the sum.
    """
    promised = guarantee(epsilon)
    if not isinstance(confidence, Real | Decimal) or not 0 < confidence < 1:
        raise ValueError(f"confidence={quote(confidence)}: give a number between 0 and 1, such as 0.999")
    engine, whom = open_engine(data, table=table), Binding(data=name)
    charge = make_charge(budget, promised.cost, "private limit on the size", whom)
    noise = promised.noise_for(Norms(1, 1))
    noisy = read_within(lambda: noise.add_to([engine.add_up([], Rows())[1]]), charge.fail)
    read_within(charge.settle)
    return max(1, noisy[0] + noise.half_width(confidence))
