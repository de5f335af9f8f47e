"""What a charge is for, in a few words: what `statistics.task.describe_task` says, without the details."""

from __future__ import annotations

import re

SAID = re.compile(
    r"(?P<what>.+?) from (?P<source>.+?)(?:, \w+ in \[[^]]*\])?(?:, [\d,]+ rows)?(?:, at most [\d,]+ rows)?"
    r"(?P<rows>(?:, by .+?)?(?:, where .+?)?), [^,]+(?:,\d{3})*, protecting .+, \w+ neighbours"
    r"(?:, [\d/]+ of the cost)?(?:, called (?P<name>.*))?",
    re.DOTALL,
)


def abbreviate(what: str, with_source: bool = False) -> str:
    """What was asked, by the names it was given, and of which rows; a text of any other kind as it is.

    >>> abbreviate("sum of pay from staff, float64 in [0, 9], by dept, missing values as 0, protecting one record, "
    ...            "symmetric neighbours, called total; count from staff, by dept, rows without a value count too, "
    ...            "protecting one record, symmetric neighbours")
    'total: sum of pay; count; all by dept'
    """
    found = [SAID.fullmatch(one) for one in what.split("; ")]
    said = [one.groupdict() for one in found if one is not None]
    if len(said) < len(found):
        return what
    each = [one["what"] if one["name"] is None else f"{one['name']}: {one['what']}" for one in said]
    source = f" from {said[0]['source']}" if with_source else ""
    common = source + said[0]["rows"].replace(", ", " ", 1)
    return f"{'; '.join(each)}{'; all' if common and len(each) > 1 else ''}{common}"
