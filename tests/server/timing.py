"""Times of answers: `python -m tests.server.timing`, in about five minutes on an idle machine.

The tables differ in one person, who has many rows. A naive endpoint takes each person's first rows, as ours does, adds
exact noise and answers when it is done: a sign test tells the tables apart within 50 pairs. Ours is to show nothing in
2,000 at 1%, neither by times nor by failed reads; by chance it does in one run of a hundred, so try such a run again.
On a busy machine give a longer `--pad`, within which every read ends, and more `--analysts`, who wait at the same time.
"""

import argparse
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from soundsum.auditor.timing import sign_test

from .naive import serve_naively
from .running import Server

PERSONS, MANY = 1_000, 300_000
SIDES = ("without", "with_one")
OWNER = """
[tables.{side}]
data = "{side}.parquet"
privacy_unit = "patient"
max_rows = 3
pad = "{pad}"
budget = {{epsilon = "1000000", path = "{side}.db", max_failures = 1000000}}
[tables.{side}.schema]
cost = {{type = "float64", lower = 0, upper = 100}}
"""
NAIVE = """
SELECT SUM(GREATEST(0, LEAST(100, cost))) FROM
(SELECT cost, row_number() OVER (PARTITION BY patient) AS place FROM '{file}') WHERE place <= 3"""
SUM = {"epsilon": "1/10", "statistics": {"total": {"statistic": "sum", "column": "cost"}}}
NAIVE_PAIRS, PAIRS, LEVEL, ANALYSTS = 50, 2_000, Fraction(1, 100), 8


def write_tables(folder):
    patients = np.repeat(np.arange(PERSONS), 3)
    for side, one in zip(SIDES, (0, MANY), strict=True):
        ids = np.append(patients, np.full(one, PERSONS))
        pq.write_table(pa.table({"patient": ids, "cost": np.ones(len(ids))}), folder / f"{side}.parquet")


def time_pairs(ask, pairs):
    """The seconds that the answer about one table takes longer than that about the other, asked in random order."""
    longer = []
    for _ in range(pairs):
        took = {}
        for side in random.sample(SIDES, 2):
            begun = time.perf_counter()
            ask(side)
            took[side] = time.perf_counter() - begun
        longer.append(took["with_one"] - took["without"])
    return longer


def time_naive(folder, pairs):
    def add_up(path, _):
        with duckdb.connect() as database:
            return database.execute(NAIVE.format(file=folder / f"{path.strip('/')}.parquet")).fetchone()[0]

    with (
        serve_naively(add_up, Fraction(300), Fraction(1, 10)) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        return time_pairs(lambda side: client.post(f"/{side}"), pairs)


def time_ours(server, pairs, analysts):
    """Let analysts ask at the same time, as the pad takes most of it; return what is longer, and which reads failed."""
    tokens = [server.add(f"analyst{place}", epsilon="100000", max_failures=10**6) for place in range(analysts)]

    def work(token):
        failed = []
        with server.client(token) as client:

            def ask(side):
                status = client.post(f"/v1/tables/{side}/release", json=SUM).status_code
                assert status in (200, 503)
                failed.extend([1 if side == "with_one" else -1] * (status == 503))

            time_pairs(ask, 3)  # processes that read are started
            failed.clear()
            return time_pairs(ask, pairs // analysts), failed

    with ThreadPoolExecutor(analysts) as pool:
        longer, failed = zip(*pool.map(work, tokens), strict=True)
    return [*chain(*longer)], [*chain(*failed)]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.server.timing", description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--pad", default="0.5s")
    parser.add_argument("--analysts", type=int, default=ANALYSTS)
    given = parser.parse_args()
    owner = "".join(OWNER.format(side=side, pad=given.pad) for side in SIDES)
    with TemporaryDirectory() as made:
        folder = Path(made)
        write_tables(folder)
        naive = sign_test(time_naive(folder, NAIVE_PAIRS))
        with Server(folder, "--slots", str(given.analysts), owner=owner) as server:
            longer, failed = time_ours(server, given.pairs, given.analysts)
    ours, of_failures = sign_test(longer), sign_test(failed)
    told = {
        "naive": {"pairs": NAIVE_PAIRS, "p": float(naive)},
        "ours": {"pairs": len(longer), "p": float(ours), "failed reads": len(failed), "p of these": float(of_failures)},
        "load of the machine": [round(one, 1) for one in os.getloadavg()],
    }
    print(json.dumps(told, indent=2))
    return int(naive >= LEVEL or min(ours, of_failures) < LEVEL / 2)


if __name__ == "__main__":
    sys.exit(main())
