"""Which code runs depends on types and sizes: a null, a NaN or a value of another kind changes no step, nor any size.

The steps are the lines of the package that run; the sizes, and with them what Arrow and NumPy do inside, are the bytes
that each of them allocates. Nothing here depends on time.
"""

import ast
import datetime
import math
import sys
import tracemalloc
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import answers
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request

ROWS = 60_000
PACKAGE = str(Path(ss.__file__).parent)
DAY, LATER = datetime.date(2024, 1, 31), datetime.date(2024, 2, 1)
NOON, EVENING = datetime.datetime(2024, 1, 31, 12), datetime.datetime(2024, 1, 31, 20)
ZONED = [moment.replace(tzinfo=datetime.UTC) for moment in (NOON, EVENING)]

COLUMNS = {
    "int64": (pa.int64(), [1, 7]),
    "int8": (pa.int8(), [1, 7]),
    "uint64": (pa.uint64(), [1, 7]),
    "float64": (pa.float64(), [1.5, 7.0]),
    "float32": (pa.float32(), [1.5, 7.0]),
    "bool": (pa.bool_(), [True, False]),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("7.00")]),
    "text": (pa.string(), ["ab", "cd"]),
    "large text": (pa.large_string(), ["ab", "cd"]),
    "text views": (pa.string_view(), ["ab", "cd"]),
    "bytes": (pa.binary(), [b"ab", b"cd"]),
    "categories": (pa.dictionary(pa.int32(), pa.string()), ["ab", "cd"]),
    "categories of numbers": (pa.dictionary(pa.int8(), pa.int64()), [1, 7]),
    "dates": (pa.date32(), [DAY, LATER]),
    "times": (pa.timestamp("us"), [NOON, EVENING]),
    "times in a zone": (pa.timestamp("ns", "UTC"), ZONED),
}
NUMBERS = ["int64", "int8", "uint64", "float64", "float32", "bool", "decimal"]
CHANGES = {name: [None] for name in COLUMNS}
CHANGES["float64"] = CHANGES["float32"] = [None, math.nan, math.inf, -0.0]


def questions(name):
    _, (one, _) = COLUMNS[name]
    asked = {
        "groups": ([ss.Count()], {"by": "x", "groups": [one]}),
        "categories": ([ss.Histogram("x", categories=[one])], {}),
        "present": ([ss.Count("x")], {"missing": "drop"}),
    }
    if "categories" not in name and "views" not in name:
        asked["where"] = ([ss.Count()], {"where": ("x", "==", one)})
        asked["where not"] = ([ss.Sum("y", 0, 1)], {"where": ("x", "!=", one)})
        asked["where below"] = ([ss.Count()], {"where": ("x", "<=", one)})
    if name in ("dates", "times", "times in a zone"):
        asked["months"] = ([ss.Count()], {"by": ss.month("x", "2024-01", "2024-02")})
    if name in ("text", "large text"):
        asked["months"] = ([ss.Count()], {"by": ss.month("x", "2024-01", "2024-02")})
    if name in NUMBERS:
        both = [ss.Sum("x", 0, 9), ss.Mean("x", 0, 9), ss.Variance("x", 0, 9)]
        asked |= {
            "sums": (both, {}),
            "sums without missing": (both, {"missing": "drop"}),
            "edges": ([ss.Histogram("x", [0, 3, 9])], {}),
            "edges by group": ([ss.Histogram("x", [0, 3, 9])], {"by": "y", "groups": [0, 1]}),
            "of a public size": ([ss.Sum("x", 0, 9)], {"relation": "change_one"}),
        }
    return asked


def table_of(name, changed=False, value=None):
    """A table without any null, or with one value changed; made the same way otherwise."""
    kind, (one, other) = COLUMNS[name]
    values = [one, other] * (ROWS // 2)
    if changed:
        values[ROWS // 3] = value
    column = pa.array(values, kind.value_type if pa.types.is_dictionary(kind) else kind, from_pandas=False)
    if pa.types.is_dictionary(kind):
        column = column.dictionary_encode().cast(kind)
    return pa.table({"x": column, "y": np.arange(ROWS) % 2})


def steps_of(data, statistics, options):
    """The lines of the package that run while rows are added up, in order."""
    answers(data, statistics, **options)  # so that what is computed only once has been
    options = dict(options)
    relation = ss.Relation(options.pop("relation", "symmetric"))
    opened, prepared = prepare(data, Request(tuple(statistics), relation=relation, **options))
    steps = []

    def follow(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            steps.append((frame.f_code.co_filename, frame.f_lineno))
        return follow

    sys.settrace(follow)
    try:
        opened.add_up(prepared.tasks, prepared.rows)
    finally:
        sys.settrace(None)
    return steps


def sizes_of(data, statistics, options):
    """What Arrow allocates in all, how often, and the most that NumPy has at once."""
    answers(data, statistics, **options)
    pool = pa.default_memory_pool()
    total, count = pool.total_bytes_allocated(), pool.num_allocations()
    tracemalloc.start()
    answers(data, statistics, **options)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return pool.total_bytes_allocated() - total, pool.num_allocations() - count, most


CASES = [(name, asked, value) for name in COLUMNS for asked in questions(name) for value in CHANGES[name]]


@pytest.mark.parametrize("name, asked, value", CASES, ids=lambda one: str(one))
def test_what_runs_does_not_depend_on_one_value(name, asked, value):
    statistics, options = questions(name)[asked]
    plain, changed = table_of(name), table_of(name, True, value)
    assert steps_of(plain, statistics, options) == steps_of(changed, statistics, options)
    (total, count, most), (other_total, other_count, other_most) = (
        sizes_of(data, statistics, options) for data in (plain, changed)
    )
    assert count == other_count
    assert abs(total - other_total) <= 256  # a text is missing
    assert abs(most - other_most) < 4096


@pytest.mark.parametrize("name", ["int64", "float64", "text", "dates"])
def test_the_same_of_frames(name):
    """Polars leaves the bitmap out, too."""
    for asked in questions(name).values():
        plain, changed = (pl.from_arrow(table) for table in (table_of(name), table_of(name, True)))
        assert steps_of(plain, *asked) == steps_of(changed, *asked)


def test_a_masked_array_whose_mask_hides_nothing_may_have_none():
    values = np.arange(float(ROWS))
    plain, changed = np.ma.array(values), np.ma.array(values, mask=values == 7)
    for asked in ([ss.Sum("x", 0, 9)], {}), ([ss.Count("x")], {"missing": "drop"}):
        assert steps_of({"x": plain}, *asked) == steps_of({"x": changed}, *asked)


def test_nothing_is_assigned_to_where_a_mask_is_true():
    """NumPy assigns to x[mask] in two to three times the time once a single entry of the mask is true: use np.where."""
    rooms = [Path(PACKAGE, room) for room in ("tables", "engines", "kernels", "statistics")]
    assert all(map(Path.is_dir, rooms))
    masks = (ast.Compare, ast.UnaryOp, ast.BinOp, ast.Call)
    found = [
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node)}"
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assign) and any(_is_masked(target, masks) for target in node.targets)
    ]
    assert found == []


def _is_masked(target, masks):
    return isinstance(target, ast.Subscript) and isinstance(target.slice, masks) and ast.unparse(target.slice) != "-1"
