"""The check of a certificate: everything in it made again from the little it rests on, without any data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from soundsum.certificates import certify
from soundsum.methods import made_with
from soundsum.plan import plan
from soundsum.privacy import guarantee
from soundsum.problem import Problem
from soundsum.sensitivities import STATISTICS
from soundsum.units import Unit


def check(certificate: dict[str, Any]) -> list[str]:
    """What does not follow from the rest of the certificate; empty if all of it does."""
    try:
        again = _again(certificate)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [f"the certificate cannot be read: {error or type(error).__name__}"]
    names = [name for name in again if name != "versions"] + [name for name in certificate if name not in again]
    return [
        f"{name}: {again.get(name)!r} follows, {certificate.get(name)!r} is claimed"
        for name in names
        if again.get(name) != certificate.get(name)
    ]


def _again(certificate: dict[str, Any]) -> dict[str, Any]:
    statistic = certificate["statistic"]
    if statistic not in STATISTICS:
        raise ValueError(f"statistic {statistic!r} is not one of {', '.join(STATISTICS)}")
    privacy = certificate["privacy"]
    promise = guarantee(**privacy, noise="gaussian" if "delta" in privacy or "rho" in privacy else "laplace")
    method = made_with(certificate["method"], certificate["parameters"])
    chosen = plan(Problem(**certificate["problem"]), method, Unit(**certificate["unit"]))
    worth = Fraction(certificate["worth"])
    if worth <= 0 or (worth != 1 and not chosen.problem.dtype.is_integer):
        raise ValueError(f"worth {worth}: only a decimal's last digit is worth other than 1")
    if statistic == "histogram" and chosen.unit.groups is None:
        raise ValueError("a histogram has cells, the groups of its unit")
    return certify(statistic, chosen, promise, worth)
