"""What is written down of a budget, line by line, and what the lines amount to.

A line is a charge; that its release goes out; a failure (the read that a charge paid for went wrong, so nothing was let
out); a refund of a charge that failed; a withdrawal of one that was refused for public reasons; or a reopening by the
owner. Lines are only ever added. Whether a read fails is a bit that no epsilon pays for, so failures are counted, and
after `max_failures` of them the budget is closed until its owner reopens it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from soundsum.budget.limit import BudgetExceeded, Limit
from soundsum.privacy.cost import Cost

Kind: TypeAlias = Literal["charge", "release", "failure", "withdrawal", "refund", "reopen"]


State: TypeAlias = Literal["charged", "released", "failed", "refunded"]
"""Of a charge: paid, and nothing known to be let out for it; let out; its read failed; given back."""


class BudgetClosed(BudgetExceeded):
    """Too many reads have failed; the owner looks into why, and reopens the budget."""


@dataclass(frozen=True)
class BookLine:
    """One line: when, what kind, about which charge, for what, how much."""

    number: int
    at: datetime
    kind: Kind
    about: int | None
    what: str
    cost: Cost | None


@dataclass(frozen=True)
class Entry:
    """A charge as it stands: when, for what, how much; whether its read failed, and whether it was given back."""

    number: int
    at: datetime
    what: str
    cost: Cost
    state: State = "charged"


class Book:
    """The lines so far, what is spent, and whether the budget is closed."""

    def __init__(self, limit: Limit, max_failures: int) -> None:
        self.limit, self.max_failures = limit, max_failures
        self.spent = limit.nothing
        self.failures = 0  # since the last reopening
        self.entries: dict[int, Entry] = {}

    def add(self, line: BookLine, total: Cost | None = None) -> None:
        """Take a line in, with what is spent after a charge if that is known; a ValueError if it cannot follow."""
        match line.kind:
            case "charge":
                assert line.cost is not None
                self.spent = self.limit.plus(self.spent, line.cost) if total is None else total
                self.entries[line.number] = Entry(line.number, line.at, line.what, line.cost)
            case "release":
                self._change(line.about, "charged", "released")
            case "failure":
                self._change(line.about, "charged", "failed")
                self.failures += 1
            case "withdrawal" | "refund":
                self._change(line.about, "failed" if line.kind == "refund" else "charged", "refunded")
                self.spent = self.limit.nothing
                for entry in self.entries.values():
                    if entry.state != "refunded":
                        self.spent = self.limit.plus(self.spent, entry.cost)
            case "reopen":
                self.failures = 0
            case _:
                raise ValueError(f"a line of kind {line.kind!r}")

    def _change(self, number: int | None, before: str, after: State) -> None:
        entry = None if number is None else self.entries.get(number)
        if entry is None:
            raise ValueError(f"there is no charge {number}; soundsum budget show lists them")
        if entry.state != before:
            wanted = "only a charge whose read failed is given back" if after == "refunded" else f"it cannot be {after}"
            raise ValueError(f"charge {entry.number} is {entry.state}; {wanted}")
        self.entries[entry.number] = Entry(entry.number, entry.at, entry.what, entry.cost, after)


def refuse_closed(failures: int, what: str, cost: Cost, left: Cost) -> BudgetClosed:
    reads = "1 failed read" if failures == 1 else f"{failures} failed reads"
    return BudgetClosed(
        f"the budget is closed after {reads}; nothing was charged: its owner finds the reason in the operator's log "
        f"and reopens it with soundsum budget reopen, or Budget.reopen (the release was: {what})",
        cost,
        left,
    )
