"""The compiled kernels (src/kernels), under a name that tools which read only Python can follow.

Arguments are not checked here: everybody but the rooms that do so goes through `soundsum.kernels`.
"""

from soundsum._kernels import (
    SEED_SIZE,
    Environment,
    PersonSums,
    Places,
    Records,
    Texts,
    clean,
    discrete_gaussian,
    discrete_laplace,
    float_sum,
    grid_integers,
    grid_sum,
    grouped_grid_sum,
    grouped_wide_sum,
    missing_count,
    saturating_sum,
    square_sum,
    wide_sum,
)

__all__ = [
    "SEED_SIZE",
    "Environment",
    "PersonSums",
    "Places",
    "Records",
    "Texts",
    "clean",
    "discrete_gaussian",
    "discrete_laplace",
    "float_sum",
    "grid_integers",
    "grid_sum",
    "grouped_grid_sum",
    "grouped_wide_sum",
    "missing_count",
    "saturating_sum",
    "square_sum",
    "wide_sum",
]
