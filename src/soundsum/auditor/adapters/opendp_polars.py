"""OpenDP through its Polars context: sums of a column of a LazyFrame.

Noise on integers whose scale is 2^-20 is 0 but for one run in e^1000000. At such an epsilon a release is the sum before
noise, and the sensitivity is the scale that `summarize` tells, times epsilon. Of floats there are only releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST = 1 << 20
"""The most records, which a margin states as public."""

RELATION = (
    '"Greatest number of records or identifiers a privacy unit may contribute to microdata" (opendp/context.py:358): '
    "here 1, which is added or removed, in any order"
)

CLAIM = "`summarize` of the query, times its epsilon"

FILLS = {"int64": "fill_null(0)", "int32": "fill_null(0)", "float64": "fill_nan(0.0).fill_null(0.0)"}
FILLS["float32"] = FILLS["float64"]

QUERY = """\
import opendp.prelude as dp, polars as pl; dp.enable_features("contrib")
huge = 2.0**20 * max(1, abs(lower), abs(upper))
def query(data, spent):
    about = dict(privacy_unit=dp.unit_of(contributions=1), margins=[dp.polars.Margin(max_length={most})])
    about.update(data=pl.LazyFrame({{"x": data}}), privacy_loss=dp.loss_of(epsilon=spent), split_evenly_over=1)
    return dp.Context.compositor(**about).query().select(pl.col("x").{fill}.dp.sum((lower, upper)))
def release(data): return query(data, epsilon).release().collect().item()
"""
EXACT = """\
def noiseless(data): return query(data, huge).release().collect().item()
def claimed(data): return query(data, huge).summarize()["scale"].item() * huge
"""


def claimed(lower: Any, upper: Any, program: str, dtype: str) -> Any:
    import numpy as np

    space: dict[str, Any] = {"lower": lower, "upper": upper}
    exec(program, space)
    return space["claimed"](np.zeros(1, dtype))


def feed(data: Any) -> Any:
    if data.size > MOST:
        raise NotImplementedError(f"{data.size:,} records: the margin ends at {MOST:,}")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import logging

    import opendp.prelude as dp

    logging.getLogger("opendp").setLevel(logging.ERROR)  # epsilon 10^6 is unusual

    for dtype, fill in FILLS.items():
        whole = dtype.startswith("int")
        program = QUERY.format(most=MOST, fill=fill) + (EXACT if whole else "")
        yield {
            "name": f"sum.{dtype}",
            "repro": program,
            **({"claimed": partial(claimed, program=program, dtype=dtype)} if whole else {}),
            "feed": feed,
            "dtype": dtype,
            "relation": "symmetric",
            "epsilon": 1,
            "noise": "discrete_laplace" if whole else "laplace",
            "version": version("opendp"),
            "source": "opendp/context.py",
            "claim_quote": CLAIM,
            "relation_quote": RELATION,
            "refuses": (dp.OpenDPException,),
        }
