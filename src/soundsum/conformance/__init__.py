"""The conformance list: questions to ask of an engine, whose integers must be those of `Memory`, to the last bit.

Tables are full of awkward records (`TABLES`), and a question is a list of statistics with options (`QUESTIONS`).
`list_differences` asks an engine all of them. docs/engines/writing.md shows how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from soundsum.conformance.awkward_tables import HEAVY, NOTHING, NULLS, TABLES, table_of
from soundsum.conformance.key_searches import SEARCHES, search
from soundsum.conformance.questions import HEAVY_QUESTIONS, QUESTIONS, UNITS, Question
from soundsum.refusals import Refusal
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.relations import Relation

__all__ = [
    "HEAVY",
    "HEAVY_QUESTIONS",
    "NOTHING",
    "NULLS",
    "QUESTIONS",
    "SEARCHES",
    "TABLES",
    "UNITS",
    "Question",
    "answers",
    "list_differences",
    "search",
    "table_of",
]

Answers = tuple[list[list[list[int]]], int | None]


def answers(
    data: Any, statistics: Iterable[Any], table: Any = None, engine: str | None = None, **options: Any
) -> Answers:
    """The integers of every statistic, part and entry, and the number of rows where it counts."""
    relation = Relation.read(options.pop("relation", "symmetric"))
    request = Request(tuple(statistics), relation=relation, **options, table=table, engine=engine)
    opened, prepared = prepare(data, request)
    totals, n = opened.add_up(prepared.tasks, prepared.rows)
    return totals, n if relation.sized else None


def list_differences(
    load: Callable[[pa.Table], Any],
    types: Mapping[str, pa.DataType] | None = None,
    tables: Mapping[str, pa.Table] = TABLES,
    questions: Mapping[str, Question] = QUESTIONS,
    **options: Any,
) -> list[str]:
    """Ask an engine every question about every table, and list those that it answers otherwise than `Memory`.

    `load` puts an Arrow table where the engine finds it, and returns the data to ask; `options` go with it, such as
    table=. `types` are those of columns that the engine gives another type: it is compared with `Memory` over a table
    of these, and must refuse the questions that `Memory` then refuses.
    """
    found = []
    for name, table in tables.items():
        expected = table.cast(_retype(table.schema, types or {}))
        loaded = load(expected)
        for asked, (statistics, own) in questions.items():
            if _outcome(loaded, statistics, own | options) != _outcome(expected, statistics, own):
                found.append(f"{name}: {asked}")
    return found


def _outcome(data: Any, statistics: Iterable[Any], options: Mapping[str, Any]) -> Any:
    """The answers, or the option and the reason for which there are none."""
    try:
        return answers(data, statistics, **options)
    except Refusal as refusal:
        return refusal.option, refusal.reason


def _retype(schema: pa.Schema, types: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([(field.name, types.get(field.name, field.type)) for field in schema])
