"""Who counts, asked of the definition in Coq: `python -m tests.proofs.counted` stores the answers for other tests.

Which of a person's rows and groups count, and how much, is decided from that person's rows alone; the definition knows
neither batches nor an order of rows.
"""

import datetime
import json
from functools import cache

from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.cells import LONGEST
from soundsum.tables.keys import cross_codes
from tests.engines.counted import STORED, cases
from tests.engines.model import integer_of, lot, person_of

from .oracle import ask, words


def defined(table, statistics, **options):
    """The integers that Coq defines for a table, which is read as one batch."""
    opened, prepared = prepare(table.combine_chunks(), Request(tuple(statistics), **options))
    rows, lines = prepared.rows, []
    columns = [task.statistic.column for task in prepared.tasks]
    (batch,) = opened.schema.batches(*columns, *rows.columns) if table.num_rows else (None,)
    people = [owner_of(x) for x in table[rows.privacy_unit].to_pylist()]
    known = {person: str(i) for i, person in enumerate(dict.fromkeys(people))}
    owners = ["none" if person is None else known[person] for person in people]
    for task in prepared.tasks:
        records = [] if batch is None else list(read_rows(batch, task, rows, owners))
        unit, steps = task.claim.plan.unit, task.claim.record_steps
        low, high = (1, 1) if steps is None else (steps.low, steps.high)
        missing = 0 if task.statistic.takes != "numbers" else integer_of(float("nan"), steps)
        asked = words(
            task.claim.kind.name, unit.entries, task.missing == "drop", missing, unit.max_groups, unit.max_rows
        )
        lots = lots_of(known, unit.entries) if unit.entries > 1 else "none"
        lines.append(words("persons", asked, low, high, lots, *records))
    return [[numbers(part) for part in answer.split(";")] for answer in ask(lines)]


def owner_of(x):
    """Whom an id stands for; a text beyond the longest identifies nobody."""
    return None if isinstance(x, str) and len(x.encode()) > LONGEST else person_of(x)


def read_rows(batch, task, rows, owners):
    """A table's rows as the definition has them: whose each is, the group's number, the filter, the integer."""
    groups, statistic, codes, by = task.claim.plan.unit.entries, task.statistic, None, rows.by
    if rows.groups is not None:
        codes = rows.groups.codes([batch.keys(one) for one in by] if isinstance(by, list) else batch.keys(by))
    if statistic.cells is not None:
        cell = statistic.cells.codes(batch, statistic.column, task.claim.unit_value)
        codes = cross_codes(codes, cell, len(statistic.cells.names), rows.group_count or 0)
    codes = [0] * batch.rows if codes is None else codes.tolist()
    passes = [True] * batch.rows if rows.where is None else rows.where.passes(batch).tolist()
    values = [0] * batch.rows
    if statistic.takes == "numbers":
        values = list(batch.numbers(statistic.column))
    elif statistic.takes == "present rows" and task.missing == "drop":
        values = list(batch.presence(statistic.column))
    for owner, code, is_in, x in zip(owners, codes, passes, values, strict=True):
        integer = "none" if x != x else 0 if statistic.takes != "numbers" else integer_of(x, task.claim.record_steps)
        yield f"{owner}:{min(code, groups)}:{int(is_in)}:{integer}"


@cache
def drawn(person, group):
    if isinstance(person, datetime.datetime):  # spelled as microseconds
        start = datetime.datetime(1970, 1, 1, tzinfo=person.tzinfo)
        person = (person - start) // datetime.timedelta(microseconds=1)
    return int.from_bytes(lot(person, group)[:8])


def lots_of(known, groups):
    found = [f"{i}:{group}:{drawn(p, group)}" for p, i in known.items() if p is not None for group in range(groups)]
    return ",".join(found) or "none"


def numbers(text):
    return [int(x) for x in text.split(",")]


def definitions():
    """All that is stored."""
    return {name: defined(table, statistics, **options) for name, table, statistics, options in cases()}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in definitions().items())
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
