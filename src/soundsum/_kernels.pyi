from typing import Any

import numpy as np
from numpy.typing import NDArray

class Records:
    @staticmethod
    def of_array(values: NDArray[Any], type: str, validity: NDArray[np.uint8] | None, first_bit: int) -> Records: ...
    @staticmethod
    def of_runs(values: NDArray[Any], type: str, lengths: NDArray[np.int64], repeats: NDArray[np.int64]) -> Records: ...

def float_sum(records: Records, how: str, arithmetic: str, lower: float, upper: float, drop: bool) -> float: ...
def saturating_sum(records: Records, lower: int, upper: int, drop: bool) -> int: ...
def wide_sum(records: Records, lower: int, upper: int, threads: int) -> int: ...
def square_sum(records: Records, lower: int, upper: int) -> int: ...
def grid_sum(
    records: Records, base: float, scale: float, more_scale: float, low: int, high: int, threads: int
) -> int: ...
def missing_count(records: Records) -> int: ...
def grouped_wide_sum(
    records: Records, codes: NDArray[Any], groups: int, lower: int, upper: int, fill: int, threads: int
) -> list[int]: ...
def grouped_grid_sum(
    records: Records,
    codes: NDArray[Any],
    groups: int,
    base: float,
    scale: float,
    more_scale: float,
    low: int,
    high: int,
    fill: int,
    threads: int,
) -> list[int]: ...
