"""The check of releases against a ledger: each charge must be in it, and each value must have been released once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from soundsum.budget.query import Listed, Query, canonical
from soundsum.refusals import Reason
from soundsum.releases.certificates import Unreadable, list_contradictions, say
from soundsum.releases.release_check import compare_release, read_query, split_group

if TYPE_CHECKING:  # SQLite is loaded when a ledger is
    from soundsum.budget.history import Entry
    from soundsum.budget.ledger import Reading


def compare_with_ledger(releases: Sequence[dict[str, Any]], ledger: Reading) -> list[list[str]]:
    """List the findings of `compare_release` for each release, and charges that the ledger does not confirm.

    All of them together: every group and cell of every statistic of a charge has one value. Copies are the same value.
    """
    entries = {entry.number: entry for entry in ledger.entries}
    problems = [[*compare_release(one), *_compare_charge(one, ledger, entries)] for one in releases]
    sound = [place for place, found in enumerate(problems) if not found]
    for places, problem in _find_repeats(releases, sound):
        for place in places:
            problems[place].append(problem)
    return problems


def _compare_charge(release: dict[str, Any], ledger: Reading, entries: dict[int, Entry]) -> list[str]:
    if "ledger" not in release:
        raise Unreadable(
            "release",
            Reason.MISSING,
            "a certificate alone names no charge",
            "give the whole release, as --json printed it",
        )
    query, _, cost = read_query(release)
    ours, theirs, number = ledger.terms.binding, query.binding, release["ledger"]["entry"]
    pairs = (
        ("protects", ours.unit, theirs.unit),
        ("is for", f"{ours.relation} neighbours", f"{theirs.relation} neighbours"),
        ("is about", ours.data_name, theirs.data_name),
    )
    problems = [f"the ledger {verb} {own}, and the release {other}" for verb, own, other in pairs if own != other]
    entry = entries.get(number)
    if entry is None:
        absent = f"the ledger has no charge on line {say(number)}, which the release names"
        return [*problems, "the release was not charged to any ledger" if number is None else absent]
    if entry.state not in ("charged", "released"):
        problems.append(f"charge {number} is {entry.state}, so nothing was released for it")
    if entry.query is None:
        problems.append(f"charge {number} was for something else: {entry.what!r}")
    elif entry.query.text != query.text:
        problems.append(f"charge {number} was for another query: {_say_difference(entry.query, query)}")
    if entry.cost != cost and not (cost is None and not entry.cost.epsilon and not entry.cost.rho):
        problems.append(f"charge {number} was {entry.cost}, and the release says {cost or 'nothing'}")
    return problems


def _say_difference(charged: Query, named: Query) -> str:
    """Says where a charged query and the one that a release names first differ."""
    return next(list_contradictions("", charged.to_json(), named.to_json(), ("was charged for", "is in the release")))


def _find_repeats(releases: Sequence[dict[str, Any]], sound: Sequence[int]) -> Iterator[tuple[list[int], str]]:
    """Finds releases of one number that differ, and those that lack some of what a digest stands for."""
    values: dict[tuple[int, int, str], dict[str, list[int]]] = {}
    charges: dict[tuple[int, int], list[int]] = {}
    for place in sound:
        release = releases[place]
        charge = release["ledger"]["entry"], release["ledger"]["statistic"]
        copy = canonical({name: value for name, value in release.items() if name != "name"})
        values.setdefault((*charge, canonical(release.get("group"))), {}).setdefault(copy, []).append(place)
        charges.setdefault(charge, []).append(place)
    for (number, _, group), found in values.items():
        if len(found) > 1:
            places = sorted(place for copies in found.values() for place in copies)
            query, which, _ = read_query(releases[places[0]])
            of = "" if group == "null" else f" in {group}"
            title = f"the {query.statistics[which].title}{of}"
            yield places, f"charge {number} was for one value of {title}, and there are {len(found):,}"
    for (number, _), places in charges.items():
        query, which, _ = read_query(releases[places[0]])
        asked = query.statistics[which]
        pairs = [split_group(releases[place], query, asked) for place in places]
        for what, listed, own in (
            ("groups", query.groups, [group for group, _ in pairs]),
            ("cells", asked.cells, [cell for _, cell in pairs]),
        ):
            if not isinstance(listed, Listed) or listed.sha256 is None:
                continue
            distinct = list({canonical(one): one for one in own}.values())
            if len(distinct) < listed.count:
                raise Unreadable(
                    "release",
                    Reason.MISSING,
                    "charge {number} was for {count} {what}, which the ledger knows only together",
                    "give a file with all {count} of them",
                    number=number,
                    count=f"{listed.count:,}",
                    what=what,
                )
            if Listed.of(distinct) != listed:
                yield places, f"charge {number} was for other {what}, or in another order"
