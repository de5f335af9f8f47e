"""One function gives all randomness, and nothing can be seeded."""

import ast
import inspect
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np

import soundsum as ss
from soundsum import randomness
from soundsum.privacy import samplers

from .streams import replay

APART = {"attacks", "auditor", "budget", "cli", "conformance", "paper"}
"""Rooms that draw no noise: they may name a charge or make up data with other generators."""


def test_only_one_function_asks_the_operating_system():
    """`os.urandom` is named in one place, and no other generator in any room on the way to a release."""
    asking, others = [], []
    for path in sorted(Path(ss.__file__).parent.rglob("*.py")):
        room = path.relative_to(Path(ss.__file__).parent).parts[0]
        for node in ast.walk(ast.parse(path.read_text())):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            names |= {node.module} if isinstance(node, ast.ImportFrom) else set()
            names |= {node.attr} if isinstance(node, ast.Attribute) else set()
            asking += [room] if names & {"urandom", "getrandom"} else []
            others += [room] if names & {"random", "secrets", "numpy.random"} and room not in APART else []
    assert (asking, others) == (["randomness.py"], [])


def test_every_draw_goes_through_it(monkeypatch):
    for draw in (
        lambda: samplers.discrete_laplace(Fraction(10**6)),
        lambda: samplers.discrete_gaussian(Fraction(10**12)),
        lambda: samplers.discrete_laplace_many(Fraction(10**6), 20).tolist(),
        lambda: samplers.discrete_gaussian_many(Fraction(10**12), 20).tolist(),
        lambda: randomness.random_permutation(20).tolist(),
    ):
        recorded = np.random.default_rng(1).bytes(5000)
        replay(monkeypatch, recorded)
        first = draw()
        replay(monkeypatch, recorded)
        assert draw() == first
        monkeypatch.undo()
        assert draw() != first


def test_nothing_public_can_be_seeded():
    functions = [getattr(ss, name) for name in ss.__all__ if callable(getattr(ss, name))]
    functions += [function for name, function in inspect.getmembers(samplers, inspect.isfunction) if name[0] != "_"]
    functions.remove(samplers.bernoulli_exp)  # a step of the reference
    functions = [one for one in functions if not (isinstance(one, type) and issubclass(one, Exception))]
    for function in functions:
        names = set(inspect.signature(function).parameters)
        assert not names & {"seed", "rng", "random_state", "generator", "stream", "bytes"}, function


def test_seeding_other_generators_changes_nothing():
    draws = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        draws.append(samplers.discrete_laplace_many(Fraction(10**9), 10).tolist())
    assert draws[0] != draws[1]


def test_a_permutation_is_uniform(same_draws):
    counts = Counter(tuple(randomness.random_permutation(4).tolist()) for _ in range(24_000))
    assert len(counts) == 24
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 23 + 2 * math.sqrt(23 * 18) + 2 * 18  # once in 10^7


def test_equal_words_are_drawn_again(monkeypatch):
    batches = iter([[5, 5, 1], [9, 2, 4]])
    monkeypatch.setattr(randomness, "random_words", lambda n: np.array(next(batches), dtype=np.uint64))
    assert randomness.random_permutation(3).tolist() == [1, 2, 0]
