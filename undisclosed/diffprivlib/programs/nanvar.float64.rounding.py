# diffprivlib.nanvar.float64 0.6.6: rounding, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("0x1.0000000000010p-1"), float.fromhex("0x1.0000000000011p-1"), 1.0, 33
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.nanvar(data, epsilon=epsilon, bounds=(lower, upper))
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.LaplaceBoundedDomain, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float64'), n) for xs, n in parts])
left = rows(("0x1.0000000000010p-1", 32), ("0x1.0000000000011p-1", 1))
right = rows(("0x1.0000000000010p-1", 33))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("4234789732256555/11692013098647223345629478661730264157247460343808")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("4234789732256555/11692013098647223345629478661730264157247460343808"))
