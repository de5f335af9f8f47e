"""What a charge is for, in a few words: what `statistics.task.describe_task` says, without the details."""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """One statistic of a charge: with the name it was given, of what, from which table, and of which rows."""

    what: str
    source: str
    rows: str

    @classmethod
    def read(cls, text: str) -> Asked | None:
        """Takes apart what a ledger says; None for what was not said in this way."""
        asked, of, unit = text.partition(", protecting ")
        what, taken, rest = asked.partition(" from ")
        if not of or not taken:
            return None
        about = rest.rpartition(", ")[0]  # without how missing values counted
        places = [place for word in (", by ", ", where ") if (place := about.find(word)) >= 0]
        rows = about[min(places) + 1 :] if places else ""
        name = unit.partition(" neighbours")[2].partition("called ")[2]
        return cls(f"{name}: {what}" if name else what, rest.partition(", ")[0], rows)


def abbreviate(what: str, with_source: bool = False) -> str:
    """What was asked, by the names it was given, and of which rows; a text of any other kind as it is.

    >>> abbreviate("sum of pay from staff, float64 in [0, 9], by dept, missing values as 0, protecting one record, "
    ...            "symmetric neighbours, called total; count from staff, by dept, rows without a value count too, "
    ...            "protecting one record, symmetric neighbours")
    'total: sum of pay; count; all by dept'
    """
    found = [Asked.read(one) for one in what.split("; ")]
    said = [one for one in found if one is not None]
    if len(said) < len(found):
        return what
    common = (f" from {said[0].source}" if with_source else "") + said[0].rows
    return f"{'; '.join(one.what for one in said)}{'; all' if common and len(said) > 1 else ''}{common}"
