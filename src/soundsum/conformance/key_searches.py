"""Groups that nobody listed, for engines that find them: each key with its exact number of persons or rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soundsum.engines import open_engine
from soundsum.engines.engine import KeyCounts
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import SearchedGroups, name_groups
from soundsum.tables.periods import Period, day, hour, month, week, year
from soundsum.tables.rows import Rows

SEARCHES: dict[str, dict[str, Any]] = {
    "text": {"by": "word"},
    "long text": {"by": "long"},
    "integers": {"by": "h"},
    "wide integers": {"by": "i"},
    "truth": {"by": "flag"},
    "days": {"by": "day"},
    "months of days": {"by": month("day")},
    "weeks of days": {"by": week("day")},
    "weeks of moments": {"by": week("at")},
    "years of moments": {"by": year("at")},
    "hours": {"by": hour("at")},
    "hours of instants": {"by": hour("when")},
    "days in a zone": {"by": day("when", zone="America/New_York")},
    "years in a zone": {"by": year("when", zone="America/New_York")},
    "days in a zone ahead": {"by": day("when", zone="Asia/Tokyo")},
    "months within a range": {"by": month("at", "1969-01", "2024-02")},
    "several": {"by": ["word", "flag", month("day"), "s"]},
    "rows that pass": {"by": "word", "where": [("x", ">=", 0.0), ("h", "<", 2**31 - 1)]},
    "nothing passes": {"by": "word", "where": [("x", ">", 1e308), ("x", "<", -1e308)]},
}
"""Groups that nobody listed."""


def search(
    data: Any,
    by: Any,
    person: str | None = None,
    max_groups: int = 1,
    where: Any = None,
    table: Any = None,
    engine: str | None = None,
    count: Callable[[Any, Rows, int], KeyCounts] | None = None,
) -> dict[Any, int]:
    """The number of persons, or rows, of every key, as an engine counts them before any noise."""
    columns = [one.column if isinstance(one, Period) else one for one in (by if isinstance(by, list) else [by])]
    searched = SearchedGroups(by)
    rows = Rows(
        columns if isinstance(by, list) else columns[0],
        None,
        person,
        None if where is None else Filter.of(where),
        searched=searched,
    )
    opened = open_engine(data, {}, table, engine)
    for column, part in zip(columns, searched.parts, strict=True):
        opened.schema.expect_groups(column, part)  # type: ignore[arg-type]
    opened.refuse_search(rows)
    counted = (count or type(opened).count_keys)(opened, rows, max_groups)
    numbers = np.flatnonzero(counted.counts)
    names = name_groups(searched.parts, counted.keys(numbers), counted.kinds, np.arange(len(numbers)))
    return dict(zip(names, counted.counts[numbers].tolist(), strict=True))
