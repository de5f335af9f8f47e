"""The package asked through `release`, with noise that is known: what it lets out, and what its noise was fitted to.

This is the only place that knows the package from inside: a kind of noise is registered, as anybody can do, that adds
what it is told to add and remembers the norms it was to hide.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import soundsum as ss
from soundsum.privacy.noise import NOISES, Noise
from tests.neighbours.claims import Norms
from tests.neighbours.queries import Query, options_of
from tests.neighbours.tables import Table, hand_over


@dataclass(frozen=True)
class Told(Noise):
    """Adds the next of `told`, or `shift` where nothing is told."""

    norms: Any = None
    name = "told"
    parameter_name = "scale"
    shift = 0
    told: Iterator[int] | None = None

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        return Fraction(epsilon), Fraction(0), None

    @classmethod
    def fit(cls, norms: Any, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Told:
        return cls(Fraction(norms.l1), norms)

    def draw(self, count: int) -> list[int]:
        told = type(self).told
        return [type(self).shift for _ in range(count)] if told is None else [next(told) for _ in range(count)]

    def half_width(self, confidence: float) -> int:
        return int(self.parameter)


if "told" not in NOISES:
    NOISES.register(Told)


@dataclass
class Part:
    """A vector of integers that is let out: without its noise, and what the noise was fitted to."""

    name: str
    step: Fraction
    norms: Norms
    totals: list[int]
    released: list[int]


@dataclass
class Outcome:
    """One statistic."""

    dtype: str
    modulus: int | None
    randomised: bool
    parts: list[Part]


@dataclass
class Answer:
    """What became of a question; either an error or outcomes."""

    error: str | None = None
    failed: bool = False  # a read failed, or something was raised that is no refusal
    undelivered: bool = False  # the table could not even be made
    outcomes: list[Outcome] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    release: Any = None

    @property
    def totals(self) -> list[list[list[int]]]:
        return [[part.totals for part in outcome.parts] for outcome in self.outcomes]


def ask(query: Query, table: Table, folder: Path, shift: int = 0, told: list[int] | None = None) -> Answer:
    """The answer for a table, with noise that is always `shift`, or that is told number by number."""
    Told.shift, Told.told = shift, None if told is None else iter(told)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            data, more = hand_over(table, folder)
        except Exception as error:
            return Answer(type(error).__name__, undelivered=True)
        except BaseException as error:  # Polars panics with one that is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return Answer(type(error).__name__, undelivered=True)
        heard.clear()
        try:
            data, options = options_of(query, table, data, ss)
            released = ss.release(data, **options, **more, epsilon=1, noise="told")
        except ss.ReadFailed as error:
            return Answer(str(error), failed=True, warned=_said(heard))
        except (ValueError, TypeError, ImportError) as error:
            return Answer(f"{type(error).__name__}: {error}", warned=_said(heard))
        except Exception as error:
            return Answer(f"{type(error).__name__}: {error}", failed=True, warned=_said(heard))
        outcomes = [_read(outcome, 0 if told is not None else shift) for outcome in released]
    return Answer(outcomes=outcomes, warned=_said(heard), release=released)


def _said(heard: Any) -> list[str]:
    return [f"{one.category.__name__}: {one.message}" for one in heard]


def _read(outcome: Any, shift: int) -> Outcome:
    outcome = getattr(outcome, "counts", outcome)  # advice has them
    entries = list(outcome.values()) if isinstance(outcome, Mapping) else [outcome]
    certificate = entries[0].certificate
    parts = []
    for place, (said, noise) in enumerate(zip(certificate["released"], entries[0].facts.noises, strict=True)):
        released = [int(entry.noisy[place]) for entry in entries]
        hidden = isinstance(noise, Told)
        norms = Norms(noise.norms.l1, noise.norms.l2_squared, noise.norms.entries) if hidden else Norms(0, 0, 0)
        totals = [x - shift if hidden else x for x in released]
        parts.append(Part(said["what"], Fraction(said["step"]), norms, totals, released))
    modulus = certificate["modulus"]
    return Outcome(certificate["problem"]["dtype"], modulus, certificate["randomised"], parts)


def shift_to_equal(left: Answer, right: Answer, shift: int) -> list[int]:
    """The noise that makes the right release the numbers that the left one did, in the order in which it is drawn."""
    return [
        shift + a - b
        for one, other in zip(left.outcomes, right.outcomes, strict=True)
        for mine, theirs in zip(one.parts, other.parts, strict=True)
        if mine.norms.l1
        for a, b in zip(mine.totals, theirs.totals, strict=True)
    ]


def look_at(released: Any) -> dict[str, Any]:
    """Everything that can be seen of a release but when it was made: texts, tables, files and every attribute."""
    pickled = pickle.loads(pickle.dumps(released))
    seen = {name: list(_walk([list(one), one.names], ())) for name, one in (("inside", released), ("pickle", pickled))}
    plain = json.loads(json.dumps(released.to_dict()))
    for one in plain["releases"]:
        del one["at"]
    singles = [x for one in released for x in ([one, next(iter(one.values()))] if isinstance(one, Mapping) else [one])]
    attributes = [
        [f"{name} {getattr(one, name, None)!r}" for name in dir(one) if _is_plain(one, name)] for one in singles
    ]
    texts = {"repr": repr(released), "html": released._repr_html_(), "table": repr(released.to_arrow().to_pydict())}
    return {**seen, "json": plain, **texts, "attributes": attributes}


def _is_plain(one: Any, name: str) -> bool:
    """Whether it is a public attribute that does not say when; `_walk` looks into those that do."""
    return not (name.startswith("_") or name in ("origin", "facts") or callable(getattr(one, name, None)))


def _walk(thing: Any, around: tuple[int, ...]) -> Iterator[str]:
    """All that can be reached from an object, in a fixed order, but times of the attribute `at`.

    What a cached property remembers follows from the rest, and whether it does from who looked before.
    """
    yield type(thing).__name__
    if isinstance(thing, type) or callable(thing) or id(thing) in around:
        return
    inside = (*around, id(thing))
    if type(thing) is dict:
        for key, value in thing.items():
            yield repr(key)
            if key != "at":
                yield from _walk(value, inside)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from _walk(value, inside)
    elif own := getattr(thing, "__dict__", None):
        kind = type(thing)
        yield from _walk(
            {name: x for name, x in own.items() if not isinstance(getattr(kind, name, None), cached_property)}, inside
        )
    else:
        yield repr(thing)
