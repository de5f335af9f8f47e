"""For analysts: private numbers from a table, by group and per person, charged to a budget."""

import numpy as np
import polars as pl

import soundsum as ss

rng = np.random.default_rng(3)
trips = pl.DataFrame(
    {
        "rider": rng.integers(0, 2_000, 20_000),
        "zone": rng.choice(["north", "south"], 20_000),
        "fare": rng.gamma(3.0, 5.0, 20_000),
    }
)

budget = ss.Budget(epsilon=2)
riders = {"privacy_unit": "rider", "max_rows": 10, "budget": budget}

fares = ss.sum(trips, 0, 100, epsilon=1, column="fare", by="zone", groups=["north", "south", "west"], **riders)
print(fares)  # and fares.to_polars() as a data frame

total, mean, n = ss.release(trips, [ss.Sum("fare", 0, 100), ss.Mean("fare", 0, 100), ss.Count()], epsilon=1, **riders)
print(total, mean, n, budget, sep="\n")
assert ss.check(total.certificate) == []
