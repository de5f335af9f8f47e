"""The check of a release against the query that it names: what was asked for, at which share of the cost."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.budget.query import SEARCH, Asked, Listed, Query, as_plain, canonical
from soundsum.privacy.cost import Cost
from soundsum.privacy.selection import Found
from soundsum.refusals import Refusal
from soundsum.releases.certificates import Unreadable, refuse_misread, refuse_unlike, say
from soundsum.statistics import Claim
from soundsum.statistics.task import ask

NO_CHARGE = "the charge that the release names cannot be read"


def read_query(release: dict[str, Any]) -> tuple[Query, int, Cost | None]:
    """The charge that a release claims: for which statistic, and how much."""
    said = release.get("ledger")
    try:
        if not isinstance(said, dict) or set(said) != {"entry", "query", "statistic", "cost"}:
            raise refuse_unlike("it does not have an entry, a query, a statistic and a cost")
        query, place, cost = Query.from_json(said["query"]), said["statistic"], said["cost"]
        if type(place) is not int or not 0 <= place < len(query.statistics):
            raise refuse_unlike("its statistic is not the number of one of the query's")
        if said["entry"] is not None and type(said["entry"]) is not int:
            raise refuse_unlike("its entry is not the number of a line")
        return query, place, None if cost is None else Cost(**cost)
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, NO_CHARGE)
    except (ArithmeticError, ValueError, TypeError) as error:
        unreadable = refuse_misread(error).within(NO_CHARGE)
    raise unreadable


def compare_query(release: dict[str, Any], claim: Claim) -> list[str]:
    """Lists where a release is not what its query asked for, or not for its share of the cost."""
    query, place, cost = read_query(release)
    asked, by = query.statistics[place], as_plain(release["by"])
    size = None if asked.size is None else claim.plan.problem.size
    own = replace(ask(claim, release["column"], release["missing"], asked.share, asked.name, asked.cells), size=size)
    facts = {
        **own.to_json(),
        "unit": str(claim.plan.unit),
        "by": [] if by is None else by if isinstance(by, list) else [by],
        **{name: release[name] for name in ("source", "data", "privacy_unit", "relation", "where")},
        "name": asked.name if release.get("name") is None or asked.name is None else release["name"],
    }
    follows = {
        **asked.to_json(),
        "unit": str(query.unit(asked)),
        "by": list(query.by),
        **{name: query.to_json()[name] for name in ("source", "data", "privacy_unit", "relation")},
        "where": query.conditions,
    }
    problems = [
        f"{name}: the query says {say(value)}, and the release {say(facts[name])}"
        for name, value in follows.items()
        if canonical(value) != canonical(facts[name])
    ]
    paid = _compare_share(release, claim, asked, query, cost)
    return [*problems, *paid, *_compare_group(release, query, asked)]


def _compare_share(release: dict[str, Any], claim: Claim, asked: Asked, query: Query, cost: Cost | None) -> list[str]:
    """Lists where a certificate's promise differs from what its share of the cost pays for."""
    if any(part.norms.l1 for part in claim.parts) != bool(asked.share):
        return [f"share: the query says {asked.share}, and only what needs noise has one"]
    if not asked.share:
        return []
    given = {name: Fraction(amount) for name, amount in release["certificate"]["privacy"].items()}
    if query.search is not None:
        return _compare_search(release["certificate"]["search"], given, asked, query, cost)
    if cost is not None and Cost(**{name: amount / asked.share for name, amount in given.items()}) == cost:
        return []
    paid = "nothing was paid" if cost is None else f"{asked.share} of the charge is {_share_of(cost, asked.share)}"
    return [f"the certificate promises {_say_exactly(given)}, and {paid}"]


def _compare_search(
    search: dict[str, Any], given: dict[str, Fraction], asked: Asked, query: Query, cost: Cost | None
) -> list[str]:
    """Lists where the search for groups, or a statistic beside it, differs from what the charge pays for.

    Epsilon is divided between all of them; the search's delta comes on top of that of the statistics.
    """
    own, found = query.search, query.groups
    assert own is not None
    assert isinstance(found, Found)
    noise = "truncated_laplace" if found.noise == "laplace" else found.noise
    if (search["asked_delta"], search["noise"]) != (str(found.delta), noise):
        return [f"search: the query asks for {found.noise} noise and delta = {found.delta}, and the search is another"]
    epsilon, delta = Fraction(search["epsilon"]), Fraction(search["delta"])
    is_search = asked.statistic == SEARCH
    if (
        cost is not None
        and cost == Cost(epsilon / own.share, _total_delta(given, delta, asked, own, cost))
        and (is_search or given["epsilon"] == (cost.epsilon or 0) * asked.share)
    ):
        return []
    paid = "nothing was paid" if cost is None else f"{asked.share} of the charge is {_share_of(cost, asked.share)}"
    return [f"the certificate promises {_say_exactly(given)}, and {paid}"]


def _total_delta(given: dict[str, Fraction], search: Fraction, asked: Asked, own: Asked, cost: Cost) -> Fraction:
    """The delta of the whole charge, by what a release says; the search alone cannot say what the others have."""
    if asked.statistic == SEARCH:
        return cost.delta if own.share < 1 and cost.delta >= search else search
    return search + given.get("delta", Fraction(0)) * (1 - own.share) / asked.share


def _share_of(cost: Cost, share: Fraction) -> str:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return _say_exactly({name: amount * share for name, amount in amounts.items() if amount is not None})


def _say_exactly(amounts: dict[str, Fraction]) -> str:
    return ", ".join(f"{name} = {amount}" for name, amount in amounts.items())


def split_group(release: dict[str, Any], query: Query, asked: Asked) -> tuple[Any, Any]:
    """The group and the cell that a release is of, as plain data; a ValueError if it is not of as many as it says."""
    found, columns, has_cells = release.get("group"), len(query.by), asked.cells is not None
    if ("group" in release) != (columns > 0 or has_cells):
        raise ValueError
    if not columns:
        return None, found
    parts = [found] if columns + has_cells == 1 else found
    if not isinstance(parts, list) or len(parts) != columns + has_cells:
        raise ValueError
    group = parts[0] if columns == 1 else parts[:columns]
    return group, parts[-1] if has_cells else None


def _compare_group(release: dict[str, Any], query: Query, asked: Asked) -> list[str]:
    """Checks that a release's group and cell are among those asked for, where the query lists them."""
    try:
        parts = split_group(release, query, asked)
    except ValueError:
        return [f"group: {say(release.get('group'))} is not one of a {asked.title} of this query"]
    return [
        f"group: the query did not ask for the {what} {say(part)}"
        for what, part, listed in zip(("group", "cell"), parts, (query.groups, asked.cells), strict=True)
        if isinstance(listed, Listed) and listed.names is not None and canonical(part) not in listed.names
    ]
