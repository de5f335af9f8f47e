"""A ledger: a budget in an SQLite file, which any number of processes share and which outlives them.

Lines are only ever added, in a BEGIN IMMEDIATE transaction that reads the last line, decides and writes; threads that
write at the same time share one. Every line has what is spent and how many reads failed after it, so nothing takes
longer in a long ledger, and nothing has to be taken back when a process dies. `read` goes through all lines and checks
that they add up.

Every operation looks whether the file is still the one that was opened, and opens it afresh otherwise: a connection
must not survive a fork, and a ledger that was moved away or replaced must not be written to.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from soundsum.budget.history import Asker, Entry, Kind, Tally, change_state, refuse_closed
from soundsum.budget.ledger_file import (
    KeptConnection,
    create_ledger,
    refuse_damaged,
    refuse_replaced,
    refuse_unwritable,
    transact,
)
from soundsum.budget.ledger_tables import (
    Identity,
    LedgerRows,
    Terms,
    fetch_charges,
    fetch_rows,
    find_charge,
    follow_own,
    identify,
    lay_out,
    read_charge,
    read_history,
    read_last_number,
    read_tip,
    write_line,
)
from soundsum.budget.limit import Limit
from soundsum.budget.query import Query
from soundsum.budget.scope import VALUES, Binding, BudgetMismatch
from soundsum.budget.shared_transaction import Act, SharedTransactions
from soundsum.budget.shares import (
    Answered,
    Question,
    Share,
    charge_share,
    find_answer,
    find_asker,
    find_body,
    find_key,
    find_same,
    find_share,
    list_charges,
    list_shares,
    note_outcome,
    set_share,
    write_question,
)
from soundsum.numbers.quoting import printed
from soundsum.numbers.rationals import as_printed
from soundsum.privacy.cost import Cost
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.paths import expand

T = TypeVar("T")

AT_ONCE = 20
"""Charges that are listed in one transaction."""


class Ledger:
    """Charges in a file, which processes share."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        terms: Terms | None,
        binding: Binding | None = None,
        max_failures: int | None = None,
    ) -> None:
        """Open the ledger, or start it where there is none and its terms are given.

        `binding` and `max_failures` are insisted on where they are given.
        """
        self.path = Path(os.path.abspath(expand(path)))
        if terms is not None and not os.path.lexists(self.path):
            create_ledger(self.path, lambda db: lay_out(db, terms))

        def look(db: sqlite3.Connection) -> tuple[Identity, int]:
            own = identify(db, self.path)
            return own, read_tip(db, self.path, own.terms).number

        self._shared, self._kept = SharedTransactions(self._carry_out), KeptConnection()
        self._own, self._lines = transact(self.path, look)  # lines that were seen, at least
        self.limit, self.max_failures = self._own.terms.limit, self._own.terms.max_failures
        self.binding: Binding | None = self._own.terms.binding
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise refuse_unwritable(self.path)  # now, rather than after the first sum
        if terms is not None and not _same(terms.limit, self.limit):
            own, asked = self.limit.to_json(), terms.limit.to_json()
            raise RefusedValue(
                next(name for name in ("rho", "epsilon", "delta") if asked[name] not in (None, own[name])),
                Reason.MISMATCH,
                "there is a ledger already at {path}, with {own} and not {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=str(self.limit),
                asked=str(terms.limit),
            )
        if binding is not None and binding != self._own.terms.binding:
            its_own, wanted = self._own.terms.binding.to_json(), binding.to_json()
            raise BudgetMismatch(
                next(name for name in wanted if wanted[name] != its_own[name]),
                Reason.MISMATCH,
                "there is a ledger already at {path}, for {own} and not for {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=str(self.binding),
                asked=str(binding),
            )
        if max_failures is not None and max_failures != self.max_failures:
            raise RefusedValue(
                "max_failures",
                Reason.MISMATCH,
                "there is a ledger already at {path}, which closes after {own} failed reads and not {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=self.max_failures,
                asked=max_failures,
            )

    def spent(self) -> Cost:
        return self._transact(lambda _, tally: tally.spent, writes=False)

    def entries(self) -> list[Entry]:
        rows = self._transact(lambda db, _: fetch_rows(db), writes=False)
        return list(read_history(rows, self.path, self.limit).entries.values())

    def failures(self) -> int:
        return self._transact(lambda _, tally: tally.failures, writes=False)

    def charge(self, cost: Cost, what: Query | str, binding: Binding, question: Question | None = None) -> int:
        """Write the charge down for good, or raise and write nothing. Once this returns, data may be read."""

        def write(db: sqlite3.Connection, tally: Tally) -> int:
            if binding.privacy_unit == VALUES:
                raise BudgetMismatch(
                    "privacy_unit",
                    Reason.UNSUPPORTED,
                    "ids given as values have no name that a ledger could know again; nothing was charged:",
                    "name the column of ids, or use a budget in memory (the release was: {release})",
                    release=str(what),
                )
            self._own.terms.binding.refuse_other(binding, what)
            if tally.failures >= self.max_failures:
                raise refuse_closed(tally.failures, what, cost, self.limit.left(tally.spent))
            share = None if question is None else charge_share(db, question, self.limit, cost, what)
            after = Tally(self.limit.after(tally.spent, cost, what), tally.failures)
            number = write_line(db, "charge", None, what, cost, after)
            if question is not None and share is not None:
                write_question(db, number, question, share)
            return number

        return self._transact(write)

    def note(self, kind: Kind, about: int | None, what: str, answer: str | None = None) -> Answered | None:
        """Write down what became of a charge, or that the ledger is open again.

        Return an analyst's charge, with the answer that is stored for it.
        """

        def write(db: sqlite3.Connection, tally: Tally) -> Answered | None:
            charge = None if kind == "reopen" else change_state(find_charge(db, about), kind, about)
            number = write_line(db, kind, about, what, None, tally.after(self.limit, kind, charge))
            return note_outcome(db, number, kind, charge, self.limit, answer)

        return self._transact(write)

    def set_share(self, asker: Asker, limit: Limit, max_failures: int) -> None:
        """Give an analyst a share, in place of the one they had."""
        self._transact(lambda db, _: set_share(db, asker, self.limit, limit, max_failures))

    def share(self, asker: Asker) -> Share | None:
        return self._transact(lambda db, _: find_share(db, asker, self.limit), writes=False)

    def asked(self, charge: int, asker: Asker | None = None) -> Answered | None:
        """Return an analyst's charge as it stands, with its answer; None if it is the owner's own or there is none.

        With `asker`, None too if it is another's, which takes as long as if there were none.
        """
        return self._transact(lambda db, _: _find_answered(db, charge, asker), writes=False)

    def answered(self, question: Question) -> Answered | None:
        """Return the charge that was written with this question's key, with its answer."""

        def find(db: sqlite3.Connection, _: Tally) -> Answered | None:
            number = find_key(db, question)
            return None if number is None else _find_answered(db, number)

        return self._transact(find, writes=False)

    def find_key(self, question: Question) -> int | None:
        """Return the charge that was written with this question's key."""
        return self._transact(lambda db, _: find_key(db, question), writes=False)

    def find_same(self, question: Question, hidden: Collection[int] = ()) -> int | None:
        """Return the last charge with an answer that asked what this question asks, but none of these."""
        return self._transact(lambda db, _: find_same(db, question, hidden), writes=False)

    def asked_by(self, asker: Asker, most: int) -> list[Entry]:
        """Return the last charges of an analyst on a table, each as it stands.

        They are fetched a few at a time and understood between, as nobody is charged during a transaction.
        """
        numbers = self._transact(lambda db, _: list_charges(db, asker, most), writes=False)
        entries: list[Entry] = []
        for start in range(0, len(numbers), AT_ONCE):
            few = numbers[start : start + AT_ONCE]
            rows = self._transact(lambda db, _, few=few: fetch_charges(db, few), writes=False)  # type: ignore[misc]
            entries += [replace(read_charge(row), asker=asker) for row in rows]
        return entries

    def _transact(self, act: Callable[[sqlite3.Connection, Tally], T], writes: bool = True) -> T:
        """Act in a transaction on the very ledger that was opened, knowing what its lines amount to."""
        return self._shared.run(act, writes)

    def _carry_out(self, acts: list[Act[Any]]) -> None:
        """Carry out what several threads want, in one transaction."""

        def carry_out(db: sqlite3.Connection) -> int:
            if identify(db, self.path) != self._own:
                raise refuse_replaced(self.path, "another file is in its place; nothing was charged")
            tip = read_tip(db, self.path, self._own.terms)
            if tip.number < self._lines:
                raise refuse_replaced(self.path, "an older copy is in its place; nothing was charged")
            for act in acts:
                before = db.total_changes
                act.carry_out(db, tip.tally)
                if db.total_changes != before:
                    tip = follow_own(db, tip)
            return tip.number

        kind = "IMMEDIATE" if any(act.writes for act in acts) else "DEFERRED"
        self._lines = transact(self.path, carry_out, kind, self._kept)


def _find_answered(db: sqlite3.Connection, charge: int, wanted: Asker | None = None) -> Answered | None:
    asker = find_asker(db, charge)
    if asker is None or wanted not in (None, asker):
        return None
    entry = find_charge(db, charge)
    if entry is None:
        return None
    return Answered(replace(entry, asker=asker), find_body(db, charge), find_answer(db, charge))


@dataclass(frozen=True)
class Reading:
    """A ledger, read: what it was made for and what is spent, every charge, the reads that failed, and the shares."""

    terms: Terms
    spent: Cost
    entries: list[Entry]
    failures: int  # since the ledger was last reopened
    shares: dict[Asker, Share]


def read(path: str | os.PathLike[str]) -> Reading:
    """Everything in a ledger, checked from the first line to the last; the file may be read-only."""
    where = Path(os.path.abspath(expand(path)))

    def fetch(db: sqlite3.Connection) -> tuple[Terms, LedgerRows, dict[Asker, Share], int]:
        terms = identify(db, where).terms
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise refuse_damaged(where)
        return terms, fetch_rows(db), list_shares(db, terms.limit), read_last_number(db)

    terms, rows, shares, written = transact(where, fetch, "DEFERRED")
    history = read_history(rows, where, terms.limit)
    if written != len(rows.lines):
        raise refuse_damaged(where)
    return Reading(terms, history.tally.spent, list(history.entries.values()), history.tally.failures, shares)


def _same(one: Limit, other: Limit) -> bool:
    """Returns whether two totals are the same, one perhaps written with a float's binary value."""
    pairs = ((one.epsilon, other.epsilon), (one.delta, other.delta), (one.rho, other.rho))
    return all(a == b or (a is not None and b is not None and as_printed(a) == as_printed(b)) for a, b in pairs)
