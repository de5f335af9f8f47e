"""Budget: a total that releases are charged to, which refuses to be overspent, and knows whom it protects.

The order of a release is charge, read and add up, draw, release. The charge is on disk before any data is read, so a
crash may lose a charge's release and can never release without a charge. A charge whose read fails stays, is counted,
and can be given back by the owner (history.py).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Collection
from contextlib import suppress
from copy import copy
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from soundsum.budget.history import CannotFollow
from soundsum.budget.limit import Limit
from soundsum.budget.query import Query
from soundsum.budget.scope import Binding, BudgetMismatch
from soundsum.numbers.quoting import printed, quote
from soundsum.privacy.cost import Cost
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.paths import expand
from soundsum.tables.relations import Relation

if TYPE_CHECKING:  # SQLite is loaded when a ledger is
    from soundsum.budget.history import Asker, Entry, Kind
    from soundsum.budget.ledger import Ledger
    from soundsum.budget.shares import Answered, Question, Share

FAILED = "the read failed"

_UNWRITTEN: dict[tuple[int, int] | None, set[int]] = {}
"""Charges, by the file of their ledger, of which this process could not note what became of them.

Each counts as a failed read. Its failure is written before anything else, as soon as the ledger can be written; until
then every Budget of this process refuses to charge.
"""


class Store(Protocol):
    """A store of charges, in memory or in a file."""

    @property
    def limit(self) -> Limit: ...

    binding: Binding | None

    @property
    def max_failures(self) -> int: ...
    def spent(self) -> Cost: ...
    def entries(self) -> list[Entry]: ...
    def failures(self) -> int: ...
    def charge(self, cost: Cost, what: Query | str, binding: Binding, question: Question | None = None) -> int: ...
    def note(self, kind: Kind, about: int | None, what: str, answer: str | None = None) -> Answered | None: ...


class Budget:
    """A limit on the total privacy loss of all releases: an epsilon, an epsilon with a delta, or a rho (zCDP).

    It lives in memory for this process, or with `path` in a file, the ledger, which processes share.
    `Budget(path=...)` opens an existing ledger.

    epsilon, delta, rho: the total. A float means the decimal it prints as: 0.1 is 1/10.
    path: the file of the ledger.
    privacy_unit: protect persons instead of records: the column of their ids.
    relation: when two tables are neighbours; by default symmetric.
    data: the name of the data; releases then need the same name=.
    max_failures: the number of failed reads that closes the budget until `reopen`; 1 by default, fixed at creation.

    A ledger is bound to unit, relation and data when it is created, a budget in memory at the latest by its first
    charge. Any other charge is refused with BudgetMismatch, because costs for different neighbours do not add up.

    >>> budget = Budget(epsilon=1)
    >>> for _ in range(10):
    ...     _ = budget.charge(Cost(epsilon=0.1), "a sum")
    >>> budget
    Budget(epsilon = 1: 10 charges, epsilon = 0 left; records, symmetric neighbours)
    """

    def __init__(
        self,
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        path: str | os.PathLike[str] | None = None,
        *,
        privacy_unit: str | None = None,
        relation: Relation | str | None = None,
        data: str | None = None,
        max_failures: int | None = None,
    ) -> None:
        self.path = None if path is None else os.path.abspath(expand(path))
        binding = Binding(privacy_unit, Relation.SYMMETRIC if relation is None else Relation.read(relation), data)
        said = None if privacy_unit is None and relation is None and data is None else binding
        if max_failures is not None and type(max_failures) is not int:
            raise RefusedValue(
                "max_failures",
                Reason.NOT_WHOLE,
                "`max_failures={given}` is not a whole number",
                "give a whole number, 1 or more",
                given=quote(max_failures),
            )
        if max_failures is not None and max_failures < 1:
            raise RefusedValue(
                "max_failures",
                Reason.TOO_SMALL,
                "`max_failures={given}` is below 1",
                "give a whole number, 1 or more",
                given=max_failures,
            )
        no_total = epsilon is None and rho is None and not delta
        limit = None if self.path is not None and no_total else Limit.of(epsilon, delta, rho)
        self._store: Store
        self._ledger: Ledger | None = None
        self._question: Question | None = None  # of the analyst who is charged
        self.given: Answered | None = None
        self._file: tuple[int, int] | None = None
        if self.path is None:
            from soundsum.budget.memory_ledger import MemoryStore

            assert limit is not None
            self._store = MemoryStore(limit, said, max_failures or 1)
        else:
            from soundsum.budget.ledger import Ledger
            from soundsum.budget.ledger_tables import Terms

            terms = None if limit is None else Terms(limit, binding, max_failures or 1)
            self._store = self._ledger = Ledger(self.path, terms, said, max_failures)
            file = os.stat(self.path)
            self._file = file.st_dev, file.st_ino

    def bind(self, binding: Binding) -> None:
        """Bind a budget in memory; refuse if it is already bound to something else."""
        if self._store.binding not in (None, binding):
            raise BudgetMismatch(
                "budget",
                Reason.MISMATCH,
                "the budget is bound already: it is for {ours}, and not for {theirs}",
                "make a second one: `ss.Budget(epsilon=...{options})`",
                ours=str(self._store.binding),
                theirs=str(binding),
                options=binding.options,
            )
        self._store.binding = binding

    def charge(self, cost: Cost, what: Query | str, binding: Binding | None = None) -> int:
        """Charge a cost, before any data is read, and return the number of the charge.

        `what` is a note of your own, or a release's query. Raises BudgetExceeded if the cost does not fit and
        BudgetMismatch if `binding` is not the budget's, without charging anything. Without a binding, the charge
        has the budget's.
        """
        if not isinstance(cost, Cost):
            raise RefusedType(
                "cost",
                Reason.WRONG_TYPE,
                "`cost={given}` is not a cost",
                "give one such as `ss.Cost(epsilon=1)`",
                given=quote(cost),
            )
        if not isinstance(what, Query | str):
            raise RefusedType(
                "what",
                Reason.WRONG_TYPE,
                "`what={given}`:",
                "say what the charge is for, in a text",
                given=quote(what),
            )
        self._catch_up()
        return self._store.charge(cost, what, binding or self._store.binding or Binding(), self._question)

    def settle(self, number: int, answer: str | None = None) -> None:
        """Record that a charge's release goes ahead; from here on the charge can neither fail nor be refunded.

        The answer to an analyst is stored in the same transaction, and is then `given`.
        """
        self.given = self._conclude("release", number, "released", answer)

    def fail(self, number: int) -> None:
        """Record that a charge's read failed, so that nothing was released."""
        self._conclude("failure", number, FAILED)

    def withdraw(self, number: int) -> None:
        """Refund a charge whose release was refused for a public reason."""
        self._store.note("withdrawal", number, "refused, and taken back")

    def refund(self, number: int) -> None:
        """Refund a failed charge, or an analyst's that was never answered; for the owner, who knows why.

        A release that is still being made for such a charge is then refused.
        """
        self._catch_up()
        asked = None if self._ledger is None else self._ledger.asked(number)
        was_lost = asked is not None and asked.charge.state == "charged"
        self._store.note("withdrawal" if was_lost else "refund", number, "given back")

    def reopen(self) -> None:
        """Reopen a budget that failed reads have closed; for the owner."""
        self._catch_up()
        self._store.note("reopen", None, "reopened")

    # Shares of analysts

    def set_share(
        self, asker: Asker, epsilon: Any = None, delta: Any = 0, rho: Any = None, *, max_failures: int = 1
    ) -> None:
        """Give an analyst a share of this budget, in place of the one they had; what they spent of it stays spent."""
        self._require_ledger().set_share(asker, Limit.of(epsilon, delta, rho), max_failures)

    def share(self, asker: Asker) -> Share | None:
        """The share of an analyst, and what is left of it; None if they have none."""
        return self._require_ledger().share(asker)

    def on_behalf_of(self, question: Question) -> Budget:
        """This budget, charged for an analyst's question: to their share too, and once for each key."""
        self._require_ledger()
        own = copy(self)
        own._question = question
        return own

    @property
    def keeps_answers(self) -> bool:
        """Whether a release is stored as it is settled."""
        return self._question is not None

    def find_key(self, question: Question) -> int | None:
        """Find the charge that an analyst's key belongs to; None if the key is new."""
        return self._require_ledger().find_key(question)

    def find_same(self, question: Question, hidden: Collection[int] = ()) -> int | None:
        """Find an analyst's last answered charge for the same query, other than these; None if there is none."""
        return self._require_ledger().find_same(question, hidden)

    def asked(self, number: int, asker: Asker | None = None) -> Answered | None:
        """An analyst's charge, with the answer to it if one is stored; None if there is none, or none of this one's."""
        return self._require_ledger().asked(number, asker)

    def answered(self, question: Question) -> Answered | None:
        """The charge that an analyst's key belongs to, with its answer; None if the key is new."""
        return self._require_ledger().answered(question)

    def asked_by(self, asker: Asker, most: int) -> list[Entry]:
        """The last charges of an analyst on a table, from the first to the last."""
        return self._require_ledger().asked_by(asker, most)

    def _require_ledger(self) -> Ledger:
        if self._ledger is None:
            raise RefusedType("path", Reason.MISSING, "a budget in memory has no shares", "give the budget a `path`")
        return self._ledger

    def _conclude(self, kind: Kind, number: int, what: str, answer: str | None = None) -> Answered | None:
        """Note what became of a charge; if that cannot be written, its read counts as failed from now on."""
        try:
            return self._store.note(kind, number, what, answer)
        except CannotFollow:
            raise
        except BaseException:  # also Ctrl-C while it waits for the file
            if self._file is not None:
                _UNWRITTEN.setdefault(self._file, set()).add(number)
                atexit.register(self._catch_up_at_exit)  # otherwise other processes would never know
            raise

    def _catch_up(self) -> None:
        """Write down the failures that could not be written, or raise; what has been noted meanwhile is left alone."""
        unwritten = _UNWRITTEN.get(self._file, set())
        for number in sorted(unwritten):
            with suppress(CannotFollow):
                self._store.note("failure", number, FAILED)
            unwritten.discard(number)

    def _catch_up_at_exit(self) -> None:
        with suppress(Exception):
            self._catch_up()

    @property
    def epsilon(self) -> Fraction | None:
        return self._store.limit.epsilon

    @property
    def delta(self) -> Fraction:
        return self._store.limit.delta

    @property
    def rho(self) -> Fraction | None:
        return self._store.limit.rho

    @property
    def binding(self) -> Binding | None:
        """Whom it protects; None for a budget in memory before its first charge."""
        return self._store.binding

    @property
    def spent(self) -> Cost:
        """The total of all charges: an epsilon and a delta, or a rho, or the first two and the rho of later charges."""
        return self._store.spent()

    @property
    def left(self) -> Cost:
        """Return the most that one more release may cost, in each measure that can still be used."""
        return self._store.limit.left(self._store.spent())

    @property
    def is_closed(self) -> bool:
        """Whether failed reads have closed the budget, so that nothing can be charged until `reopen`."""
        return self._store.failures() + len(_UNWRITTEN.get(self._file, ())) >= self._store.max_failures

    @property
    def no_cost(self) -> Cost:
        """The cost that is recorded for a release that needs no noise."""
        return self._store.limit.nothing

    def entries(self) -> list[Entry]:
        """Every charge: when, for what, how much, and whether its read failed."""
        return self._store.entries()

    def __repr__(self) -> str:
        return self._describe(self.entries())

    def _repr_html_(self) -> str:
        from soundsum.numbers import text_tables

        entries, with_source = self.entries(), self.binding is None or self.binding.data is None
        rows = [
            (
                f"{entry.at:%Y-%m-%d %H:%M}",
                printed(entry.brief(with_source)),
                entry.cost,
                "" if entry.state == "released" else entry.state,
            )
            for entry in entries
        ]
        return text_tables.table(rows, ("when (UTC)", "what", "cost", ""), below=self._describe(entries))

    def _describe(self, entries: list[Entry]) -> str:
        at = "" if self.path is None else f" in {_shorten_path(self.path)}"
        whom = "" if self.binding is None else f"; {self.binding}"
        closed = "; closed after failed reads" if self.is_closed else ""
        charges = f"{len(entries):,} charge{'s' * (len(entries) != 1)}"
        return f"Budget({self._store.limit}: {charges}, {self.left} left{at}{whom}{closed})"


def _shorten_path(path: str) -> str:
    """The path from the folder one is in, if it is below that."""
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:  # which is gone
        return path
    return path.removeprefix(here)
