"""Rows that are awkward to clip: subnormals, the largest values, infinities, NaN, ties, and everything between."""

import math
import random

import torch

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
NORMS = (1.0, 0.1, 3.7, 2.0**-20, 1000.0, 1e-6, 2.0**-100, 2.0**79)


def adversarial(dtype, d, norm, seed=1):
    draw, info = random.Random(seed), torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    values = [0.0, -0.0, least, -least, info.tiny, -info.tiny, info.max, -info.max, 1.0, norm, -norm,
              norm / math.sqrt(d), norm * 2**-25, norm * 2**-26, 1.5 * norm * 2**-24, norm * (1 + 2**-20)]  # fmt: skip
    rows = []
    for x in values:
        rows += [[x] * d, [x] + [0.0] * (d - 1), [x] + [least] * (d - 1)]
    for x in (math.inf, -math.inf, math.nan):
        rows += [[x] + [1.0] * (d - 1), [0.5] * (d - 1) + [x]]
    for s in (-1070, -140, -100, -60, -30, -24, -10, 0, 1, 5, 10, 30, 60, 100, 126, 1020):
        rows.append([draw.choice((-1, 1)) * math.ldexp(draw.random(), s) for _ in range(d)])
        rows.append([math.ldexp(1.0, s)] * d)
    for _ in range(32):  # around the norm, and halves of steps
        scale = norm * 2.0 ** draw.randint(-26, 8)
        rows.append([draw.choice((-1, 1)) * scale * draw.randint(0, 64) / 64 for _ in range(d)])
    return torch.tensor(rows, dtype=torch.float64).to(dtype)
