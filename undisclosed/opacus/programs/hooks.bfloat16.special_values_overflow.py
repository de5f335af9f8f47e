# opacus.hooks.bfloat16 1.6.0: special_values_overflow, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 3.3895313892515355e+38, 1.0, None
import torch, opacus.grad_sample.utils as g, opacus.optimizers as o, opacus.utils.fast_gradient_clipping_utils as f; BY_SUM = dict(expected_batch_size=None, loss_reduction="sum")
def step(data, noise, C):
    model = g.wrap_model(torch.nn.Linear(1, 1, False, dtype=torch.bfloat16), "hooks", loss_reduction="sum")
    weight, x = next(model.parameters()), torch.tensor(data).to(torch.bfloat16)[:, None]; sgd = o.DPOptimizer(torch.optim.SGD([weight]), noise_multiplier=noise, max_grad_norm=C, **BY_SUM)
    model(x).sum().backward(); sgd.pre_step(); return weight.grad.item()
def noiseless(data): return step(data, 0, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def release(data): return step(data, 4.0625, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.fe00000000000p+127", 2))
right = rows(("0x1.fe00000000000p+127", 1))
sums = [float(noiseless(data)) for data in (left, right)]
print("the sums are", *sums)
raise SystemExit(bool(np.isfinite(sums).sum() == 1 or np.isnan(sums).sum() == 1))
