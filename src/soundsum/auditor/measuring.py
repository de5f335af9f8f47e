"""The deterministic tier: the distance of the target's own noiseless sums of two neighbours, against its claim.

|sum(left) - sum(right)| in rationals (modulo the modulus, where sums wrap on purpose), against the sensitivity used
times the distance, without tolerance. An excess of less than 1% of the sensitivity is a note, not an error.

`confirm` repeats the sums in three fresh processes, with one thread and with two. Small datasets are summed many times
in each if that is quick, since a random sum may agree three times by chance. If any sum of a target varies, nothing
about that target is certified. A target may bring its own way (`fresh`). Importable functions run in `python -m
soundsum.auditor.measuring`, which reads a function and its arguments from stdin and writes the sums to stdout. A
function that cannot be sent to another process (a lambda, a closure) is repeated in this one, and the finding says so.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from soundsum.attacks import Attack
from soundsum.attacks.attack import difference
from soundsum.auditor.calling import Answer, Failure, Unsupported, as_number, ask, call, failure
from soundsum.auditor.limits import Limits, Stopwatch
from soundsum.auditor.process import with_threads
from soundsum.auditor.target import Target
from soundsum.auditor.target_attacks import WALKS, own_step, times_asked
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


THREADS = (1, 2, 1)
"""The threads of each fresh process."""

SECONDS = 300.0

TIMES, SMALL, SHARE = 20, 1 << 12, 2.0
"""Repetitions in each process, for datasets of at most this many records, within this many seconds."""

IN_FRESH = "the same in 3 fresh processes, with 1 and 2 threads"
IN_THIS = "the same each time in this process; the function cannot be imported by another one"


def confirm(target: Target, seen: Sequence[Measurement]) -> list[tuple[bool, str]]:
    """For each measurement, whether all sums came out the same each time, and how that was tested."""
    asked, expected = [], []
    for one in seen:
        often = max(1, min(TIMES, int(SHARE / max(one.seconds, 1e-6))))
        for side, answer in zip((one.attack.left, one.attack.right), one.answers, strict=True):
            times = often if side.size <= SMALL else 1
            asked += [(side, target.parameters(one.attack.problem, side.size), one.attack)] * times
            expected += [answer] * times
    how, same = IN_FRESH, True
    for threads in THREADS:
        again = ask(target.refuses, partial(_again, target, [(side, given) for side, given, _ in asked], threads))
        if isinstance(again, Failure):
            return [(False, f"it could not be run in a fresh process: {again.text}")] * len(seen)
        if again is None:
            how = IN_THIS
            again = [sum_of(target, side, made) for side, _, made in asked]
        same = same and all(map(_same, again, expected))
    return [(True, how) if same else (False, "a noiseless sum differs from one time to the next")] * len(seen)


def _again(target: Target, asked: Sequence[tuple[Runs, Mapping[str, Any]]], threads: int) -> list[Any] | None:
    """The sums in a fresh process; None if the function cannot get there."""
    if target.fresh is not None:
        return [x if isinstance(x, Failure) else as_number(x, target.name) for x in target.fresh(asked, threads)]
    try:
        parcel = pickle.dumps(sys.path) + pickle.dumps((target.noiseless, target.accepts_runs, list(asked)))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    if b"__main__" in parcel:
        return None
    ran = subprocess.run(
        [sys.executable, "-m", "soundsum.auditor.measuring"],
        input=parcel,
        capture_output=True,
        timeout=SECONDS,
        env=with_threads(threads),
    )
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        raise Unsupported(said[-1] if said else f"it ended with exit code {ran.returncode}")
    found: list[Any] = pickle.loads(ran.stdout)
    return [x if isinstance(x, Failure) else as_number(x, target.name) for x in found]


def _same(one: Value | Failure, other: Value | Failure) -> bool:
    if isinstance(one, Failure) or isinstance(other, Failure):
        return isinstance(one, Failure) and isinstance(other, Failure)
    return one == other or (one != one and other != other)


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not get among the sums
    sys.path[:] = pickle.load(sys.stdin.buffer)  # first: the function may lie anywhere on it
    noiseless, accepts_runs, asked = pickle.load(sys.stdin.buffer)
    sums: list[Any] = []
    for records, parameters in asked:
        try:
            data = records if accepts_runs or records.type.dtype is None else np.asarray(records)
            sums.append(call(noiseless, parameters, data))
        except (Exception, SystemExit) as error:
            sums.append(failure(error))
    with answers:
        pickle.dump(sums, answers)


if __name__ == "__main__":
    main()
