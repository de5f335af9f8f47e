"""Files of partial sums (docs/partials/format.md): an Arrow IPC stream, and SHA-256 of all of it behind.

The schema's metadata says what was added up. A file is read whole and checked before anything of it is used; none can
make the reader run code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum._version import __version__
from soundsum.budget.query import canonical
from soundsum.engines import Totals
from soundsum.engines.parts import Added, PersonPairs, WrittenPairs
from soundsum.kernels import as_integers
from soundsum.methods import Ranks
from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.typed_plan import TypedPlan
from soundsum.statistics import Task

FORMAT = 1
KEY = b"soundsum partial sums"
DIGEST = 32
"""Bytes of SHA-256."""

WIDTH = 32
"""Bytes of a total."""

MOST_ROWS = 1 << 58
"""No pair of person and group has as many."""


def write_partial(plan: TypedPlan, parts: Collection[str], held: Added | PersonPairs) -> bytes:
    """The bytes of a file."""
    import pyarrow as pa

    said = {
        "format": FORMAT,
        "soundsum": __version__,
        "parts": sorted(parts),
        "n": held.n if isinstance(held, Added) else None,
        "plan": plan.to_json(),
    }
    batches = _write_totals(held.totals) if isinstance(held, Added) else _write_pairs(held)
    schema = batches[0].schema.with_metadata({KEY: canonical(said).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))
    written: bytes = sink.getvalue().to_pybytes()
    return written + sha256(written).digest()


def read_partial(written: bytes, named: str) -> tuple[TypedPlan, list[str], Added | PersonPairs]:
    """Read what `write_partial` wrote; anything else is refused."""
    body, digest = written[:-DIGEST], written[-DIGEST:]
    if sha256(body).digest() != digest:
        raise RefusedValue(
            "path",
            Reason.UNREADABLE,
            "{path} is not a whole file of partial sums: it was cut, changed or written by something else",
            "give one that `Partial.save` wrote",
            path=named,
        )
    newer: RefusedValue | None = None
    with suppress(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, Refusal):
        said, table = _open(body)
        if said["format"] == FORMAT:
            return _read(said, table)
        newer = RefusedValue(
            "path",
            Reason.UNREADABLE,
            "{path} has format {given}, and this version of soundsum reads format {ours}",
            "read it with version {version} of soundsum or a later one",
            path=named,
            given=int(said["format"]),
            ours=FORMAT,
            version=str(said["soundsum"]),
        )
    raise newer or RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} has no partial sums that this version of soundsum can read",
        "give one that `Partial.save` of this version wrote",
        path=named,
    )


def write_new(path: str | os.PathLike[str], written: bytes) -> None:
    """Write a new file that only its owner can read."""
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(written)
        return
    except FileExistsError:
        pass
    raise RefusedValue(
        "path",
        Reason.EXISTS,
        "{path} is there already, and nothing is written over it",
        "give another path",
        path=printed(os.fsdecode(path)),
    )


def _open(body: bytes) -> tuple[Any, Any]:
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(body) as reader:
            return json.loads(reader.schema.metadata[KEY]), reader.read_all()
    except pa.ArrowException:
        raise ValueError from None


def _read(said: Mapping[str, Any], table: Any) -> tuple[TypedPlan, list[str], Added | PersonPairs]:
    plan, parts = TypedPlan.from_json(said["plan"]), said["parts"]
    own = [str(place) for place in range(plan.shards or 0)]
    if not parts or len(set(parts)) < len(parts) or not all(isinstance(part, str) and part for part in parts):
        raise ValueError
    if plan.shards is not None and not set(parts) <= set(own):
        raise ValueError
    if any(column.null_count for column in table.columns):
        raise ValueError
    if plan.keeps_pairs:
        return plan, parts, _read_pairs(plan, table)
    n = said["n"]
    if (n is None) == plan.counts_rows or not (n is None or (type(n) is int and n >= 0)):
        raise ValueError
    return plan, parts, Added(_read_totals(plan.tasks, table), n)


def _write_totals(totals: Sequence[Totals]) -> list[Any]:
    import pyarrow as pa

    made = []
    for place, of_task in enumerate(totals):
        statistics, parts, entries = _number(place, [len(one) for one in of_task])
        data = b"".join([total.to_bytes(WIDTH, "little", signed=True) for one in of_task for total in one])
        column = pa.Array.from_buffers(pa.decimal256(76), len(entries), [None, pa.py_buffer(data)])
        columns = [pa.array(statistics), pa.array(parts), pa.array(entries), column]
        made.append(pa.record_batch(columns, ["statistic", "part", "entry", "total"]))
    return made


def _read_totals(tasks: Sequence[Task], table: Any) -> list[Totals]:
    import pyarrow as pa

    if table.schema.names != ["statistic", "part", "entry", "total"] or table.schema.types[3] != pa.decimal256(76):
        raise ValueError
    table, totals, begin = table.combine_chunks(), [], 0
    for place, task in enumerate(tasks):
        size = _entries(task)
        numbered = _number(place, [size] * len(task.claim.parts))
        some = table.slice(begin, len(numbered[0])).combine_chunks()
        if not all(np.array_equal(some[i].to_numpy(), own) for i, own in enumerate(numbered)):
            raise ValueError
        found = as_integers(_words(some["total"], 4))
        totals.append([found[i : i + size] for i in range(0, len(found), size)])
        begin += len(numbered[0])
    if begin != table.num_rows:
        raise ValueError
    return totals


def _number(place: int, sizes: Sequence[int]) -> list[NDArray[np.int32]]:
    """The columns for the statistic, part and entry of each total."""
    parts = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    entries = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    return [np.full(len(parts), place, np.int32), parts, entries]


def _write_pairs(held: PersonPairs) -> list[Any]:
    import pyarrow as pa

    made = []
    for place, stretches in enumerate(held.tasks):
        for some in stretches:
            n, powers = len(some.rows), some.sums.shape[1] // 2
            sums = np.zeros((n, 4), np.uint64)
            sums[:, : 2 * powers] = some.sums
            columns = [
                pa.array(np.full(n, place, np.int32)),
                some.ids,
                pa.array(some.codes),
                pa.array(some.rows),
                *(
                    pa.Array.from_buffers(pa.decimal128(38), n, [None, pa.py_buffer(np.ascontiguousarray(own))])
                    for own in (sums[:, :2], sums[:, 2:])
                ),
            ]
            made.append(pa.record_batch(columns, ["statistic", "id", "entry", "rows", "sum", "squares"]))
    return made


def _read_pairs(plan: TypedPlan, table: Any) -> PersonPairs:
    import pyarrow as pa

    assert plan.ids is not None
    ids = pa.large_binary() if plan.ids.name in ("texts", "decimals", "objects") else pa.uint64()
    types = [pa.int32(), ids, pa.int32(), pa.uint64(), pa.decimal128(38), pa.decimal128(38)]
    if table.schema.names != ["statistic", "id", "entry", "rows", "sum", "squares"] or table.schema.types != types:
        raise ValueError
    places = table["statistic"].to_numpy()
    if not np.isin(places, np.arange(len(plan.tasks))).all():
        raise ValueError
    made = []
    for place, task in enumerate(plan.tasks):
        some = table.filter(pa.array(places == place)).combine_chunks()
        codes, rows = (some[name].to_numpy().astype(kind) for name, kind in (("entry", np.int32), ("rows", np.uint64)))
        own = [_words(some[name], 2) for name in ("sum", "squares")]
        within = (codes >= 0) & (codes < _entries(task, of_pairs=True)) & (rows >= 1) & (rows < MOST_ROWS)
        if not within.all():
            raise ValueError
        powers = _powers(task)
        if any(words.any() for words in own[powers:]):
            raise ValueError
        sums = np.concatenate([words[:, :2] for words in own[:powers]] or [np.zeros((len(rows), 0), np.uint64)], axis=1)
        column = some["id"].combine_chunks()
        made.append((WrittenPairs(column, codes, rows, sums),))
    return PersonPairs(plan.ids, tuple(made))


def _words(column: Any, width: int) -> NDArray[np.uint64]:
    """Decimals as rows of 64-bit words, the low one first."""
    array = column.combine_chunks()
    if not len(array):
        return np.zeros((0, width), np.uint64)
    return np.frombuffer(array.buffers()[1], np.uint64, width * len(array), 8 * width * array.offset).reshape(-1, width)


def _entries(task: Task, of_pairs: bool = False) -> int:
    """How many sums are kept of each part, or groups of each person."""
    entries, plan = task.claim.plan.unit.entries, task.claim.plan
    if isinstance(plan.adder, Ranks) and task.counted is not None:
        return entries * len(task.counted.names)
    if of_pairs and task.bins_persons and task.statistic.cells is not None:
        return entries // len(task.statistic.cells.names)
    return entries


def _powers(task: Task) -> int:
    """How many power sums a pair has: none where rows are counted, then the sum, then that of squares."""
    if task.ranks_rows:
        return 0
    if task.bins_persons:
        return int(task.statistic.binned)  # type: ignore[attr-defined]
    return max(power for part in task.claim.parts for power in (0, 1, 2) if part.weights[power])
