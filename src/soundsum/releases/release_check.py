"""The check of releases, without any data: each must be as its certificate and its share of its query have it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.budget.query import SEARCH, Asked, Listed, Query, as_plain, canonical
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import finite, nearest_float
from soundsum.privacy.choice import Choice
from soundsum.privacy.cost import Cost
from soundsum.privacy.selection import Found
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.releases.certificates import Unreadable, compare, read_certificate, refuse_misread, refuse_unlike, say
from soundsum.statistics import Claim
from soundsum.statistics.statistic import is_informative
from soundsum.statistics.task import ask

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,3999}")


def check(release: Any) -> list[str]:
    """List the contradictions between a release and its certificate, or within it; empty if there are none.

    release: a certificate, a `Release`, or several by group or name; also as to_dict() or to_json() write them.

    The check recomputes the certificate without any data, from its statistic, problem, unit, method, privacy and
    worth, and compares every digit and type. Missing and additional entries count as contradictions.
    """
    outcomes, problems = list_releases(release), []
    for place, outcome in enumerate(outcomes, 1):
        try:
            found = compare_release(outcome)
        except Unreadable as error:
            found = [str(error)]
        problems += found if len(outcomes) == 1 else [f"release {place:,}: {problem}" for problem in found]
    return problems


def list_releases(given: Any) -> list[dict[str, Any]]:
    """Every release or certificate in the argument, as plain data."""
    plain = given.to_dict() if hasattr(given, "to_dict") else given
    if isinstance(plain, str):
        is_json = True
        try:
            plain = json.loads(plain)
        except (ValueError, RecursionError):
            is_json = False
        if not is_json:
            raise RefusedValue(
                "release",
                Reason.MALFORMED,
                "{given} is not JSON",
                "give a release, its certificate, or what `to_dict()` or `to_json()` wrote; of a file, "
                "`soundsum check FILE`",
                given=quote(given),
            )
    if isinstance(plain, dict) and plain.keys() == {"releases", "empty"} and plain["releases"] == []:
        plain = [one["certificate"] for one in list_empty(plain)]  # no group was found
    if isinstance(plain, dict) and "certificate" not in plain and isinstance(plain.get("releases"), list):
        plain = plain["releases"]
    listed = plain if isinstance(plain, list | tuple) else [plain]
    outcomes = [one.to_dict() if hasattr(one, "to_dict") else one for one in listed]
    if not outcomes or not all(isinstance(one, dict) for one in outcomes):
        raise RefusedType(
            "release",
            Reason.WRONG_TYPE,
            "{given} is no release and no certificate",
            "give a release, its certificate, or what `to_dict()` or `to_json()` wrote; of a file, "
            "`soundsum check FILE`",
            given=quote(given),
        )
    return outcomes


def list_empty(plain: Any) -> list[dict[str, Any]]:
    """The results without any group in plain data."""
    listed = plain.get("empty", []) if isinstance(plain, dict) else []
    if not isinstance(listed, list) or not all(isinstance(one, dict) and "certificate" in one for one in listed):
        raise refuse_unlike("its results without groups have no certificates")
    return listed


def compare_release(release: dict[str, Any]) -> list[str]:
    """List everything in a release (as `Release.to_dict` writes it) that does not follow from its certificate."""
    certificate = release.get("certificate", release)
    problems = compare(certificate)
    if certificate is release or problems:
        return problems
    read = read_certificate(certificate)
    claim = read.claim
    if (release.get("privacy_unit") is None) != (claim.plan.unit.max_rows is None):
        person = say(release.get("privacy_unit"))
        return [f"privacy_unit: {person} is claimed, and the certificate is for {claim.plan.unit}"]
    noisy = read_noisy(release.get("noisy"))
    if noisy is None or len(noisy) != len(claim.parts):
        return [f"noisy: {say(release.get('noisy'))} is not {len(claim.parts)} whole numbers of steps"]
    noises = read.noises
    choices = [noise for noise in noises if isinstance(noise, Choice)]
    if any(not 0 <= place < len(choice.points) for place, choice in zip(noisy, choices, strict=False)):
        return [f"noisy: {say(release.get('noisy'))} is not the place of a candidate"]
    estimator = claim.estimator(noises, claim.plan.problem.size)
    exact, ends = estimator.exact(noisy), [nearest_float(end) for end in estimator.interval(noisy, 0.95)]
    follows = {
        "statistic": claim.kind.entry_name or claim.kind.name,
        "value": finite(exact if isinstance(exact, int) else nearest_float(exact)),
        "exact": str(exact),
        "interval_95": [finite(end) for end in ends],
        "informative": is_informative(estimator, *ends),
        "bounds": [str(bound) for bound in claim.bounds],
        "unit": str(claim.plan.unit),
        "relation": certificate["problem"]["relation"],
        "version": certificate["versions"]["soundsum"],
    }
    least = max((choice.half_width(0.95) for choice in choices), default=0)
    found = release.get("rank_error_95", 0)
    if bool(choices) != ("rank_error_95" in release) or type(found) is not int or found < least:
        return [f"rank_error_95: {least:,} or more follows, {say(release.get('rank_error_95'))} is claimed"]
    missing, is_plain = release.get("missing"), claim.plan.unit.is_plain
    if missing not in ("zero", "drop") or (missing == "drop" and claim.plan.problem.relation.sized and is_plain):
        return [f"missing: {missing!r} does not follow from the unit and the relation"]
    known = {
        *follows,
        "certificate",
        "column",
        "by",
        "where",
        "group",
        "name",
        "noisy",
        "privacy_unit",
        "missing",
        "source",
        "data",
        "at",
        "ledger",
        *(["rank_error_95"] if choices else []),
    }
    problems = [
        *(
            f"{name}: {say(value)} follows, {say(release.get(name))} is claimed"
            for name, value in follows.items()
            if release.get(name) != value or isinstance(release.get(name), bool) != isinstance(value, bool)
        ),
        *(f"{name}: there is no such thing in a release" for name in release if name not in known),
        *(f"{name} is missing" for name in known - {"group", "name"} if name not in release),
    ]
    place = "the query cannot be compared"
    try:
        return problems or compare_query(release, claim)
    except Unreadable:
        raise
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, place)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        unreadable = refuse_misread(error).within(place)
    raise unreadable


def read_noisy(given: Any) -> tuple[int, ...] | None:
    """The noisy sums of a release, as it writes them; None if they are written otherwise."""
    if not isinstance(given, list) or not all(isinstance(one, str) and WHOLE.fullmatch(one) for one in given):
        return None
    return tuple(map(int, given))


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
    """The group and the cell that a release is of, as plain data; a ValueError if they do not fit the query."""
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
