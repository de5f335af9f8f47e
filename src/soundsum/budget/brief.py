"""What a charge is for, in a few words: what `statistics.task.describe_task` says, without the details."""

from __future__ import annotations

from typing import NamedTuple


class Brief(NamedTuple):
    what: str
    source: str
    rows: str
    name: str


def abbreviate(what: str, with_source: bool = False) -> str:
    """What was asked, by the names it was given, and of which rows; a text of any other kind as it is.

    >>> abbreviate("sum of pay from staff, float64 in [0, 9], by dept, missing values as 0, protecting one record, "
    ...            "symmetric neighbours, called total; count from staff, by dept, rows without a value count too, "
    ...            "protecting one record, symmetric neighbours")
    'total: sum of pay; count; all by dept'
    """
    found = [_read(one) for one in what.split("; ")]
    said = [one for one in found if one is not None]
    if len(said) < len(found):
        return what
    each = [f"{one.name}: {one.what}" if one.name else one.what for one in said]
    source = f" from {said[0].source}" if with_source else ""
    common = source + (f" {said[0].rows}" if said[0].rows else "")
    return f"{'; '.join(each)}{'; all' if common and len(each) > 1 else ''}{common}"


def _read(text: str) -> Brief | None:
    """One statistic; None for a text that is not about one."""
    asked, protecting, promised = text.rpartition(", protecting ")
    first, *more = asked.split(", ")
    what, from_, source = first.partition(" from ")
    if not protecting or not from_ or not more:
        return None
    begin = next((i for i, one in enumerate(more) if one.startswith(("by ", "where "))), len(more))
    rows = ", ".join(more[begin:-1])  # the last says how missing values count
    return Brief(what, source, rows, promised.partition(", called ")[2])
