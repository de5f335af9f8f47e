"""pyqrlew (Sarus): queries rewritten to private SQL, which a database adds up; here that is DuckDB.

The sum before noise is the rewritten query with RANDOM() = 1, which makes its noise, and nothing else, 0; the
sensitivity is its standard deviation over the noise multiplier that the library reports. Each row has an id of its own.
VAR is not implemented in the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST = 1 << 20
"""More rows than this take too long to insert."""

RELATION = (
    'one id: "definition of privacy unit to be protected" (Relation.rewrite_with_differential_privacy, privacy_unit)'
)

CLAIM = "standard deviation in the rewritten SQL over the noise multiplier of dp_event()"

PROGRAM = """\
import duckdb, pandas, pyqrlew, sqlalchemy
def rewritten(data):
    engine = sqlalchemy.create_engine("sqlite://"); rows = pandas.DataFrame({{"id": range(len(data)), "v": data}})
    rows.to_sql("t", engine, index=False); d = pyqrlew.Dataset.from_database("d", engine).t.v.with_range(lower, upper)
    query, spent = pyqrlew.Relation.from_query("{query}", d), {{"epsilon": epsilon, "delta": 1e-5}}
    return rows, query.rewrite_with_differential_privacy(d, [("t", [], "id")], spent, max_multiplicity=1.0)
def release(data): t, done = rewritten(data); return duckdb.sql(done.relation().to_query()).fetchall()[0][0]
"""
BEFORE_NOISE = """\
def noiseless(data): t, done = rewritten(data); return \\
duckdb.sql(done.relation().to_query().replace("RANDOM()", "1.0")).fetchall()[0][0]
"""


def feed(data: Any) -> Any:
    if data.size > MOST:
        raise NotImplementedError(f"{data.size:,} rows take too long to insert; {MOST:,} are the most")
    return data.array()


def noise(lower: Any, upper: Any, epsilon: Any, program: str, dtype: str) -> tuple[float, float]:
    """The standard deviation in the rewritten query, and the multiplier that the library reports."""
    import numpy as np

    space: dict[str, Any] = {"lower": lower, "upper": upper, "epsilon": epsilon}
    exec(program, space)
    _, done = space["rewritten"](np.full(4, lower, dtype))
    found = re.search(r"\(\(([0-9.eE+-]+)\) \* \(\(SQRT\(\(-2\)", done.relation().to_query())
    multiplier = re.search(r"noise_multiplier: ([0-9.eE+-]+)", str(done.dp_event()))
    if found is None or multiplier is None:
        raise NotImplementedError("the rewritten query has no noise of the form that is looked for")
    return float(found[1]), float(multiplier[1])


def claimed(lower: Any, upper: Any, epsilon: Any, program: str, dtype: str) -> Any:
    deviation, multiplier = noise(lower, upper, epsilon, program, dtype)
    return deviation / multiplier


def targets() -> Iterator[dict[str, Any]]:
    import pyqrlew  # noqa: F401  (whether it is there)

    for name, call in (("sum", "SUM"), ("mean", "AVG")):
        for dtype in ("float64", "int64"):
            program = PROGRAM.format(query=f"SELECT {call}(v) AS x FROM t")
            target = {
                "name": f"{name}.{dtype}",
                "repro": program + (BEFORE_NOISE if name == "sum" else ""),
                "feed": feed,
                "dtype": dtype,
                "relation": "symmetric",
                "ordered": True,
                "clamps": False,  # with_range says where values lie, not that others are moved there
                "statistic": name,
                "epsilon": 1,
                "delta": 1e-5,
                "noise": "gaussian",
                "version": version("pyqrlew"),
                "source": "pyqrlew.Relation.rewrite_with_differential_privacy",
                "relation_quote": RELATION,
            }
            if name == "sum":
                target |= {
                    "claimed": partial(claimed, program=program, dtype=dtype),
                    "claim_quote": CLAIM,
                    "noise_multiplier": noise(0, 1, 1, program, dtype)[1],
                }
            yield target
