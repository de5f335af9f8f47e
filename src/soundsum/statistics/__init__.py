"""Statistics of a table: one file each, with its parts, its estimate and its words."""

from soundsum.registry import import_all
from soundsum.statistics.clipped import Clipped
from soundsum.statistics.count import Count
from soundsum.statistics.histogram import Histogram
from soundsum.statistics.magnitudes import Bounds, MaxRows, TotalBounds
from soundsum.statistics.mean import Mean
from soundsum.statistics.quantile import Quantile
from soundsum.statistics.statistic import STATISTICS, Bounded, Statistic
from soundsum.statistics.sum import Sum
from soundsum.statistics.task import Claim, Task, make_query
from soundsum.statistics.variance import Std, Variance

import_all(__name__, __path__)  # whatever else lies in this folder

__all__ = [
    "STATISTICS",
    "Bounded",
    "Bounds",
    "Claim",
    "Clipped",
    "Count",
    "Histogram",
    "MaxRows",
    "Mean",
    "Quantile",
    "Statistic",
    "Std",
    "Sum",
    "Task",
    "TotalBounds",
    "Variance",
    "make_query",
]
