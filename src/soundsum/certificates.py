"""Certificates: everything a release claims, as plain data.

A certificate follows from the statistic, the problem, the unit, the method and the promise alone, so that checking it
(soundsum.check) is making it again.
"""

from __future__ import annotations

import platform
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum._version import __version__
from soundsum.explain import plan_as_json
from soundsum.methods import parameters
from soundsum.privacy import Guarantee
from soundsum.sensitivities import Statistic, noises, parts

if TYPE_CHECKING:
    from soundsum.plan import Plan

FORMAT = 1


def certify(statistic: Statistic, chosen: Plan, promise: Guarantee, worth: Fraction) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings.

    The problem's bounds are those of the records, and `worth` is what 1 in them is worth: a decimal's last digit,
    otherwise 1. What is released is in people's units.
    """
    released = parts(statistic, chosen)
    power = {"sum of c^2": 2, "count": 0}
    return {
        "format": FORMAT,
        "versions": {"soundsum": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "statistic": statistic,
        **_plan(statistic, chosen),
        "worth": str(worth),
        "privacy": promise.as_json(),
        "released": [
            {
                "what": part.name,
                "step": str(part.step * worth ** power.get(part.name, 1)),
                "sensitivity": str(part.moved.l1 * part.step * worth ** power.get(part.name, 1)),
                "l1_steps": part.moved.l1,
                "l2_squared_steps": part.moved.l2_squared,
                "noise": noise.kind,
                "scale" if noise.kind == "laplace" else "sigma_squared": str(noise.parameter),
            }
            for part, noise in zip(released, noises(released, promise), strict=True)
        ],
    }


def _plan(statistic: Statistic, chosen: Plan) -> dict[str, Any]:
    """The plan, without what it says about a sum where something else is released; and how its method was made."""
    described = plan_as_json(chosen)
    if statistic != "sum":
        for name in ("ideal", "sensitivity", "sensitivity_l2_squared", "ratio"):
            del described[name]
    return described | {"parameters": parameters(chosen.adder)}
