"""optax: the clipped sum of gradients in `differentially_private_aggregate`, measured before it is divided.

A record is its own gradient; `l2_norm_clip` is a little above them all, so that nothing is clipped, or (`clipped`) a
quarter of the largest, so that most are. The sum before noise is that of `per_example_global_norm_clip`, which the
aggregate calls. The aggregate divides sum and noise by the number of examples; a release multiplies by it again, as
what a quotient moves by depends on that number. The noise is 4 times the norm, enough for (1, 1e-5): a Gaussian of that
size has delta 2.9e-6 at epsilon 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

RELATION = (
    'No relation is documented but "Aggregates gradients based on the DPSGD algorithm" (optax/contrib/_privacy.py:43), '
    "whose paper adds or removes an example. Order is not spoken of; read most narrowly, it is kept."
)

CLAIM = '"noise_std = l2_norm_clip * noise_multiplier" (optax/contrib/_privacy.py:85): the sensitivity is l2_norm_clip'

MULTIPLIER = 4
"""The standard deviation of a release's noise, divided by the norm."""

NORMS = {"": "1.0625 * max(abs(lower), abs(upper)) + 1e-5", ".clipped": "0.25 * max(abs(lower), abs(upper)) + 1e-5"}

PROGRAM = """\
import jax, jax.numpy as jnp, optax, os; norm = {norm}
def gradients(data): return [jnp.asarray(data, "{kind}")]
def noiseless(data): return optax.per_example_global_norm_clip(gradients(data), norm)[0][0].item()
def claimed(data): return norm
def key(): return jax.random.key(int.from_bytes(os.urandom(4), "big"))
def noisy(): return optax.contrib.differentially_private_aggregate(norm, {multiplier}, key())
def release(data):
    if not len(data): raise NotImplementedError("a mean of no examples")
    return noisy().update(gradients(data), noisy().init(None))[0][0].item() * len(data)
"""


def targets() -> Iterator[dict[str, Any]]:
    import optax  # noqa: F401  (whether it is there)

    for kind in ("float32", "float16", "bfloat16"):
        for clips, norm in NORMS.items():
            yield {
                "name": f"differentially_private_aggregate{clips}.{kind}",
                "repro": PROGRAM.format(norm=norm, kind=kind, multiplier=MULTIPLIER),
                "clips_to": norm,
                "dtype": kind,
                "noise_multiplier": MULTIPLIER,
                "version": version("optax"),
                "source": "optax/contrib/_privacy.py",
                "claim_quote": CLAIM,
                "relation_quote": RELATION,
            }
