"""Certificates: everything a release claims, as plain data, and the check that it follows.

A certificate follows from the statistic, the problem, the unit, the method and the guarantee alone, so that checking it
is making it again, without any data.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from soundsum._version import __version__
from soundsum.budget.query import canonical
from soundsum.methods import make_method, parameters
from soundsum.methods.problem import Problem
from soundsum.numbers.quoting import quote
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.noise import NOISES, Noise, NoNoise
from soundsum.privacy.planner import Plan, choose
from soundsum.privacy.selection import GroupPlan, plan_search, search_unit
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.statistics import STATISTICS, Claim
from soundsum.statistics.group_counts import GroupCounts

FORMAT = 1


def certify(
    claim: Claim, promised: Guarantee, noises: tuple[Noise, ...], engine: str, search: GroupPlan | None = None
) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings.

    The problem's bounds are those of the records, and `unit_value` is what 1 in them is worth: a decimal's last digit,
    otherwise 1. What is released is in people's units. `engine` is who added up, `search` how groups were found that
    nobody listed.
    """
    released = [
        {
            "what": part.name,
            "step": str(part.step * claim.unit_value**part.power),
            "sensitivity": str(part.norms.l1 * part.step * claim.unit_value**part.power),
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
        "unit_value": str(claim.unit_value),
        "engine": engine,
        "privacy": promised.to_json(),
        "released": released,
        **({} if search is None else {"search": search.to_json()}),
    }


def _describe(claim: Claim) -> dict[str, Any]:
    """The plan, without what it says about a sum where something else is released; and how its method was made."""
    described = claim.plan.to_json()
    if not claim.kind.is_the_sum:
        for name in ("ideal", "sensitivity", "sensitivity_l2_squared", "ratio"):
            del described[name]
    return described | {"parameters": parameters(claim.plan.method, claim.plan.adder)}


class Unreadable(RefusedValue):
    """A document that is not a certificate."""

    @classmethod
    def of(cls, refusal: Refusal, place: str) -> Unreadable:
        """Refuses a document for the reason found in reading it."""
        again = cls(refusal.option, refusal.reason, refusal.problem, refusal.remedy, **refusal.facts)
        return again.within(f"{place}: {refusal.place}" if refusal.place else place)


def compare(certificate: Any) -> list[str]:
    """Check a release; raise Unreadable if it cannot be read."""
    place = "the certificate cannot be read"
    try:
        again = _make_again(certificate)
        return list(list_contradictions("", {**again, "versions": certificate["versions"]}, certificate))
    except Refusal as refusal:
        unreadable = Unreadable.of(refusal, place)
    except KeyError as error:
        (name,) = error.args or (None,)
        unreadable = Unreadable(
            "release", Reason.UNREADABLE, "it has no {name}", "give it as soundsum wrote it", name=quote(name)
        ).within(place)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        unreadable = refuse_misread(error).within(place)
    raise unreadable


def _make_again(certificate: Any) -> dict[str, Any]:
    if not isinstance(certificate, dict) or not all(isinstance(name, str) for name in certificate):
        raise refuse_unlike("it is not a JSON object")
    canonical(certificate)  # refuses what JSON cannot hold
    versions = certificate["versions"]
    if set(versions) != {"soundsum", "python", "numpy"} or not all(isinstance(v, str) for v in versions.values()):
        raise refuse_unlike("its versions are not those of soundsum, python and numpy")
    read, engine = read_certificate(certificate), certificate["engine"]
    if not isinstance(engine, str):
        raise refuse_unlike("its engine is not a string")
    return certify(read.claim, read.guarantee, read.noises, engine, read.search)


class ReadCertificate(NamedTuple):
    """A certificate's claims, with the noise that they need."""

    claim: Claim
    guarantee: Guarantee
    noises: tuple[Noise, ...]
    search: GroupPlan | None


def read_certificate(certificate: dict[str, Any]) -> ReadCertificate:
    claim = read_claim(certificate)
    search = None if claim.plan.unit.groups != FOUND else _read_search(certificate["search"], claim)
    if search is not None and claim.kind is GroupCounts:
        return ReadCertificate(claim, search.guarantee, (search.noise,), search)
    promised = read_guarantee(certificate)
    return ReadCertificate(claim, promised, claim.noises(promised), search)


def _read_search(said: dict[str, Any], claim: Claim) -> GroupPlan:
    """The search for groups, planned again for the unit of the statistic beside it."""
    norms = search_unit(claim.plan.unit).norms(1, 1, claim.plan.problem.relation)
    noise = "laplace" if said["noise"] == "truncated_laplace" else said["noise"]
    return plan_search(said["epsilon"], said["asked_delta"], norms, noise)


def read_guarantee(certificate: dict[str, Any]) -> Guarantee:
    privacy = certificate["privacy"]
    drawn = [part["noise"] for part in certificate["released"] if part["noise"] != NoNoise.name]
    noise = (
        drawn[0]
        if drawn and drawn[0] in NOISES
        else "gaussian"
        if "delta" in privacy or "rho" in privacy
        else "laplace"
    )
    return guarantee(**privacy, noise=noise)


def read_claim(certificate: dict[str, Any]) -> Claim:
    asked = certificate["statistic"]
    kind = GroupCounts if asked == GroupCounts.name else STATISTICS.find(asked)
    method = make_method(certificate["method"], certificate["parameters"])
    problem = Problem(**certificate["problem"])
    plan = Plan(problem, choose(problem, method), Unit(**certificate["unit"]))
    return Claim(kind, plan, Fraction(certificate["unit_value"]))


def list_contradictions(
    place: str, follows: Any, claimed: Any, verbs: tuple[str, str] = ("follows", "is claimed")
) -> Iterator[str]:
    """Lists the deepest differences of two pieces of plain data in words; `verbs` say what each of the two is."""
    if canonical(follows) == canonical(claimed):
        return
    if isinstance(follows, dict) and isinstance(claimed, dict):
        for name in {**follows, **claimed}:
            inner = f"{place}, {name}" if place else name
            if name not in claimed:  # also where it is null
                yield f"{inner} is missing"
            elif name not in follows:
                yield f"{inner}: there is no such thing in a certificate"
            else:
                yield from list_contradictions(inner, follows[name], claimed[name], verbs)
    elif isinstance(follows, list) and isinstance(claimed, list) and len(follows) == len(claimed):
        for number, (one, other) in enumerate(zip(follows, claimed, strict=True), 1):
            yield from list_contradictions(f"{place} {number}" if len(follows) > 1 else place, one, other, verbs)
    else:
        yield f"{place}: {say(follows)} {verbs[0]}, {say(claimed)} {verbs[1]}"


def say(value: Any) -> str:
    return "nothing" if value is None else quote(value)


def refuse_unlike(found: str) -> Unreadable:
    """The refusal of a document that soundsum did not write like this."""
    return Unreadable("release", Reason.UNREADABLE, "{found}", "give it as soundsum wrote it", found=found)


def refuse_misread(error: Exception) -> Unreadable:
    """Refuses a document that Python, and not soundsum, could not read."""
    return Unreadable(
        "release",
        Reason.UNREADABLE,
        "something in it is of another type or shape than soundsum writes ({kind})",
        "give it as soundsum wrote it",
        kind=type(error).__name__,
    )
