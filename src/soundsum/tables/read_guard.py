"""The guard around reading: no error inside tells an analyst anything about a record.

What can be refused without looking at a value (a file that is not there, a column, a type) is refused before it, in its
own words. Inside, every error becomes ReadFailed with one constant sentence: a reader's words may hold a record
("could not convert 'HIV positive'"), and so may its traceback. The details go to the operator's log alone.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from soundsum.refusals import Refusal

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

SENTENCE = (
    "the data could not be fully read or summed; the reason is in the operator's log (the logger soundsum.operator), "
    "and a charge to a budget stays until its owner refunds it"
)

OPERATOR = logging.getLogger("soundsum.operator")
OPERATOR.addHandler(logging.NullHandler())
OPERATOR.propagate = False  # an unconfigured logger would print to the screen, which the analyst may see


class ReadFailed(RuntimeError):
    """Reading or summing failed. Nothing was released; the charge stays, marked as failed."""


def read_within(read: Callable[[], T], on_failure: Callable[[], None] = lambda: None) -> T:
    """Return the result of `read`, or raise ReadFailed from a frame that holds nothing of the reader.

    Warnings of readers are not heard either. Only Ctrl-C and an exit pass, without the frames they come from.
    """
    stop: BaseException | None = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read()
    except (KeyboardInterrupt, SystemExit) as error:
        stop = error.with_traceback(None)
        stop.__context__ = None
    except BaseException:  # Polars panics with one that is no Exception
        OPERATOR.exception("a read failed")
    if stop is not None:
        raise stop
    try:
        on_failure()
    except Exception:  # the ledger may be locked; what matters now is to say nothing else
        OPERATOR.exception("a failed read could not be noted")
    raise ReadFailed(SENTENCE)


def hold_no_data(ask: F) -> F:
    """Decorate a public function: the traceback of a refusal or a failed read holds no frame with the data.

    Error reporters store the locals of every frame. Whoever asks may not read the data, and such a report may reach
    them.
    """

    @wraps(ask)
    def answer(*arguments: Any, **options: Any) -> Any:
        try:
            return ask(*arguments, **options)
        except (Refusal, ReadFailed, OSError) as error:  # the last of a ledger
            refused = error.with_traceback(None)
            refused.__context__ = None  # a failed read, where the charge for it was refused
        del arguments, options
        raise refused

    return cast(F, answer)
