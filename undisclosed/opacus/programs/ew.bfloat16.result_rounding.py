# opacus.ew.bfloat16 1.6.0: result_rounding, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 1.0, 1.0, None
import torch, opacus.grad_sample.utils as g, opacus.optimizers as o, opacus.utils.fast_gradient_clipping_utils as f; BY_SUM = dict(expected_batch_size=None, loss_reduction="sum")
def step(data, noise, C):
    model = g.wrap_model(torch.nn.Linear(1, 1, False, dtype=torch.bfloat16), "ew", loss_reduction="sum")
    weight, x = next(model.parameters()), torch.tensor(data).to(torch.bfloat16)[:, None]; sgd = o.DPOptimizer(torch.optim.SGD([weight]), noise_multiplier=noise, max_grad_norm=C, **BY_SUM)
    model(x).sum().backward(); sgd.pre_step(); return weight.grad.item()
def noiseless(data): return step(data, 0, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def release(data): return step(data, 4.0625, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 2057))
right = rows(("0x1.0000000000000p+0", 2056))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("2392559820038713/2251799813685248")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("2392559820038713/2251799813685248"))
