# diffprivlib.sum.dtype.float32 0.6.6: special_values_overflow, hamming neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 3.4028234663852886e+38, 1.0, 2
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.sum(data, epsilon=epsilon, bounds=(lower, upper), dtype=np.float32)
def noiseless(data, seen=[]):  # what the mechanism is given
    with patch.object(utils.LaplaceTruncated, "randomise", lambda self, x: seen.append(x) or x): seen.clear(); release(data)
    return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.fffffe0000000p+127", 2))
right = rows(("0x1.fffffe0000000p+127", 1), ("0x0.0p+0", 1))
sums = [float(noiseless(data)) for data in (left, right)]
print("the sums are", *sums)
raise SystemExit(bool(np.isfinite(sums).sum() == 1 or np.isnan(sums).sum() == 1))
