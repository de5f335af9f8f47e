"""Runs of a release on two neighbours, in pairs of random order, so that changes over time affect both alike.

A budget that runs out, a cache that fills or a counter then tells nothing. If errors begin after successful runs and
persist on both sides, the target has ended, and no further runs are possible.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from soundsum.attacks import Attack
from soundsum.auditor.calling import Failure, TargetRefused, failure
from soundsum.auditor.events import Outputs
from soundsum.auditor.target import Target

BLOCK = 8
"""Runs on one side in a row, of a release that gives several at once."""

SURE = 16
"""This many errors in a row on each side mean that the target has ended."""


@dataclass
class Drawing:
    """The runs on one attack's two datasets, and the errors among them."""

    target: Target
    attack: Attack
    data: tuple[Any, Any] = field(init=False)
    runs: int = 0
    first_error: int | None = None  # the number of runs before it
    since: list[int] = field(default_factory=lambda: [0, 0])  # errors of each side from the first on
    persistent: bool = True  # whether every run from the first error on ended in one
    numbers: bool = False  # whether any run gave a number that is not NaN
    last: BaseException | None = None

    def __post_init__(self) -> None:
        self.data = self.target.data(self.attack.left), self.target.data(self.attack.right)

    def pairs(self, count: int) -> tuple[Outputs, Outputs]:
        """So many runs on each side."""
        drawn: tuple[list[Any], list[Any]] = ([], [])
        block = BLOCK if self.target.several else 1
        while len(drawn[0]) < count:
            size = min(block, count - len(drawn[0]))
            first = secrets.randbits(1)
            for side in (first, 1 - first):
                drawn[side].extend(self._block(side, size))
        left, right = (Outputs.of(side, self.target.name) for side in drawn)
        self.numbers = self.numbers or any(bool((side.floats == side.floats).any()) for side in (left, right))
        return left, right

    @property
    def ended(self) -> Failure | None:
        """Why nothing can be concluded: errors alone, NaN alone, or errors that came to stay."""
        if self.last is None or self.first_error is None:
            empty = self.runs > 0 and not self.numbers
            return Failure("unsupported", "its release returns nan whatever the data") if empty else None
        if not self.persistent:
            return None
        last = self._failure(self.last)
        if not self.first_error:
            always = Failure("unsupported", f"its release always raises {last.text}")
            return last if last.kind == "refused" else always
        if min(self.since) < SURE:
            return None
        return Failure("unsupported", f"from run {self.first_error + 1:,} on its release only raises {last.text}")

    def _failure(self, error: BaseException) -> Failure:
        return failure(error, self.target.refuses)

    def _block(self, side: int, runs: int) -> list[Any]:
        """Runs on one side; an error is an output like any other, unless it means that no output is possible.

        Records that the documentation excludes may be declined.
        """
        records = self.attack.left if side == 0 else self.attack.right
        drawn: list[Any] = []
        try:
            drawn = self.target.outputs(self.data[side], self.attack.problem, records.size, runs)
        except (Exception, SystemExit) as error:
            said = self._failure(error)
            if said.kind == "unsupported":
                raise
            if self.attack.outside and (said.kind == "refused" or not self.target.documents(self.attack)):
                raise TargetRefused(said.text) from None
            if runs > 1:
                return [one for _ in range(runs) for one in self._block(side, 1)]
            drawn = [error]
        for one in drawn:
            self._count(side, one)
        return drawn

    def _count(self, side: int, one: Any) -> None:
        raised = isinstance(one, BaseException)
        if raised:
            self.last = one
            self.first_error = self.runs if self.first_error is None else self.first_error
            self.since[side] += 1
        elif self.first_error is not None:
            self.persistent = False
        self.runs += 1
