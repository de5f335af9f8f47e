"""TensorFlow Privacy: the clipped sum of gradients, by the query that its optimizers share and by two optimizers.

A record is its own gradient; `l2_norm_clip` is a little above them all, so that nothing is clipped, or (`clipped`) a
quarter of the largest, so that most are. Each record is a microbatch. The optimizers divide by their number; sum and
release multiply by it again, as what a quotient moves by depends on that number. The noise is 4 times the norm, enough
for (1, 1e-5): a Gaussian of that size has delta 2.9e-6 at epsilon 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST_STEPS = 1 << 10
"""Records that are added in a loop in Python; a vectorized optimizer takes more."""

MOST_VECTORIZED = 1 << 16

RELATION = (
    '"add-or-remove-one-example adjacency" (privacy/analysis/compute_dp_sgd_privacy_lib.py:216). Order is not spoken '
    "of; read most narrowly, it is kept."
)

CLAIM = (
    '"l2_norm_clip, l2_norm_clip * noise_multiplier)" (privacy/optimizers/dp_optimizer_keras_vectorized.py:132): the '
    "sensitivity is l2_norm_clip"
)

MULTIPLIER = 4
"""The standard deviation of a release's noise, divided by the norm."""

NORMS = {"": "1.0625 * max(abs(lower), abs(upper)) + 1e-5", ".clipped": "0.25 * max(abs(lower), abs(upper)) + 1e-5"}

QUERY = """\
import tensorflow as tf, tensorflow_privacy as p; norm = {norm}
def step(data, noise):
    query = p.GaussianSumQuery(norm, noise * norm); state = query.initial_global_state(); zero = tf.zeros(())
    params, total = query.derive_sample_params(state), query.initial_sample_state(zero)
    for x in tf.constant(data): total = query.accumulate_record(params, total, x)
    return (query.get_noised_result(total, state)[0] if noise else total).numpy().item()
"""
OPTIMIZER = """\
import tensorflow as tf, tensorflow_privacy as p; norm = {norm}
def step(data, noise):
    options = dict(learning_rate=1.0, num_microbatches=len(data)); sgd = p.{optimizer}(norm, noise, **options)
    weight, x = tf.Variable(1.0), tf.constant(data)
    return sgd._compute_gradients(lambda: weight * x, [weight])[0][0].numpy().item() * len(data)
"""
END = """\
def noiseless(data): return step(data, 0)
def claimed(data): return norm
def release(data): return step(data, {multiplier})
"""


def programs() -> Iterator[tuple[str, str, int]]:
    """A name, the program, and the most records."""
    for clips, norm in NORMS.items():
        yield f"GaussianSumQuery{clips}", QUERY.format(norm=norm), MOST_STEPS
        for optimizer, most in (
            ("DPKerasSGDOptimizer", MOST_STEPS),
            ("VectorizedDPKerasSGDOptimizer", MOST_VECTORIZED),
        ):
            yield f"{optimizer}{clips}", OPTIMIZER.format(norm=norm, optimizer=optimizer), most


def feed(data: Any, name: str, most: int) -> Any:
    if data.size > most:
        raise NotImplementedError(f"{data.size:,} microbatches of one record take too long; {most:,} are the most")
    if not data.size and "Optimizer" in name:
        raise NotImplementedError("an optimizer divides by the number of microbatches, and there are none")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import tensorflow_privacy  # noqa: F401  (whether it is there)

    for name, program, most in programs():
        yield {
            "name": f"{name}.float32",
            "repro": program + END.format(multiplier=MULTIPLIER),
            "clips_to": NORMS[".clipped" if ".clipped" in name else ""],
            "feed": partial(feed, name=name, most=most),
            "dtype": "float32",
            "noise_multiplier": MULTIPLIER,
            "version": version("tensorflow-privacy"),
            "source": f"tensorflow_privacy.{name.split('.')[0]}",
            "claim_quote": CLAIM,
            "relation_quote": RELATION,
        }
