"""Random bytes that a test decides about: recorded ones, all of them at once, and the most awkward ones."""

import io
import math
from fractions import Fraction
from itertools import count

from soundsum import randomness
from soundsum.privacy import samplers


class Exhausted(Exception):
    """A recorded stream has no more bytes."""


def replay(monkeypatch, data):
    """From now on the operating system gives these bytes. Returns the stream, whose tell() is how many were taken."""
    stream = io.BytesIO(data)

    def recorded(count):
        taken = stream.read(count)
        if len(taken) < count:
            raise Exhausted
        return taken

    monkeypatch.setattr(randomness, "random_bytes", recorded)
    return stream


class Byte:
    """A byte known only by what a sampler has asked about it; `choose` decides each answer.

    `choose` is given the groups the possible values fall into and returns one of them.
    """

    def __init__(self, choose):
        self.choose = choose
        self.possible = range(256)

    def _ask(self, question):
        groups = {}
        for value in self.possible:
            groups.setdefault(question(value), []).append(value)
        self.possible = self.choose(list(groups.values()))
        return question(self.possible[0])

    def __ne__(self, digit):
        return self._ask(lambda value: value != digit)

    def __lt__(self, digit):
        return self._ask(lambda value: value < digit)

    def __index__(self):
        return self._ask(lambda value: value)


class Unlikely(Exception):
    """A way is not walked to its end."""


class Again(Exception):
    """A sampler has rejected what it drew and starts over, as if nothing had been drawn."""


class Walk:
    """Goes every way a draw can go, one run at a time, and adds up the exact probability of each result.

    Ways less likely than `least` are not walked to their end: what they lead to is unknown. Where the sampler starts
    over the walk ends, and what has been found is divided by the probability that it does not.
    """

    def __init__(self, least):
        self.least = least
        self.results, self.unknown, self.again = {}, Fraction(0), Fraction(0)

    def way(self, weights):
        """Which of several ways this run goes; their weights add up to 1."""
        if self.at == len(self.path):
            self.waiting.extend([*self.path, i] for i in range(1, len(weights)) if weights[i])
            self.path.append(0)
        taken = self.path[self.at]
        self.at += 1
        self.weight *= weights[taken]
        if self.weight < self.least:
            raise Unlikely
        return taken

    def coin(self, p):
        return self.way([p, 1 - p]) == 0

    def group(self, groups):
        total = sum(map(len, groups))
        return groups[self.way([Fraction(len(group), total) for group in groups])]

    def start(self, weights):
        """The way a sampler begins; that it begins again is seen by a second call."""
        if self.at:
            raise Again
        return self.way(weights)

    def over(self, draw):
        self.waiting = [[]]
        while self.waiting:
            self.path, self.at, self.weight = self.waiting.pop(), 0, Fraction(1)
            try:
                result = draw()
                self.results[result] = self.results.get(result, Fraction(0)) + self.weight
            except Unlikely:
                self.unknown += self.weight
            except Again:
                self.again += self.weight
        assert sum(self.results.values()) + self.unknown + self.again == 1
        ends = 1 - self.again
        return {result: p / ends for result, p in self.results.items()}, self.unknown / ends

    def uniform(self, n):
        return self.start([Fraction(1, n)] * n)


def over_all_bytes(monkeypatch, draw, least):
    """The probability of every result over all streams of bytes; those a sampler does not tell apart are walked once.

    A uniform integer below n is n equally likely ways: another test shows that it is.
    """
    walk = Walk(least)
    monkeypatch.setattr(randomness, "random_bytes", lambda count: [Byte(walk.group) for _ in range(count)])
    monkeypatch.setattr(randomness.Stream, "below", lambda _, n: walk.uniform(n))
    return walk.over(draw)


def over_all_coins(monkeypatch, draw, least):
    """The same where Bernoulli(p) and Bernoulli(exp(-x)) are single coins: other tests show that they are."""
    walk = Walk(least)
    monkeypatch.setattr(samplers, "bernoulli_exp", lambda x, _: walk.coin(Fraction(math.exp(-x))))
    monkeypatch.setattr(randomness.Stream, "bernoulli", lambda _, p: walk.coin(p))
    monkeypatch.setattr(randomness.Stream, "below", lambda _, n: walk.uniform(n))
    return walk.over(draw)


def over_all_proposals(monkeypatch, draw, weights, least):
    """The same for a sampler that accepts or rejects Laplace noise, whose weights are given for each scale."""
    walk = Walk(least)

    def proposal(scale, _):
        law = weights(scale)
        total = sum(map(Fraction, law.values()))
        return list(law)[walk.start([Fraction(p) / total for p in law.values()])]

    monkeypatch.setattr(samplers, "_laplace", proposal)
    monkeypatch.setattr(samplers, "bernoulli_exp", lambda x, _: walk.coin(Fraction(math.exp(-x))))
    return walk.over(draw)


def awkward(monkeypatch, draw, random, ties, luck=range(0)):
    """Bytes on which `draw` meets equal digits with probability `ties`, and its result.

    The answers numbered in `luck` are as if the byte were 0, so that coins succeed.
    """
    given, answers = [], count()

    def choose(groups):
        smallest = min(groups, key=len)
        if next(answers) in luck:
            return min(groups)
        return smallest if len(smallest) == 1 and random.random() < ties else random.choice(groups)

    def decided(count):
        given.extend(Byte(choose) for _ in range(count))
        return given[-count:] if count else []

    monkeypatch.setattr(randomness, "random_bytes", decided)
    result = draw()
    return bytes(random.choice(byte.possible) for byte in given), result
