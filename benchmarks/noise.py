"""The rows of noise: bulk draws against OpenDP's vector sampler, which adds noise to a vector of zeros."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Group, Row
from benchmarks.plain import NotMeasured
from soundsum.privacy import samplers

Zeros = NDArray[np.int64]


def _opendp(kind: str, scale: float) -> Callable[[Zeros], Any]:
    def draw(zeros: Zeros) -> Any:
        try:
            import opendp.prelude as dp
        except ImportError:
            raise NotMeasured("no OpenDP; install opendp") from None
        dp.enable_features("contrib")
        make, metric = (
            (dp.m.make_laplace, dp.l1_distance) if kind == "laplace" else (dp.m.make_gaussian, dp.l2_distance)
        )
        return make(dp.vector_domain(dp.atom_domain(T="i64")), metric(T="i64"), scale=scale)(zeros)

    return draw


def _laplace(name: str, scale: int, target: float | None = None) -> Row:
    return Row(
        f"discrete Laplace, {name}",
        lambda zeros: samplers.discrete_laplace_many(Fraction(scale), len(zeros)),
        "OpenDP",
        _opendp("laplace", float(scale)),
        target,
    )


NOISE = Group(
    "noise",
    lambda n: np.zeros(n, np.int64),
    None,
    (
        _laplace("scale 10", 10, target=20.0),
        _laplace("scale 2^60", 2**60),
        Row(
            "discrete Gaussian, sigma 10",
            lambda zeros: samplers.discrete_gaussian_many(Fraction(100), len(zeros)),
            "OpenDP",
            _opendp("gaussian", 10.0),
        ),
    ),
    share=5000,
)

GROUPS = (NOISE,)
