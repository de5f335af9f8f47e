# diffprivlib.sum.dtype.int64 0.6.6: overflow, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0, 2251250192056328, 1.0, 4098
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.sum(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.int64)
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.GeometricTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([int(x) for x in xs.split()], 'int64'), n) for xs, n in parts])
left = rows(("2251250192056328", 4096), ("2251250192056319", 1), ("0", 1))
right = rows(("2251250192056328", 4096), ("2251250192056319", 1), ("1", 1))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("2251250192056328")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("2251250192056328"))
