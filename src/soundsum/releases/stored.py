"""Releases made again from the plain data that they wrote: from a file, or from an owner's server.

What a release says follows from its certificate, its query and its noisy sums, so that is all that is read; the first
release of every statistic is checked, and the others are made as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any

from soundsum.refusals import Reason
from soundsum.releases.advice import conclude
from soundsum.releases.certificates import Unreadable, read_claim, read_guarantee
from soundsum.releases.collections import Outcome, Releases, Several, name_groups
from soundsum.releases.query_check import read_query
from soundsum.releases.release_check import compare_release, list_releases, read_noisy
from soundsum.releases.released import Origin, Release, ReleaseContext
from soundsum.tables.periods import Period


def read_releases(given: Any, periods: Sequence[Period] = ()) -> Several:
    """Make the releases again that `Several.to_dict` or `to_json` wrote.

    `periods` are those that were asked for by name; groups that are dates or times are text otherwise.

    >>> import soundsum as ss
    >>> several = ss.release({"pay": [7, 9]}, {"total": ss.Sum("pay", 0, 10), "staff": ss.Count()}, epsilon=1)
    >>> again = read_releases(several.to_json())
    >>> again["total"].interval(0.9) == several["total"].interval(0.9), again.to_json() == several.to_json()
    (True, True)
    """
    listed, coverages = list_releases(given), _read_coverages(given)
    made: list[Outcome] = []
    names: list[str] = []
    for place, own in groupby(listed, _find_place):
        of_one = list(own)
        if place != len(made) or (problems := compare_release(of_one[0])):
            raise _refuse(problems[0] if place == len(made) else "its statistics are not in their order")
        name = of_one[0].get("name")
        names.append(name or of_one[0]["statistic"])
        made.append(_make(of_one, {str(period): period for period in periods}, coverages.get(name)))
    return Several(made, names)


def _find_place(release: Mapping[str, Any]) -> int:
    return read_query(dict(release))[1]


def _read_coverages(given: Any) -> dict[Any, str]:
    """The coverage of each advice, by the name of its statistic; of a single one that has no name, by None."""
    plain = given.to_dict() if hasattr(given, "to_dict") else json.loads(given) if isinstance(given, str) else given
    if not isinstance(plain, Mapping):
        return {}
    single, several = plain.get("advice"), plain.get("coverage", {})
    found = {None: single.get("coverage")} if isinstance(single, Mapping) else several
    if not isinstance(found, Mapping) or not all(isinstance(one, str) for one in found.values()):
        raise _refuse("its coverage is not text")
    return dict(found)


def _make(listed: list[dict[str, Any]], periods: Mapping[str, Period], coverage: str | None) -> Outcome:
    first = listed[0]
    query, place, cost = read_query(first)
    certificate, entry = first["certificate"], first["ledger"]["entry"]
    claim, promised = read_claim(certificate), read_guarantee(certificate)
    origin = Origin(query, place, datetime.fromisoformat(first["at"]), cost, entry, certificate["engine"])
    facts = ReleaseContext(claim, promised, claim.noises(promised), claim.plan.problem.size, origin)
    noisy = [read_noisy(one.get("noisy")) for one in listed]
    if not all(sums is not None and len(sums) == len(claim.parts) for sums in noisy):
        raise _refuse("its noisy sums are not whole numbers of steps")
    sums = [[one[part] for one in noisy if one is not None] for part in range(len(claim.parts))]
    if "group" not in first:
        return Release(tuple(one for (one,) in sums), facts)
    asked = query.statistics[place]
    width = len(query.by) + (asked.cells is not None)
    groups = [_split(one, width) for one in listed]
    columns: dict[str, list[Any]] = {}
    own: dict[str, Period] = {}
    for number, by in enumerate(query.by):
        period = periods.get(str(by))
        name = name_groups(str(by) if period is None else period.heading, columns)
        columns[name] = [_read_group(group[number], period is not None) for group in groups]
        if period is not None:
            own[name] = period
    if asked.cells is not None:
        cells = [_read_group(group[-1], False) for group in groups]
        columns["cell" if isinstance(cells[0], tuple) else "category"] = cells
    return conclude(claim.kind, Releases(columns, sums, facts, own), 0.99 if coverage is None else coverage)


def _split(release: Mapping[str, Any], width: int) -> list[Any]:
    """The names of a group by column."""
    if "group" not in release:
        raise _refuse("one of its groups has no name")
    group = [release["group"]] if width == 1 else release["group"]
    if not isinstance(group, list) or len(group) != width:
        raise _refuse("its groups are not of the query's columns")
    return group


def _read_group(group: Any, is_period: bool) -> Any:
    if is_period and isinstance(group, str):
        return datetime.fromisoformat(group) if " " in group or "T" in group else date.fromisoformat(group)
    return tuple(group) if isinstance(group, list) else group


def _refuse(found: str) -> Unreadable:
    return Unreadable("release", Reason.UNREADABLE, "{found}", "give it as soundsum wrote it", found=found)
