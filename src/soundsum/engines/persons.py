"""Sums that a person with many rows moves little: their total in a group is clamped to what a few rows can add up to.

A person's rows are added up exactly, for each group apart. Of the groups a person is in, those with most of their rows
are kept (of equals, the one listed first); each total is then clamped to [r min(low, 0), r max(high, 0)], where r is
the number of rows allowed. All of it looks at the rows of that person alone, so adding or removing a person moves
nothing but their own clamped totals. Rows without an id are left out. Memory grows with the pairs of person and group.

In a mean or variance sums and counts must go together, so whoever has more rows than allowed counts as that many of
their average row, and the clamp only stands guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.arithmetic.numbers import int64
from soundsum.data.columns import is_missing
from soundsum.data.keys import Codes
from soundsum.data.records import Column, Missing, Records
from soundsum.engines.accumulators import drop_missing, needs_power
from soundsum.kernels import add_integers_by_group, as_integers, no_sums
from soundsum.methods.steps import RecordSteps
from soundsum.privacy.units import Unit
from soundsum.statistics.statistic import Part

HALF = 32
"""Sums are carried as high * 2^32 + low, so that 64 bits hold the sums of 2^31 halves."""

PENDING = 1 << 22
"""Pairs that may wait before those of one person and group are joined."""


class PersonSums:
    """For each group, or over every row if there are none."""

    def __init__(self, steps: RecordSteps, parts: Sequence[Part], missing: Missing, unit: Unit) -> None:
        self._record_steps, self._parts, self._missing, self._unit = steps, parts, missing, unit
        self._together = len(parts) > 1  # a mean or variance
        self._powers = max(power for power in (0, 1, 2) if needs_power(parts, power))
        self._groups = 1 if unit.groups is None else unit.groups
        self._joined: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        import pyarrow as pa

        ids = pa.array([self._number(person) for person in ids], pa.int64()) if isinstance(ids, list) else ids
        codes = np.zeros(rows, np.int32) if codes is None else codes
        if self._missing == "drop" and isinstance(batch, Column):
            ids = ids.filter(pa.array(~batch.missing()))
        batch, codes = drop_missing(batch, codes, self._missing)
        columns: dict[str, Any] = {"id": ids, "group": codes, "rows": np.ones(len(codes), np.int64)}
        if self._powers:
            assert batch is not None
            q = self._record_steps.integers(batch)
            q = q if q.dtype == np.uint64 else q.astype(np.int64)
            for power, values in enumerate((q, q * q)[: self._powers], 1):
                columns[f"high{power}"] = (values >> values.dtype.type(HALF)).astype(np.int64)
                columns[f"low{power}"] = (values & values.dtype.type((1 << HALF) - 1)).astype(np.int64)
        own = pa.table(columns).filter(pa.array((codes < self._groups) & ids.is_valid().to_numpy(False)))
        self._joined.append(_join(own))
        if sum(table.num_rows for table in self._joined[1:]) > PENDING:
            self._joined = [_join(pa.concat_tables(self._joined))]

    def _number(self, person: Any) -> int | None:
        """A number for everybody who is equal to nobody before; None for no id at all."""
        try:
            return None if is_missing(person) else self._numbers.setdefault(person, len(self._numbers))
        except (TypeError, ValueError, ArithmeticError):  # not hashable, so no id
            return None

    def totals(self) -> list[list[int]]:
        import pyarrow as pa

        if not self._joined:
            return [[0] * self._groups for _ in self._parts]
        pairs = _join(pa.concat_tables(self._joined))
        person = pairs.column("id").combine_chunks().dictionary_encode().indices.to_numpy()
        group, rows = (pairs.column(name).to_numpy() for name in ("group", "rows"))
        mine = _largest(person, group, rows, self._unit.max_groups)
        sums = [rows[mine].astype(object)]
        for power in range(1, self._powers + 1):
            high, low = (pairs.column(f"{half}{power}").to_numpy()[mine] for half in ("high", "low"))
            sums.append(high.astype(object) * (1 << HALF) + low)
        return [self._clamp(part, sums, group[mine]) for part in self._parts]

    def _clamp(self, part: Part, sums: list[NDArray[Any]], group: NDArray[np.int32]) -> list[int]:
        """A part's sum for each group, of everybody's clamped totals."""
        assert part.range is not None
        assert self._unit.max_rows is not None
        (low, high), allowed = part.range, self._unit.max_rows
        least, most = allowed * min(low, 0), allowed * max(high, 0)
        zero = np.zeros(len(group), object)
        own = sum((w * s for w, s in zip(part.weights, sums, strict=False) if w), zero)
        if self._together:
            own = np.where(sums[0] > allowed, own * allowed // np.maximum(sums[0], 1), own)
        clamped = np.minimum(np.maximum(own, least), most)
        if max(-least, most) < 1 << 63:
            into = no_sums(self._groups)
            add_integers_by_group(clamped.astype(np.int64), group, into, int64.min, int64.max)
            return as_integers(into)
        totals = [0] * self._groups
        for code, value in zip(group.tolist(), clamped, strict=True):
            totals[code] += value
        return totals


def _join(pairs: Any) -> Any:
    """One row for each person and group, their columns added up, the halves carried."""
    import pyarrow as pa

    columns = [name for name in pairs.column_names if name not in ("id", "group")]
    joined = pairs.group_by(["id", "group"]).aggregate([(name, "sum") for name in columns])
    added = {name: joined.column(f"{name}_sum").to_numpy() for name in columns}
    for name in [name for name in columns if name.startswith("low")]:
        high = name.replace("low", "high")
        added[high] = added[high] + (added[name] >> HALF)
        added[name] = added[name] & ((1 << HALF) - 1)
    return pa.table({"id": joined.column("id"), "group": joined.column("group"), **added})


def _largest(person: NDArray[Any], group: NDArray[np.int32], rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The pairs that are among the `most` of their person with most rows."""
    order = np.lexsort((group, -rows, person))
    ordered = person[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else order
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    return order[rank < most]
