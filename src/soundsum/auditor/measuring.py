"""The deterministic tier: the distance of the target's own noiseless sums of two neighbours, against its claim.

|sum(left) - sum(right)| in rationals (modulo the modulus, where sums wrap on purpose), against the sensitivity used
times the distance, without tolerance. An excess of less than 1% of the sensitivity is a note, not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from soundsum.attacks import Attack
from soundsum.attacks.attack import difference
from soundsum.auditor.calling import Answer, Failure, ask
from soundsum.auditor.choosing import WALKS, own_step, times_asked
from soundsum.auditor.limits import Limits, Stopwatch
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import Value, is_special
from soundsum.tables.runs import Runs

SLIGHT = Fraction(1, 100)
"""An excess over the claim of less than this fraction is a note, not an error."""

CLEAR = 8
"""This multiple of the claim is clear enough: larger attacks of that family are not tried."""

TELLING = 2
"""The smallest dataset that moves a sum by this multiple of the claim is reported."""

REPEATS = 5
"""An error must occur this many times on one side, and never on the other."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Measurement:
    """One attack on one target: the claim, and the sums of left and right."""

    attack: Attack
    claimed: Fraction | None
    answers: tuple[Answer, Answer]
    modulus: int | None = None
    seconds: float = 0.0  # what the two sums took

    @property
    def sums(self) -> tuple[Value, Value] | None:
        left, right = self.answers
        return None if isinstance(left, Failure) or isinstance(right, Failure) else (left, right)

    @property
    def failures(self) -> tuple[Failure, ...]:
        return tuple(answer for answer in self.answers if isinstance(answer, Failure))

    @property
    def moved(self) -> Fraction | float | None:
        """|left - right|, the shorter way around where sums wrap; NaN or infinite if one of them is."""
        if self.sums is None:
            return None
        moved = difference(*self.sums)
        if self.modulus is None or is_special(moved):
            return moved
        around = Fraction(moved) % self.modulus
        return min(around, self.modulus - around)

    @property
    def over(self) -> Fraction | float | None:
        """The excess over the claim; negative within it."""
        if self.moved is None or self.claimed is None or is_special(self.moved):
            return None if self.claimed is None or self.moved is None else float("inf")
        return Fraction(self.moved) - self.claimed * max(1, int(self.attack.distance))  # 0 is within 1

    @property
    def violates(self) -> bool:
        return self.over is not None and (self.over > self.claimed * SLIGHT if self.claimed else self.over > 0)

    @property
    def slightly(self) -> bool:
        """Over the claim, but by a negligible amount."""
        return self.over is not None and self.over > 0 and not self.violates

    @property
    def one_sided(self) -> bool:
        """Whether just one neighbour ended in an error."""
        return len(self.failures) == 1 and self.failures[0].kind != "unsupported"

    @property
    def strength(self) -> Fraction | float:
        """The ratio to the claim, or, without one, to the ideal."""
        scale = self.claimed or self.attack.ideal
        if self.moved is None:
            return -1
        return float("inf") if is_special(self.moved) or not scale else Fraction(self.moved) / scale


def measure(target: Target, made: Attack) -> Measurement:
    """Ask the target for both sums, and for its claim."""
    problem, size = made.problem, made.right.size
    if made.name in WALKS:
        walked = ask(target.refuses, lambda: own_step(target, made))
        if isinstance(walked, Failure):
            return Measurement(made, None, (walked, walked))
        made = walked
    claimed = ask(target.refuses, lambda: target.claim(problem, size))
    if isinstance(claimed, Failure):
        return Measurement(made, None, (claimed, claimed))
    watch = Stopwatch()
    left, right = (sum_of(target, side, made) for side in (made.left, made.right))
    return Measurement(made, claimed, (left, right), target.modulus, watch.elapsed)


def sum_of(target: Target, side: Runs, made: Attack) -> Answer:
    answer: Answer = ask(target.refuses, lambda: target.sum_of(side, made.problem))
    return answer


def most_telling(seen: list[Measurement]) -> Measurement:
    """The smallest pair that moves the sum clearly too far; without one, the pair that moves it most."""
    clear = [one for one in seen if one.strength >= TELLING]
    return min(clear, key=lambda one: one.attack.records) if clear else max(seen, key=lambda one: one.strength)


def always_one_sided(target: Target, seen: Measurement) -> bool:
    """Whether the error comes every time on that side, and never on the other."""
    for _ in range(REPEATS - 1):
        again = measure(target, seen.attack) if seen.attack.name not in WALKS else seen
        if [isinstance(a, Failure) for a in again.answers] != [isinstance(a, Failure) for a in seen.answers]:
            return False
    return True


def measure_all(
    target: Target, attacks: Iterable[Attack], limits: Limits, progress: Progress = lambda text: None
) -> Iterator[Measurement]:
    """Every attack, cheapest first; a family is done once one of its attacks is a clear violation."""
    done: set[str] = set()
    first = True
    for made in attacks:
        if first:
            limits.restart()  # finding the attacks is not the target's time
        if made.name in done or not limits.allow(made, times_asked(made), bool(target.streams)):
            continue
        progress(f"{made.name}, {made.records:,} records")
        watch = Stopwatch()
        seen = measure(target, made)
        if first:
            limits.restart()
        first = False
        limits.took(int(made.records * times_asked(made)), watch.elapsed)
        if seen.violates and seen.strength >= CLEAR and made.name != "special_values":  # whose forms are apart
            done.add(made.name)
        yield seen
