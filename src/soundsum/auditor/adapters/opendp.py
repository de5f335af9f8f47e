"""OpenDP: its sums, means and variances, each a transformation with its own stability map.

The sum before noise is the transformation itself, the sensitivity its map at distance 1 where one record is added or
removed, at distance 2 where one of a known number is changed. Noise is `then_laplace`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

MOST = 1 << 20
"""Without a size, sums of floats add this many records and sample the others away."""

FLOATS, INTS = {"float64": "f64", "float32": "f32"}, {"int64": "i64", "int32": "i32"}

METRICS = {
    "symmetric": ("dp.symmetric_distance()", "input metric SymmetricDistance: records added and removed, in any order"),
    "insert_delete": ("dp.insert_delete_distance()", "input metric InsertDeleteDistance: the same, the order kept"),
}
SIZED = {"symmetric": "change_one", "insert_delete": "hamming"}
DISTANCE = "; of a known number of records one is changed at distance 2"


PROGRAM = """\
import opendp.prelude as dp; dp.enable_features("contrib")
def summed(): return {expression}
def noiseless(data): return summed()(data)
def claimed(data): return summed().map({distance})
import functools
@functools.cache
def noisy(): return dp.binary_search_chain(lambda s: summed() >> dp.m.then_laplace(s), {distance}, epsilon)
def release(data): return noisy()(data)
"""


class MeasurementDeclined(Exception):
    """OpenDP does not construct it."""


def expressions() -> Iterator[tuple[str, str, str, str]]:
    """A name, a constructor as it is written in a program, the type of records, and the relation."""
    for metric, (written, _) in METRICS.items():
        for dtype, kind in (FLOATS | INTS).items():
            atom = f"dp.atom_domain(bounds=(lower, upper), T='{kind}'{', nan=False' if dtype in FLOATS else ''})"
            suffix = f"{metric}.{dtype}"
            yield f"sum.{suffix}", f"dp.t.make_sum(dp.vector_domain({atom}), {written})", dtype, metric
            sized = f"(dp.vector_domain({atom}, size), {written}"
            yield f"sum.sized.{suffix}", f"dp.t.make_sum{sized})", dtype, SIZED[metric]
            if dtype in FLOATS and metric == "symmetric":
                yield f"mean.{suffix}", f"dp.t.make_mean{sized})", dtype, SIZED[metric]
                for order in ("Pairwise", "Sequential"):
                    for call in ("variance", "sum_of_squared_deviations"):
                        written_out = f"dp.t.make_{call}{sized}, S='{order}<{kind}>')"
                        yield f"{call}.{order.lower()}.{suffix}", written_out, dtype, SIZED[metric]
    for dtype, kind in FLOATS.items():
        for order in ("Pairwise", "Sequential"):
            for way, metric in (("checked", "symmetric"), ("ordered", "insert_delete")):
                name, options = f"float_{way}_sum.{order.lower()}.{dtype}", f"(lower, upper), S='{order}<{kind}>')"
                yield name, f"dp.t.make_bounded_float_{way}_sum({MOST}, {options}", dtype, metric
                written_out = f"dp.t.make_sized_bounded_float_{way}_sum(size, {options}"
                yield f"sized_{name}", written_out, dtype, SIZED[metric]
    for dtype, kind in INTS.items():
        ways = {"monotonic": "symmetric", "split": "symmetric", "ordered": "insert_delete", "checked": "symmetric"}
        for way, metric in ways.items():
            name, options = f"int_{way}_sum.{dtype}", f"(lower, upper), T='{kind}')"
            if way != "checked":
                yield name, f"dp.t.make_bounded_int_{way}_sum({options}", dtype, metric
            yield f"sized_{name}", f"dp.t.make_sized_bounded_int_{way}_sum(size, {options}", dtype, SIZED[metric]


def constructed(expression: str, lower: Any, upper: Any, size: Any) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    try:
        return eval(expression, {"dp": dp, "lower": lower, "upper": upper, "size": size})
    except (dp.OpenDPException, TypeError) as reason:
        raise MeasurementDeclined(" ".join(str(reason).split())) from reason


def claimed(lower: Any, upper: Any, size: Any, expression: str) -> Any:
    return constructed(expression, lower, upper, size).map(1 if size is None else 2)


def feed(data: Any, lower: Any, upper: Any, size: Any, expression: str) -> Any:
    constructed(expression, lower, upper, size)
    if size is None and data.size > MOST:
        raise NotImplementedError(f"{data.size:,} records: over {MOST:,} a sum of floats without a size samples")
    return data.array()


def targets() -> Iterator[dict[str, Any]]:
    import opendp.prelude  # noqa: F401  (whether it is there)

    for name, expression, dtype, relation in expressions():
        metric = {value: key for key, value in SIZED.items()}.get(relation, relation)
        yield {
            "name": name,
            "repro": PROGRAM.format(expression=expression, distance=1 if relation in METRICS else 2),
            "claimed": partial(claimed, expression=expression),
            "feed": partial(feed, expression=expression),
            "dtype": dtype,
            "relation": relation,
            "clamps": False,  # the input domain ends at the bounds
            "statistic": name.split(".")[0] if name.startswith(("mean", "variance")) else "sum",
            "noise": "laplace" if dtype in FLOATS else "discrete_laplace",
            "version": version("opendp"),
            "source": expression,
            "claim_quote": f"the transformation's own stability map, at distance {1 if relation in METRICS else 2}",
            "relation_quote": METRICS[metric][1] + ("" if relation in METRICS else DISTANCE),
            "refuses": (MeasurementDeclined,),
        }
