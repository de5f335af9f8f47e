# python-dp.sum.float64 1.1.5: repeated_rounding_2, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("-0x1.ffffffffffffcp-27"), 1.0, 1.0, None
import struct
from pydp.algorithms import laplacian
def fed(data):
    algorithm = laplacian.BoundedSum(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="float")
    [algorithm.add_entries(x.tolist()) for x in np.array_split(data, len(data) // 2**20 + 1)]; return algorithm
def release(data): return fed(data).result()
def noiseless(data): return struct.unpack('<d', fed(data).serialize().to_bytes()[-8:])[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float64'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 134217728), ("0x1.0000000000002p-26 -0x1.ffffffffffffcp-27", 67108864))
right = rows(("0x1.0000000000000p+0", 134217727), ("0x1.0000000000002p-26 -0x1.ffffffffffffcp-27", 67108864))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1"))
