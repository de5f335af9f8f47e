"""diffprivlib (IBM): sums, means and variances of NumPy arrays.

The sum before noise is the argument of the mechanism's `randomise`, not the result made of it (an array of the records'
type, with keepdims); the sensitivity is that mechanism's own.
`std` is the root of `var`, after noise, and so no target of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

RELATION = (
    "No relation is documented. The number of records is used without noise, and the sensitivity is what a change of "
    'one of n records can do ("sensitivity=upper - lower, lower=lower * array.size" (tools/utils.py:739)); read most '
    "narrowly, the record is changed in its place."
)

CLAIMS = {
    "sum": '"sensitivity=upper - lower" (tools/utils.py:739)',
    "mean": '"sensitivity=(upper - lower) / array.size" (tools/utils.py:293)',
    "var": '"sensitivity=((upper - lower) / array.size) ** 2 * (array.size - 1)" (tools/utils.py:451)',
}

SPECIALS = {
    "nansum": '"Sum of array elements over a given axis with differential privacy, ignoring NaNs" (tools/utils.py:657)',
    "nanmean": '"arithmetic mean along the specified axis, ignoring NaNs" (tools/utils.py:212)',
    "nanvar": '"variance along the specified axis, ignoring NaNs" (tools/utils.py:365)',
}
"""The documentation of the other functions does not allow NaN among the records."""

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

PROGRAM = """\
from unittest.mock import patch
from diffprivlib.tools import utils
def release(data): return utils.{call}(data, epsilon=epsilon, bounds=(lower, upper){options})
def given(data, seen=[]):  # the mechanism's sensitivity, and what it is given
    see = lambda self, x: seen.append((self.sensitivity, x)) or x
    with patch.object(utils.{mechanism}, "randomise", see): seen.clear(); release(data); return seen[0]
def noiseless(data): return given(data)[1]
def claimed(data): return given(data)[0]
"""


def claimed(lower: Any, upper: Any, epsilon: Any, size: int, program: str, kind: str) -> Any:
    """The mechanism's own sensitivity."""
    import numpy as np

    space: dict[str, Any] = {"np": np, "lower": lower, "upper": upper, "epsilon": epsilon}
    exec(program, space)
    records = 1 if "utils.sum(" in program or "utils.nansum(" in program else size  # a sum's is the same for all sizes
    return space["claimed"](np.full(records, lower, kind))


def targets() -> Iterator[dict[str, Any]]:
    import diffprivlib

    for path, kinds in PATHS.items():
        call, _, option = path.partition(".")
        of = call.removeprefix("nan")
        for kind in kinds:
            discrete = option == "dtype" and "int" in kind
            mechanism = (
                "LaplaceBoundedDomain" if of == "var" else "GeometricTruncated" if discrete else "LaplaceTruncated"
            )
            options = {"dtype": f", dtype=np.{kind}", "keepdims": ", keepdims=True"}.get(option, "")
            program = PROGRAM.format(call=call, options=options, mechanism=mechanism)
            yield {
                "name": f"{path}.{kind}",
                "repro": program,
                "claimed": partial(claimed, program=program, kind=kind),
                "dtype": kind,
                "relation": "change_one",
                "ordered": True,
                "statistic": {"sum": "sum", "mean": "mean", "var": "variance"}[of],
                "noise": "discrete_laplace" if discrete else "laplace",
                "version": diffprivlib.__version__,
                "source": "diffprivlib/tools/utils.py",
                "claim_quote": f"{CLAIMS[of]}, read from the mechanism",
                "relation_quote": RELATION,
                "specials_quote": SPECIALS.get(call, ""),
            }
