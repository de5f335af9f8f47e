# pipeline-dp.variance.float32 0.3.1: special_values_nan, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 1.0, 1.0, None
import pipeline_dp as p, unittest.mock as mock; columns = lambda x: x[0], lambda x: 0, lambda x: x[1]
def release(data):
    accountant = p.NaiveBudgetAccountant(epsilon, 0); once = dict(max_partitions_contributed=1, max_contributions_per_partition=1, min_value=lower, max_value=upper)
    engine, what = p.DPEngine(accountant, p.LocalBackend()), p.AggregateParams([p.Metrics.VARIANCE], **once)
    result = engine.aggregate(list(enumerate(data)), what, p.DataExtractors(*columns), [0])
    accountant.compute_budgets(); return next(iter(result))[1].variance
def noiseless(data, seen=[]):  # what is given to the mechanism, after the count
    with mock.patch.object(p.dp_computations, "apply_laplace_mechanism", lambda x, epsilon, sensitivity: seen.append(x) or x): seen.clear(); release(data); return seen[1]
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x0.0p+0", 3), ("nan", 1))
right = rows(("0x0.0p+0", 3))
sums = [float(noiseless(data)) for data in (left, right)]
print("the sums are", *sums)
raise SystemExit(bool(np.isfinite(sums).sum() == 1 or np.isnan(sums).sum() == 1))
