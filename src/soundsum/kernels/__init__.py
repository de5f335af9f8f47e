"""The face of the C++ kernels (src/kernels): checked arguments in, exact values out."""

from soundsum.kernels.grouped import (
    Sums,
    add_floats_by_group,
    add_integers_by_group,
    as_integers,
    grouped_grid_sum,
    grouped_wide_sum,
    no_sums,
)
from soundsum.kernels.sums import (
    FloatSum,
    float_sum,
    grid_sum,
    missing_count,
    modular_sum,
    saturating_sum,
    split_saturating_sum,
    sum_of_squares,
    wide_sum,
)

__all__ = [
    "FloatSum",
    "Sums",
    "add_floats_by_group",
    "add_integers_by_group",
    "as_integers",
    "float_sum",
    "grid_sum",
    "grouped_grid_sum",
    "grouped_wide_sum",
    "missing_count",
    "modular_sum",
    "no_sums",
    "saturating_sum",
    "split_saturating_sum",
    "sum_of_squares",
    "wide_sum",
]
