"""The limit of a budget, and when one more release stays within it.

Costs are chosen by people who have seen earlier releases, so a limit must hold for every such choice: it must be a
privacy filter. Epsilons and deltas that add up to fixed totals are one, and so are rhos (docs/theorems/noise.md).
Under an epsilon with a delta, the first release that has a rho alone takes all that is left as one block: from there on
every release counts by its rho, against the rho that implies what was left.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.privacy.cost import LONGEST, Cost, exact_text, is_long, parse_amount
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason, RefusedValue


class BudgetExceeded(RefusedValue):
    """A release costs more than is left; nothing was charged. `asked` and `left` are Costs."""

    @property
    def asked(self) -> Cost:
        return self._read_cost("asked")

    @property
    def left(self) -> Cost:
        return self._read_cost("left")

    def _read_cost(self, role: str) -> Cost:
        names = ("epsilon", "delta", "rho")
        return Cost(**{name: self.facts[f"{role}_{name}"] for name in names if f"{role}_{name}" in self.facts})


def write_costs(asked: Cost, left: Cost) -> dict[str, str]:
    """The facts, exact, from which BudgetExceeded reads its two costs."""
    roles = {"asked": asked.to_json(), "left": left.to_json()}
    return {f"{role}_{name}": x for role, cost in roles.items() for name, x in cost.items() if x is not None}


@dataclass(frozen=True)
class Limit:
    """The most that all releases together may cost: they are (epsilon, delta)-DP, or rho-zCDP."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    @classmethod
    def of(cls, epsilon: Any, delta: Any, rho: Any) -> Limit:
        """The limit a person writes down, checked."""
        if epsilon is not None and rho is not None:
            raise RefusedValue(
                "rho",
                Reason.CONFLICT,
                "`epsilon={epsilon}` and `rho={rho}` are both given, and a budget counts in one of them",
                "give `epsilon`, with or without a `delta`, or `rho` alone",
                epsilon=quote(epsilon),
                rho=quote(rho),
            )
        if epsilon is None and rho is None:
            raise RefusedValue(
                "epsilon",
                Reason.MISSING,
                "a budget is an epsilon, with or without a delta, or a rho",
                "give `epsilon` or `rho`",
            )
        limit = cls(_total("epsilon", epsilon), _total("delta", delta) or Fraction(0), _total("rho", rho))
        if limit.epsilon == 0 or limit.rho == 0:
            raise RefusedValue(
                "epsilon" if rho is None else "rho",
                Reason.TOO_SMALL,
                "`{option}={given}`: a budget is above 0",
                "give one such as 1 or 1/3",
                given=quote(epsilon if rho is None else rho),
            )
        if limit.delta and rho is not None:
            raise RefusedValue(
                "delta", Reason.CONFLICT, "a rho needs no delta", "leave `delta` out, or give `epsilon` and `delta`"
            )
        if limit.delta >= 1:
            raise RefusedValue(
                "delta",
                Reason.TOO_LARGE,
                "`delta={given}`: a delta is below 1",
                "give one far below 1/(number of persons), such as 1e-6",
                given=quote(delta),
            )
        return limit

    @cached_property
    def nothing(self) -> Cost:
        """The amount spent at the start."""
        return Cost(epsilon=0) if self.rho is None else Cost(rho=0)

    def plus(self, spent: Cost, cost: Cost) -> Cost:
        """Add one release to what is spent: epsilon and delta and, once one was charged by its rho, the rho since."""
        if self._by_rho(spent, cost):
            return Cost(spent.epsilon, spent.delta, (spent.rho or 0) + (cost.zcdp or 0))
        return Cost((spent.epsilon or 0) + (cost.epsilon or 0), spent.delta + cost.delta)

    def minus(self, spent: Cost, cost: Cost, by_rho: bool) -> Cost:
        """Take a charge back for which nothing was released; `by_rho` is how that was counted.

        Charges after it stay counted as they were: a block of releases counted by rho holds whether or not its first
        released anything. A block of which nothing is left is dissolved.
        """
        if not by_rho:
            return Cost((spent.epsilon or 0) - (cost.epsilon or 0), spent.delta - cost.delta, spent.rho)
        rho = (spent.rho or 0) - (cost.zcdp or 0)
        return Cost(spent.epsilon, spent.delta, None if self.rho is None and not rho else rho)

    def after(self, spent: Cost, cost: Cost, what: object) -> Cost:
        """`plus`, if that stays within the limit; otherwise raises."""
        self._require_countable(cost, self._by_rho(spent, cost), what)
        total = self.plus(spent, cost)
        if total.rho is not None:
            limits = {"epsilon" if cost.rho is None else "rho": (total.rho, self._rho_limit(spent))}
        else:
            assert total.epsilon is not None
            assert self.epsilon is not None
            limits = {"epsilon": (total.epsilon, self.epsilon), "delta": (total.delta, self.delta)}
        for option, (reached, limit) in limits.items():
            if reached > limit:
                raise self._exceeded(option, spent, cost, what, reached - limit, limit)
        return total

    def left(self, spent: Cost) -> Cost:
        """Return the most that one more release may cost, in each measure that can be used."""
        limit = self._rho_limit(spent)
        rho = max(limit - (spent.rho or 0), Fraction(0)) if limit else None
        if self.epsilon is None or spent.rho is not None:
            return Cost(rho=rho or 0)
        epsilon, delta = self.epsilon - (spent.epsilon or 0), self.delta - spent.delta
        nothing = Fraction(0)  # is left of a share that was lowered below what was spent of it
        return Cost(max(epsilon, nothing), max(delta, nothing), rho)

    def to_json(self) -> dict[str, str | None]:
        """Exact numbers as strings."""
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta), "rho": exact_text(self.rho)}

    def __str__(self) -> str:
        return str(Cost(self.epsilon, self.delta, self.rho))

    def _by_rho(self, spent: Cost, cost: Cost) -> bool:
        return self.rho is not None or spent.rho is not None or (cost.epsilon is None and cost.rho != 0)

    def _rho_limit(self, spent: Cost) -> Fraction:
        """The limit on the sum of rhos: as given, or as the epsilon and delta left at the first rho imply."""
        if self.rho is not None:
            return self.rho
        assert self.epsilon is not None
        epsilon, delta = self.epsilon - (spent.epsilon or 0), self.delta - spent.delta
        return zcdp_rho(epsilon, delta) if epsilon > 0 and delta > 0 else Fraction(0)

    def _require_countable(self, cost: Cost, by_rho: bool, what: object) -> None:
        """Refuse a cost that has no place in this budget, whatever is left."""
        if by_rho and (cost.zcdp is None or cost.delta):  # a rho has no room for a delta
            raise RefusedValue(
                "delta",
                Reason.MISMATCH,
                "{cost} has a delta, which cannot be counted in rho as this budget is; nothing was charged:",
                "charge a rho alone, or use a budget with `epsilon` and `delta` (the release was: {release})",
                cost=str(cost),
                release=str(what),
            )
        if self.rho is None and not self.delta and cost.epsilon is None:
            raise RefusedValue(
                "rho",
                Reason.MISMATCH,
                "{cost} has no epsilon, and the budget is an epsilon alone; nothing was charged:",
                "use Laplace noise, or a budget with `rho` (the release was: {release})",
                cost=str(cost),
                release=str(what),
            )
        if self.rho is None and not self.delta and cost.delta:
            raise RefusedValue(
                "delta",
                Reason.MISMATCH,
                "{cost}, but the budget promises delta = 0; nothing was charged:",
                "use Laplace noise, or a budget with `delta` (the release was: {release})",
                cost=str(cost),
                release=str(what),
            )

    def _exceeded(
        self, option: str, spent: Cost, cost: Cost, what: object, over: Fraction, limit: Fraction
    ) -> BudgetExceeded:
        left = self.left(spent)
        converted = left.epsilon is None and cost.rho is None
        facts = {
            **write_costs(cost, left),
            "asked": f"{cost} (rho = {formatting.amount(cost.zcdp or Fraction(0))})" if converted else str(cost),
            "left": str(left),
            "limit": str(self),
            "closely": f", over by {formatting.amount(over)}" if over * 10**6 < limit else "",
            "release": str(what),
        }
        if left.epsilon or left.rho:
            return BudgetExceeded(
                option,
                Reason.EXCEEDED,
                "the budget is exceeded: asked for {asked}, but {left} is left of {limit}{closely}; "
                "nothing was charged:",
                "ask for less (the release was: {release})",
                **facts,
            )
        return BudgetExceeded(
            option,
            Reason.EXCEEDED,
            "the budget is exceeded: asked for {asked}, but {left} is left of {limit}{closely}; nothing was charged:",
            "no other release fits it (the release was: {release})",
            **facts,
        )


def _total(name: str, value: Any) -> Fraction | None:
    x = None if value is None else parse_amount(name, value)
    if x is not None and is_long(x):
        raise RefusedValue(
            name,
            Reason.TOO_MANY,
            "`{option}` has more than {most:,} bits",
            "give a budget of reasonable length, such as 1 or 1/3",
            most=LONGEST,
        )
    return x
