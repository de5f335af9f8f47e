"""Certificates: everything a release claims, as plain data, and the check that its numbers follow from each other.

A certificate follows from the statistic, the problem, the method and the promise alone, so checking it is making it
again: no data is needed, and nothing in it is trusted but those four.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from soundsum._version import __version__
from soundsum.explain import plan_as_json
from soundsum.plan import Plan, plan
from soundsum.privacy import Guarantee
from soundsum.problem import Problem
from soundsum.sensitivities import Statistic, noises, parts

FORMAT = 1


def certify(statistic: Statistic, chosen: Plan, promise: Guarantee, cells: int = 1) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings."""
    released = zip(parts(statistic, chosen, cells), noises(statistic, chosen, promise, cells), strict=True)
    return {
        "format": FORMAT,
        "soundsum": __version__,
        "statistic": statistic,
        "cells": cells,
        **plan_as_json(chosen),
        "privacy": promise.as_json(),
        "released": [
            {
                "what": part.name,
                "step": str(part.step),
                "sensitivity": str(part.l1 * part.step),
                "l1_steps": part.l1,
                "l2_squared_steps": part.l2_squared,
                "noise": noise.kind,
                "scale" if noise.kind == "laplace" else "sigma_squared": str(noise.parameter),
            }
            for part, noise in released
        ],
    }


def check(certificate: dict[str, Any]) -> list[str]:
    """What does not follow from the rest of the certificate; empty if all of it does."""
    try:
        privacy = {name: Fraction(value) for name, value in certificate["privacy"].items()}
        promise = Guarantee(privacy.get("epsilon"), privacy.get("delta", Fraction(0)), privacy.get("rho"))
        chosen = plan(Problem(**certificate["problem"]), certificate["method"])
        again = certify(cast(Statistic, certificate["statistic"]), chosen, promise, certificate["cells"])
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        return [f"the certificate cannot be read: {error}"]
    names = [name for name in again if name != "soundsum"] + [name for name in certificate if name not in again]
    return [
        f"{name}: {again.get(name)!r} follows, {certificate.get(name)!r} is claimed"
        for name in names
        if again.get(name) != certificate.get(name)
    ]
