"""A Target: a mechanism, its promise, and how to run it.

An adapter makes one for each function of a library that sums; you make one of your own functions. Every callable gets
those of data, lower, upper, epsilon and size that its signature names (`size` is the number of records if public), and
`release` also `runs`, if it can give several fresh outputs at once. Numbers are plain ints and floats, data one NumPy
array, or Runs if the target accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from soundsum.attacks.attack import Attack
from soundsum.attacks.attack_arguments import check_bounds, read_bounds
from soundsum.auditor.calling import Unsupported, as_number, call, named_parameters
from soundsum.methods.problem import Problem
from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value, decimal, exact, is_special
from soundsum.numbers.types import NumberType, double, float64, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

Noise: TypeAlias = Literal["laplace", "gaussian", "discrete_laplace"]

Fresh: TypeAlias = Callable[[Sequence[tuple[Runs, Mapping[str, Any]]], int], Sequence[Any]]
"""The noiseless sums of datasets, each with its lower, upper, epsilon and size, all in one new process of that many
threads; a Failure where a sum ends in an error.
"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A mechanism under audit, its promise, and the quotations that back it.

    release: a function that draws one noisy output (or `runs` of them, if its signature names `runs`).
    noiseless: a function that returns the mechanism's own sum before noise, computed by its own code.
    claimed: the sensitivity that the mechanism uses: a number, or a function of lower, upper, epsilon and size.
    name: its name in reports and baselines; by default the function's import path and promise.
    dtype, relation, bounds, epsilon, delta: the promise, and its records; without `bounds`, attacks choose them.
    size_known: whether the mechanism knows the number of records; by default if the relation makes it public.
    ordered: whether the order of records matters in the documented relation; by default that of `relation`.
    modulus: for sums that wrap around on purpose, with noise added modulo the same number.
    deterministic: whether `noiseless` always returns the same sum for the same records.
    noise_multiplier: for Gaussian noise, its standard deviation divided by the sensitivity used; a finding then
        states the delta that the sums show at the promised epsilon.
    specials, specials_quote: whether the documentation allows NaN and infinities as records, and the passage.
    clamps: whether the documentation allows records beyond the bounds, and clamps them; by default if the functions
        take the bounds.
    accepts_runs: whether the functions take Runs, at every size, instead of an array.
    streams: whether memory is independent of the number of records; by default the same as `accepts_runs`.
    refuses: the exceptions with which the library declines parameters.
    fresh: `noiseless` in a new process, in which certified violations are confirmed.
    repro: lines that import the library and define noiseless(data) or release(data), for a standalone program;
        they may use lower, upper, epsilon and size, and get a NumPy array (bfloat16 values as float32).

    >>> import numpy as np
    >>> t = Target(noiseless=np.sum, claimed=1, dtype="float32", relation="change_one", bounds=(0, 1))
    >>> t.problem(0, 1, 3).ideal, t.sum_of(Runs("float32", [(0.5, 3)]), t.problem(0, 1, 3))
    (Fraction(1, 1), Fraction(3, 2))
    """

    release: Callable[..., Any] | None = None
    noiseless: Callable[..., Any] | None = None
    claimed: Callable[..., Any] | Any | None = None
    dtype: Any = float64  # given in any form; kept as a NumberType, a Relation and exact Fractions
    relation: Any = Relation.CHANGE_ONE
    bounds: Any = None
    epsilon: Any = Fraction(1)
    delta: Any = Fraction(0)
    name: str = ""
    statistic: str = "sum"
    size_known: bool | None = None
    ordered: bool | None = None
    noise: Noise | None = None
    noise_multiplier: Any = None
    modulus: int | None = None
    deterministic: bool = True
    specials: bool = True
    clamps: bool | None = None
    accepts_runs: bool = False
    streams: bool | None = None
    refuses: tuple[type[BaseException], ...] = ()
    library: str = ""
    version: str = ""
    source: str = ""
    claim_quote: str = ""
    relation_quote: str = ""
    specials_quote: str = ""
    repro: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: Fresh | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.release is None and self.noiseless is None:
            raise RefusedValue(
                "release", Reason.MISSING, "a Target needs `release` or `noiseless`", "give one, a function of the data"
            )
        for role in ("release", "noiseless"):
            if getattr(self, role) is not None and not callable(getattr(self, role)):
                raise RefusedType(
                    role,
                    Reason.WRONG_TYPE,
                    "`{option}={given}` cannot be called",
                    "give a function of the data",
                    given=quote(getattr(self, role)),
                )
        relation = Relation.read(self.relation)
        own = self.release or self.noiseless
        self._set("dtype", number_type(self.dtype))
        self._set("relation", relation)
        self._set("size_known", relation.sized if self.size_known is None else bool(self.size_known))
        self._set("ordered", relation.ordered if self.ordered is None else bool(self.ordered))
        self._set("epsilon", _share("epsilon", self.epsilon, most=None))
        self._set("delta", _share("delta", self.delta, most=1))
        self._set("streams", self.accepts_runs if self.streams is None else bool(self.streams))
        if self.noise_multiplier is not None:
            self._set("noise_multiplier", _share("noise_multiplier", self.noise_multiplier, most=None))
        if self.bounds is not None:
            self._set("bounds", _bounds(self.bounds, self.dtype))
        takes_bounds = all(_takes_bounds(f) for f in (self.release, self.noiseless) if f is not None)
        self._set("clamps", takes_bounds if self.clamps is None else bool(self.clamps))
        self._set("name", self.name or f"{_where_defined(own)}[{self._promise()}]")
        if self.bounds is not None:
            return
        if not takes_bounds:
            raise RefusedValue(
                "bounds",
                Reason.MISSING,
                "{target} takes no lower and upper, so its bounds are fixed",
                "give them as `bounds=(lower, upper)`",
                target=self.name,
            )

    def _promise(self) -> str:
        """The part of a default name that distinguishes two targets of one function."""
        parts = [self.dtype.name, str(self.relation)]
        if self.bounds is not None:
            parts.append(" to ".join(formatting.binary(bound) for bound in self.bounds))
        defaults = {"epsilon": Fraction(1), "delta": Fraction(0), "statistic": "sum", "modulus": None}
        parts += [f"{name}={getattr(self, name)}" for name, usual in defaults.items() if getattr(self, name) != usual]
        return ", ".join(parts)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def neighbours(self) -> Relation:
        """The relation attacks are made for: the promised one, with the order that is documented."""
        relation: Relation = self.relation
        ordered = {Relation.SYMMETRIC: Relation.INSERT_DELETE, Relation.CHANGE_ONE: Relation.HAMMING}
        return ordered.get(relation, relation) if self.ordered else relation

    def documents(self, made: Attack) -> bool:
        """Whether the documentation allows the records of an attack."""
        if not made.outside:
            return True
        special = any(is_special(x) for side in (made.left, made.right) for x in side.counts())
        return bool(self.specials if special else self.clamps)

    def problem(self, lower: Any, upper: Any, size: int) -> Problem:
        """Return the promise for these bounds and, if it is public, this size."""
        return Problem(self.dtype, lower, upper, self.neighbours, size if self.neighbours.sized else None)

    def data(self, records: Runs) -> Any:
        """Convert records to the type that the target takes."""
        return records if self.accepts_runs or records.type.dtype is None else np.asarray(records)

    def sum_of(self, records: Runs, problem: Problem) -> Value:
        """Compute the noiseless sum, exactly."""
        assert self.noiseless is not None
        return as_number(call(self.noiseless, self.parameters(problem, records.size), self.data(records)), self.name)

    def claim(self, problem: Problem, size: int) -> Fraction | None:
        """Return the exact sensitivity that the mechanism uses for this problem; None if it states none."""
        if self.claimed is None:
            return None
        what = f"{self.name}'s claimed sensitivity"
        if callable(self.claimed):
            value = as_number(call(self.claimed, self.parameters(problem, size)), what)
        else:
            value = exact(self.claimed, what)  # which may be written, as on the command line
        if is_special(value) or value < 0:
            raise Unsupported(f"{self.name} claims a sensitivity of {value}; it has to be a finite number, 0 or more")
        return Fraction(value)

    @property
    def several(self) -> bool:
        """Whether `release` gives several fresh outputs at once."""
        return self.release is not None and "runs" in named_parameters(self.release)

    def outputs(self, records: Any, problem: Problem, size: int, runs: int) -> list[Any]:
        """Draw noisy outputs for data made by `data`."""
        assert self.release is not None
        parameters = self.parameters(problem, size)
        if self.several:
            drawn = list(call(self.release, {**parameters, "runs": runs}, _fresh(records)))
            if len(drawn) != runs:
                raise Unsupported(f"{self.name} gave {len(drawn):,} outputs where runs={runs:,} were asked for")
            return drawn
        return [call(self.release, parameters, _fresh(records)) for _ in range(runs)]

    def prepared(self, role: str, parameters: Mapping[str, Any], records: Any) -> Callable[[], Any]:
        """A call of one function on its own copy of data made by `data`, with nothing left to do but the call."""
        given = {**parameters, "runs": 1} if role == "release" and self.several else parameters
        return partial(call, getattr(self, role), given, _fresh(records))

    def parameters(self, problem: Problem, size: int) -> dict[str, Any]:
        """The arguments that callables get by name."""
        lower, upper = (plain(bound, self.dtype) for bound in (problem.lower, problem.upper))
        known = size if self.size_known else None
        return {"lower": lower, "upper": upper, "epsilon": float(self.epsilon), "size": known}


def _fresh(records: Any) -> Any:
    """A copy for each call, so that a function cannot change the input of the next one."""
    return records.copy() if isinstance(records, np.ndarray) else records


def plain(x: Fraction, kind: NumberType) -> int | float:
    """An exact bound as the plain int or float that a library takes."""
    return int(x) if kind.is_integer and x.denominator == 1 else double(x)


def _where_defined(function: Any) -> str:
    """A function's default name: its place, and its bound parameters."""
    if isinstance(function, partial):
        bound = [*map(_shown, function.args), *(f"{name}={_shown(x)}" for name, x in function.keywords.items())]
        return f"{_where_defined(function.func)}({', '.join(bound)})"
    own = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(own, '__module__', None) or 'builtins'}.{own.__qualname__}"


def _shown(value: Any) -> str:
    """A value that is the same in every process; of an object its type."""
    plain = value is None or isinstance(value, str | int | float | Fraction)
    return repr(value) if plain else type(value).__name__


def _takes_bounds(function: Callable[..., Any]) -> bool:
    return {"lower", "upper"} <= named_parameters(function)


def _share(name: str, given: Any, most: int | None) -> Fraction:
    value = decimal(given, name)
    if is_special(value) or value < 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is not a finite number, 0 or more",
            "give one",
            given=quote(given),
        )
    if most is not None and value >= most:
        raise RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}` is not below {most}",
            "give a number from 0 to below {most}",
            given=quote(given),
            most=most,
        )
    return Fraction(value)


def _bounds(given: Any, kind: NumberType) -> tuple[Fraction, Fraction]:
    bounds = read_bounds(tuple(given) if isinstance(given, Iterable) else given)
    check_bounds(bounds, kind)
    return bounds
