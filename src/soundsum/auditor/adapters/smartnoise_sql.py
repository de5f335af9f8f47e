"""SmartNoise SQL: SUM, AVG and VAR over a pandas table, which it hands to SQLite; each row is one person.

The sum before noise is the query's result while the mechanism returns its input; the sensitivity is the
mechanism's scale times its epsilon. SQLite has doubles and 64-bit integers alone, and so have the targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST = 1 << 21
"""More rows than this take minutes to insert into SQLite."""

RELATION = '"input_metric = dp.symmetric_distance()" (_mechanisms/laplace.py:42), with row_privacy: a row is a person'

CLAIM = 'the scale found for OpenDP\'s sum, "self.scale = discovered_scale" (_mechanisms/laplace.py:54), times epsilon'

PROGRAM = """\
import pandas, snsql, unittest.mock as mock; from snsql.sql._mechanisms.laplace import Laplace
def release(data):
    table = {{"row_privacy": True, "v": {{"type": "{kind}", "lower": lower, "upper": upper}}{group}}}
    rows, privacy = pandas.DataFrame({{"v": data{column}}}), snsql.Privacy(epsilon=epsilon, delta=1e-9)
    reader = snsql.from_df(rows, privacy=privacy, metadata={{"": {{"db": {{"t": table}}}}}})
    return reader.execute("{query}")[1][-1]
"""
BEFORE_NOISE = """\
def noiseless(data):  # what the mechanism is given
    with mock.patch.object(Laplace, "release", lambda self, values: values): return release(data)
"""

QUERIES = {
    "sum": "SELECT SUM(v) AS x FROM db.t",
    "sum.grouped": "SELECT g, SUM(v) AS x FROM db.t GROUP BY g",
    "mean": "SELECT AVG(v) AS x FROM db.t",
    "variance": "SELECT VAR(v) AS x FROM db.t",
}


class QueryDeclined(Exception):
    """The library does not take the parameters."""


def claimed(lower: Any, upper: Any, epsilon: Any) -> Any:
    """The scale of the mechanism that the library makes for a sum, times its epsilon."""
    from snsql.sql._mechanisms.laplace import Laplace

    most = max(abs(lower), abs(upper))
    try:
        mechanism = Laplace(epsilon, sensitivity=most, max_contrib=1)
    except ValueError as reason:
        raise QueryDeclined(" ".join(str(reason).split())) from reason
    return mechanism.scale * mechanism.epsilon


def feed(data: Any, lower: Any, upper: Any, epsilon: Any) -> Any:
    claimed(lower, upper, epsilon)
    if data.size > MOST:
        raise NotImplementedError(f"{data.size:,} rows take too long to insert; {MOST:,} are the most")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import snsql  # noqa: F401  (whether it is there)

    for name, query in QUERIES.items():
        for dtype, kind in (("float64", "float"), ("int64", "int")):
            group = {"group": ', "g": {"type": "string"}', "column": ', "g": "a"'} if "grouped" in name else {}
            whole = {"group": "", "column": "", **group}
            of_sum = name.startswith("sum")
            target = {
                "name": f"{name}.{dtype}",
                "repro": PROGRAM.format(kind=kind, query=query, **whole) + (BEFORE_NOISE if of_sum else ""),
                "feed": feed,
                "dtype": dtype,
                "relation": "symmetric",
                "statistic": name.split(".")[0],
                "noise": "laplace",
                "delta": 1e-9 if "grouped" in name else 0,
                "version": version("smartnoise-sql"),
                "source": "snsql/sql/private_reader.py",
                "relation_quote": RELATION,
                "refuses": (QueryDeclined, IndexError),  # no row comes back where there are too few people
            }
            if of_sum:
                target |= {"claimed": partial(claimed), "claim_quote": CLAIM}
            yield target
