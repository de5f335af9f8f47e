"""Certificates: everything a release claims, as plain data, and the check that it follows.

A certificate follows from the statistic, the problem, the unit, the method and the guarantee alone, so that checking it
is making it again, without any data.
"""

from __future__ import annotations

import platform
from fractions import Fraction
from typing import Any

import numpy as np

from soundsum._version import __version__
from soundsum.methods import make_method, parameters
from soundsum.planner import Scheme, choose
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.noise import Noise, NoNoise
from soundsum.privacy.units import Unit
from soundsum.problem import Problem
from soundsum.statistics import STATISTICS, Claim

FORMAT = 1


def certify(claim: Claim, promised: Guarantee, noises: tuple[Noise, ...]) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings.

    The problem's bounds are those of the records, and `worth` is what 1 in them is worth: a decimal's last digit,
    otherwise 1. What is released is in people's units.
    """
    return {
        "format": FORMAT,
        "versions": {"soundsum": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "statistic": claim.kind.name,
        **_describe(claim),
        "worth": str(claim.worth),
        "privacy": promised.to_json(),
        "released": [
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
        ],
    }


def _describe(claim: Claim) -> dict[str, Any]:
    """The plan, without what it says about a sum where something else is released; and how its method was made."""
    described = claim.plan.to_json()
    if not claim.kind.is_the_sum:
        for name in ("ideal", "sensitivity", "sensitivity_l2_squared", "ratio"):
            del described[name]
    return described | {"parameters": parameters(claim.plan.adder)}


def check(certificate: dict[str, Any]) -> list[str]:
    """What does not follow from the rest of the certificate; empty if all of it does.

    Everything in it is made again from the little it rests on, without any data.
    """
    try:
        again = _make_again(certificate)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [f"the certificate cannot be read: {error or type(error).__name__}"]
    names = [name for name in again if name != "versions"] + [name for name in certificate if name not in again]
    return [
        f"{name}: {again.get(name)!r} follows, {certificate.get(name)!r} is claimed"
        for name in names
        if again.get(name) != certificate.get(name)
    ]


def _make_again(certificate: dict[str, Any]) -> dict[str, Any]:
    kind = STATISTICS.find(certificate["statistic"])
    privacy = certificate["privacy"]
    drawn = [part["noise"] for part in certificate["released"] if part["noise"] != NoNoise.name]
    noise = drawn[0] if drawn else "gaussian" if "delta" in privacy or "rho" in privacy else "laplace"
    promised = guarantee(**privacy, noise=noise)
    method = make_method(certificate["method"], certificate["parameters"])
    problem = Problem(**certificate["problem"])
    scheme = Scheme(problem, choose(problem, method), Unit(**certificate["unit"]))
    claim = Claim(kind, scheme, Fraction(certificate["worth"]))
    return certify(claim, promised, claim.noises(promised))
