"""Shares of a ledger: the most that an analyst may spend on a table of the owner's, and what came of each question.

Shares may add up to more than the ledger's limit, which bounds what all analysts get together. A share counts in the
ledger's own measure. Every line of the ledger about an analyst's charge has a line here with the same number, written
in the same transaction; it says what that analyst has spent on that table, and how many of their reads failed, so far.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.budget.history import Asker, Entry, Kind, Tally, refuse_closed
from soundsum.budget.limit import Limit
from soundsum.privacy.cost import Cost, exact_text, read_cost
from soundsum.refusals import Reason, RefusedValue

TABLES = """
CREATE TABLE shares (  -- the last for an analyst and a table holds
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, analyst TEXT NOT NULL, source TEXT NOT NULL,
    epsilon TEXT, delta TEXT NOT NULL, rho TEXT, max_failures INTEGER NOT NULL
);
CREATE INDEX holders ON shares (analyst, source, number);
CREATE TABLE questions (
    line INTEGER PRIMARY KEY, analyst TEXT NOT NULL, source TEXT NOT NULL,
    key TEXT, body TEXT,  -- of a charge: the key of the request, and a digest of what it asks
    answer TEXT,  -- of a release
    total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT,  -- spent of the share after this line
    failures INTEGER NOT NULL  -- of this analyst's reads of this table, since the ledger was last reopened
);
CREATE UNIQUE INDEX keys ON questions (analyst, source, key) WHERE key IS NOT NULL;
CREATE INDEX askers ON questions (analyst, source, line);
CREATE INDEX reopenings ON lines (number) WHERE kind = 'reopen';
"""

OWN = "total_epsilon, total_delta, total_rho, failures"


@dataclass(frozen=True)
class Question:
    """A request of an analyst, known again by the key they gave it and by a digest of what it asks."""

    asker: Asker
    key: str | None = None
    body: str | None = None


@dataclass(frozen=True)
class Share:
    """The most that an analyst may spend on a table, and what they have spent."""

    limit: Limit
    max_failures: int
    spent: Cost
    failures: int = 0

    @property
    def left(self) -> Cost:
        return self.limit.left(self.spent)

    @property
    def is_closed(self) -> bool:
        return self.failures >= self.max_failures


def say_share(asker: Asker, share: Share) -> str:
    """Say what an analyst may spend, what of it is left, and whether failed reads have closed it."""
    reads = f"{share.failures} failed read{'s' * (share.failures != 1)}"
    closed = f"; closed after {reads}, until the ledger is reopened" if share.is_closed else ""
    return f"{asker.analyst} may spend {share.limit} on {asker.source}; {share.left} left{closed}"


@dataclass(frozen=True)
class Answered:
    """A question that was charged before: its charge, the digest of what it asked, and its answer if one is stored."""

    charge: Entry
    body: str | None
    answer: str | None


class AlreadyAsked(RefusedValue):
    """There is a charge with this key; the answer to it is stored, or there will never be one."""


def set_share(db: sqlite3.Connection, asker: Asker, whole: Limit, limit: Limit, max_failures: int) -> None:
    """Give an analyst a share of the whole, in place of the one they had."""
    if (whole.rho is None) != (limit.rho is None):
        own, other = ("epsilon", "rho") if whole.rho is None else ("rho", "epsilon")
        raise RefusedValue(
            other,
            Reason.MISMATCH,
            "the budget counts {own}, and the share {other}",
            "give the share's `{own}`",
            own=own,
            other=other,
        )
    row = (datetime.now(UTC).isoformat(), asker.analyst, asker.source, *_texts(limit), max_failures)
    db.execute("INSERT INTO shares VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)


def find_share(db: sqlite3.Connection, asker: Asker, whole: Limit) -> Share | None:
    """The share of an analyst; None if they have none."""
    query = (
        "SELECT epsilon, delta, rho, max_failures FROM shares WHERE analyst = ? AND source = ? "
        "ORDER BY number DESC LIMIT 1"
    )
    row = db.execute(query, (asker.analyst, asker.source)).fetchone()
    if row is None:
        return None
    epsilon, delta, rho, most = row
    tally = _find_tally(db, asker, whole)
    return Share(_read_limit(epsilon, delta, rho), most, tally.spent, tally.failures)


@lru_cache(maxsize=1024)
def _read_limit(epsilon: str | None, delta: str, rho: str | None) -> Limit:
    return Limit.of(epsilon, Fraction(delta), rho)


def _find_tally(db: sqlite3.Connection, asker: Asker, whole: Limit) -> Tally:
    reopened = "EXISTS (SELECT 1 FROM lines WHERE kind = 'reopen' AND number > line)"
    query = f"SELECT {reopened}, {OWN} FROM questions WHERE analyst = ? AND source = ? ORDER BY line DESC LIMIT 1"
    row = db.execute(query, (asker.analyst, asker.source)).fetchone()
    if row is None:
        return Tally(whole.nothing)
    is_reopened, *amounts, failures = row
    return Tally(read_cost(*amounts), 0 if is_reopened else failures)


def charge_share(db: sqlite3.Connection, question: Question, whole: Limit, cost: Cost, what: object) -> Tally:
    """Return what the analyst has spent after this charge, if their share allows it; otherwise raise."""
    asker = question.asker
    if question.key is not None:
        found = find_key(db, question)
        if found is not None:
            raise AlreadyAsked(
                "key",
                Reason.REPEATED,
                "this key was given before, with charge {number}",
                "give a key once",
                number=found,
            )
    share = find_share(db, asker, whole)
    if share is None:
        raise RefusedValue(
            "budget",
            Reason.ABSENT,
            "{analyst} has no share of the budget of {source}; nothing was charged:",
            "its owner can give one",
            analyst=asker.analyst,
            source=asker.source,
        )
    if whole.rho is None and cost.epsilon is None:
        raise RefusedValue(
            "rho",
            Reason.MISMATCH,
            "the budget counts epsilon and delta, and a release that counts rho would turn all of it; nothing was "
            "charged:",
            "give `epsilon`, with Laplace noise or with a `delta` (the release was: {release})",
            release=str(what),
        )
    if share.is_closed:
        raise refuse_closed(share.failures, what, cost, share.left, f"the share of {asker.analyst}")
    return Tally(share.limit.after(share.spent, cost, what), share.failures)


def write_question(
    db: sqlite3.Connection, line: int, question: Question, tally: Tally, answer: str | None = None
) -> None:
    row = (line, question.asker.analyst, question.asker.source, question.key, question.body, answer)
    db.execute(
        "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, *_texts(tally.spent), tally.failures)
    )


def note_outcome(
    db: sqlite3.Connection, line: int, kind: Kind, charge: Entry | None, whole: Limit, answer: str | None
) -> Answered | None:
    """Write down what a line about an analyst's charge means for their share, and return the charge with its answer."""
    asker = None if charge is None else find_asker(db, charge.number)
    if charge is None or asker is None:
        return None
    tally = _find_tally(db, asker, whole).after(whole, kind, _as_counted(charge, whole))
    write_question(db, line, Question(asker), tally, answer)
    return Answered(replace(charge, asker=asker), find_body(db, charge.number), answer)


def find_asker(db: sqlite3.Connection, charge: int) -> Asker | None:
    """Return who a charge is for; None if it is for the owner."""
    row = db.execute("SELECT analyst, source FROM questions WHERE line = ?", (charge,)).fetchone()
    return None if row is None else Asker(*row)


ANSWER = "SELECT answer FROM questions JOIN lines ON line = number WHERE about = ? AND kind = 'release'"


def find_answer(db: sqlite3.Connection, charge: int) -> str | None:
    """The answer that was stored for a charge; None if there is none."""
    row = db.execute(ANSWER, (charge,)).fetchone()
    return None if row is None else row[0]


def find_body(db: sqlite3.Connection, charge: int) -> str | None:
    """The digest of what a charge was asked with."""
    row = db.execute("SELECT body FROM questions WHERE line = ?", (charge,)).fetchone()
    return None if row is None else row[0]


def find_key(db: sqlite3.Connection, question: Question) -> int | None:
    """The charge with this key; None if there is none."""
    query = "SELECT line FROM questions WHERE analyst = ? AND source = ? AND key = ?"
    row = db.execute(query, (question.asker.analyst, question.asker.source, question.key)).fetchone()
    return None if row is None else row[0]


def find_same(db: sqlite3.Connection, question: Question, hidden: Collection[int]) -> int | None:
    """The last charge of this analyst's that asked the same and has an answer, but none of these; None otherwise."""
    query = (
        "SELECT MAX(asked.line) FROM questions AS asked "
        "WHERE asked.analyst = ? AND asked.source = ? AND asked.body = ? "
        f"AND asked.line NOT IN ({', '.join('?' * len(hidden))}) "
        f"AND EXISTS ({ANSWER.replace('= ?', '= asked.line', 1)} AND answer IS NOT NULL)"
    )
    row = db.execute(query, (question.asker.analyst, question.asker.source, question.body, *hidden)).fetchone()
    return None if row is None else row[0]


def list_charges(db: sqlite3.Connection, asker: Asker, most: int) -> list[int]:
    """The last charges of an analyst on a table, from the first to the last."""
    query = (
        "SELECT line FROM questions JOIN lines ON line = number WHERE analyst = ? AND source = ? AND kind = 'charge' "
        "ORDER BY line DESC LIMIT ?"
    )
    return [line for (line,) in db.execute(query, (asker.analyst, asker.source, most))][::-1]


def list_shares(db: sqlite3.Connection, whole: Limit) -> dict[Asker, Share]:
    """Every share as it stands."""
    askers = [Asker(*row) for row in db.execute("SELECT DISTINCT analyst, source FROM shares ORDER BY 1, 2")]
    return {asker: share for asker in askers if (share := find_share(db, asker, whole)) is not None}


def follow_questions(rows: list[Any], changes: dict[int, tuple[Kind, Entry | None]], whole: Limit) -> bool:
    """Whether every line of the questions follows from those before it and from the ledger's own.

    `changes` has, for each line of the ledger, its kind and the charge that it is or is about.
    """
    tallies: dict[Asker, Tally] = {}
    owners: dict[int, Asker] = {}
    told = {row[0]: row for row in rows}
    for number, (kind, charge) in sorted(changes.items()):
        if kind == "reopen":
            tallies = {asker: Tally(tally.spent) for asker, tally in tallies.items()}
            continue
        assert charge is not None
        row = told.pop(number, None)
        if row is None:
            if kind != "charge" and charge.number in owners:
                return False
            continue
        _, analyst, source, key, body, answer, *amounts, failures = row
        asker = Asker(analyst, source)
        if kind == "charge":
            owners[number] = asker
        elif owners.get(charge.number) != asker or key is not None or body is not None:
            return False
        if answer is not None and kind != "release":
            return False
        tallies[asker] = tallies.get(asker, Tally(whole.nothing)).after(whole, kind, _as_counted(charge, whole))
        if tallies[asker] != Tally(Cost(*amounts), failures):
            return False
    return not told


def _as_counted(charge: Entry | None, whole: Limit) -> Entry | None:
    """The charge as a share counts it: always in the measure of the ledger's limit."""
    return None if charge is None else replace(charge, by_rho=whole.rho is not None)


def _texts(amounts: Cost | Limit) -> list[str | None]:
    return [exact_text(amounts.epsilon), exact_text(amounts.delta), exact_text(amounts.rho)]
