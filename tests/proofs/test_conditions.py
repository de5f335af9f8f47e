"""A method is allowed just where its theorem applies: `unmet` is empty if and only if the condition of
proofs/Conditions.v holds, from which the files named Allowed prove what the method promises.

Most problems lie at a limit of the code's own or one step beside it: one record more, the next larger bound. The code
refuses one thing in addition: to permute more records than it takes into memory. Whether records are permuted and cut
to a limit, and where an accuracy is claimed, are compared with proofs/Claims.v.
"""

import itertools
import random
from fractions import Fraction

import pytest

from soundsum.methods import METHODS, Checked, Modular, Saturating, Split, Wide
from soundsum.methods.grid import OnGrid
from soundsum.methods.iterated import Iterated
from soundsum.methods.kahan import Kahan
from soundsum.methods.method import MOST_PERMUTED
from soundsum.methods.pairwise import Pairwise
from soundsum.methods.problem import Problem
from soundsum.methods.shifted import Shifted
from soundsum.methods.toward_zero import TowardZero
from soundsum.numbers.types import FloatType, IntType, bfloat16, float16, float32, float64
from soundsum.tables.relations import Relation

from .oracle import ask, words
from .test_bounds import FLOAT_TYPES, INTEGER_TYPES, bound_of

PLACES = 50
"""Problems whose limits are looked for, for each method; each gives about twenty to compare."""

SMALL = [FloatType(*widths) for widths in itertools.product((1, 2, 3, 4), (2, 3, 4, 7))]
FLOATS = [*FLOAT_TYPES, float32, float64, *SMALL]
ACCUMULATORS = [float16, bfloat16, float32, float64, *SMALL, FloatType(112, 15)]


def met(method, problem):
    return not method.unmet(problem)


def made(kind, lower, upper, relation, n):
    """A problem of n records, or at most n."""
    return Problem(kind, lower, upper, relation, **({"size": n} if relation.sized else {"max_size": n}))


def with_n(problem, n):
    return made(problem.dtype, problem.lower, problem.upper, problem.relation, n)


def last(allowed, low, high):
    """The largest allowed integer from low to high, where all below it are allowed too; None if there is none."""
    if not allowed(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle - 1)
    return low


def some_problem(types, rng):
    kind, relation = rng.choice(types), rng.choice(list(Relation))
    lower, upper = sorted((bound_of(kind, rng), bound_of(kind, rng)))
    if rng.random() < 0.1:
        lower = upper
    n = rng.choice([0, 1, 2, 3, 8, 127, 129, rng.randint(1, 300), rng.randint(1, 10**6), 2 ** rng.randint(1, 70)])
    return made(kind, lower, upper, relation, n)


def beside_n(method, problem):
    """As many records as the method allows, one more and one fewer; and no number at all."""
    most = last(lambda n: met(method, with_n(problem, n)), 0, 1 << 72)
    near = {MOST_PERMUTED, 2**64} | ({most} if most is not None else set())
    return [with_n(problem, None), *(with_n(problem, max(n + i, 0)) for n in near for i in (-1, 0, 1))]


def beside_bounds(method, problem, rng):
    """The largest upper bound allowed with this lower one, its neighbours, and the same for the mirror image."""
    kind, lower = problem.dtype, Fraction(problem.lower)
    if isinstance(kind, IntType):
        values, low, high = Fraction, int(lower), kind.max + 2
    else:
        values, low, high = kind.from_bits, 0, kind.to_bits(kind.max)

    def with_upper(b):
        return made(kind, min(lower, b), b, problem.relation, problem.limit)

    edge = last(lambda i: met(method, with_upper(values(i))), max(low, 0), high)
    if edge is None:
        return []
    uppers = [values(i) for i in range(max(edge - 1, 0), min(edge + 1, high) + 1)]
    uppers += [(a + b) / 2 for a, b in itertools.pairwise(uppers)]  # between two values
    uppers += [uppers[-1] + (Fraction(kind.max) * rng.choice([1, Fraction(1, 10**9)]) + 1)]  # beyond the last
    beside = [with_upper(b) for b in uppers]
    return beside + [made(kind, -p.upper, -p.lower, problem.relation, problem.limit) for p in beside]


def between_values(problem, rng):
    """Bounds that need not be values of the type: between two, around one, or beyond the last."""
    kind, relation, n = problem.dtype, problem.relation, problem.limit
    for value in map(Fraction, (problem.upper, kind.max, kind.min)):
        gap = 1 if isinstance(kind, IntType) else kind.ulp(value)
        yield made(kind, *sorted(value + gap * Fraction(rng.randint(-6, 6), 3) for _ in range(2)), relation, n)


def place(method, types, rng):
    """Some problem; mostly one that the method may be used for, at least on one record."""
    any_one = some_problem(types, rng)
    drawn = (some_problem(types, rng) for _ in range(0 if rng.random() < 0.2 else 50))
    return next((problem for problem in drawn if met(method, with_n(problem, 1))), any_one)


def beside_limits(method, types, rng, places=PLACES):
    for _ in range(places):
        problem = place(method, types, rng)
        yield problem
        yield from beside_n(method, problem)
        yield from beside_bounds(method, problem, rng)
        yield from between_values(problem, rng)


def question(method, problem):
    kind, sized, bounds = problem.dtype, problem.relation.sized, (problem.lower, problem.upper)
    n = "none" if problem.limit is None else problem.limit
    if isinstance(kind, IntType):
        return words("integers_allowed", method.label, sized, kind.bits, kind.signed, n, *bounds)
    match method.name:
        case "grid":
            bits = method.bits if method.rounding == "randomised" else "none"
            return words("grid_allowed", bits, sized, kind.k, kind.l, n, *bounds)
        case "shifted":
            wider = getattr(method.inner, "accumulator", None) or kind
            return words("shifted_allowed", method.inner.name, sized, kind.k, kind.l, wider.k, wider.l, n, *bounds)
        case _:
            wider, split = getattr(method, "accumulator", None) or kind, getattr(method, "split", False)
            return words("floats_allowed", method.name, split, sized, kind.k, kind.l, wider.k, wider.l, n, *bounds)


def too_many_to_permute(method, problem):
    return problem.limit is not None and problem.limit > MOST_PERMUTED and "permute" in method.steps(problem)


def compare(asked, lines):
    """Each method and problem with the oracle's line; how many were allowed and how many were not."""
    counts = {True: 0, False: 0}
    for (method, problem), answer in zip(asked, ask(lines), strict=True):
        proved = answer == "1"
        counts[proved] += 1
        assert met(method, problem) == (proved and not too_many_to_permute(method, problem)), (method, problem)
    return counts


@pytest.mark.parametrize("label", METHODS)
def test_a_method_is_allowed_where_its_theorem_applies(label):
    method, rng = METHODS[label], random.Random(label)
    types = INTEGER_TYPES if method.takes is IntType else [float32, float64] if "numpy" in label else FLOATS
    asked = [(method, problem) for problem in beside_limits(method, types, rng)]
    if "numpy" in label:
        asked += [(method, some_problem(FLOATS, rng)) for _ in range(PLACES)]
    counts = compare(asked, (question(*pair) for pair in asked))
    assert min(counts.values()) > PLACES, counts


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("adder", [Iterated, Pairwise, Kahan])
def test_an_accumulator_holds_the_type_and_its_own_limits_count(adder, split):
    rng, asked = random.Random(adder.name), []
    for _ in range(PLACES):
        method = adder(accumulator=rng.choice(ACCUMULATORS), split=split)
        asked += [(method, problem) for problem in beside_limits(method, FLOATS, rng, 1)]
    assert min(compare(asked, (question(*pair) for pair in asked)).values()) > PLACES


@pytest.mark.parametrize("adder", [Iterated, Pairwise, Kahan])
def test_a_shifted_sum_in_an_accumulator(adder):
    rng, asked = random.Random(adder.name), []
    for _ in range(PLACES):
        method = Shifted(adder(accumulator=rng.choice(ACCUMULATORS)))
        asked += [(method, problem) for problem in beside_limits(method, FLOATS, rng, 1)]
    assert min(compare(asked, (question(*pair) for pair in asked)).values()) > PLACES


def near_bits(method, problem, rng):
    """The method with so many bits, or nearly, that they hold its integers, or the paper's step for n records."""
    reach = max(abs(method.grid(problem).low), abs(method.grid(problem).high)) if method.step != "paper" else 0
    room = reach.bit_length() + 1 if reach else (problem.limit or 1).bit_length() + 2
    return OnGrid(method.step, method.rounding, method.integers, max(2, room + rng.choice([-1, -1, 0, 0, 1, 40])))


@pytest.mark.parametrize("rounding", ["nearest", "randomised"])
def test_a_grid_with_another_step_or_few_bits(rounding):
    rng, asked, lines = random.Random(rounding), [], []
    for problem in beside_limits(OnGrid(), FLOATS, rng, 4 * PLACES):
        step = (problem.ideal or 1) * Fraction(rng.randint(1, 99), rng.choice([1, 7, 10**6]))
        method = near_bits(OnGrid(rng.choice([step, "power_of_two"]), rounding), problem, rng)
        sized, n = problem.relation.sized, "none" if problem.limit is None else problem.limit
        bits = method.bits if rounding == "randomised" else "none"
        asked.append((method, problem))
        own = words("step_allowed", bits, sized, step, n, problem.lower, problem.upper)
        lines.append(question(method, problem) if method.step == "power_of_two" else own)
    assert min(compare(asked, lines).values()) > PLACES


def test_the_paper_step_for_as_many_records_as_it_has_room_for():
    rng, asked, lines = random.Random(3), [], []
    for problem in beside_limits(OnGrid(), FLOATS, rng):
        method = near_bits(OnGrid("paper"), problem, rng)
        for n in (None, 2 ** (method.bits - 2) - 1, 2 ** (method.bits - 2), problem.limit):
            asked.append((method, with_n(problem, n)))
            lines.append(words("paper_allowed", method.bits, "none" if n is None else n, problem.lower, problem.upper))
    assert min(compare(asked, lines).values()) > PLACES


@pytest.mark.parametrize("integers", [Wide(), Saturating(), Modular(), Split(), Checked(), Split("checked")], ids=str)
def test_a_grid_with_another_sum_of_integers(integers):
    """The conditions of that sum, for integers from J to K of the type that they are written out in."""
    rng, asked = random.Random(integers.label), []
    for _ in range(4 * PLACES):
        base = some_problem(FLOATS, rng)
        step = (base.ideal or 1) / rng.choice([1, 3, 100])
        method = near_bits(OnGrid(step, integers=integers), base, rng)
        asked += [(method, problem) for problem in (base, *beside_n(method, base))]
    written = [
        method.grid(p).low in IntType(method.bits) and method.grid(p).high in IntType(method.bits)
        for method, p in asked
    ]
    counts = {True: 0, False: 0}
    answers = ask(question(integers, method.integer_problem(problem)) for method, problem in asked)
    for (method, problem), fit, answer in zip(asked, written, answers, strict=True):
        proved = fit and answer == "1" and not too_many_to_permute(method, problem)
        counts[proved] += 1
        assert met(method, problem) == proved, (method, problem)
    assert min(counts.values()) > PLACES / 2, counts


@pytest.mark.parametrize("label", METHODS)
def test_a_method_takes_no_other_kind_of_numbers(label):
    method, rng = METHODS[label], random.Random(label)
    types = FLOATS if method.takes is IntType else INTEGER_TYPES
    assert not any(met(method, some_problem(types, rng)) for _ in range(PLACES))


def test_relations_are_sized_and_ordered_alike():
    for relation, answer in zip(Relation, ask(words("relation", r) for r in Relation), strict=True):
        assert answer == words(relation.sized, relation.ordered)


CUT = ("checked", "split_checked", "iterated", "pairwise", "numpy_pairwise", "kahan")
"""Sums of at most a limit of records, where their number is private."""


@pytest.mark.parametrize("label", METHODS)
def test_records_are_permuted_and_cut_where_the_claim_needs_it(label):
    method, rng = METHODS[label], random.Random(label)
    adder = method.inner if isinstance(method, Shifted) else method
    name, types = (adder.label, INTEGER_TYPES) if method.takes is IntType else (adder.name, FLOATS)
    asked = [p for p in (place(method, types, rng) for _ in range(2 * PLACES)) if met(method, with_n(p, 1))]
    assert len({(p.relation, p.one_sign) for p in asked}) > 1
    lines = (words("permutes", name, p.relation, p.lower, p.upper) for p in asked)
    for problem, answer in zip(asked, ask(lines), strict=True):
        first, *others = method.steps(problem)
        assert (first == "permute") == (answer == "1"), problem
        assert "permute" not in others
        assert ("truncate" in others or first == "truncate") == (name in CUT and not problem.relation.sized), problem


STOPPING = [Modular(), Saturating(), Split(), Split("modular"), TowardZero(), Shifted(TowardZero())]


@pytest.mark.parametrize("method", STOPPING, ids=lambda method: method.label)
def test_accuracy_is_claimed_where_it_is_proved(method):
    """Of sums that wrap, saturate or stop: only where n records cannot come so far."""
    rng, asked = random.Random(method.label), []
    types = INTEGER_TYPES if method.takes is IntType else FLOATS
    for base in (place(method, types, rng) for _ in range(PLACES)):
        if not met(method, with_n(base, 1)):
            continue
        most = last(lambda n, base=base: method.accuracy(with_n(base, n)) is not None, 0, 1 << 72)
        asked += [with_n(base, n) for n in (None, rng.randint(0, 100), max(most - 1, 0), most, most + 1)]
    counts = {True: 0, False: 0}
    for problem, answer in zip(asked, ask(stays(method, problem) for problem in asked), strict=True):
        counts[answer == "1"] += 1
        assert (method.accuracy(problem) is not None) == (answer == "1"), problem
    assert min(counts.values()) > PLACES / 2


def stays(method, problem):
    problem = method.inner_problem(problem) if isinstance(method, Shifted) else problem
    kind, n = problem.dtype, "none" if problem.limit is None else problem.limit
    integers = isinstance(kind, IntType)
    asked = ("stays_in_type", kind.bits, kind.signed) if integers else ("stays_finite", kind.k, kind.l)
    return words(*asked, n, problem.lower, problem.upper)
