"""Who counts as Coq defines it, stored, for engines that are tested where there is no Coq.

counted.json has the answers of the extracted definition (proofs/Persons.v) to the conformance list's questions about
persons, and about tables in which lots decide; `python -m tests.proofs.counted` stores them. `make prove` compares them
with the definition, and the tests of each engine ask that engine.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import soundsum as ss
from soundsum.conformance import NOTHING, NULLS, QUESTIONS, answers, table_of

STORED = Path(__file__).with_name("counted.json")
TABLES = {"awkward": table_of(700), "empty": NOTHING, "all null": NULLS}
STATISTICS = (ss.Sum("x", -4, 9), ss.Count("x"), ss.Mean("x", -2, 6), ss.Variance("x", 0, 5))
KINDS = (ss.Sum, ss.Count, ss.Mean, ss.Variance, ss.Histogram)
PERSONS = [
    name
    for name, (statistics, options) in QUESTIONS.items()
    if "privacy_unit" in options and all(type(asked) in KINDS for asked in statistics)
]

Case = tuple[str, pa.Table, tuple[Any, ...], dict[str, Any]]


def crowds(missing: str, number: int) -> Iterator[tuple[pa.Table, dict[str, Any]]]:
    """Few persons with many rows, equally many in several groups; some rows without an id, a value, or a group."""
    rng = np.random.default_rng(len(missing))
    for _ in range(number):
        n, centre = int(rng.integers(0, 40)), int(rng.integers(-8, 9))  # around which totals reach their bounds
        columns = {
            "id": [None if rng.random() < 0.1 else int(rng.integers(0, 3)) for _ in range(n)],
            "group": [int(rng.integers(0, 5)) for _ in range(n)],
            "x": [None if rng.random() < 0.2 else centre + int(rng.integers(-6, 7)) for _ in range(n)],
        }
        options = {
            "privacy_unit": "id",
            "max_rows": int(rng.integers(1, 4)),
            "missing": missing,
            "by": "group",
            "groups": [3, 0, 2, 1],
            "max_groups": int(rng.integers(1, 4)),
        }
        if rng.random() < 0.3:
            options["where"] = [("x", ">", -3)]
        yield pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()}), options


def cases(tables: Mapping[str, pa.Table] = TABLES) -> Iterator[Case]:
    """Each has a name, a table, statistics and options."""
    for name, table in tables.items():
        for question in PERSONS:
            statistics, options = QUESTIONS[question]
            yield f"{name}: {question}", table, tuple(statistics), dict(options)
    for missing in ("zero", "drop"):
        for i, (table, options) in enumerate(crowds(missing, 12)):
            yield f"crowd {i}, {missing}", table, STATISTICS, options


def list_miscounts(
    load: Callable[[pa.Table], Any], tables: Mapping[str, pa.Table] = TABLES, **options: Any
) -> list[str]:
    """The cases in which an engine counts others than Coq does.

    `load` puts a table where the engine finds it, and returns the data to ask; `options` go with it, such as table=.
    """
    expected, wrong, last, data = json.loads(STORED.read_text()), [], None, None
    for name, table, statistics, own in cases(tables):
        if table is not last:
            last, data = table, load(table)
        if answers(data, statistics, **own, **options)[0] != expected[name]:
            wrong.append(name)
    return wrong
