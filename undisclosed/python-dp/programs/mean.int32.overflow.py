# python-dp.mean.int32 1.1.5: overflow, insert_delete neighbours
import math
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0, 65075263, 1.0, None
import struct
from pydp.algorithms import laplacian
def fed(data):
    algorithm = laplacian.BoundedMean(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="int")
    [algorithm.add_entries(x.tolist()) for x in np.array_split(data, len(data) // 2**20 + 1)]; return algorithm
def release(data): return fed(data).result()
def rows(*parts): return np.concatenate([np.tile(np.array([int(x) for x in xs.split()], 'int32'), n) for xs, n in parts])
left = rows(("65075263", 32), ("65075231", 1))
right = rows(("65075263", 32), ("65075231", 1), ("1", 1))
def event(data): x = release(data); return float(x) > Fraction("0")
x, y = (sum(bool(event(data)) for _ in range(1000)) for data in (left, right))
print("the output is above 0: %d and %d of 1000 runs on left and right" % (x, y))
E = math.exp(1.0)
over = [a - E * b - 0.0 * 1000 - 6 * math.sqrt(a + (b + 2) * E * E) for a, b in ((x, y), (y, x), (1000 - x, 1000 - y), (1000 - y, 1000 - x))]
raise SystemExit(max(over) > 0)
