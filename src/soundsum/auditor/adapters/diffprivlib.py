"""diffprivlib (IBM): sums, means and variances of NumPy arrays.

The sum before noise is what the library hands to its mechanism's `randomise`; the sensitivity is that mechanism's own.
`std` is the root of `var`, after noise, and so no target of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

RELATION = (
    "No relation is documented. The number of records is used without noise (array.size, tools/utils.py:739), and "
    "sensitivity=upper - lower is what a change of one of n records can do; read most narrowly, in its place."
)

CLAIMS = {
    "sum": "sensitivity=upper - lower (tools/utils.py:739), read from the mechanism",
    "mean": "sensitivity=(upper - lower) / array.size (tools/utils.py:293), read from the mechanism",
    "var": "sensitivity=((upper - lower) / array.size) ** 2 * (array.size - 1) (tools/utils.py:451), read from the "
    "mechanism",
}

PATHS = {
    "sum": ("float64", "float32", "float16", "int64", "int32", "uint8"),
    "sum.dtype": ("float32", "float16", "int64", "int32"),
    "sum.keepdims": ("float64", "float32", "int32"),
    "nansum": ("float64", "float32"),
    "nansum.dtype": ("int32",),
    "mean": ("float64", "float32", "float16", "int64", "int32"),
    "mean.dtype": ("float32", "float16"),
    "nanmean": ("float64",),
    "var": ("float64", "float32"),
    "var.dtype": ("float32",),
    "nanvar": ("float64",),
}
"""Functions and the types of their records; with .dtype the type is given as dtype= too, .keepdims gives an array."""


def at_mechanism(data: Any, lower: Any, upper: Any, epsilon: Any, call: str, see: str, **options: Any) -> Any:
    from contextlib import ExitStack
    from unittest.mock import patch

    from diffprivlib.tools import utils

    def let_out(mechanism: Any, value: Any) -> Any:
        return value if see == "value" else mechanism.sensitivity

    with ExitStack() as patched:  # in place of noise
        for kind in (utils.LaplaceTruncated, utils.LaplaceBoundedDomain, utils.GeometricTruncated):
            patched.enter_context(patch.object(kind, "randomise", let_out))
        return getattr(utils, call)(data, epsilon=epsilon, bounds=(lower, upper), **options)


def release(data: Any, lower: Any, upper: Any, epsilon: Any, runs: int, call: str, **options: Any) -> Any:
    from diffprivlib import tools

    function = getattr(tools, call)
    return [function(data, epsilon=epsilon, bounds=(lower, upper), **options) for _ in range(runs)]


def claimed(lower: Any, upper: Any, epsilon: Any, size: int, call: str, kind: str, **options: Any) -> Any:
    import numpy as np

    records = np.full(1 if "sum" in call else size, lower, kind)  # a sum's does not depend on how many there are
    return at_mechanism(records, lower, upper, epsilon, call, "sensitivity", **options)


def targets() -> Iterator[dict[str, Any]]:
    import diffprivlib
    import numpy as np

    for path, kinds in PATHS.items():
        call, _, option = path.partition(".")
        for kind in kinds:
            scalar = np.dtype(kind).type
            options: dict[str, Any] = {"dtype": scalar} if option == "dtype" else {"keepdims": True} if option else {}
            yield {
                "name": f"{path}.{kind}",
                "noiseless": partial(at_mechanism, call=call, see="value", **options),
                "release": partial(release, call=call, **options),
                "claimed": partial(claimed, call=call, kind=kind, **options),
                "dtype": kind,
                "relation": "change_one",
                "ordered": True,
                "statistic": {"sum": "sum", "mean": "mean", "var": "variance"}[call.removeprefix("nan")],
                "noise": "discrete_laplace" if option == "dtype" and "int" in kind else "laplace",
                "version": diffprivlib.__version__,
                "source": "diffprivlib/tools/utils.py",
                "claim_quote": CLAIMS[call.removeprefix("nan")],
                "relation_quote": RELATION,
            }
