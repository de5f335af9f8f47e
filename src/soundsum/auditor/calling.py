"""Call a target's functions: the arguments they get, their exact output, or the reason why there is none.

A library may decline parameters (refused), may be unable to (unsupported: a crash, no memory, no number), or may raise.
An error on one neighbour only is a finding, so nothing a target raises ends an audit.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from soundsum.numbers.rationals import Value, exact

PASSED = ("data", "lower", "upper", "epsilon", "size", "runs")
"""The parameters that a target's function may name."""

MOST_TEXT = 300
LONG_NUMBER = re.compile(r"\d{30,}")


class TargetRefused(Exception):
    """The library declined the parameters; the text is its own."""


class Unsupported(Exception):
    """The library could not be asked: it crashed, hung, or ran out of memory."""


class Raised(Exception):
    """The library raised in another process, and not to decline the parameters; the text is its exception."""


@dataclass(frozen=True)
class Failure:
    """The reason why there is no number, in the target's words."""

    kind: Literal["refused", "unsupported", "raised"]
    text: str


Answer: TypeAlias = Value | Failure


def ask(refuses: tuple[type[BaseException], ...], question: Callable[[], Any]) -> Any:
    """The answer, or a Failure; `refuses` are the exceptions by which the library declines parameters."""
    try:
        with warnings.catch_warnings():  # a warning is nobody's output, even where it is turned into an error
            warnings.simplefilter("ignore")
            return question()
    except (Exception, SystemExit) as error:
        return failure(error, refuses)


def failure(error: BaseException, refuses: tuple[type[BaseException], ...] = ()) -> Failure:
    """The outcome that an error stands for; `refuses` are those by which a library declines."""
    match error:
        case TargetRefused():
            return Failure("refused", _line(str(error)))
        case Unsupported() | MemoryError() | TimeoutError() | RecursionError():
            return Failure("unsupported", _line(str(error) or type(error).__name__))
        case Raised():
            return Failure("raised", _line(str(error)))
    kind, said = type(error).__name__, _line(str(error))
    text = said if said.startswith(kind) else f"{kind}: {said}" if said else kind
    return Failure("refused" if isinstance(error, refuses) else "raised", text)


def _line(text: str) -> str:
    """An error's message, on one line of a bounded length, without most digits of very long numbers."""
    text = LONG_NUMBER.sub(lambda found: f"{found[0][:6]}... ({len(found[0]):,} digits)", " ".join(text.split()))
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."


def call(function: Callable[..., Any], parameters: Mapping[str, Any], *data: Any) -> Any:
    """Call with the data, if any, and those of the parameters that the signature names."""
    names = named_parameters(function)
    named = {name: value for name, value in parameters.items() if name in names}
    return function(data=data[0], **named) if data and "data" in names else function(*data, **named)


def as_number(value: Any, name: str) -> Value:
    """A target's exact result; arrays and tensors of one element are that element."""
    try:
        if not isinstance(value, np.generic) and callable(getattr(value, "item", None)):
            value = value.item()
        if isinstance(value, str | bytes):
            raise TypeError
        return exact(value, name)
    except (TypeError, ValueError):
        shown = repr(value)
        raise Unsupported(
            f"{name} returned {shown[:60]}{'...' if len(shown) > 60 else ''}, not a number; return one number"
        ) from None


def named_parameters(function: Callable[..., Any]) -> frozenset[str]:
    try:
        return _read_names(function)
    except TypeError:  # an object without a hash
        return _read_names.__wrapped__(function)


@lru_cache(maxsize=64)  # a target's functions are called thousands of times
def _read_names(function: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not tell
        return frozenset()
    return frozenset(PASSED) & {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
