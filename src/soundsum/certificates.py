"""Certificates: everything a release claims, as plain data.

A certificate follows from the statistic, the problem, the unit, the method and the promise alone, so that checking it
(soundsum.check) is making it again.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum._version import __version__
from soundsum.explain import plan_as_json
from soundsum.privacy import Guarantee
from soundsum.sensitivities import Statistic, noises, parts

if TYPE_CHECKING:
    from soundsum.plan import Plan

FORMAT = 1


def certify(statistic: Statistic, chosen: Plan, promise: Guarantee) -> dict[str, Any]:
    """The certificate of a release: JSON-ready, fractions as strings."""
    released = parts(statistic, chosen)
    return {
        "format": FORMAT,
        "versions": {"soundsum": __version__, "python": platform.python_version(), "numpy": np.__version__},
        "statistic": statistic,
        **plan_as_json(chosen),
        "privacy": promise.as_json(),
        "released": [
            {
                "what": part.name,
                "step": str(part.step),
                "sensitivity": str(part.moved.l1 * part.step),
                "l1_steps": part.moved.l1,
                "l2_squared_steps": part.moved.l2_squared,
                "noise": noise.kind,
                "scale" if noise.kind == "laplace" else "sigma_squared": str(noise.parameter),
            }
            for part, noise in zip(released, noises(released, promise), strict=True)
        ],
    }
