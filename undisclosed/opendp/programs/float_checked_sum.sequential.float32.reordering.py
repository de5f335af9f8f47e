# opendp.float_checked_sum.sequential.float32 0.16.0: reordering, symmetric neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 1.0, 32.0, 1.0, None
import functools, opendp.prelude as dp; dp.enable_features("contrib")
def noiseless(data): return dp.t.make_bounded_float_checked_sum(1048576, (lower, upper), S='Sequential<f32>')(data)
@functools.cache
def noisy(): return dp.binary_search_chain(lambda s: dp.t.make_bounded_float_checked_sum(1048576, (lower, upper), S='Sequential<f32>') >> dp.m.then_laplace(s), 1, epsilon)
def release(data): return noisy()(data)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 524288), ("0x1.0000000000000p+5", 524288))
right = rows(("0x1.0000000000000p+5", 524288), ("0x1.0000000000000p+0", 524288))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("8388640")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("0"))
