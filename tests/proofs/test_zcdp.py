"""The conversion of zCDP to (epsilon, delta) is what Coq proves, for the alpha that the code's floats guess."""

import random
from fractions import Fraction

from soundsum.privacy import zcdp

from .oracle import ask, words


def some_fraction(rng, most=60):
    return Fraction(rng.randint(1, 1 << rng.randint(1, most)), rng.randint(1, 1 << rng.randint(1, most)))


def test_logarithms_are_enclosed_as_is_proved():
    rng = random.Random("logarithms")
    cases = [
        Fraction(1),
        Fraction(2),
        Fraction(1, 2),
        1 - Fraction(1, 2**70),
        Fraction(2**200 - 1),
        Fraction(1, 10**300),
    ]
    cases += [some_fraction(rng) for _ in range(100)]
    for x, answer in zip(cases, ask(words("log", x) for x in cases), strict=True):
        assert zcdp.log_bounds(x) == tuple(map(Fraction, answer.split())), x


def guessed_by(monkeypatch, convert, cases):
    """What the code finds, and the alpha that its floats guess each time."""
    guessed, guess = [], zcdp._guess
    monkeypatch.setattr(zcdp, "_guess", lambda f, start: guessed.append(guess(f, start)) or guessed[-1])
    return [convert.__wrapped__(*case) for case in cases], guessed


def some_delta(rng):
    return Fraction(1, 10 ** rng.randint(1, 12)) * rng.randint(1, 9)


def test_a_rho_is_what_its_epsilon_and_delta_imply(monkeypatch):
    """Where epsilon is too small for a good alpha, Bun and Steinke's formula stands in."""
    rng = random.Random("rho")
    cases = [(some_fraction(rng, 8), some_delta(rng)) for _ in range(60)]
    cases += [(Fraction(1, 10 ** rng.randint(20, 300)), Fraction(1, 10 ** rng.randint(30, 60))) for _ in range(10)]
    found, guessed = guessed_by(monkeypatch, zcdp.zcdp_rho, cases)
    lines = [words("rho", alpha, *case) for alpha, case in zip(guessed, cases, strict=True)]
    ways = []
    for case, rho, answer in zip(cases, found, ask(lines), strict=True):
        defined, by_alpha = map(Fraction, answer.split())
        assert rho == defined > 0, case
        ways.append(by_alpha > 0)
    assert ways.count(True) > 30
    assert ways.count(False) >= 10


def test_an_epsilon_is_what_its_rho_and_delta_imply(monkeypatch):
    rng = random.Random("epsilon")
    cases = [(some_fraction(rng, 8) * Fraction(1, 10 ** rng.randint(0, 9)), some_delta(rng)) for _ in range(60)]
    found, guessed = guessed_by(monkeypatch, zcdp.zcdp_epsilon, cases)
    lines = [words("epsilon", alpha, *case) for alpha, case in zip(guessed, cases, strict=True)]
    assert found == list(map(Fraction, ask(lines)))
