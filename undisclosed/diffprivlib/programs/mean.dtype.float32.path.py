# diffprivlib.mean.dtype.float32 0.6.6: path, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 1.0, float.fromhex("0x1.0000020000000p+0"), 1.0, 32
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.mean(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.float32)
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.LaplaceTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000020000000p+0", 24), ("0x1.0000000000000p+0", 8))
right = rows(("0x1.0000020000000p+0", 23), ("0x1.0000000000000p+0", 9))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1/268435456")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1/268435456"))
