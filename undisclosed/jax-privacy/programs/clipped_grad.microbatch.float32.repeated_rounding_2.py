# jax-privacy.clipped_grad.microbatch.float32 2.0.0: repeated_rounding_2, insert_delete neighbours
from fractions import Fraction
import numpy as np
lower, upper, epsilon, size = float.fromhex("-0x1.fffff80000000p-10"), 1.0, 1.0, None
import jax, jax.numpy as jnp, os; from jax_privacy import clipping, noise_addition
summed = clipping.clipped_grad(lambda w, x: w * x, l2_clip_norm=1.0625 * max(abs(lower), abs(upper)) + 1e-5, keep_batch_dim=False, microbatch_size=1)
def noiseless(data): return summed(jnp.ones((), "float32"), jnp.asarray(data, "float32")).item()
def release(data):
    privatizer = noise_addition.gaussian_privatizer(stddev=4 * summed.l2_norm_bound, prng_key=key())
    return privatizer.update(summed(jnp.ones((), "float32"), jnp.asarray(data, "float32")), privatizer.init(jnp.zeros((), "float32")))[0].item()
def key(): return jax.random.key(int.from_bytes(os.urandom(4), "big"))
def rows(*parts): return np.concatenate([np.tile(np.array([float.fromhex(x) for x in xs.split()], 'float32'), n) for xs, n in parts])
left = rows(("0x1.0000000000000p+0", 32768), ("0x1.0000040000000p-9 -0x1.fffff80000000p-10", 16384))
right = rows(("0x1.0000000000000p+0", 32767), ("0x1.0000040000000p-9 -0x1.fffff80000000p-10", 16384))
def number(x): return Fraction(x.item() if hasattr(x, "item") else x)
a, b = number(noiseless(left)), number(noiseless(right))
claimed = Fraction("2392559820038713/2251799813685248")
print("the sum moves by", float(abs(a - b) / claimed), "times the sensitivity used")
raise SystemExit(abs(a - b) > Fraction("2392559820038713/2251799813685248"))
