# diffprivlib.sum.dtype.float32 0.6.6: result_rounding, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 1.0, 1.0, 134217737
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.sum(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.float32)
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.LaplaceTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 134217737))
right = rows(("0x1.0000000000000p+0", 134217736), ("0x0.0p+0", 1))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1"))
