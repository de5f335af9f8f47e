# diffprivlib.nansum.dtype.int32 0.6.6: overflow, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0, 65075263, 1.0, 34
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.nansum(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.int32)
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.GeometricTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([int(x) for x in xs.split()], 'int32'), n) for xs, n in parts])
left = rows(("65075263", 32), ("65075231", 1), ("0", 1))
right = rows(("65075263", 32), ("65075231", 1), ("1", 1))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("65075263")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("65075263"))
