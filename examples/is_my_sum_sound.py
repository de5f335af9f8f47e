"""For maintainers: does a sum move by more than its noise allows? Try every attack that fits."""

import math

import numpy as np

import soundsum as ss

SUMS = {
    "np.sum": np.sum,
    "math.fsum": math.fsum,
    "one after another": lambda data: np.add.accumulate(data)[-1],
    "sum on a grid": lambda data: ss.plan(ss.Problem("float64", data.min(), data.max())).sum(data),
}

for name, total in SUMS.items():
    worst = {}
    for family in ("rounding", "tree_rounding", "reordering", "repeated_rounding_2", "path"):
        options = {"target": total} if family == "path" else {"max_records": 20_000}
        try:
            attack = ss.attack(family, dtype="float64", **options)
        except ValueError:  # no attack of this family is that small, or this sum has no such step
            continue
        worst[family] = float(attack.measure(total) / attack.ideal)
    family = max(worst, key=worst.get)
    print(f"{name:>18}: moves by up to {worst[family]:,.0f} times the ideal ({family})")
