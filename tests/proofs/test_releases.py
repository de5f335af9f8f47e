"""The noise of a release is what Coq computes from the request.

Compared are norms, grids, the division of epsilon or rho, noisy vectors, and how a released number is read from them.
"""

import itertools
import math
import random
from fractions import Fraction

import pytest

from soundsum import randomness
from soundsum.methods import METHODS
from soundsum.methods.problem import Problem
from soundsum.numbers.types import IntType, bfloat16, float16, float32, float64
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import NoNoise
from soundsum.privacy.noises.gaussian import Gaussian
from soundsum.privacy.noises.laplace import Laplace
from soundsum.privacy.planner import GRID, WIDE, Plan
from soundsum.privacy.units import FOUND, Norms, Unit
from soundsum.statistics.clipped import Clipped
from soundsum.statistics.count import Count
from soundsum.statistics.histogram import Histogram
from soundsum.statistics.magnitudes import Bounds, MaxRows, TotalBounds
from soundsum.statistics.mean import Mean
from soundsum.statistics.sum import Sum
from soundsum.statistics.task import Claim
from soundsum.statistics.variance import Std, Variance
from soundsum.tables.relations import Relation

from .oracle import ask, words
from .test_bounds import bound_of, eta, problems, question
from .test_noise import some_bytes, some_scale, some_sigma2

CASES = 2000
KINDS = {"sum": Sum, "count": Count, "mean": Mean, "variance": Variance, "histogram": Histogram}
TYPES = [float16, bfloat16, float32, float64, *(IntType(bits, signed) for bits in (8, 32, 64) for signed in (0, 1))]


def some_unit(rng, relation, kind):
    """Records, records by group, or persons, whom only the symmetric relation has; groups may be those found."""
    groups = rng.choice([None, 1, 2, 3, rng.randint(1, 1000), FOUND])
    if kind == "histogram" and groups is None:
        groups = 1
    if relation == Relation.SYMMETRIC and rng.random() < 0.5:
        return Unit(groups, rng.choice([1, 2, rng.randint(1, 10**6)]), rng.choice([1, 2, rng.randint(1, 2000)]))
    return Unit(groups)


def some_claim(rng, kind, types=TYPES):
    relation = rng.choice(list(Relation))
    unit, size = some_unit(rng, relation, kind), rng.choice([None, 0, 1, rng.randint(1, 10**9)])
    if kind in ("count", "histogram"):
        return Claim(KINDS[kind], Plan(Problem("uint8", 1, 1, relation), WIDE, unit))
    dtype = rng.choice(types)
    lower, upper = sorted((bound_of(dtype, rng), bound_of(dtype, rng)))
    if rng.random() < 0.1:
        lower = upper
    problem = Problem(dtype, lower, upper, relation, size if relation.sized else None)
    plan = Plan(problem, WIDE if dtype.is_integer else GRID, unit)
    return None if KINDS[kind].unmet(plan) else Claim(KINDS[kind], plan)


def some_claims(kind, types=TYPES):
    rng = random.Random(f"releases {kind}")
    return [claim for claim in (some_claim(rng, kind, types) for _ in range(CASES)) if claim is not None]


def unit_words(claim):
    unit = claim.plan.unit
    given = ["none" if x is None else x for x in (number_of_groups(unit), unit.max_rows)]
    return [*given, unit.max_groups, claim.plan.problem.relation.sized]


def number_of_groups(unit):
    """Where they are found, any number that is large enough (`Units.any_number_of_groups`)."""
    return max(unit.max_groups, 2) if unit.groups == FOUND else unit.groups


@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_moves_each_part_as_far_as_is_proved(kind):
    claims = some_claims(kind)
    lines = [words("norms", kind, *unit_words(c), c.record_steps.low, c.record_steps.high) for c in claims]
    for claim, answer in zip(claims, ask(lines), strict=True):
        found = " ".join(f"{n.l1},{n.l2_squared},{n.entries}" for n in (part.norms for part in claim.parts))
        assert found == answer, claim
    assert len(claims) > CASES / 2
    assert {c.plan.problem.relation for c in claims} == set(Relation)
    assert {c.plan.unit.max_rows is None for c in claims} == {True, False}
    assert FOUND in {c.plan.unit.groups for c in claims}


@pytest.mark.parametrize(
    "asked", [Bounds("x"), TotalBounds("x"), MaxRows(), Clipped("x", 0, 9)], ids=lambda one: one.name
)
def test_advice_moves_as_counts_over_cells_do(asked):
    """A person counts once in each of at most `max_groups` cells, however many rows they have."""
    rng = random.Random(asked.name)
    for _ in range(200):
        relation = rng.choice(list(Relation))
        unit = some_unit(rng, relation, asked.name)
        if asked.name in ("total_bounds", "max_rows") and unit.max_rows is None:
            continue
        unit = asked.unit(unit)
        plan = Plan(Problem("uint8", 1, 1, relation), WIDE, unit)
        (part,) = Claim(type(asked), plan).parts
        rows = None if unit.max_rows is None else 1 if asked.counts_persons else unit.max_rows
        given = ["none" if x is None else x for x in (number_of_groups(unit), rows)]
        (answer,) = ask([words("norms", "histogram", *given, unit.max_groups, relation.sized, 1, 1)])
        assert f"{part.norms.l1},{part.norms.l2_squared},{part.norms.entries}" == answer, unit


def test_a_standard_deviation_releases_the_parts_of_a_variance():
    for claim in some_claims("variance"):
        assert Claim(Std, claim.plan).parts == claim.parts


@pytest.mark.parametrize("kind", ["sum", "mean", "variance"])
def test_the_grid_of_each_statistic(kind):
    claims = some_claims(kind, [float16, bfloat16, float32, float64])
    lines = [
        words("steps", kind, *unit_words(c), eta(c.plan.problem.dtype), c.plan.problem.lower, c.plan.problem.upper)
        for c in claims
    ]
    for claim, answer in zip(claims, ask(lines), strict=True):
        step, offset, low, high = map(Fraction, answer.split())
        found = claim.record_steps
        assert (found.low, found.high, found.offset) == (low, high, offset), claim
        assert found.step == step or found.low == found.high == 0, claim


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_guarantee_is_divided_as_is_proved(kind):
    """Between tasks by weight and equally between their parts, of which some need no noise."""
    rng, cases = random.Random(f"divide {kind}"), []
    for _ in range(CASES):
        tasks = [[some_norms(rng) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 5))]
        weights = [Fraction(rng.randint(1, 9), rng.choice([1, 1, 7, 1000])) for _ in tasks]
        cases.append((some_fraction(rng), tasks, weights))
    lines = [
        words("divide", kind, amount, *(f"{w.numerator}/{w.denominator}:{say(t)}" for t, w in zip(ts, ws, strict=True)))
        for amount, ts, ws in cases
    ]
    for (amount, tasks, weights), answer in zip(cases, ask(lines), strict=True):
        whole = Guarantee(Laplace, amount) if kind == "laplace" else Guarantee(Gaussian, rho=amount)
        found = [noises for _, noises in whole.divide(tasks, weights)]
        assert " ".join(";".join(map(show, noises)) for noises in found) == answer, (amount, tasks, weights)


def some_norms(rng):
    l1 = rng.choice([0, 1, rng.randint(0, 100), rng.getrandbits(rng.randint(1, 120))])
    return Norms(l1, rng.choice([l1**2, l1**2 // 2 + l1]), rng.randint(1, 4))


def some_fraction(rng):
    return Fraction(rng.randint(1, 1 << rng.choice([2, 10, 60])), rng.randint(1, 1 << rng.choice([2, 10, 60])))


def say(task):
    return ":".join(f"{n.l1},{n.l2_squared},{n.entries}" for n in task)


def show(noise):
    return "none" if isinstance(noise, NoNoise) else f"{noise.name}={words(noise.parameter)}"


@pytest.mark.parametrize("wraps", [None, IntType(8), IntType(16, signed=False), IntType(64)], ids=str)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_is_added_as_is_proved(kind, wraps, monkeypatch):
    """To every entry of a vector, in order, from the bytes of one request; to a modular sum in its own arithmetic."""
    rng, cases = random.Random(f"add {kind} {wraps}"), []
    for _ in range(CASES // 2):
        parameter = some_scale(rng) if kind == "laplace" else some_sigma2(rng)
        sums = [rng.randint(-(10**6), 10**6) for _ in range(rng.randint(1, 6))]
        if wraps is not None:
            sums = [wraps.wrap(rng.choice([total, wraps.min, wraps.max])) for total in sums]
        cases.append((parameter, some_bytes(rng, (400, 1000, 3000)), sums))
    cases += [(Fraction(0), b"", [3, 4])]
    kinds = {"laplace": Laplace, "gaussian": Gaussian}
    lines = [
        words(
            "add_noise" if wraps is None else "add_wrapped",
            kind if parameter else "none",
            parameter,
            *(() if wraps is None else (wraps.min, wraps.max)),
            drawn.hex(),
            *sums,
        )
        for parameter, drawn, sums in cases
    ]
    compared = 0
    for (parameter, drawn, sums), answer in zip(cases, ask(lines), strict=True):
        if answer == "none":
            continue
        left = drawn + bytes(1 << 20)

        def take(count):
            nonlocal left
            taken, left = left[:count], left[count:]
            return taken

        monkeypatch.setattr(randomness, "random_bytes", take)
        noise = kinds[kind](parameter) if parameter else NoNoise()
        assert noise.add_to(sums, wraps) == list(map(int, answer.split())), (parameter, drawn.hex(), sums)
        compared += 1
    assert compared > CASES / 5


@pytest.mark.parametrize("label", METHODS)
def test_any_method_gets_noise_for_its_bound_in_whole_steps(label):
    """And a modular sum has noise in its own type, no other has."""
    method, rng = METHODS[label], random.Random(f"steps {label}")
    asked = list(itertools.islice(problems(method, rng), 200))
    for problem, answer in zip(asked, ask(question(method, problem) for problem in asked), strict=True):
        plan = Plan(problem, method)
        most = math.ceil(Fraction(answer.split()[0]) / plan.step)
        assert plan.step_norms == Norms(most, most**2), problem
        if Sum.unmet(plan):
            continue
        (part,) = Claim(Sum, plan).parts
        is_modular = label in ("modular", "split_modular")
        assert part.norms == plan.step_norms
        assert part.wraps == (problem.dtype if is_modular else None), problem


@pytest.mark.parametrize("kind", ["sum", "mean", "variance"])
def test_a_released_number_is_read_as_is_defined(kind):
    rng, cases = random.Random(f"read {kind}"), []
    for claim in some_claims(kind)[: CASES // 2]:
        plain = claim.plan.unit.is_plain and claim.plan.problem.relation.sized
        n = rng.choice([0, 1, 2, rng.randint(1, 10**6)])
        n = n if claim.plan.problem.size is None else claim.plan.problem.size
        reach = max(1, *(part.norms.l1 for part in claim.parts))
        noisy = [rng.randint(-3 * reach, 3 * reach) * rng.choice([1, max(n, 1)]) for part in claim.parts]
        estimator = claim.estimator(tuple(Laplace(Fraction(1)) for _ in claim.parts), n if plain else None)
        q, count = claim.record_steps, n if plain else noisy[-1]
        match kind:
            case "sum":
                line = words("read_sum", claim.parts[0].step, q.offset, n if plain else 0, noisy[0])
            case "mean":
                line = words("read_mean", q.step, q.offset, q.low, q.high, noisy[0], count)
            case _:
                line = words("read_variance", q.step, q.low, q.high, noisy[0], noisy[1], count)
        cases.append((line, Fraction(estimator.exact(tuple(noisy)))))
    for (line, exact), answer in zip(cases, ask([line for line, _ in cases]), strict=True):
        assert exact == Fraction(answer), line
