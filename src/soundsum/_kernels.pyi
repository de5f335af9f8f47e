from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Records:
    @staticmethod
    def of_array(
        values: NDArray[Any], type: str, validity: NDArray[np.uint8] | None, first_bit: int, nullable: bool = False
    ) -> Records: ...
    @staticmethod
    def of_runs(values: NDArray[Any], type: str, lengths: NDArray[np.int64], repeats: NDArray[np.int64]) -> Records: ...

class Environment:
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

def clean(records: Records, lower: float, upper: float, shift: float) -> NDArray[Any]: ...
def grid_integers(
    records: Records, base: float, scale: float, more_scale: float, low: int, high: int, fill: int, threads: int
) -> NDArray[np.int64]: ...
def wide_integers(records: Records, lower: int, upper: int, threads: int) -> NDArray[np.int64]: ...
def find_present(records: Records) -> NDArray[np.uint8]: ...
def expand_validity(validity: NDArray[np.uint8] | None, first_bit: int, size: int) -> NDArray[np.uint8]: ...
def float_sum(records: Records, how: str, arithmetic: str, lower: float, upper: float, drop: bool) -> float: ...

quad_sum: Callable[[Records, str, float, float, bool], tuple[int, int]] | None  # where the compiler has binary128

def saturating_sum(records: Records, lower: int, upper: int, drop: bool) -> int: ...
def wide_sum(records: Records, lower: int, upper: int, threads: int) -> int: ...
def square_sum(records: Records, lower: int, upper: int) -> int: ...
def grid_sum(
    records: Records, base: float, scale: float, more_scale: float, low: int, high: int, threads: int
) -> int: ...
def missing_count(records: Records) -> int: ...
def grouped_wide_sum(
    records: Records, codes: NDArray[Any], into: NDArray[np.uint64], lower: int, upper: int, fill: int, threads: int
) -> None: ...
def grouped_grid_sum(
    records: Records,
    codes: NDArray[Any],
    into: NDArray[np.uint64],
    base: float,
    scale: float,
    more_scale: float,
    low: int,
    high: int,
    fill: int,
    threads: int,
) -> None: ...

class Places:
    def __init__(self, listed: NDArray[np.int64]) -> None: ...
    def find(
        self, keys: NDArray[np.int64], validity: NDArray[np.uint8] | None, first_bit: int, threads: int
    ) -> NDArray[np.int32]: ...

def discrete_laplace(t: NDArray[np.uint64], s: int, bytes: bytes, out: NDArray[np.uint64]) -> tuple[int, int]: ...
def discrete_gaussian(parameters: NDArray[np.uint64], bytes: bytes, out: NDArray[np.uint64]) -> tuple[int, int]: ...

SEED_SIZE: int

class PersonSums:
    def __init__(self, groups: int, powers: int, seed: bytes) -> None: ...
    def add(
        self,
        persons: NDArray[np.uint64],
        counts: NDArray[np.uint8],
        codes: NDArray[np.int32] | None,
        integers: NDArray[np.int64] | None,
        is_unsigned: bool,
        threads: int,
    ) -> None: ...
    def add_pairs(
        self,
        persons: NDArray[np.uint64],
        codes: NDArray[np.int32],
        rows: NDArray[np.uint64],
        words: NDArray[np.uint64],
    ) -> None: ...
    def list(
        self,
        persons: NDArray[np.uint64],
        codes: NDArray[np.int32],
        rows: NDArray[np.uint64],
        words: NDArray[np.uint64],
    ) -> None: ...
    def total(
        self,
        parts: NDArray[np.uint64],
        max_rows: int,
        max_groups: int,
        in_proportion: bool,
        ids: PersonIds,
        out: NDArray[np.uint64],
        threads: int,
    ) -> None: ...
    def count(self, max_groups: int, ids: PersonIds, names: KeyNames, out: NDArray[np.int64], threads: int) -> None: ...
    def renumber(self, numbers: NDArray[np.int32], groups: int, threads: int) -> None: ...
    @property
    def pairs(self) -> int: ...
    @property
    def held(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class Texts:
    def __init__(self, seed: bytes) -> None: ...
    def number(
        self,
        offsets: NDArray[np.int64],
        data: NDArray[np.uint8],
        counts: NDArray[np.uint8],
        out: NDArray[np.uint64],
        codes: NDArray[np.int32] | None,
        threads: int,
    ) -> None: ...
    def list(self, words: NDArray[np.uint64], offsets: NDArray[np.int64]) -> bytes: ...
    def index(self) -> None: ...
    def list_codes(self, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> bytes: ...
    @property
    def codes(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class IntegerCodes:
    def __init__(self, seed: bytes) -> None: ...
    def number(
        self, keys: NDArray[np.int64], counts: NDArray[np.uint8], codes: NDArray[np.int32], threads: int
    ) -> None: ...
    def list(self, codes: NDArray[np.int32], out: NDArray[np.int64]) -> None: ...
    @property
    def codes(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class KeyNames:
    def __init__(self, columns: list[tuple[Texts | IntegerCodes, str]], tuples: Texts | None) -> None: ...
    def spell(self, code: int) -> bytes: ...

def start_of_sha256(message: bytes, plain: bool) -> int: ...
def draw_shards(
    ids: PersonIds, words: NDArray[np.uint64], shards: int, out: NDArray[np.uint64], threads: int
) -> None: ...
def count_codes(codes: NDArray[np.int32], counts: NDArray[np.uint8], out: NDArray[np.int64]) -> None: ...
def count_rows(codes: NDArray[np.int32], out: NDArray[np.int64]) -> None: ...
def count_ranks(
    persons: NDArray[np.uint64],
    codes: NDArray[np.int32],
    cells: int,
    groups: int,
    max_rows: int,
    max_groups: int,
    ids: PersonIds,
    out: NDArray[np.int64],
) -> None: ...
def find_cells(numbers: NDArray[Any], edges: NDArray[Any], out: NDArray[np.int32], threads: int) -> None: ...

class PersonIds:
    @staticmethod
    def integers(worth: int = 1) -> PersonIds: ...
    @staticmethod
    def naturals() -> PersonIds: ...
    @staticmethod
    def floats() -> PersonIds: ...
    @staticmethod
    def texts(texts: Texts) -> PersonIds: ...
    @staticmethod
    def decimals(texts: Texts, scale: int) -> PersonIds: ...
    @staticmethod
    def listed(spelled: Sequence[bytes]) -> PersonIds: ...

LONGEST_CELL: int

def find_row_end(block: NDArray[np.uint8]) -> int | None: ...
def scan_rows(block: NDArray[np.uint8], state: int) -> tuple[int | None, int | None, int]: ...
def split_rows(
    block: NDArray[np.uint8], size: int, place: Sequence[int], wanted: int, longest: int
) -> NDArray[np.uint32]: ...
def parse_floats(
    block: NDArray[np.uint8], cells: NDArray[np.uint32], out: NDArray[Any], flags: NDArray[np.uint8]
) -> None: ...
def parse_integers(
    block: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    low: int,
    high: int,
    out: NDArray[np.int64],
    flags: NDArray[np.uint8],
) -> None: ...
def parse_truths(
    block: NDArray[np.uint8], cells: NDArray[np.uint32], out: NDArray[np.uint8], flags: NDArray[np.uint8]
) -> None: ...
def parse_moments(
    block: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    instants: bool,
    times: bool,
    out: NDArray[np.int64],
    flags: NDArray[np.uint8],
) -> None: ...
def copy_cells(
    block: NDArray[np.uint8],
    cells: NDArray[np.uint32],
    are_texts: bool,
    offsets: NDArray[np.int32],
    out: NDArray[np.uint8],
    flags: NDArray[np.uint8],
) -> None: ...
def measure_gradients(
    arrays: list[NDArray[Any]],
    types: list[str],
    rows: list[int],
    scale: NDArray[np.float64],
    top: NDArray[np.uint64],
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    threads: int,
) -> None: ...
def add_gradients(
    arrays: list[NDArray[Any]],
    types: list[str],
    scale: NDArray[np.float64],
    top: NDArray[np.uint64],
    factor: NDArray[np.int32],
    shift: NDArray[np.int32],
    into: list[NDArray[np.int64]],
    threads: int,
) -> None: ...
def add_rounded_normal(
    key: bytes, table: NDArray[np.uint64], sigma: int, first: int, into: NDArray[np.int64], threads: int
) -> list[int]: ...
