# diffprivlib.var.dtype.float32 0.6.6: low_bits, hamming neighbours
import math
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 1.0, 1.0, 4
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.var(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.float32)
def noiseless(data):  # what the mechanism is given
    with patch.object(utils.LaplaceBoundedDomain, "randomise", lambda self, value: value): return release(data)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x0.0p+0", 3), ("inf", 1))
right = rows(("0x0.0p+0", 4))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
def event(data): x = release(data); return math.isfinite(x) and (number(x) / Fraction("1/72057594037927936")).denominator == 1
x, y = (sum(bool(event(data)) for _ in range(1000)) for data in (left, right))
print("the output is a multiple of 2^-56: %d and %d of 1000 runs on left and right" % (x, y))
E, spread = math.exp(1.0 * 1), 6 * math.sqrt(1000)
over = [a - E * b - 0.0 * 1000 for a, b in ((x, y), (y, x), (1000 - x, 1000 - y), (1000 - y, 1000 - x))]
raise SystemExit(max(over) > spread)
