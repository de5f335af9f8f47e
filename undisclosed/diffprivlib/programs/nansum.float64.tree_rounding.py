# diffprivlib.nansum.float64 0.6.6: tree_rounding, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("0x1.0000000000001p-1"), float.fromhex("0x1.0000000000002p-1"), 1.0, 32
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.nansum(data, epsilon=epsilon, bounds=(lower, upper))
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.LaplaceTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float64'), n) for xs, n in parts])
left = rows(("0x1.0000000000001p-1", 31), ("0x1.0000000000002p-1", 1))
right = rows(("0x1.0000000000001p-1", 32))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1/9007199254740992")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1/9007199254740992"))
