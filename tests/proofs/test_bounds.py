"""What the methods claim is what Coq proves: `sensitivity` and `accuracy` equal the bounds of proofs/Bounds.v."""

import itertools
import random
from fractions import Fraction

import pytest

from soundsum.methods import METHODS, Checked, Modular, Saturating, Split
from soundsum.methods.grid import OnGrid
from soundsum.methods.iterated import Iterated
from soundsum.methods.kahan import Kahan
from soundsum.methods.pairwise import Pairwise
from soundsum.methods.problem import Problem
from soundsum.numbers.grids import power_of_two_grid
from soundsum.numbers.types import FloatType, IntType, bfloat16, float16, float32, float64
from soundsum.tables.relations import Relation

from .oracle import ask, words

PROBLEMS = 500
"""For each method."""

INTEGER_TYPES = [IntType(bits, signed) for bits in (3, 8, 16, 32, 64, 100) for signed in (True, False)]
FLOAT_TYPES = [
    float16,
    bfloat16,
    float32,
    float64,
    FloatType(2, 3),
    FloatType(1, 2),
    FloatType(5, 6),
    FloatType(60, 12),
]


def bound_of(kind, rng):
    """A value of the type: small or large, round or not, a subnormal, zero, an end of the range."""
    if isinstance(kind, IntType):
        near = rng.choice([0, 1, -1, kind.max, kind.min, kind.max // 2])
        return kind.saturate(near + rng.choice([0, rng.randint(-9, 9), rng.getrandbits(rng.randint(1, kind.bits))]))
    pattern = rng.choice([0, 1, rng.getrandbits(kind.bits), kind.to_bits(Fraction(1)) + rng.randint(0, 9)])
    if rng.random() < 0.5:  # near 1, where a few thousand records fit
        pattern = kind.to_bits(Fraction(1)) + rng.randint(-(1 << kind.k), 2 << kind.k)
    value = kind.from_bits(min(max(pattern, 0), kind.to_bits(kind.max)))
    return rng.choice([1, -1]) * value


def problems(method, rng):
    """Problems the method applies to, of every relation it offers, without end."""
    types = INTEGER_TYPES if method.takes is IntType else FLOAT_TYPES
    for _ in range(1000 * PROBLEMS):
        kind, relation = rng.choice(types), rng.choice(list(Relation))
        lower, upper = sorted((bound_of(kind, rng), bound_of(kind, rng)))
        if rng.random() < 0.1:
            lower = upper
        if method.name in ("grid", "wide") and rng.random() < 0.3:  # these take any rationals
            lower, upper = sorted(b * Fraction(rng.randint(1, 99), 97) for b in (Fraction(lower), Fraction(upper)))
        n = rng.choice([0, 1, 2, 3, 7, 8, 15, 127, 128, 129, rng.randint(1, 300), rng.randint(1, 100_000)])
        size = {"size": n} if relation.sized else {"max_size": n}
        problem = Problem(kind, lower, upper, relation, **size)
        if not method.unmet(problem):
            yield problem


def eta(kind):
    """The exponent of the smallest subnormal."""
    return kind.min_exponent - kind.k


def question(method, problem):
    kind, sized, n = problem.dtype, problem.relation.sized, problem.limit
    bounds = problem.lower, problem.upper
    if isinstance(kind, IntType):
        return words("integer", method.label, sized, kind.bits, kind.min, kind.max, *bounds)
    match method.name:
        case "grid":
            return words("grid", method.rounding == "randomised", sized, eta(kind), n, *bounds)
        case "toward_zero":
            return words("toward_zero", sized, kind.k, n, *bounds)
        case "shifted":
            return words("shifted", method.inner.name, kind.k, eta(kind), n, *bounds)
        case _ if method.split:
            return words("split", method.name, kind.k, n, *bounds)
        case _:
            return words("float", method.name, sized, kind.k, n, *bounds)


@pytest.mark.parametrize("label", METHODS)
def test_a_method_claims_what_is_proved(label):
    method, rng = METHODS[label], random.Random(label)
    asked = [problem for problem, _ in zip(problems(method, rng), range(PROBLEMS), strict=False)]
    assert len(asked) == PROBLEMS
    for problem, answer in zip(asked, ask(question(method, problem) for problem in asked), strict=True):
        sensitivity, *accuracy = map(Fraction, answer.split())
        assert method.sensitivity(problem) == sensitivity, problem
        if accuracy and method.accuracy(problem) is not None:  # None: held sums, of which nothing is claimed
            assert method.accuracy(problem) == accuracy[0], problem


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("adder", [Iterated, Pairwise, Kahan])
def test_a_wider_accumulator_is_the_same_theorem_with_its_own_k(adder, split):
    rng, method = random.Random(adder.name), adder(accumulator=float64, split=split)
    asked = [p for p, _ in zip(problems(method, rng), range(PROBLEMS), strict=False)]
    assert len({(p.dtype, p.relation) for p in asked}) > (12 if split else 24)
    kind = ("split", adder.name) if split else ("float", adder.name)
    lines = (words(*kind, *(() if split else (p.relation.sized,)), 52, p.limit, p.lower, p.upper) for p in asked)
    for problem, answer in zip(asked, ask(lines), strict=True):
        assert [method.sensitivity(problem), method.accuracy(problem)] == list(map(Fraction, answer.split())), problem


@pytest.mark.parametrize("rounding", ["nearest", "randomised"])
def test_a_grid_with_another_step(rounding):
    """A step of one's own, a part or a multiple of the range, and the paper's for accumulators of some bits."""
    rng, drawn = random.Random(rounding), []
    for problem in itertools.islice((p for p in problems(OnGrid(), rng) if p.ideal), PROBLEMS):
        step = problem.ideal * Fraction(rng.randint(1, 99), rng.choice([1, 7, 10**6]))
        given = OnGrid(step=step if rng.random() < 0.6 else "paper", rounding=rounding, bits=rng.choice([8, 32, 64]))
        if not given.unmet(problem):
            drawn.append((given, problem))
    assert len(drawn) > PROBLEMS / 2
    paper = [words("paper_step", p.relation.sized, m.bits, p.limit, p.lower, p.upper) for m, p in drawn]
    steps = [Fraction(own) if m.step == "paper" else m.step for (m, _), own in zip(drawn, ask(paper), strict=True)]
    assert steps == [method.grid(problem).step for method, problem in drawn]
    lines = (
        words("stepped", rounding == "randomised", p.relation.sized, step, p.limit, p.lower, p.upper)
        for (_, p), step in zip(drawn, steps, strict=True)
    )
    for (method, problem), answer in zip(drawn, ask(lines), strict=True):
        assert [method.sensitivity(problem), method.accuracy(problem)] == list(map(Fraction, answer.split())), problem


@pytest.mark.parametrize("integers", [Saturating(), Modular(), Split(), Checked(), Split("checked")], ids=str)
def test_a_grid_with_another_sum_of_integers(integers):
    """The step times the bound of that sum for integers from J to K."""
    rng, drawn = random.Random(integers.label), []
    for problem in itertools.islice(problems(OnGrid(), rng), 8 * PROBLEMS):
        method = OnGrid(
            step=(problem.ideal or 1) / rng.choice([1, 3, 100]), integers=integers, bits=rng.choice([8, 32])
        )
        if not method.unmet(problem):
            drawn.append((method, problem))
    assert len(drawn) > PROBLEMS / 5
    lines = (question(integers, method.integer_problem(problem)) for method, problem in drawn)
    for (method, problem), answer in zip(drawn, ask(lines), strict=True):
        assert method.sensitivity(problem) == method.grid(problem).step * Fraction(answer), problem


def test_the_grid_is_the_grid():
    """Step, offset, J and K, not only what follows from them."""
    rng = random.Random(2)
    asked = [p for p, _ in zip(problems(OnGrid(), rng), range(PROBLEMS), strict=False) if p.ideal]
    lines = (words("grid_integers", p.relation.sized, eta(p.dtype), p.lower, p.upper) for p in asked)
    for problem, answer in zip(asked, ask(lines), strict=True):
        grid = power_of_two_grid(problem.dtype, problem.lower, problem.upper, problem.relation.sized)
        exponent, offset, low, high = map(int, answer.split())
        step = Fraction(2) ** exponent
        assert (grid.step, grid.offset, grid.low, grid.high) == (step, offset * step, low, high)
