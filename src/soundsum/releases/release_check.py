"""The check of releases: that each is as its certificate and its query have it, without any data."""

from __future__ import annotations

import json
import re
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import finite, nearest_float
from soundsum.privacy.choice import Choice
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.releases.certificates import Unreadable, compare, read_certificate, refuse_misread, refuse_unlike, say
from soundsum.releases.query_check import compare_query
from soundsum.statistics.statistic import is_informative

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
