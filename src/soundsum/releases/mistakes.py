"""Hints for arguments that soundsum spells differently, added to Python's own error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from soundsum.numbers.quoting import quote

P = ParamSpec("P")
T = TypeVar("T")

NO_SEED = "leave it out: noise is drawn from the operating system and cannot be seeded"

MEANT = {
    "eps": "give epsilon=, such as epsilon=1",
    "bounds": "give lower= and upper=, such as lower=0, upper=100",
    "seed": NO_SEED,
    "random_state": NO_SEED,
    "rng": NO_SEED,
    "pad": "only an owner's table pads its answers, ss.Private(..., pad='1s')",
    "weights": "to weight records, sum a column of products; to share epsilon, give each statistic of ss.release a "
    "weight, such as ss.Sum('pay', 0, 100, weight=2)",
}
"""For each option that other libraries or calls have, what to do instead."""


def with_hints(function: Callable[P, T]) -> Callable[P, T]:
    """The function; a call that does not fit its signature is told what was probably meant."""

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            hint = None if inside else _find_hint(arguments, options)
            if hint is None:
                raise
            said = f"{error}; {hint}"
        raise TypeError(said)

    return call


def _find_hint(arguments: Sequence[Any], options: Mapping[str, Any]) -> str | None:
    if hints := [hint for name, hint in MEANT.items() if name in options]:
        return "; ".join(hints)
    column = next((one for one in arguments[1:] if isinstance(one, str)), None)  # after the data
    return None if column is None else f"if {quote(column)} is a column, give column={quote(column)}"
