# jax-privacy.clipped_fun.bfloat16 2.0.0: result_rounding, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = 0.0, 1.0, 1.0, None
import jax, jax.numpy as jnp, os; from jax_privacy import clipping, noise_addition
summed = clipping.clipped_fun(lambda x: x, l2_clip_norm=1.0625 * max(abs(lower), abs(upper)) + 1e-5, keep_batch_dim=False)
def noiseless(data): return summed(jnp.asarray(data, "bfloat16")).item()
def release(data):
    privatizer = noise_addition.gaussian_privatizer(stddev=4 * summed.l2_norm_bound, prng_key=key())
    return privatizer.update(summed(jnp.asarray(data, "bfloat16")), privatizer.init(jnp.zeros((), "bfloat16")))[0].item()
def key(): return jax.random.key(int.from_bytes(os.urandom(4), "big"))
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 2057))
right = rows(("0x1.0000000000000p+0", 2056))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("2392559820038713/2251799813685248")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("2392559820038713/2251799813685248"))
