"""Budget: a total that releases are charged to, which refuses to be overspent.

The order of a release is reserve, sum, charge, draw, release. A reservation only finds out early what cannot be paid;
the charge alone counts, and it is on disk before any noise is drawn. A crash may lose a charge's release and can never
release without a charge.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from soundsum.budget.limit import Limit
from soundsum.privacy.cost import Cost

if TYPE_CHECKING:
    from soundsum.budget.ledger import Entry


T = TypeVar("T")


class Store(Protocol):
    """Where charges are written down."""

    @property
    def limit(self) -> Limit: ...
    def spent(self) -> Cost: ...
    def entries(self) -> list[Entry]: ...
    def charge(self, cost: Cost, what: str) -> None: ...


class Charge:
    """A release on its way: nothing is charged until `commit`, after which its noise may be drawn."""

    def __init__(self, store: Store, cost: Cost, what: str) -> None:
        self.cost, self.what = cost, what
        self._store: Store | None = store

    def commit(self) -> None:
        """Charge the cost for good, once. Raises BudgetExceeded if others have spent what was left."""
        if self._store is None:
            raise RuntimeError(f"{self.what}: a charge is committed once, inside its `with` block; reserve another")
        store, self._store = self._store, None
        store.charge(self.cost, self.what)


def charged(budget: Budget | None, cost: Cost, what: str, add_up: Callable[[], T]) -> T:
    """What add_up gives, with the budget charged in between: reserved before, charged after, drawn by the caller."""
    if budget is None:
        return add_up()
    with budget.reserve(cost, what) as charge:
        result = add_up()
        charge.commit()
    return result


class Budget:
    """The most that may ever be let out: an epsilon, an epsilon with a delta, or a rho (zCDP).

    In memory for this process, or with `path` in a file that any number of processes share and that outlives them.
    `Budget(path=...)` goes on with a ledger there is.

    >>> budget = Budget(epsilon=1)
    >>> for _ in range(10):
    ...     with budget.reserve(Cost(epsilon="0.1"), "a sum") as charge:
    ...         charge.commit()
    >>> budget
    Budget(epsilon = 1: 10 releases, epsilon = 0 left)
    """

    def __init__(
        self,
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        from soundsum.budget.ledger import Ledger, MemoryStore

        self.path = None if path is None else os.path.abspath(path)
        self._store: Store
        if self.path is not None and epsilon is None and rho is None and not delta:
            self._store = Ledger(self.path, None)
        else:
            limit = Limit.of(epsilon, delta, rho)
            self._store = MemoryStore(limit) if self.path is None else Ledger(self.path, limit)

    @contextmanager
    def reserve(self, cost: Cost, what: str) -> Iterator[Charge]:
        """The start of a release: raises BudgetExceeded if it cannot be paid now; charges only on `charge.commit()`."""
        self._store.limit.after(self._store.spent(), cost, what)
        charge = Charge(self._store, cost, what)
        try:
            yield charge
        finally:
            charge._store = None

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
    def spent(self) -> Cost:
        """All charges together: an epsilon and a delta, or a rho, or the first two and the rho of what came after."""
        return self._store.spent()

    @property
    def left(self) -> Cost:
        """What one more release may cost, in each measure that can still be used."""
        return self._store.limit.left(self._store.spent())

    def entries(self) -> list[Entry]:
        """Every charge: when, for what, how much."""
        return self._store.entries()

    def __repr__(self) -> str:
        return self._describe(self.entries())

    def _repr_html_(self) -> str:
        from html import escape

        entries = self.entries()
        rows = "".join(
            f"<tr><td>{entry.at:%Y-%m-%d %H:%M:%S}</td><td>{escape(entry.what)}</td><td>{entry.cost}</td></tr>"
            for entry in entries
        )
        head = "<tr><th>when (UTC)</th><th>what</th><th>cost</th></tr>"
        return f"<p>{escape(self._describe(entries))}</p><table>{head}{rows}</table>"

    def _describe(self, entries: list[Entry]) -> str:
        at = "" if self.path is None else f" in {self.path}"
        releases = f"{len(entries):,} release{'s' * (len(entries) != 1)}"
        return f"Budget({self._store.limit}: {releases}, {self.left} left{at})"
