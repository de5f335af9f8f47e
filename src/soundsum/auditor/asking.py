"""Ask a target for its exact output on a dataset, or the reason why there is none.

A library may decline parameters (refused), may be unable to (unsupported: a crash, no memory, no number), or may raise.
An error on one neighbour only is a finding, so nothing a target raises ends an audit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from soundsum.auditor.target import Raised, Target, TargetRefused, Unsupported
from soundsum.numbers.rationals import Value

MOST_TEXT = 300


@dataclass(frozen=True)
class Failure:
    """The reason why there is no number, in the target's words."""

    kind: Literal["refused", "unsupported", "raised"]
    text: str


Answer: TypeAlias = Value | Failure


def ask(target: Target, question: Callable[[], Any]) -> Any:
    """The answer, or a Failure."""
    try:
        with warnings.catch_warnings():  # a warning is nobody's output, even where it is turned into an error
            warnings.simplefilter("ignore")
            return question()
    except (Exception, SystemExit) as error:
        return failure(error, target.refuses)


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
    """An error's message, on one line of a bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
