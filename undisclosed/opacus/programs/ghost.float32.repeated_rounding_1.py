# opacus.ghost.float32 1.6.0: repeated_rounding_1, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 8388608.0, 1.0, None
import torch, opacus.grad_sample.utils as g, opacus.optimizers as o, opacus.utils.fast_gradient_clipping_utils as f; BY_SUM = dict(expected_batch_size=None, loss_reduction="sum")
def step(data, noise, C):
    model = g.wrap_model(torch.nn.Linear(1, 1, False, dtype=torch.float32), "ghost", loss_reduction="sum", max_grad_norm=C)
    weight, x = next(model.parameters()), torch.tensor(data).to(torch.float32)[:, None]; sgd = o.DPOptimizerFastGradientClipping(torch.optim.SGD([weight]), noise_multiplier=noise, max_grad_norm=C, **BY_SUM)
    f.DPTensorFastGradientClipping(model, sgd, model(x)[:, 0], "sum").backward(); sgd.pre_step(); return weight.grad.item()
def noiseless(data): return step(data, 0, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def release(data): return step(data, 4.0625, 1.0625 * max(abs(lower), abs(upper)) + 1e-5)
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+23", 2), ("0x1.0000020000000p+0", 8388608), ("0x1.0000020000000p+1", 8388608))
right = rows(("0x1.0000000000000p+23", 1), ("0x1.0000020000000p+0", 8388608), ("0x1.0000020000000p+1", 8388608))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("4785074604086521/536870912")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("4785074604086521/536870912"))
