"""Subjects of verification: a claim (Problem -> Fraction) against a model (Problem -> Fold or Tree).

Both are a method's own by default. Tests replace either, to show that a weakened bound or a broken sum is caught. A
preparation describes the steps before a record is added (shifted, put on a grid).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, cast

from soundsum.methods import Method, NumpyPairwise, OnGrid, Shifted, TowardZero, Wide
from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.numpy_pairwise import height
from soundsum.methods.pairwise import too_high
from soundsum.methods.problem import Problem
from soundsum.numbers.grids import RecordGrid
from soundsum.numbers.models import Fold, Tree
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import FloatType, IntType, NumberType
from soundsum.paper.verify import machines
from soundsum.paper.verify.forms import ApartForm, ExactForm, FoldForm, Form, JoinedForm, TreeForm, is_exact
from soundsum.paper.verify.halves import Halves
from soundsum.paper.verify.machines import Multiples
from soundsum.refusals import Reason, RefusedValue


@dataclass(frozen=True)
class AsItIs:
    """The record itself is added."""

    scale = Fraction(1)
    offset = Fraction(0)

    def __call__(self, x: Value) -> tuple[Value, ...]:
        return (x,)


@dataclass(frozen=True)
class Shift:
    """x - L, rounded, within [0, U']; L comes back with every record."""

    kind: FloatType
    offset: Fraction
    upper: Fraction

    scale = Fraction(1)

    def __call__(self, x: Value) -> tuple[Value, ...]:
        return (max(Fraction(0), min(self.upper, cast(Fraction, self.kind.add(x, -self.offset)))),)


@dataclass(frozen=True)
class ToGrid:
    """The integer on the grid; with randomised rounding either neighbour, as the coins fall."""

    grid: RecordGrid
    randomised: bool = False

    @property
    def scale(self) -> Fraction:
        return self.grid.step

    @property
    def offset(self) -> Fraction:
        return self.grid.offset

    def __call__(self, x: Value) -> tuple[Value, ...]:
        if not self.randomised:
            return (self.grid.integer(x),)
        below = (Fraction(x) - self.grid.offset) // self.grid.step
        sure = below * self.grid.step + self.grid.offset == x
        return tuple(sorted({max(self.grid.low, min(self.grid.high, q)) for q in (below, below + (not sure))}))


Preparation = AsItIs | Shift | ToGrid


@dataclass(frozen=True, eq=False)
class Subject:
    method: Method
    claim: Callable[[Problem], Fraction]
    model: Callable[[Problem], Fold | Tree]  # of the problem that `added` gives
    added: Callable[[Problem], Problem]
    prepare: Callable[[Problem], Preparation]
    unmet: Callable[[Problem], list[str]]
    accuracy: Callable[[Problem], Fraction | None]
    steps: Callable[[Problem], tuple[str, ...]]
    modulus: Callable[[Problem], int | None]
    variant: str = ""
    entries: int = 1 << 21  # of arrays over all short datasets: how many records are looked at in every order

    @property
    def adder(self) -> Method:
        """The method that sums the prepared records."""
        return _adder(self.method)

    def settled(self, kind: NumberType) -> int | None:
        """From this public size on the claim stays the same, so all larger sizes are verified together."""
        return 1 << kind.k if isinstance(self.adder, TowardZero) and isinstance(kind, FloatType) else None

    def truncates(self, problem: Problem) -> bool:
        return "truncate" in self.steps(problem)

    def halves(self, problem: Problem, records: Sequence[Value]) -> list[list[Value]]:
        """The parts truncated and summed separately: everything, or the negatives and the rest."""
        prepare = self.prepare(problem)
        added = [prepare(x)[0] for x in records]
        if "split" in self.steps(problem) and self.truncates(problem):
            return [[y for y in added if y < 0], [y for y in added if not y < 0]]
        return [added]

    def total(self, problem: Problem, records: Sequence[Value]) -> Any:
        """The complete sum, truncation and halves included, by the model in exact arithmetic."""
        model = self.model(self.added(problem))
        kept = problem.max_size if self.truncates(problem) else None
        sums: list[Any] = [model.sum(half[:kept]) for half in self.halves(problem, records)]
        return sum(sums[1:], start=sums[0]) * self.prepare(problem).scale

    def form(self, problem: Problem) -> Form:
        apart = {"split", "truncate"} <= set(self.steps(problem))
        return _form(self, self.added(problem).dtype, problem.dtype, apart)


def subject(method: Method, variant: str = "") -> Subject:
    """A method with its own claim and model."""
    adder = _adder(method)
    plain = replace(adder, accumulator=None) if isinstance(adder, FromAccuracy) else adder  # `added` has its type
    chosen = Subject(
        method=method,
        claim=method.sensitivity,
        model=plain.model,
        added=lru_cache(maxsize=64)(partial(_find_added, method)),
        prepare=lru_cache(maxsize=64)(partial(_preparation, method)),
        unmet=method.unmet,
        accuracy=method.accuracy,
        steps=method.steps,
        modulus=method.modulus,
        variant=variant,
    )
    if isinstance(adder, NumpyPairwise):
        chosen = replace(chosen, unmet=lambda problem: _numpy_unmet(method, adder, problem))
    return chosen


def _adder(method: Method) -> Method:
    if isinstance(method, Shifted):
        return method.inner
    if isinstance(method, OnGrid):
        return method.integers or Wide()
    return method


def _find_added(method: Method, problem: Problem) -> Problem:
    """The problem for the prepared records, in the type of the additions."""
    if isinstance(method, OnGrid):
        return method.integer_problem(problem)
    if isinstance(method, Shifted):
        return _find_added(method.inner, method.inner_problem(problem))
    if isinstance(method, FromAccuracy) and method.accumulator is not None:
        return replace_type(problem, method.accumulator)
    return problem


def _preparation(method: Method, problem: Problem) -> Preparation:
    if isinstance(method, OnGrid):
        return ToGrid(method.grid(problem), method.rounding == "randomised")
    if isinstance(method, Shifted):
        return Shift(cast(FloatType, problem.dtype), problem.lower, method.inner_problem(problem).upper)
    return AsItIs()


def _numpy_unmet(method: Method, adder: NumpyPairwise, problem: Problem) -> list[str]:
    """np.sum adds no tiny types, but its tree can be verified on them, under the conditions of any tree."""
    if isinstance(method, Shifted):
        if not problem.relation.sized:
            return method.unmet(problem)
        if not isinstance(cast(FloatType, problem.dtype).round(problem.spread), Fraction):
            return ["U - L overflows"]
        problem = method.inner_problem(problem)
    if adder.split or not problem.relation.sized or problem.size is None:
        return FromAccuracy.unmet(adder, problem)
    kind = cast(FloatType, problem.dtype)
    if reasons := too_high(height(problem.size), kind):
        return reasons
    reach = problem.size * problem.magnitude + cast(Fraction, adder.accuracy(problem))
    return ["overflow"] if reach > kind.max else []


@lru_cache(maxsize=8)
def _form(subject: Subject, added: NumberType, data: NumberType, apart: bool) -> Form:
    """The form of the sum, by the class of its model; its inputs are all values of the type that can be added."""
    model = subject.model(Problem(added, 0, 0))
    if isinstance(model, Fold) and is_exact(model):
        return ExactForm(model)
    inputs: list[Value] = list(added.values()) if isinstance(added, IntType) else list(data.values())
    if isinstance(subject.adder, FromAccuracy):
        return _form_of_floats(subject, added, inputs, apart)
    return _form_of_fold(subject, added, inputs, apart)


def _form_of_floats(subject: Subject, added: NumberType, inputs: list[Value], apart: bool) -> Form:
    """A sum that rounds every addition: run on whole arrays of the type's multiples."""
    arithmetic = Multiples(cast(FloatType, added).k, cast(FloatType, added).l)
    if isinstance(subject.method, Shifted):
        inputs = [x for x in inputs if x >= 0]
    model = subject.model(Problem(arithmetic, 0, 0))

    def form(values: list[Value]) -> Form:
        if isinstance(model, Tree):
            return TreeForm(machines.of_tree(model, arithmetic, values), subject.entries)
        return FoldForm(machines.of_fold_on_arrays(model, arithmetic, values), subject.entries)

    if apart:
        return ApartForm(form([x for x in inputs if x < 0]), form([x for x in inputs if not x < 0]))
    return form(inputs)


def _form_of_fold(subject: Subject, added: NumberType, inputs: list[Value], apart: bool) -> Form:
    """Any fold with finitely many states; one whose state is a pair adds the negatives and the rest apart."""
    unit = Fraction(1) if isinstance(added, IntType) else added.smallest_subnormal
    fold = subject.model(Problem(added, 0, 0))
    if not isinstance(fold, Fold):
        raise RefusedValue(
            "only",
            Reason.UNSUPPORTED,
            "the model of {method} is a tree, and of these only those of FromAccuracy can be verified",
            "leave {method} out, or give its model as a Fold",
            method=subject.method.label,
        )
    if not isinstance(fold.start, tuple):
        return FoldForm(machines.of_fold(fold, inputs, unit), subject.entries)
    joined = machines.of_halves(fold, inputs, unit)
    if apart:
        return ApartForm(FoldForm(joined.negative, 1), FoldForm(joined.positive, 1))
    return JoinedForm(Halves(joined))


def replace_type(problem: Problem, kind: NumberType) -> Problem:
    """Restate a problem in another type."""
    return Problem(kind, problem.lower, problem.upper, problem.relation, problem.size, problem.max_size)
