"""Flower: server-side fixed clipping around FedAvg, measured before it is divided.

A client's model is one number, its update is that number, and every client has one example, so that all weigh the same.
`clipping_norm` is a little above every update, so that nothing is clipped, or (`clipped`) a quarter of the largest, so
that most are. FedAvg divides by the number of clients, and the wrapper scales its noise to that; sum and release
multiply by it again. The noise multiplier is 4, enough for (1, 1e-5): a Gaussian of that size has delta 2.9e-6 at
epsilon 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from itertools import product
from typing import Any

MOST_CLIENTS = 1 << 16
"""Each client's answer is an object of its own."""

RELATION = (
    'No relation is documented; the code names a paper, "Paper: https://arxiv.org/abs/1710.06963" '
    "(flwr/supercore/differential_privacy.py:66), which adds or removes a user. Order is not spoken of; read most "
    "narrowly, it is kept."
)

CLAIM = (
    '"(noise_multiplier * clipping_norm) / num_sampled_clients" (flwr/supercore/differential_privacy.py:68): of the '
    "sum, the sensitivity is clipping_norm"
)

MULTIPLIER = 4
"""The noise multiplier of a release."""

NORMS = {"": "1.0625 * max(abs(lower), abs(upper)) + 1e-5", ".clipped": "0.25 * max(abs(lower), abs(upper)) + 1e-5"}

WAYS = {"": "", ".apart": "inplace=False"}
"""How FedAvg adds: in place, or in lists."""

PROGRAM = """\
import flwr.common as c, flwr.server.strategy as s; norm = {norm}
def summed(data, noise):
    fit = s.DifferentialPrivacyServerSideFixedClipping(s.FedAvg({way}), noise, norm, len(data))
    fit.current_round_params = [np.zeros(1, data.dtype)]; models = map(c.ndarrays_to_parameters, data[:, None, None])
    out, _ = fit.aggregate_fit(2, [(None, c.FitRes(None, x, 1, {{}})) for x in models], [])
    return c.parameters_to_ndarrays(out)[0].item() * len(data)
def noiseless(data): return summed(data, 0)
def claimed(data): return norm
def release(data): return summed(data, {multiplier})
"""


def feed(data: Any) -> Any:
    if not data.size:
        raise NotImplementedError("without clients there is no update")
    if data.size > MOST_CLIENTS:
        raise NotImplementedError(f"{data.size:,} clients take too long; {MOST_CLIENTS:,} are the most")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import logging

    import flwr  # noqa: F401  (whether it is there)

    logging.getLogger("flwr").setLevel(logging.CRITICAL)  # it writes a line for each client

    for kind, (clips, norm), (apart, way) in product(("float32", "float64"), NORMS.items(), WAYS.items()):
        yield {
            "name": f"server_side_fixed_clipping{clips}{apart}.{kind}",
            "repro": PROGRAM.format(norm=norm, way=way, multiplier=MULTIPLIER),
            "clips_to": norm,
            "feed": feed,
            "dtype": kind,
            "noise_multiplier": MULTIPLIER,
            "version": version("flwr"),
            "source": "flwr/server/strategy/dp_fixed_clipping.py",
            "claim_quote": CLAIM,
            "relation_quote": RELATION,
        }
