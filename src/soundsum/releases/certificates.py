"""Certificates: everything a release claims, as plain data, and the check that it follows.

A certificate follows from the statistic, the problem, the unit, the method and the guarantee alone, so that checking it
is making it again, without any data.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum._version import __version__
from soundsum.budget.query import Asked, Listed, Query, as_plain, canonical
from soundsum.methods import make_method, parameters
from soundsum.methods.problem import Problem
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import nearest_float
from soundsum.privacy.cost import Cost
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.noise import Noise, NoNoise
from soundsum.privacy.planner import Plan, choose
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.statistics import STATISTICS, Claim
from soundsum.statistics.additive import Additive
from soundsum.statistics.statistic import Estimator, is_informative
from soundsum.statistics.task import ask

if TYPE_CHECKING:  # SQLite is loaded when a ledger is
    from soundsum.budget.history import Entry
    from soundsum.budget.ledger import Reading

FORMAT = 1

NO_CHARGE = "the charge that the release names cannot be read"


def certify(claim: Claim, promised: Guarantee, noises: tuple[Noise, ...], engine: str) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings.

    The problem's bounds are those of the records, and `worth` is what 1 in them is worth: a decimal's last digit,
    otherwise 1. What is released is in people's units. `engine` is who added up.
    """
    released = [
        {
            "what": part.name,
            "step": str(part.step * claim.worth**part.power),
            "sensitivity": str(part.norms.l1 * part.step * claim.worth**part.power),
            "l1_steps": part.norms.l1,
            "l2_squared_steps": part.norms.l2_squared,
            "noise": noise.name,
            noise.parameter_name: str(noise.parameter),
        }
        for part, noise in zip(claim.parts, noises, strict=True)
    ]
    return {
        "format": FORMAT,
        "versions": {"soundsum": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "statistic": claim.kind.name,
        **_describe(claim),
        "worth": str(claim.worth),
        "engine": engine,
        "privacy": promised.to_json(),
        "released": released,
    }


def _describe(claim: Claim) -> dict[str, Any]:
    """The plan, without what it says about a sum where something else is released; and how its method was made."""
    described = claim.plan.to_json()
    if not claim.kind.is_the_sum:
        for name in ("ideal", "sensitivity", "sensitivity_l2_squared", "ratio"):
            del described[name]
    return described | {"parameters": parameters(claim.plan.method, claim.plan.adder)}


class Unreadable(RefusedValue):
    """The document is not a certificate."""

    @classmethod
    def of(cls, refusal: Refusal, place: str) -> Unreadable:
        """What was refused in a document, when it was read."""
        again = cls(refusal.option, refusal.reason, refusal.problem, refusal.remedy, **refusal.facts)
        return again.within(f"{place}: {refusal.place}" if refusal.place else place)


def check(release: Any) -> list[str]:
    """List the contradictions between a release and its certificate, or within it; empty if there are none.

    release: a certificate, a `Release`, or several by group or name; also as to_dict() or to_json() write them.

    Everything in a certificate is made again from the little it rests on (statistic, problem, unit, method, privacy,
    worth), without any data, and compared to the last digit and type. Nothing may be missing and nothing be there
    besides.
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
    """Every release, or certificate, in what somebody gave, as plain data."""
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


def compare(certificate: Any) -> list[str]:
    """Check a release; raise Unreadable if it cannot be read."""
    place = "the certificate cannot be read"
    try:
        again = _make_again(certificate)
        return list(_differ("", {**again, "versions": certificate["versions"]}, certificate))
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, place)
    except KeyError as error:
        (name,) = error.args or (None,)
        unreadable = Unreadable(
            "release", Reason.UNREADABLE, "it has no {name}", "give it as soundsum wrote it", name=quote(name)
        ).within(place)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        unreadable = _misread(error).within(place)
    raise unreadable


def _unlike(found: str) -> Unreadable:
    """The refusal of a document that soundsum did not write like this."""
    return Unreadable("release", Reason.UNREADABLE, "{found}", "give it as soundsum wrote it", found=found)


def _misread(error: Exception) -> Unreadable:
    """The same where Python, and not soundsum, refused it."""
    return Unreadable(
        "release",
        Reason.UNREADABLE,
        "something in it is of another type or shape than soundsum writes ({kind})",
        "give it as soundsum wrote it",
        kind=type(error).__name__,
    )


def _differ(
    place: str, follows: Any, claimed: Any, verbs: tuple[str, str] = ("follows", "is claimed")
) -> Iterator[str]:
    """Where two pieces of plain data differ, at their deepest, in words; `verbs` say what each of the two is."""
    if _text(follows) == _text(claimed):
        return
    if isinstance(follows, dict) and isinstance(claimed, dict):
        for name in {**follows, **claimed}:
            inner = f"{place}, {name}" if place else name
            if name not in claimed:  # also where it is null
                yield f"{inner} is missing"
            elif name not in follows:
                yield f"{inner}: there is no such thing in a certificate"
            else:
                yield from _differ(inner, follows[name], claimed[name], verbs)
    elif isinstance(follows, list) and isinstance(claimed, list) and len(follows) == len(claimed):
        for number, (one, other) in enumerate(zip(follows, claimed, strict=True), 1):
            yield from _differ(f"{place} {number}" if len(follows) > 1 else place, one, other, verbs)
    else:
        yield f"{place}: {_said(follows)} {verbs[0]}, {_said(claimed)} {verbs[1]}"


def _said(value: Any) -> str:
    return "nothing" if value is None else quote(value)


def _text(value: Any) -> str:
    """JSON, in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def _make_again(certificate: Any) -> dict[str, Any]:
    if not isinstance(certificate, dict) or not all(isinstance(name, str) for name in certificate):
        raise _unlike("it is not a JSON object")
    _text(certificate)  # refuses what JSON cannot hold
    versions = certificate["versions"]
    if set(versions) != {"soundsum", "python", "numpy"} or not all(isinstance(v, str) for v in versions.values()):
        raise _unlike("its versions are not those of soundsum, python and numpy")
    promised, claim, engine = _guarantee(certificate), _claim(certificate), certificate["engine"]
    if not isinstance(engine, str):
        raise _unlike("its engine is not a string")
    return certify(claim, promised, claim.noises(promised), engine)


def _guarantee(certificate: dict[str, Any]) -> Guarantee:
    privacy = certificate["privacy"]
    drawn = [part["noise"] for part in certificate["released"] if part["noise"] != NoNoise.name]
    noise = drawn[0] if drawn else "gaussian" if "delta" in privacy or "rho" in privacy else "laplace"
    return guarantee(**privacy, noise=noise)


def _claim(certificate: dict[str, Any]) -> Claim:
    kind = STATISTICS.find(certificate["statistic"])
    method = make_method(certificate["method"], certificate["parameters"])
    problem = Problem(**certificate["problem"])
    plan = Plan(problem, choose(problem, method), Unit(**certificate["unit"]))
    return Claim(kind, plan, Fraction(certificate["worth"]))


def compare_release(release: dict[str, Any]) -> list[str]:
    """List everything in a release (as `Release.to_dict` writes it) that does not follow from its certificate."""
    certificate = release.get("certificate", release)
    problems = compare(certificate)
    if certificate is release or problems:
        return problems
    claim = _claim(certificate)
    follows = {
        "statistic": claim.kind.entry_name or claim.kind.name,
        "value": _value(release.get("exact"), release.get("value")),
        "bounds": [str(bound) for bound in claim.bounds],
        "unit": str(claim.plan.unit),
        "relation": certificate["problem"]["relation"],
        "version": certificate["versions"]["soundsum"],
    }
    if (release.get("privacy_unit") is None) != (claim.plan.unit.max_rows is None):
        person = _said(release.get("privacy_unit"))
        return [f"privacy_unit: {person} is claimed, and the certificate is for {claim.plan.unit}"]
    if claim.kind.is_the_sum and not _is_on_steps(release.get("exact"), certificate["released"]):
        return [
            f"exact: {release.get('exact')!r} is not a number of steps, which are {certificate['released'][0]['step']}"
        ]
    estimator = claim.estimator(claim.noises(_guarantee(certificate)), claim.plan.problem.size)
    if isinstance(estimator, Additive) and isinstance(release.get("exact"), str):
        follows["interval_95"] = _interval(Fraction(release["exact"]), estimator)
    if isinstance(release.get("interval_95"), list):
        follows["informative"] = _is_informative(release["interval_95"], estimator)
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
        "exact",
        "interval_95",
        "informative",
        "privacy_unit",
        "missing",
        "source",
        "data",
        "at",
        "ledger",
    }
    problems = [
        *(
            f"{name}: {_said(value)} follows, {_said(release.get(name))} is claimed"
            for name, value in follows.items()
            if release.get(name) != value or isinstance(release.get(name), bool) != isinstance(value, bool)
        ),
        *(f"{name}: there is no such thing in a release" for name in release if name not in known),
        *(f"{name} is missing" for name in known - {"group", "name"} if name not in release),
    ]
    place = "the query cannot be compared"
    try:
        return problems or _compare_query(release, claim)
    except Unreadable:
        raise
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, place)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        unreadable = _misread(error).within(place)
    raise unreadable


def _interval(exact: Fraction, estimator: Additive) -> list[float | None]:
    """The 95% interval of a sum or a count, which follows from it and its noise."""
    ends = map(nearest_float, estimator.around(exact, 0.95))
    return [end if math.isfinite(end) else None for end in ends]


def _is_informative(ends: list[Any], estimator: Estimator) -> bool | None:
    """Whether a 95% interval says more than the bounds; None where it is no interval."""
    if len(ends) != 2 or not all(end is None or type(end) in (int, float) for end in ends):
        return None
    low, high = (beyond if end is None else end for end, beyond in zip(ends, (-math.inf, math.inf), strict=True))
    return is_informative(estimator, low, high)


def _is_on_steps(exact: Any, released: list[dict[str, Any]]) -> bool:
    """Whether a sum is one of the numbers that can come out."""
    try:
        on_steps = isinstance(exact, str) and (Fraction(exact) / Fraction(released[0]["step"])).denominator == 1
        return on_steps and str(Fraction(exact)) == exact
    except (ValueError, ZeroDivisionError):
        return False


def _value(exact: Any, given: Any) -> int | float | None:
    """Compute the value again; null where it would be a float and none is large enough."""
    if not isinstance(exact, str):
        return None
    try:
        number = Fraction(exact)
    except (ValueError, ZeroDivisionError):
        return None
    near = nearest_float(number)
    if given is None and not math.isfinite(near):
        return None
    return int(number) if number.denominator == 1 and not isinstance(given, float) else near


def _read_query(release: dict[str, Any]) -> tuple[Query, int, Cost | None]:
    """The charge that a release claims: for which statistic, and how much."""
    said = release.get("ledger")
    try:
        if not isinstance(said, dict) or set(said) != {"entry", "query", "statistic", "cost"}:
            raise _unlike("it does not have an entry, a query, a statistic and a cost")
        query, place, cost = Query.from_json(said["query"]), said["statistic"], said["cost"]
        if type(place) is not int or not 0 <= place < len(query.statistics):
            raise _unlike("its statistic is not the number of one of the query's")
        if said["entry"] is not None and type(said["entry"]) is not int:
            raise _unlike("its entry is not the number of a line")
        return query, place, None if cost is None else Cost(**cost)
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, NO_CHARGE)
    except (ArithmeticError, ValueError, TypeError) as error:
        unreadable = _misread(error).within(NO_CHARGE)
    raise unreadable


def _compare_query(release: dict[str, Any], claim: Claim) -> list[str]:
    """Where a release is not what the query that it names asked for, or not for its share of the cost."""
    query, place, cost = _read_query(release)
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
        f"{name}: the query says {_said(value)}, and the release {_said(facts[name])}"
        for name, value in follows.items()
        if canonical(value) != canonical(facts[name])
    ]
    return [*problems, *_compare_share(release, claim, asked, cost), *_compare_entry(release, query, asked)]


def _compare_share(release: dict[str, Any], claim: Claim, asked: Asked, cost: Cost | None) -> list[str]:
    """Where a certificate promises something else than its share of the cost pays for."""
    if any(part.norms.l1 for part in claim.parts) != bool(asked.share):
        return [f"share: the query says {asked.share}, and only what needs noise has one"]
    if not asked.share:
        return []
    given = {name: Fraction(amount) for name, amount in release["certificate"]["privacy"].items()}
    if cost is not None and Cost(**{name: amount / asked.share for name, amount in given.items()}) == cost:
        return []
    paid = "nothing was paid" if cost is None else f"{asked.share} of the charge is {_share_of(cost, asked.share)}"
    return [f"the certificate promises {_say_exactly(given)}, and {paid}"]


def _share_of(cost: Cost, share: Fraction) -> str:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return _say_exactly({name: amount * share for name, amount in amounts.items() if amount is not None})


def _say_exactly(amounts: dict[str, Fraction]) -> str:
    return ", ".join(f"{name} = {amount}" for name, amount in amounts.items())


def _split_entry(release: dict[str, Any], query: Query, asked: Asked) -> tuple[Any, Any]:
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


def _compare_entry(release: dict[str, Any], query: Query, asked: Asked) -> list[str]:
    """Whether the group and the cell of a release are among those asked for, where the query lists them."""
    try:
        parts = _split_entry(release, query, asked)
    except ValueError:
        return [f"group: {_said(release.get('group'))} is not one of a {asked.title} of this query"]
    return [
        f"group: the query did not ask for the {what} {_said(part)}"
        for what, part, listed in zip(("group", "cell"), parts, (query.groups, asked.cells), strict=True)
        if listed is not None and listed.names is not None and canonical(part) not in listed.names
    ]


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
    query, _, cost = _read_query(release)
    ours, theirs, number = ledger.terms.binding, query.binding, release["ledger"]["entry"]
    pairs = (
        ("protects", ours.unit, theirs.unit),
        ("is for", f"{ours.relation} neighbours", f"{theirs.relation} neighbours"),
        ("is about", ours.data_name, theirs.data_name),
    )
    problems = [f"the ledger {verb} {own}, and the release {other}" for verb, own, other in pairs if own != other]
    entry = entries.get(number)
    if entry is None:
        absent = f"the ledger has no charge on line {_said(number)}, which the release names"
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
    """Where a query that was charged for and one that a release names differ first."""
    return next(_differ("", charged.to_json(), named.to_json(), ("was charged for", "is in the release")))


def _find_repeats(releases: Sequence[dict[str, Any]], sound: Sequence[int]) -> Iterator[tuple[list[int], str]]:
    """Which releases are of one and the same number and differ; and which are not of all that a digest stands for."""
    values: dict[tuple[int, int, str], dict[str, list[int]]] = {}
    charges: dict[tuple[int, int], list[int]] = {}
    for place in sound:
        release = releases[place]
        charge = release["ledger"]["entry"], release["ledger"]["statistic"]
        copy = _text({name: value for name, value in release.items() if name != "name"})
        values.setdefault((*charge, _text(release.get("group"))), {}).setdefault(copy, []).append(place)
        charges.setdefault(charge, []).append(place)
    for (number, _, group), found in values.items():
        if len(found) > 1:
            places = sorted(place for copies in found.values() for place in copies)
            query, which, _ = _read_query(releases[places[0]])
            of = "" if group == "null" else f" in {group}"
            title = f"the {query.statistics[which].title}{of}"
            yield places, f"charge {number} was for one value of {title}, and there are {len(found):,}"
    for (number, _), places in charges.items():
        query, which, _ = _read_query(releases[places[0]])
        asked = query.statistics[which]
        pairs = [_split_entry(releases[place], query, asked) for place in places]
        for what, listed, own in (
            ("groups", query.groups, [group for group, _ in pairs]),
            ("cells", asked.cells, [cell for _, cell in pairs]),
        ):
            if listed is None or listed.sha256 is None:
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
