"""The check of a certificate: everything in it made again from the little it rests on, without any data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from soundsum.certificates import certify
from soundsum.plan import plan
from soundsum.privacy import Guarantee
from soundsum.problem import Problem
from soundsum.sensitivities import Statistic
from soundsum.units import Unit


def check(certificate: dict[str, Any]) -> list[str]:
    """What does not follow from the rest of the certificate; empty if all of it does."""
    try:
        privacy = {name: Fraction(value) for name, value in certificate["privacy"].items()}
        promise = Guarantee(privacy.get("epsilon"), privacy.get("delta", Fraction(0)), privacy.get("rho"))
        chosen = plan(Problem(**certificate["problem"]), certificate["method"], Unit(**certificate["unit"]))
        again = certify(cast(Statistic, certificate["statistic"]), chosen, promise)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        return [f"the certificate cannot be read: {error}"]
    names = [name for name in again if name != "versions"] + [name for name in certificate if name not in again]
    return [
        f"{name}: {again.get(name)!r} follows, {certificate.get(name)!r} is claimed"
        for name in names
        if again.get(name) != certificate.get(name)
    ]
