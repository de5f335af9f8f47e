# pipeline-dp.sum.float32 0.3.1: repeated_rounding_2, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("-0x1.fffff80000000p-10"), 1.0, 1.0, None
import pipeline_dp as p, unittest.mock as mock; columns = lambda x: x[0], lambda x: 0, lambda x: x[1]
def release(data):
    accountant = p.NaiveBudgetAccountant(epsilon, 0); once = dict(max_partitions_contributed=1, max_contributions_per_partition=1, min_value=lower, max_value=upper)
    engine, what = p.DPEngine(accountant, p.LocalBackend()), p.AggregateParams([p.Metrics.SUM], **once)
    result = engine.aggregate(list(enumerate(data)), what, p.DataExtractors(*columns), [0])
    accountant.compute_budgets(); return next(iter(result))[1].sum
def noiseless(data, seen=[]):  # what is given to the mechanism
    with mock.patch.object(p.dp_computations.AdditiveMechanism, "add_noise", lambda self, x: seen.append(x) or x): seen.clear(); release(data); return seen[0]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 32768), ("0x1.0000040000000p-9 -0x1.fffff80000000p-10", 16384))
right = rows(("0x1.0000000000000p+0", 32767), ("0x1.0000040000000p-9 -0x1.fffff80000000p-10", 16384))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("1")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("1"))
