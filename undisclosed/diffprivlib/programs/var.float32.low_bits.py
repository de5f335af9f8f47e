# diffprivlib.var.float32 0.6.6: low_bits, hamming neighbours
import math
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("0x1.0001000000000p-1"), float.fromhex("0x1.0001020000000p-1"), 1.0, 257
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.var(data, epsilon=epsilon, bounds=(lower, upper))
def noiseless(data):  # what the mechanism is given
    with patch.object(utils.LaplaceBoundedDomain, "randomise", lambda self, value: value): return release(data)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0001000000000p-1", 256), ("0x1.0001020000000p-1", 1))
right = rows(("0x1.0001000000000p-1", 257))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
def event(data): x = release(data); return math.isfinite(x) and (number(x) / Fraction("1/649037107316853453566312041152512")).denominator == 1
x, y = (sum(bool(event(data)) for _ in range(1000)) for data in (left, right))
print("the output is a multiple of 2^-109: %d and %d of 1000 runs on left and right" % (x, y))
E, spread = math.exp(1.0 * 1), 6 * math.sqrt(1000)
over = [a - E * b - 0.0 * 1000 for a, b in ((x, y), (y, x), (1000 - x, 1000 - y), (1000 - y, 1000 - x))]
raise SystemExit(max(over) > spread)
