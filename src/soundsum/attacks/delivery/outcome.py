"""The outcome of delivering an attack: the queries, the secrets, and those that an ordinary and our sum gave away.

The ordinary mechanism is naive only in its sum: its noise is exact and scaled to the ideal sensitivity, so every leak
comes from the arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from soundsum.methods.problem import Problem
from soundsum.numbers.event_counts import log_at_least
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special
from soundsum.privacy.samplers import discrete_gaussian, discrete_laplace
from soundsum.randomness import random_bytes
from soundsum.refusals import INSTALL, Reason, RefusedValue
from soundsum.releases.api import sum as private_sum

FINENESS = 1 << 20
"""The ordinary mechanism's noise has steps of the ideal sensitivity divided by this."""


@dataclass(frozen=True)
class Delivery:
    """An attack as it would be carried out, several times, each against another secret."""

    name: str
    story: str
    query: str
    promised: str
    secrets: tuple[int, ...]
    recovered: tuple[int, ...]  # from the ordinary sum
    recovered_from_ours: tuple[int, ...]
    chance: Fraction  # how often a guess without any output is right
    allowed: float  # how often any attacker may be right under the promise

    @property
    def targets(self) -> int:
        """The number of secrets that were attacked."""
        return len(self.secrets)

    @property
    def accuracy(self) -> Fraction:
        """The share of secrets that the ordinary sum gave away."""
        return _share(self.secrets, self.recovered)

    @property
    def our_accuracy(self) -> Fraction:
        return _share(self.secrets, self.recovered_from_ours)

    def probability(self, accuracy: Fraction) -> float:
        """The largest probability of finding this many secrets or more from a mechanism that keeps its promise."""
        return math.exp(log_at_least(self.targets, int(accuracy * self.targets), self.allowed))

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "query": self.query,
            "promised": self.promised,
            "secrets": list(self.secrets),
            "recovered": list(self.recovered),
            "recovered_from_ours": list(self.recovered_from_ours),
            "accuracy": float(self.accuracy),
            "our_accuracy": float(self.our_accuracy),
            "probability": self.probability(self.accuracy),
            "our_probability": self.probability(self.our_accuracy),
            "chance": float(self.chance),
            "allowed": self.allowed,
        }


def of_bits(
    name: str, story: str, query: str, epsilon: Fraction, secrets: list[int], found: list[int], from_ours: list[int]
) -> Delivery:
    """A delivery against secret bits, an even chance each, by one query of this epsilon for each."""
    return Delivery(
        name=name,
        story=story,
        query=query,
        promised=f"epsilon = {epsilon} a query",
        secrets=tuple(secrets),
        recovered=tuple(found),
        recovered_from_ours=tuple(from_ours),
        chance=Fraction(1, 2),
        allowed=_allowed_accuracy(epsilon),
    )


def _share(secrets: tuple[int, ...], guesses: tuple[int, ...]) -> Fraction:
    return Fraction(sum(a == b for a, b in zip(secrets, guesses, strict=True)), len(secrets))


def secret_bits(count: int) -> list[int]:
    return [byte & 1 for byte in random_bytes(count)]


def ordinary_release(total: Any, ideal: Fraction, epsilon: Fraction) -> Fraction:
    """Somebody's sum plus exact Laplace noise for the ideal sensitivity."""
    return Fraction(exact(total)) + discrete_laplace(FINENESS / epsilon) * ideal / FINENESS


def ordinary_gaussian(total: Any, ideal: Fraction, multiplier: Fraction) -> Fraction:
    """An ordinary sum plus exact Gaussian noise of this many times the ideal sensitivity."""
    return Fraction(exact(total)) + discrete_gaussian((multiplier * FINENESS) ** 2) * ideal / FINENESS


def our_release(data: Any, problem: Problem, epsilon: Fraction) -> Fraction:
    """A release under that promise, kept by `soundsum.sum`."""
    return Fraction(
        private_sum(data, problem.lower, problem.upper, epsilon, relation=problem.relation, dtype=problem.dtype).exact
    )


def _allowed_accuracy(epsilon: Fraction) -> float:
    """No attacker is right about an even secret bit more often than e^epsilon / (1 + e^epsilon)."""
    return 1 / (1 + math.exp(-epsilon))


def require_positive(name: str, value: Any) -> Fraction:
    number = exact(value, name)
    if is_special(number) or number <= 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is not a finite number above 0",
            "give one such as 1/4",
            given=quote(value),
        )
    return Fraction(number)


def require_at_least_one(name: str, value: int, most: int) -> int:
    if not isinstance(value, int):
        raise RefusedValue(
            name,
            Reason.NOT_WHOLE,
            "`{option}={given}` is not a whole number",
            "give one from 1 to {most:,}",
            given=quote(value),
            most=most,
        )
    if value < 1:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is less than 1",
            "give a whole number from 1 to {most:,}",
            given=quote(value),
            most=most,
        )
    if value > most:
        raise RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}` is more than there are",
            "give a whole number from 1 to {most:,}",
            given=quote(value),
            most=most,
        )
    return value


def open_database() -> Any:
    """Opens DuckDB with one thread: rows are added in the order of the table, as an analyst may expect."""
    if find_spec("duckdb") is None:
        raise RefusedValue(
            None,
            Reason.MISSING,
            "this delivery asks DuckDB, which is not installed",
            INSTALL,
            extra="duckdb",
        )
    import duckdb

    database = duckdb.connect()
    database.execute("SET threads = 1")
    return database


def make_table(name: str, columns: dict[str, Any]) -> Any:
    """Makes a database with one table of these columns, in this order."""
    import pyarrow as pa

    database = open_database()
    database.register("columns", pa.table(columns))
    database.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
    return database
