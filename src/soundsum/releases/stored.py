"""Releases made again from the plain data that they wrote: from a file, or from an owner's server.

What a release says follows from its certificate, its query and its noisy sums, so that is all that is read; the first
release of every statistic is checked, and the others are made as it was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby
from typing import Any

from soundsum.refusals import Reason
from soundsum.releases.advice import conclude
from soundsum.releases.certificates import Unreadable, compare, read_certificate
from soundsum.releases.collections import Releases, choose_heading
from soundsum.releases.outcomes import Outcome, Several
from soundsum.releases.release_check import compare_release, list_empty, list_releases, read_noisy, read_query
from soundsum.releases.release_context import Origin, ReleaseContext
from soundsum.releases.released import Release
from soundsum.statistics.quantile import find_crossing, list_others
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
    made: list[Outcome] = []
    names: list[str] = []
    plain = json.loads(given) if isinstance(given, str) else given
    called = {str(period): period for period in periods}
    for one in list_empty(plain):
        if problems := compare(one["certificate"]):
            raise _refuse(problems[0])
        names.append(one.get("name") or one["statistic"])
        made.append(_make_empty(one, called))
    if made:
        return Several(made, names)
    listed, coverages = list_releases(plain), _read_coverages(plain)
    every: list[list[dict[str, Any]]] = []
    for place, own in groupby(listed, _find_place):
        every.append(list(own))
        if place != len(every) - 1 or (problems := compare_release(every[-1][0])):
            raise _refuse(problems[0] if place == len(every) - 1 else "its statistics are not in their order")
    for of_one, facts in zip(every, _read_contexts([of_one[0] for of_one in every]), strict=True):
        name = of_one[0].get("name")
        names.append(name or of_one[0]["statistic"])
        made.append(_make(of_one, facts, called, coverages.get(name)))
    return Several(made, names)


def _read_contexts(releases: Sequence[dict[str, Any]]) -> list[ReleaseContext]:
    """The facts of every statistic, by a release of it; quantiles that were sorted together know of each other."""
    alone = [_read_context(release) for release in releases]
    crossing = find_crossing((facts.origin.column, facts.claim) for facts in alone)
    noises = [facts.noises for facts in alone]
    return [replace(facts, sorted_with=list_others(place, crossing, noises)) for place, facts in enumerate(alone)]


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


def _make(
    listed: list[dict[str, Any]], facts: ReleaseContext, periods: Mapping[str, Period], coverage: str | None
) -> Outcome:
    first = listed[0]
    claim, query, place = facts.claim, facts.origin.query, facts.origin.place
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
        name = choose_heading(str(by) if period is None else period.heading, columns)
        columns[name] = [_read_group(group[number], period is not None) for group in groups]
        if period is not None:
            own[name] = period
    if asked.cells is not None:
        cells = [_read_group(group[-1], False) for group in groups]
        columns["cell" if isinstance(cells[0], tuple) else "category"] = cells
    return conclude(claim.kind, Releases(columns, sums, facts, own), 0.99 if coverage is None else coverage)


def _read_context(release: dict[str, Any]) -> ReleaseContext:
    query, place, cost = read_query(release)
    certificate, entry = release["certificate"], release["ledger"]["entry"]
    claim, promised, noises, search = read_certificate(certificate)
    origin = Origin(query, place, datetime.fromisoformat(release["at"]), cost, entry, certificate["engine"])
    return ReleaseContext(claim, promised, noises, claim.plan.problem.size, origin, search)


def _make_empty(described: dict[str, Any], periods: Mapping[str, Period]) -> Releases:
    """A result without any group found."""
    facts = _read_context(described)
    query = facts.origin.query
    own = {str(by): periods.get(str(by)) for by in query.by}
    columns: dict[str, list[Any]] = {}
    for by, period in own.items():
        columns[choose_heading(by if period is None else period.heading, columns)] = []
    if query.statistics[facts.origin.place].cells is not None:
        columns["cell"] = []
    return Releases(columns, [[] for _ in facts.claim.parts], facts)


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
