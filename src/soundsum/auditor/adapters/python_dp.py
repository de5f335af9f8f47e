"""python-dp: Google's C++ library in Python (PyDP), its bounded sums, means and variances.

Records are fed in chunks, once, and the partial sum is taken out by the library's own `serialize`; each draw of noise
is by a new algorithm that merges it. Where the library adds noise to the partial sum, that is the sum before noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

RELATION = (
    '"max_contributions_per_partition: the maximum number of inputs that can belong to a single user" (Google\'s '
    "cc/docs/algorithms/algorithm.md:31), one by default: neighbours differ in one record, added or removed. Order is "
    "not spoken of; read most narrowly, the others keep theirs."
)

SUM_CLAIM = (
    "SetLInfSensitivity(... std::max(std::abs(lower), std::abs(upper))) (Google's cc/algorithms/bounded-sum.h:95)"
)
MEAN_CLAIM = "SetLInfSensitivity(... (std::abs(upper - lower) / 2.0)) (Google's cc/algorithms/bounded-mean.h:105)"

PROGRAM = """\
import struct
from pydp.algorithms import laplacian
def fed(data):
    algorithm = laplacian.{call}(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype="{kind}")
    [algorithm.add_entries(x.tolist()) for x in np.array_split(data, len(data) // 2**20 + 1)]; return algorithm
def release(data): return fed(data).result()
"""
SUM_BEFORE_NOISE = "def noiseless(data): return struct.unpack('<d', fed(data).serialize().to_bytes()[-8:])[0]\n"


class ConstructionDeclined(Exception):
    """The library does not construct it."""


KINDS = {"float64": "float", "int64": "int64", "int32": "int"}


def algorithm(lower: Any, upper: Any, epsilon: Any, call: str, kind: str) -> Any:
    from pydp.algorithms import laplacian

    try:
        return getattr(laplacian, call)(epsilon=epsilon, lower_bound=lower, upper_bound=upper, dtype=kind)
    except RuntimeError as reason:
        raise ConstructionDeclined(str(reason)) from reason


def feed(data: Any, lower: Any, upper: Any, epsilon: Any, call: str, kind: str) -> Any:
    fed = algorithm(lower, upper, epsilon, call, kind)
    for chunk in data.chunks():
        fed.add_entries(chunk.tolist())
    return fed.serialize()


def release(data: Any, lower: Any, upper: Any, epsilon: Any, runs: int, call: str, kind: str) -> Any:
    outputs = []
    for _ in range(runs):
        fresh = algorithm(lower, upper, epsilon, call, kind)
        fresh.merge(data)
        outputs.append(fresh.result())
    return outputs


def partial_sum(data: Any) -> Any:
    import struct

    return struct.unpack("<d", data.to_bytes()[-8:])[0]  # its last field, a double


def partial_sum_of_integers(data: Any) -> Any:
    field = data.to_bytes()  # its last field, a number of seven bits a byte, the highest bit set on all but the last
    start = len(field) - 1
    while field[start - 1] >= 128:
        start -= 1
    value = sum((byte & 127) << (7 * place) for place, byte in enumerate(field[start:]))
    return value - (1 << 64) if value >= 1 << 63 else value


def largest_magnitude(lower: Any, upper: Any) -> Any:
    return max(abs(lower), abs(upper))


def half_the_range(lower: Any, upper: Any) -> Any:
    return abs(upper - lower) / 2


def targets() -> Iterator[dict[str, Any]]:
    import pydp  # noqa: F401  (whether it is there)

    for dtype, kind in KINDS.items():
        floats = dtype == "float64"
        common = {
            "dtype": dtype,
            "relation": "symmetric",
            "ordered": True,
            "streams": True,
            "noise": "laplace" if floats else "discrete_laplace",
            "version": version("python-dp"),
            "refuses": (ConstructionDeclined,),
            "relation_quote": RELATION,
        }
        for call, name in (("BoundedSum", "sum"), ("BoundedMean", "mean"), ("BoundedVariance", "variance")):
            bound: dict[str, Any] = {"call": call, "kind": kind}
            target = {
                **common,
                "name": f"{name}.{dtype}",
                "statistic": name,
                "feed": partial(feed, **bound),
                "release": partial(release, **bound),
                "repro": PROGRAM.format(**bound) + (SUM_BEFORE_NOISE if floats and name != "variance" else ""),
                "source": f"cc/algorithms/bounded-{name}.h of google/differential-privacy, pydp/algorithms",
            }
            if name == "sum":
                target |= {
                    "noiseless": partial_sum if floats else partial_sum_of_integers,
                    "claimed": largest_magnitude,
                    "claim_quote": SUM_CLAIM,
                    "modulus": None if floats else 1 << (64 if dtype == "int64" else 32),
                }
            elif name == "mean" and floats:
                target |= {"noiseless": partial_sum, "claimed": half_the_range, "claim_quote": MEAN_CLAIM}
            yield target
