"""Naive targets, to learn from: ordinary sums of clamped records with naive Laplace noise for the ideal sensitivity.

Textbooks and programs clip, sum and add noise of scale (U - L)/epsilon. NumPy, pandas, Polars, DuckDB, PyArrow and
`math.fsum` each add in their own way. They promise no privacy; the mechanism built on them would.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from soundsum.auditor.calling import Unsupported
from soundsum.auditor.target import Target
from soundsum.tables.relations import Relation

CLAIM = "U - L, the sensitivity of a bounded sum over the real numbers when one record changes"
RELATION = "one record changes, the order of records does not matter"


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise Unsupported(f"{name} is not installed; pip install {name}") from None


def numpy_sum(data: Any) -> Any:
    return np.sum(data)


def numpy_sum_int32(data: Any) -> Any:
    return np.sum(data, dtype=np.int32)


def pandas_sum(data: Any) -> Any:
    return _module("pandas").Series(data).sum()


def polars_sum(data: Any) -> Any:
    return _module("polars").Series(data).sum()


def duckdb_sum(data: Any) -> Any:
    connection = _module("duckdb").connect()
    connection.register("records", _module("pyarrow").table({"x": data}))
    (total,) = connection.execute("SELECT sum(x) FROM records").fetchone()
    return total


def pyarrow_sum(data: Any) -> Any:
    compute = _module("pyarrow.compute")
    return compute.sum(_module("pyarrow").array(data)).as_py()


def fsum(data: Any) -> Any:
    return math.fsum(data.tolist())


@dataclass(frozen=True)
class Clamped:
    """A library's sum of records brought into the bounds, as most code does it."""

    add: Callable[[Any], Any]

    def __call__(self, data: Any, lower: Any, upper: Any) -> Any:
        return self.add(np.clip(data, lower, upper))


@dataclass(frozen=True)
class WithLaplaceNoise:
    """Such a sum with Laplace noise for U - L, added as a double."""

    add: Callable[[Any], Any]

    def __call__(self, data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> Any:
        total = float(Clamped(self.add)(data, lower, upper))
        return total + np.random.default_rng().laplace(0, (float(upper) - float(lower)) / epsilon, runs)


def claimed(lower: Any, upper: Any) -> Any:
    return upper - lower


@dataclass(frozen=True)
class Adding:
    """One library's sum, its types, and its code as a standalone program."""

    name: str
    function: str
    add: Callable[[Any], Any]
    dtypes: tuple[str, ...]
    code: str
    package: str = ""


LIBRARIES = (
    Adding("numpy", "sum", numpy_sum, ("float64", "float32", "float16", "int64"), "np.sum({})"),
    Adding("numpy", "sum_int32", numpy_sum_int32, ("int32",), "np.sum({}, dtype=np.int32)"),
    Adding("pandas", "sum", pandas_sum, ("float64", "float32", "int64"), "pandas.Series({}).sum()"),
    Adding("polars", "sum", polars_sum, ("float64", "float32", "int64", "int32"), "polars.Series({}).sum()"),
    Adding(
        "duckdb",
        "sum",
        duckdb_sum,
        ("float64", "float32", "int64"),
        'duckdb.execute("SELECT sum(x) FROM (SELECT unnest(?) AS x)", [{}]).fetchone()[0]',
    ),
    Adding("pyarrow", "sum", pyarrow_sum, ("float64", "float32", "int64"), "pyarrow.compute.sum({}).as_py()"),
    Adding("fsum", "sum", fsum, ("float64",), "math.fsum({})", package="math"),
)


def names() -> list[str]:
    return list(dict.fromkeys(library.name for library in LIBRARIES))


def targets(name: str) -> list[Target]:
    """The naive targets of one library.

    >>> [t.name for t in targets("fsum")]
    ['fsum.sum[float64]']
    """
    return [_target(library, dtype) for library in LIBRARIES if library.name == name for dtype in library.dtypes]


def _target(library: Adding, dtype: str) -> Target:
    return Target(
        name=f"{library.name}.{library.function}[{dtype}]",
        release=WithLaplaceNoise(library.add),
        noiseless=Clamped(library.add),
        claimed=claimed,
        dtype=dtype,
        relation=Relation.CHANGE_ONE,
        noise="laplace",
        library=library.name,
        version=_version(library),
        source=f"soundsum.auditor.naive_targets:{library.add.__name__}",
        claim_quote=CLAIM,
        relation_quote=RELATION,
        repro=_repro(library),
    )


def _version(library: Adding) -> str:
    try:
        return "" if library.package == "math" else version(library.name)
    except ImportError:
        return "not installed"


def _repro(library: Adding) -> str:
    module = {"fsum": "math", "pyarrow": "pyarrow.compute", "numpy": ""}.get(library.name, library.name)
    total = library.code.format("np.clip(data, lower, upper)")
    lines = [*([f"import {module}"] if module else []), f"def noiseless(data): return {total}"]
    noise = "np.random.default_rng().laplace(0, (upper - lower) / epsilon)"
    return "\n".join([*lines, f"def release(data): return float(noiseless(data)) + {noise}"])
