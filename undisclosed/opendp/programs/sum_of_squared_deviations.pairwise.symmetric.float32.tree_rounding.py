# opendp.sum_of_squared_deviations.pairwise.symmetric.float32 0.16.0: tree_rounding, change_one neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("0x1.0000020000000p-1"), float.fromhex("0x1.0000040000000p-1"), 1.0, 65536
import functools, opendp.prelude as dp; dp.enable_features("contrib")
def noiseless(data): return dp.t.make_sum_of_squared_deviations(dp.vector_domain(dp.atom_domain(bounds=(lower, upper), T='f32', nan=False), size), dp.symmetric_distance(), S='Pairwise<f32>')(data)
@functools.cache
def noisy(): return dp.binary_search_chain(lambda s: dp.t.make_sum_of_squared_deviations(dp.vector_domain(dp.atom_domain(bounds=(lower, upper), T='f32', nan=False), size), dp.symmetric_distance(), S='Pairwise<f32>') >> dp.m.then_laplace(s), 2, epsilon)
def release(data): return noisy()(data)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000020000000p-1", 65535), ("0x1.0000040000000p-1", 1))
right = rows(("0x1.0000020000000p-1", 65536))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("12188017/2305843009213693952")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("12188017/2305843009213693952"))
