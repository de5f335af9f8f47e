"""JAX-Privacy: the clipped sum of gradients of a model with one parameter, in every combination of its options.

The loss is the parameter times the record, so a record is its own gradient; l2_clip_norm is a little above them all, so
that nothing is clipped, or (`clipped`, `unit`) a quarter of the largest, so that most are. The sum before noise is the
result of `clipped_grad` or `clipped_fun`, with its promised sensitivity; a release adds `gaussian_privatizer`'s noise,
4 times that, which is enough for (1, 1e-5): at the sensitivity promised, the Gaussian of that size has delta 2.9e-6 at
epsilon 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from itertools import product
from typing import Any

RELATION = (
    '"The L2 sensitivity of the returned function with respect to the batch arguments [...] under add/remove or '
    "zero-out differential privacy definitions is guaranteed to be 1.0 if `rescale_to_unit_norm` is True. Otherwise, "
    'the sensitivity is `l2_clip_norm`" (clipping.py:{line}). Order is not spoken of; read most narrowly, it is kept.'
)

LINES = {"clipped_grad": 506, "clipped_fun": 281}

CLAIM = '"return self.l2_norm_bound" (clipping.py:72): .sensitivity(ADD_OR_REMOVE_ONE) of the function itself'

SPECIALS = (
    '"the formal guarantees of the returned Callable still holds in the presence of NaNs and infs" (clipping.py:318)'
)

MULTIPLIER = 4
"""The standard deviation of a release's noise, divided by the norm."""

PROGRAM = """\
import jax, jax.numpy as jnp, os; from jax_privacy import clipping, noise_addition
summed = {summed}
def clipped(data):
    if not len(data): raise NotImplementedError("a batch of no examples")
    return {call}
def noiseless(data): return clipped(data).item()
def claimed(data): return summed.l2_norm_bound
def release(data):
    privatizer = noise_addition.gaussian_privatizer(stddev={multiplier} * summed.l2_norm_bound, prng_key=key())
    return privatizer.update(clipped(data), privatizer.init(jnp.zeros((), "{kind}")))[0].item()
def key(): return jax.random.key(int.from_bytes(os.urandom(4), "big"))
"""

NORMS = {
    "": ("1.0625 * max(abs(lower), abs(upper)) + 1e-5", ""),
    ".clipped": ("0.25 * max(abs(lower), abs(upper)) + 1e-5", ""),
    ".unit": ("0.25 * max(abs(lower), abs(upper)) + 1e-5", ", rescale_to_unit_norm=True"),
}

MICROBATCHES = {"": "", ".microbatch": ", microbatch_size=1"}
TYPES = {"": "", ".dtype_float32": ', dtype="float32"'}


def claimed(lower: Any, upper: Any, program: str) -> Any:
    from dp_accounting import NeighboringRelation

    space: dict[str, Any] = {"lower": lower, "upper": upper}
    exec(program, space)
    return space["summed"].sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)


def targets() -> Iterator[dict[str, Any]]:
    import jax_privacy  # noqa: F401  (whether it is there)

    for kind in ("float32", "float16", "bfloat16"):
        data = f'jnp.asarray(data, "{kind}")'
        ways = product(NORMS.items(), MICROBATCHES.items(), TYPES.items())
        for (clips, (norm, unit)), (by, microbatch), (option, written) in ways:
            if kind == "float32" and option:
                continue
            options = f"l2_clip_norm={norm}, keep_batch_dim=False{unit}{microbatch}{written}"
            grad = f"clipping.clipped_grad(lambda w, x: w * x, {options})"
            calls = {"clipped_grad": (grad, f'summed(jnp.ones((), "{kind}"), {data})')}
            if not by and not clips:
                calls["clipped_fun"] = (f"clipping.clipped_fun(lambda x: x, {options})", f"summed({data})")
            for name, (summed, call) in calls.items():
                out = "float32" if option else kind
                program = PROGRAM.format(summed=summed, call=call, kind=out, multiplier=MULTIPLIER)
                yield {
                    "name": f"{name}{clips}{by}{option}.{kind}",
                    "repro": program,
                    "clips_to": norm,
                    "claimed": partial(claimed, program=program),
                    "dtype": kind,
                    "noise_multiplier": MULTIPLIER,
                    "version": version("jax-privacy"),
                    "source": "jax_privacy/clipping.py",
                    "claim_quote": CLAIM,
                    "relation_quote": RELATION.format(line=LINES[name]),
                    "specials_quote": SPECIALS,
                }
