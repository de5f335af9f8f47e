"""Theorem against model, exhaustively: every method's claimed sensitivity and its true one on tiny types.

Tiny types have few values, so all pairs of running states that two neighbours can reach can be listed, for all sizes
at once or layer by layer; trees go by pairs of subtree sums. `verify` compares the largest true difference with the
claim for every pair of bounds and reports how close it comes. See docs/verification/enumeration.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from typing import Protocol

from soundsum.methods import METHODS
from soundsum.numbers.quoting import quote
from soundsum.paper.verify import choices, clipped_gradients, kahan_errors, searches
from soundsum.paper.verify.cases import list_work
from soundsum.paper.verify.check import check
from soundsum.paper.verify.subjects import Subject, subject
from soundsum.paper.verify.verification import Case, Counterexample, Result, Verification, join
from soundsum.refusals import Reason, RefusedValue

__all__ = ["Case", "Counterexample", "Result", "Subject", "Verification", "check", "subject", "verify"]


OTHERS = {
    "kahan": kahan_errors,
    clipped_gradients.LABEL: clipped_gradients,
    choices.LABEL: choices,
    searches.LABEL: searches,
}
"""Checks beside those of every method's cases, by label; of Kahan's sum there are both."""


class Work(Protocol):
    """One worker's turn."""

    def results(self) -> list[Result]: ...


def verify(
    quick: bool = False,
    only: Iterable[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    processes: int = 2,
) -> Verification:
    """Check every method, or only those with the given labels.

    `progress` is told how many tasks are done, of how many. With one process nothing is started beside this one. A
    method on which no case of the tiny types can be looked at is refused: nothing was checked, so nothing holds.

    >>> verify(quick=True, only=["wide"], processes=1).violations
    0
    """
    start = time.monotonic()
    only = None if only is None else list(only)
    wanted = None if only is None else frozenset(only)
    known = dict.fromkeys([*METHODS, *OTHERS])
    if unknown := [name for name in only or () if name not in known]:
        raise RefusedValue(
            "only",
            Reason.UNKNOWN,
            "`only={given}`: there is no such method",
            "there are {known}",
            given=quote(unknown[0]),
            known=", ".join(known),
        )
    todo: list[Work] = [*list_work(quick, wanted)]
    for label, checked in OTHERS.items():
        if wanted is None or label in wanted:
            todo += checked.list_work(quick)
    results: list[list[Result]] = [[] for _ in todo]

    def note(done: int) -> None:
        if progress is not None:
            progress(done, len(todo))

    if processes == 1:
        for i, task in enumerate(todo):
            results[i] = task.results()
            note(i + 1)
    else:
        with get_context("spawn").Pool(min(processes, len(todo))) as pool:
            for done, (i, found) in enumerate(pool.imap_unordered(_work, enumerate(todo)), 1):
                results[i] = found
                note(done)
    every = join(result for found in results for result in found)
    _require_cases(every, METHODS if wanted is None else wanted)
    return Verification(tuple(every), quick, time.monotonic() - start)


def _require_cases(results: Iterable[Result], labels: Iterable[str]) -> None:
    looked_at = {result.method for result in results if result.cases}
    if missing := [label for label in labels if label not in looked_at]:
        raise RefusedValue(
            "only",
            Reason.EMPTY,
            "{methods}: not one problem on the tiny types meets the conditions, so nothing was checked",
            "let `unmet()` admit some of them, or give verify types that it does",
            methods=", ".join(missing),
        )


def _work(numbered: tuple[int, Work]) -> tuple[int, list[Result]]:
    return numbered[0], numbered[1].results()
