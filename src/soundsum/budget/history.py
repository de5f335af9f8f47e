"""A budget's entries, line by line, and what they add up to.

A line is a charge; that its release goes out; a failure (the read that a charge paid for went wrong, so nothing was let
out); a refund of a charge that failed; a withdrawal of one that was refused for public reasons; or a reopening by the
owner. Lines are only ever added. Whether a read fails is a bit that no epsilon pays for, so failures are counted, and
after `max_failures` of them the budget is closed until its owner reopens it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, TypeAlias

from soundsum.budget.limit import BudgetExceeded, Limit, write_costs
from soundsum.budget.query import Query
from soundsum.numbers.quoting import quote
from soundsum.privacy.cost import Cost
from soundsum.refusals import Reason, RefusedValue

Kind: TypeAlias = Literal["charge", "release", "failure", "withdrawal", "refund", "reopen"]


State: TypeAlias = Literal["charged", "released", "failed", "refunded"]
"""The states of a charge: paid, with no release known; released; its read failed; refunded."""

OUTCOMES: dict[str, tuple[State, State]] = {
    "release": ("charged", "released"),
    "failure": ("charged", "failed"),
    "withdrawal": ("charged", "refunded"),
    "refund": ("failed", "refunded"),
}
"""The states a charge goes through: from which, to which."""


@dataclass(frozen=True)
class Asker:
    """An analyst, and the table of the owner's that they ask about."""

    analyst: str
    source: str

    def __post_init__(self) -> None:
        for name in ("analyst", "source"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise RefusedValue(name, Reason.EMPTY, "`{option}` is not a name", "give a text")


class BudgetClosed(BudgetExceeded):
    """Too many reads have failed; the owner looks into why, and reopens the budget."""


class CannotFollow(RefusedValue):
    """There is no such charge, or something else became of it before."""


@dataclass(frozen=True)
class Entry:
    """A charge as it stands: when, for what, how much; whether its read failed, and whether it was given back.

    It is for a query, or for what somebody wrote in a note of their own.
    """

    number: int
    at: datetime
    asked: Query | str
    cost: Cost
    state: State = "charged"
    by_rho: bool = field(default=False, repr=False)  # how it was counted
    asker: Asker | None = None  # the analyst it is for, if it is not the owner's own

    @property
    def query(self) -> Query | None:
        return None if isinstance(self.asked, str) else self.asked

    @property
    def what(self) -> str:
        """The purpose of the charge, for people."""
        return str(self.asked)

    def brief(self, with_source: bool = False) -> str:
        """The purpose in a few words."""
        return self.asked if isinstance(self.asked, str) else self.asked.brief(with_source)


@dataclass(frozen=True)
class Tally:
    """The totals so far: what is spent, and how many reads failed since the last reopening.

    Each line changes it by what the line and its charge say, so that no line before has to be read again.
    """

    spent: Cost
    failures: int = 0

    def after(self, limit: Limit, kind: Kind, charge: Entry | None) -> Tally:
        """After one more line, which is or is about this charge."""
        if kind == "reopen":
            return Tally(self.spent, 0)
        assert charge is not None
        if kind == "charge":
            return Tally(limit.plus(self.spent, charge.cost), self.failures)
        if kind in ("withdrawal", "refund"):
            return Tally(limit.minus(self.spent, charge.cost, charge.by_rho), self.failures)
        return Tally(self.spent, self.failures + (kind == "failure"))


class History:
    """Every charge, and what the lines amount to."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.tally = Tally(limit.nothing)
        self.entries: dict[int, Entry] = {}

    def charge(self, entry: Entry) -> None:
        """Take a charge in."""
        self.tally = self.tally.after(self.limit, "charge", entry)
        self.entries[entry.number] = replace(entry, by_rho=self.tally.spent.rho is not None)

    def note(self, kind: Kind, about: int | None) -> None:
        """Take in what became of a charge, or that the budget is open again; CannotFollow if it cannot be."""
        entry = None if about is None else self.entries.get(about)
        if kind != "reopen":
            entry = change_state(entry, kind, about)
            self.entries[entry.number] = entry
        self.tally = self.tally.after(self.limit, kind, entry)


def change_state(entry: Entry | None, kind: Kind, number: int | None) -> Entry:
    """A charge after something became of it; CannotFollow if that cannot be."""
    if entry is None:
        raise CannotFollow(
            "number",
            Reason.UNKNOWN,
            "there is no charge {number}",
            "`soundsum budget show` lists them",
            number=quote(number),
        )
    before, after = OUTCOMES[kind]
    if entry.state != before and after == "refunded":
        raise CannotFollow(
            "number",
            Reason.CLOSED,
            "charge {number} is {state}",
            "only a charge whose read failed can be refunded",
            number=entry.number,
            state=entry.state,
        )
    if entry.state != before:
        raise CannotFollow(
            "number",
            Reason.CLOSED,
            "charge {number} is {state}",
            "it cannot be {after}",
            number=entry.number,
            state=entry.state,
            after=after,
        )
    return replace(entry, state=after)


def refuse_closed(failures: int, what: object, cost: Cost, left: Cost, whose: str = "the budget") -> BudgetClosed:
    reads = "1 failed read" if failures == 1 else f"{failures} failed reads"
    return BudgetClosed(
        "budget",
        Reason.CLOSED,
        "{whose} is closed after {reads}; nothing was charged:",
        "its owner finds the reason in the operator's log and reopens it with `soundsum budget reopen`, or "
        "`Budget.reopen` (the release was: {release})",
        whose=whose,
        reads=reads,
        failures=failures,
        release=str(what),
        **write_costs(cost, left),
    )
