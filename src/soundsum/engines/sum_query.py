"""A database query in no particular dialect: rows that count, integers, cells and parts, each computed once.

A query has *layers*, the ways in which rows are put together: by group, and for every histogram by group and cell. It
has *counters*, the rows that count (all that pass the filter, or of those the ones with a value in some column), and
*integers*, a column's records on certain steps. All that is added up is, in every entry of a layer, the rows of a
counter and the sums of an integer's first two powers over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from soundsum.engines.accumulators import needs_power
from soundsum.engines.engine import Totals
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.grids import as_doubles
from soundsum.numbers.types import NumberType, double, float64, number_type
from soundsum.refusals import Reason, RefusedType
from soundsum.statistics import Task
from soundsum.statistics.statistic import Cells
from soundsum.tables.arrow_arrays import plain_keys
from soundsum.tables.columns import arrow_type
from soundsum.tables.filters import Condition
from soundsum.tables.keys import Groups, require_ids
from soundsum.tables.rows import CrossedGroups, Rows

LIMB = 17
"""Bits of a limb: what 2^46 rows add up to is then within 64."""


class Catalog:
    """The columns of a database's table, by their types as Arrow has them; those it has no word for are None."""

    def __init__(self, kinds: Mapping[str, Any], words: Mapping[str, str], rows: Callable[[], int]) -> None:
        self.kinds, self._words, self.rows = dict(kinds), dict(words), rows

    has_no_types = False

    @property
    def names(self) -> list[str]:
        return list(self.kinds)

    def arrow_type(self, column: str) -> Any:
        return self._kind(column, "numbers or text")

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        kind, unit_value = arrow_type(self._kind(column, "numbers"), column)
        if dtype is not None and number_type(dtype) != kind:
            raise RefusedType(
                "dtype",
                Reason.MISMATCH,
                "`dtype={given}` but column {column} is {kind}",
                "leave `dtype` out",
                given=str(number_type(dtype)),
                column=repr(column),
                kind=str(kind),
            )
        return kind, unit_value

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        groups.codes(self._no_keys(column, "keys"))

    def expect_ids(self, column: str | None) -> None:
        require_ids(self._no_keys(column, "ids"))

    def expect_value(self, condition: Condition) -> None:
        condition.require_type(self._no_keys(condition.column, "values to compare"))

    def _no_keys(self, column: str | None, what: str) -> Any:
        import pyarrow as pa

        return plain_keys(pa.array([], self._kind(column, what)))

    def _kind(self, column: str | None, what: str) -> Any:
        assert column is not None
        if self.kinds[column] is None:
            raise RefusedType(
                "column",
                Reason.MISMATCH,
                "column {column} is {found}, not {wanted}",
                "cast it in a view",
                column=repr(column),
                found=self._words[column],
                wanted=what,
            )
        return self.kinds[column]


class Term(NamedTuple):
    """The sum of a power of an integer over the rows of a counter; the power 0 is their number."""

    counter: int
    integer: int | None
    power: int


class ResultPlace(NamedTuple):
    """The place of a task's numbers in the query."""

    layer: int
    counter: int
    integer: int | None


@dataclass(frozen=True)
class Integer:
    """A column's records as integers."""

    column: str
    steps: RecordSteps
    unit_value: Fraction

    @property
    def bits(self) -> int:
        """A record's integer is within -2^bits and 2^bits, the latter left out."""
        return max(self.steps.low.bit_length(), self.steps.high.bit_length())


class SumQuery:
    """Everything that tasks need of the rows."""

    def __init__(self, tasks: Sequence[Task], rows: Rows) -> None:
        self.tasks, self.rows = tasks, rows
        self.layers: list[tuple[str, Cells] | None] = []
        self.counters: list[str | None] = []
        self.integers: list[Integer] = []
        self.terms: list[Term] = []
        self.asked = [self._ask(task) for task in tasks]
        if not tasks:
            self._layer(None)

    def _ask(self, task: Task) -> ResultPlace:
        statistic, claim = task.statistic, task.claim
        assert claim.record_steps is not None
        cells, column = task.counted, statistic.column
        drops = task.missing == "drop" and statistic.takes != "rows"
        layer = self._layer(None if cells is None or task.bins_persons else (str(column), cells))
        counter = self._place(self.counters, column if drops else None)
        integer = None
        if statistic.takes == "numbers":
            assert column is not None
            integer = self._place(self.integers, Integer(column, claim.record_steps, claim.unit_value))
        for power in (0, 1, 2):
            is_binned = power == 1 and task.bins_persons and statistic.takes == "numbers"
            if needs_power(claim.parts, power) or is_binned or (power == 0 and self.rows.privacy_unit is not None):
                self._place(self.terms, Term(counter, integer if power else None, power))
        return ResultPlace(layer, counter, integer)

    def _layer(self, wanted: tuple[str, Cells] | None) -> int:
        """Cells are compared as they are written, since integer edges compare differently from floats."""
        written = [repr(layer) for layer in self.layers]
        if repr(wanted) not in written:
            self.layers.append(wanted)
            return len(written)
        return written.index(repr(wanted))

    @staticmethod
    def _place(listed: list[Any], thing: Any) -> int:
        if thing not in listed:
            listed.append(thing)
        return listed.index(thing)

    @property
    def needs_size(self) -> bool:
        """Whether rows must be counted: their number is public, or all that is asked."""
        return not self.tasks or self.tasks[0].claim.plan.problem.relation.sized

    def cell_count(self, layer: int) -> int:
        """Entries of a layer for each group."""
        found = self.layers[layer]
        return 1 if found is None else len(found[1].names)

    def entries(self, layer: int) -> int:
        return (self.rows.group_count or 1) * self.cell_count(layer)

    def columns(self) -> list[str]:
        """Every column that is read."""
        cells = [found[0] for found in self.layers if found is not None]
        present = [column for column in self.counters if column is not None]
        return list(dict.fromkeys([*(one.column for one in self.integers), *cells, *present, *self.rows.columns]))

    def weigh(self, sums: Mapping[int, Mapping[int, Mapping[Term, int]]]) -> list[Totals]:
        """Every task's totals, from the sums of all terms by layer and entry; 0 for missing ones."""
        totals = []
        for task, own in zip(self.tasks, self.asked, strict=True):
            parts: Totals = [[0] * self.entries(own.layer) for _ in task.claim.parts]
            terms = [Term(own.counter, own.integer if power else None, power) for power in (0, 1, 2)]
            for entry, found in sums.get(own.layer, {}).items():
                for part, into in zip(task.claim.parts, parts, strict=True):
                    into[entry] = sum(
                        weight * found[term] for weight, term in zip(part.weights, terms, strict=True) if weight
                    )
            totals.append(parts)
        return totals


def list_keys(rows: Rows, kinds: Mapping[str, Any]) -> tuple[list[list[Any]], list[int]]:
    """The public groups as values of their columns' types, a list for each column, and the place of each group.

    Each is there once, whatever it was called: a row must not find itself in two groups.
    """
    groups = rows.groups
    assert groups is not None
    typed = [part.typed(kinds[column]) for column, part in rows.groups_by_column]
    if isinstance(groups, CrossedGroups):
        keys = [tuple(own[at] for own, at in zip(typed, places, strict=True)) for places in groups.places]
    else:
        keys = [(value,) for value in typed[0]]
    first = first_places(keys)
    return [list(column) for column in zip(*first, strict=True)] or [[] for _ in typed], list(first.values())


def first_places(keys: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """Maps each key to its first place in the list; missing keys are left out."""
    first: dict[tuple[Any, ...], int] = {}
    for place, key in enumerate(keys):
        if None not in key:
            first.setdefault(key, place)
    return first


class FloatSteps(NamedTuple):
    """The way from doubles to integers: (x - base) * scale * more_scale for x in [least, most], rounded half to even.

    That integer is then clamped to [low, high], and shifted. The ends are doubles at the bounds or just outside, so the
    clamp of the integer decides there as well; between them nothing overflows. `tiny`, where there is one, is far below
    half a step, and what is within it has the integer 0: scaled down, it might underflow.
    """

    least: float
    most: float
    base: float
    scale: float
    more_scale: float
    low: int
    high: int
    shift: int
    missing: int
    tiny: float | None


def float_steps(steps: RecordSteps) -> FloatSteps | None:
    """The constants of a grid for doubles; None where every record has the same integer."""
    grid = steps.grid
    doubles = None if grid is None else as_doubles(grid)
    assert grid is not None
    assert doubles is not None  # as Engine.require has seen to
    if grid.low == grid.high:
        return None
    least, most = float64.round_down(grid.lower), float64.round_up(grid.upper)
    assert isinstance(least, Fraction)  # likewise
    assert isinstance(most, Fraction)
    return FloatSteps(
        double(least),
        double(most),
        *doubles,
        grid.missing - doubles.shift,
        float(grid.step) / 4 if doubles.scale < 1 and doubles.base == 0 else None,
    )


def limbs(bits: int) -> list[int]:
    """The shift of each limb of an integer within 2^bits, the signed one first.

    >>> limbs(51), limbs(10)
    ([34, 17, 0], [0])
    """
    return list(range((max(bits, 1) - 1) // LIMB * LIMB, -1, -LIMB))
