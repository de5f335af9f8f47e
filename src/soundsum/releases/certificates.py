"""Certificates: everything a release claims, as plain data, and the check that it follows.

A certificate follows from the statistic, the problem, the unit, the method and the guarantee alone, so that checking it
is making it again, without any data.
"""

from __future__ import annotations

import itertools
import json
import math
import platform
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum._version import __version__
from soundsum.arithmetic.rationals import nearest_float
from soundsum.budget.binding import Binding
from soundsum.methods import make_method, parameters
from soundsum.planner import Scheme, choose
from soundsum.privacy.cost import Cost
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.noise import Noise, NoNoise
from soundsum.privacy.units import Unit
from soundsum.problem import Problem
from soundsum.shown import shown
from soundsum.statistics import STATISTICS, Claim
from soundsum.statistics.additive import Additive
from soundsum.statistics.task import as_listed, describe_task

if TYPE_CHECKING:  # SQLite is loaded when a ledger is
    from soundsum.budget.ledger import Reading

FORMAT = 1

WHAT_IS_CHECKED = (
    "give a release, its certificate, or what to_dict() or to_json() wrote; of a file, soundsum check FILE"
)


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


class Unreadable(ValueError):
    """What was given is not a certificate."""


def check(release: Any) -> list[str]:
    """What of a release contradicts its certificate, or in that the rest; an empty list if nothing does.

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
        try:
            plain = json.loads(plain)
        except (ValueError, RecursionError):
            raise ValueError(f"{shown(given)} is not JSON; {WHAT_IS_CHECKED}") from None
    if isinstance(plain, dict) and "certificate" not in plain and isinstance(plain.get("releases"), list):
        plain = plain["releases"]
    listed = plain if isinstance(plain, list | tuple) else [plain]
    outcomes = [one.to_dict() if hasattr(one, "to_dict") else one for one in listed]
    if not outcomes or not all(isinstance(one, dict) for one in outcomes):
        raise TypeError(f"{shown(given)} is no release and no certificate; {WHAT_IS_CHECKED}")
    return outcomes


def compare(certificate: Any) -> list[str]:
    """The same, but what cannot be read raises Unreadable."""
    try:
        again = _make_again(certificate)
    except KeyError as error:
        raise Unreadable(f"the certificate cannot be read: it has no {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise Unreadable(f"the certificate cannot be read: {error or type(error).__name__}") from None
    return list(_differ("", {**again, "versions": certificate["versions"]}, certificate))


def _differ(place: str, follows: Any, claimed: Any) -> Iterator[str]:
    """Where two pieces of plain data differ, at their deepest, in words."""
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
                yield from _differ(inner, follows[name], claimed[name])
    elif isinstance(follows, list) and isinstance(claimed, list) and len(follows) == len(claimed):
        for number, (one, other) in enumerate(zip(follows, claimed, strict=True), 1):
            yield from _differ(f"{place} {number}" if len(follows) > 1 else place, one, other)
    else:
        yield f"{place}: {_said(follows)} follows, {_said(claimed)} is claimed"


def _said(value: Any) -> str:
    return "nothing" if value is None else shown(value)


def _text(value: Any) -> str:
    """JSON, in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


def _make_again(certificate: Any) -> dict[str, Any]:
    if not isinstance(certificate, dict) or not all(isinstance(name, str) for name in certificate):
        raise TypeError("it is not a JSON object")
    _text(certificate)  # refuses what JSON cannot hold
    versions = certificate["versions"]
    if set(versions) != {"soundsum", "python", "numpy"} or not all(isinstance(v, str) for v in versions.values()):
        raise ValueError("its versions are those of soundsum, python and numpy")
    promised, claim, engine = _guarantee(certificate), _claim(certificate), certificate["engine"]
    if not isinstance(engine, str):
        raise TypeError("its engine is a name")
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
    scheme = Scheme(problem, choose(problem, method), Unit(**certificate["unit"]))
    return Claim(kind, scheme, Fraction(certificate["worth"]))


def compare_release(release: dict[str, Any]) -> list[str]:
    """What of a release (as `Release.to_dict` writes it) does not follow from its certificate, or that from itself."""
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
        "privacy_unit",
        "missing",
        "source",
        "data",
        "at",
        "ledger",
    }
    return [
        *(
            f"{name}: {_said(value)} follows, {_said(release.get(name))} is claimed"
            for name, value in follows.items()
            if release.get(name) != value or isinstance(release.get(name), bool)
        ),
        *(f"{name}: there is no such thing in a release" for name in release if name not in known),
        *(f"{name} is missing" for name in known - {"group", "name"} if name not in release),
    ]


def _interval(exact: Fraction, estimator: Additive) -> list[float | None]:
    """The 95% interval of a sum or a count, which follows from it and its noise."""
    width = estimator.noise.half_width(0.95) * estimator.step
    ends = (nearest_float(exact - width), nearest_float(exact + width))
    return [end if math.isfinite(end) else None for end in ends]


def _is_on_steps(exact: Any, released: list[dict[str, Any]]) -> bool:
    """Whether a sum is one of the numbers that can come out."""
    try:
        on_steps = isinstance(exact, str) and (Fraction(exact) / Fraction(released[0]["step"])).denominator == 1
        return on_steps and str(Fraction(exact)) == exact
    except (ValueError, ZeroDivisionError):
        return False


def _value(exact: Any, given: Any) -> int | float | None:
    """What follows as the value; null where no float is large enough, and a float is what it would be."""
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


def compare_with_ledger(release: dict[str, Any], ledger: Reading) -> list[str]:
    """Where a ledger does not bear out that it was charged for a release (as `Release.to_dict` writes it)."""
    try:
        said = release["ledger"]
        number, what, cost = said["entry"], said["what"], said["cost"]
        whom = [release[name] for name in ("privacy_unit", "relation", "data")]
    except (LookupError, TypeError):
        raise Unreadable("a certificate alone names no charge; give the whole release, as --json printed it") from None
    try:
        theirs, paid = Binding(*whom), None if cost is None else Cost(**cost)
        if not isinstance(what, str) or isinstance(number, bool):
            raise ValueError("its number is a whole one, and what it was for a text")
    except (ValueError, TypeError) as error:
        raise Unreadable(f"the charge that the release names cannot be read: {error}") from None
    ours = ledger.terms.binding
    pairs = (
        ("protects", ours.unit, theirs.unit),
        ("is for", f"{ours.relation} neighbours", f"{theirs.relation} neighbours"),
        ("is about", ours.data_name, theirs.data_name),
    )
    problems = [f"the ledger {verb} {own}, and the release {other}" for verb, own, other in pairs if own != other]
    entry = next((entry for entry in ledger.entries if entry.number == number), None)
    if entry is None:
        absent = f"the ledger has no charge on line {_said(number)}, which the release names"
        return [*problems, "the release was not charged to any ledger" if number is None else absent]
    if entry.state not in ("charged", "released"):
        problems.append(f"charge {number} is {entry.state}, so nothing was released for it")
    problems += _compare_query(release, what, paid)
    if entry.what != what:
        problems.append(f"charge {number} was for {entry.what!r}, and the release says {what!r}")
    if entry.cost.to_json() != cost and not (cost is None and not entry.cost.epsilon and not entry.cost.rho):
        problems.append(f"charge {number} was {entry.cost}, and the release says {paid or 'nothing'}")
    return problems


def _compare_query(release: dict[str, Any], what: str, cost: Cost | None) -> list[str]:
    """Where the charge that a release names is not for what its certificate says was asked and promised."""
    claim, asked = _claim(release["certificate"]), what.split("; ")
    facts = {name: release[name] for name in ("column", "source", "by", "where", "missing")}
    own = {describe_task(claim, **facts, unsized=unsized) for unsized in (False, True)}
    said_name = None if release.get("name") is None else as_listed(str(release["name"]))
    shares: set[Fraction] = set()
    for one, text in itertools.product(own, asked):
        if found := re.fullmatch(rf"{re.escape(one)}(?:, (\d+(?:/\d+)?) of the cost)?(?:, called (?s:(.*)))?", text):
            if found[2] is not None and said_name not in (None, found[2]):
                continue
            equal = {Fraction(1, count) for count in range(1, len(asked) + 1)}
            shares |= equal if found[1] is None else {Fraction(found[1])}
    if not shares:
        return [f"the charge was for {what!r}, and the certificate is about {min(own)!r}"]
    given = release["certificate"]["privacy"]
    for name in ("epsilon", "delta", "rho"):
        paid = Fraction(0) if cost is None else getattr(cost, name) or Fraction(0)
        own_share = Fraction(given.get(name, 0))
        if not any(part.norms.l1 for part in claim.parts):
            continue  # no noise, no cost
        if not any(share * paid == own_share for share in shares):
            return [
                f"the charge was {paid} of {name}, and the certificate promises {own_share} for one of {len(asked)}"
            ]
    return []
