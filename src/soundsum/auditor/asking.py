"""Asking a target: what it gives for a dataset, exactly, or in which way it did not.

A library may decline parameters (refused), may be unable to (unsupported: a crash, no memory, no number), or may raise.
An error on one neighbour only is a finding, so nothing a target raises ends an audit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from soundsum.arithmetic.rationals import Value
from soundsum.auditor.target import Refused, Target, Unsupported

MOST_TEXT = 300


@dataclass(frozen=True)
class Failure:
    """Why there is no number; the text is what was said."""

    kind: Literal["refused", "unsupported", "raised"]
    text: str


Answer: TypeAlias = Value | Failure


def ask(target: Target, question: Callable[[], Any]) -> Any:
    """The answer, or a Failure."""
    try:
        with warnings.catch_warnings():  # a warning is nobody's output, even where it is turned into an error
            warnings.simplefilter("ignore")
            return question()
    except Refused as error:
        return Failure("refused", shorten(error))
    except (Unsupported, MemoryError, TimeoutError, RecursionError) as error:
        return Failure("unsupported", shorten(error))
    except target.refuses as error:
        return Failure("refused", shorten(error, named=True))
    except (Exception, SystemExit) as error:
        return Failure("raised", shorten(error, named=True))


def shorten(error: BaseException, named: bool = False) -> str:
    """What was said, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if named and not text.startswith(type(error).__name__):
        text = f"{type(error).__name__}: {text}"
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
