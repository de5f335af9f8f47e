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


def test_a_rho_is_what_its_epsilon_and_delta_imply(monkeypatch):
    """Rounded down; where it is not above 0, the code takes another formula, which is tested elsewhere."""
    rng, guessed, guess = random.Random("rho"), [], zcdp._guess
    monkeypatch.setattr(zcdp, "_guess", lambda f, start: guessed.append(guess(f, start)) or guessed[-1])
    cases = [(some_fraction(rng, 8), Fraction(1, 10 ** rng.randint(1, 12)) * rng.randint(1, 9)) for _ in range(60)]
    found = [zcdp.zcdp_rho.__wrapped__(epsilon, delta) for epsilon, delta in cases]
    lines = [words("rho", alpha, *case) for alpha, case in zip(guessed, cases, strict=True)]
    positive = 0
    for case, rho, answer in zip(cases, found, ask(lines), strict=True):
        if (defined := Fraction(answer)) > 0:
            assert rho == zcdp._round(defined, up=False), case
            assert rho <= defined
            positive += 1
    assert positive > 30
