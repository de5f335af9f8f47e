"""Tumult Analytics: the sum of a column in Spark (tmlt.core's Sum), and sessions' sums, averages and variances.

The sum before noise is the transformation compiled from a session's query, the sensitivity its stability function's
value; a release is a query of a session. Spark runs in the worker, on one core, from the start, and needs Java.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST = 1 << 20
"""More rows than this take minutes to hand over to Spark."""

RELATIONS = {
    "symmetric": (
        "SymmetricDifference",
        '"Protects the addition or removal of a single row" (tmlt/analytics/protected_change.py:44): AddOneRow',
        '"sensitivity = max(abs(self.upper), abs(self.lower))" (spark_transformations/agg.py:796)',
    ),
    "change_one": (
        "HammingDistance",
        '"The number of elements that are different between two sets of the same size. [...] It ignores ordering" '
        "(tmlt/core/metrics.py:376): an input metric of Sum, which sessions do not use",
        '"sensitivity = self.upper - self.lower" (spark_transformations/agg.py:799)',
    ),
}
"""The metric, its distance between neighbours, and the sensitivity in Sum's stability function."""

SPARK = """\
import pandas, pyspark.sql, tmlt.analytics as a, tmlt.core.domains.spark_domains as d, tmlt.core.metrics as m, \
tmlt.core.transformations.spark_transformations.agg as g, tmlt.core.utils.exact_number as e
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
def table(data): return spark.createDataFrame(pandas.DataFrame({"v": data})).coalesce(1)
"""
BEFORE_NOISE = """\
summed = g.Sum(d.SparkDataFrameDomain({{"v": d.Spark{kind}ColumnDescriptor()}}), m.{metric}(), "v", {bounds})
def noiseless(data): return summed(table(data))
def claimed(data): return summed.stability_function(1).to_float(round_up=True)
"""
SESSION = """\
def release(data):
    session = a.Session.from_dataframe(a.PureDPBudget(epsilon), "t", table(data), a.AddOneRow())
    return session.evaluate(a.QueryBuilder("t").{call}("v", lower, upper, name="x"), a.PureDPBudget(epsilon)).first()[0]
"""


def feed(data: Any) -> Any:
    if data.size > MOST:
        raise NotImplementedError(f"{data.size:,} rows take too long to hand over; {MOST:,} are the most")
    return data.array()


def claimed(lower: Any, upper: Any, program: str) -> Any:
    space: dict[str, Any] = {"lower": lower, "upper": upper}
    exec(program, space)
    return space["claimed"](None)


def targets() -> Iterator[dict[str, Any]]:
    import tmlt.analytics  # noqa: F401  (whether it is there)

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    exec(SPARK + "table([0.0]).count()", {})  # a Java machine takes its time, which is not that of a call
    exact = "*(e.ExactNumber.from_float(x, False) for x in (lower, upper))"
    for dtype, kind, bounds in (("float64", "Float", exact), ("int64", "Integer", "lower, upper")):
        common = {
            "feed": feed,
            "dtype": dtype,
            "noise": "laplace" if dtype == "float64" else "discrete_laplace",
            "version": version("tmlt.analytics"),
        }
        for relation, (metric, quote, claim) in RELATIONS.items():
            program = SPARK + BEFORE_NOISE.format(kind=kind, metric=metric, bounds=bounds)
            whole = program + (SESSION.format(call="sum") if relation == "symmetric" else "")
            yield {
                **common,
                "name": f"sum.{relation}.{dtype}",
                "repro": whole,
                "claimed": partial(claimed, program=program),
                "relation": relation,
                "source": "tmlt/core/transformations/spark_transformations/agg.py",
                "claim_quote": f"{claim}, read from the transformation",
                "relation_quote": quote,
            }
        for call in ("average", "variance"):
            yield {
                **common,
                "name": f"{call}.{dtype}",
                "repro": SPARK + SESSION.format(call=call),
                "statistic": "mean" if call == "average" else call,
                "relation": "symmetric",
                "source": "tmlt/analytics/query_builder.py",
                "relation_quote": RELATIONS["symmetric"][1],
            }
