"""Verification can fail: seven bounds or sums, each weakened a little, and the smallest datasets that show it."""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from typer.testing import CliRunner

from soundsum.cli import app
from soundsum.cli.commands import method_commands
from soundsum.methods import METHODS, Checked, Iterated, Kahan, OnGrid, Saturating, Shifted, TowardZero
from soundsum.methods.problem import Problem
from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, float64, floor_log2, power_of_two
from soundsum.paper.verify import Verification, check, subject, verify
from soundsum.paper.verify.subjects import ToGrid
from soundsum.paper.verify.verification import ACCURACY
from soundsum.tables.relations import Relation

tiny, int3 = FloatType(2, 3), IntType(3)
SIZES = range(5)


def bounds(kind, every=1):
    return list(combinations_with_replacement(sorted({*list(kind.values())[::every], 0}), 2))


def violated(results):
    return [result for result in results if result.violations]


def by_relation(results):
    return {result.relation: result for result in results}


def assert_shown(example, total):
    """The datasets are neighbours, add to what is said, and differ by more than is claimed."""
    relation = example.case.problem.relation
    assert relation.distance(list(example.left), list(example.right)) <= 1
    assert (example.left_sum, example.right_sum) == (total(example.left), total(example.right))
    assert example.difference == abs(example.left_sum - example.right_sum) > example.claimed
    for dataset in (example.left, example.right):
        assert f"[{', '.join(map(str, dataset))}] adds to" in str(example)
        assert all(example.case.problem.lower <= x <= example.case.problem.upper for x in dataset)


def power_below(x):
    return power_of_two(floor_log2(x)) if x else Fraction(0)


# 1. toward_zero without the term of the last rounding


def last_rounding(problem):
    if problem.one_sign:
        return Fraction(0)
    n, k = problem.size, tiny.k
    known = (min(power_below(b), power_below(n * b) / 2**k) for b in (problem.upper, -problem.lower)) if n else ()
    unknown = (power_below(problem.upper), power_below(-problem.lower))
    return max(known, default=Fraction(0)) if problem.relation.sized else max(unknown)


def test_toward_zero_needs_its_last_rounding():
    honest = subject(TowardZero())
    weak = replace(honest, claim=lambda problem: honest.claim(problem) - last_rounding(problem))
    assert not violated(check(honest, tiny, bounds(tiny, 3), SIZES))
    found = by_relation(violated(check(weak, tiny, bounds(tiny, 3), SIZES)))
    assert Relation.INSERT_DELETE in found
    for relation, result in found.items():
        example = result.counterexample
        if relation.ordered:
            assert_shown(example, models.toward_zero(tiny).sum)
    example = found[Relation.INSERT_DELETE].counterexample
    for n in range(1, len(example.right)):  # nothing shorter within these bounds shows it
        values = [x for x in tiny.values() if example.case.problem.lower <= x <= example.case.problem.upper]
        if len(values) ** n > 20_000:
            break
        for u in product(values, repeat=n):
            total = models.toward_zero(tiny).sum(u)
            assert all(
                abs(total - models.toward_zero(tiny).sum(u[:i] + u[i + 1 :])) <= example.claimed for i in range(n)
            )


# 2. Kahan with 2u relative to the sum of magnitudes


def test_kahans_constant_is_not_2_relative_to_the_sum_of_magnitudes():
    records = [Fraction(x) for x in (16, -(2**57 + 32), 119, -(2**57 + 32), -128)]
    error = abs(models.kahan(float64).sum(records) - sum(records))
    u, magnitudes = float64.unit_roundoff, sum(map(abs, records))
    assert 2 < round(error / (u * magnitudes), 5) == Fraction("2.21875")
    assert error <= 3 * u * len(records) * max(map(abs, records))  # relative to n M, 3 u is safe


def test_kahan_needs_its_limit_on_the_number_of_records(monkeypatch):
    """Without it verify looks at up to 128 records and reports; from 91 on they leave the bound behind."""
    monkeypatch.setattr(Kahan, "unproved", lambda *_: [])
    done = verify(quick=True, only=["kahan"], processes=1)
    (accuracy,) = [result for result in done.results if result.violations]
    assert (accuracy.relation, accuracy.dtype) == (ACCURACY, "float(2,4)")
    assert accuracy.at.problem.size > 90


# 3. The grid without the clamp of its integers


@dataclass(frozen=True)
class Unclamped(ToGrid):
    def __call__(self, x):
        return (round((Fraction(x) - self.grid.offset) / self.grid.step),)


@pytest.mark.parametrize("step", [Fraction(3, 16), Fraction(1, 3), Fraction(5, 2)])
def test_the_grid_needs_its_integer_clamp(step):
    honest = subject(OnGrid(step=step))
    weak = replace(
        honest,
        prepare=lambda problem: Unclamped(honest.prepare(problem).grid),
        accuracy=lambda problem: None,
    )
    assert not violated(check(honest, tiny, bounds(tiny, 4), SIZES))
    found = by_relation(violated(check(weak, tiny, bounds(tiny, 4), SIZES)))
    assert set(found) == set(Relation)
    for result in found.values():
        example = result.counterexample
        grid = honest.prepare(example.case.problem).grid
        assert_shown(example, lambda u, grid=grid: sum(grid.step * round((x - grid.offset) / grid.step) for x in u))
        assert len(example.right) == 1


# 4. The remark's D, over 2^m where 2^(m-2) - n is safe


def test_the_remarks_step_overflows_the_accumulator():
    m = 5
    honest = subject(OnGrid(step="paper", integers=Checked(), bits=m))

    def remark(problem):
        return OnGrid(step=problem.spread * problem.size / 2**m or 1, integers=Checked(), bits=m)

    weak = replace(
        honest,
        claim=lambda problem: remark(problem).sensitivity(problem),
        added=lambda problem: remark(problem).integer_problem(problem),
        prepare=lambda problem: ToGrid(remark(problem).grid(problem)),
        unmet=lambda problem: [] if problem.size and problem.size >= 3 else ["for a public size, with q in m bits"],
        accuracy=lambda problem: None,
        modulus=lambda problem: None,
    )
    positive = [(Fraction(0), x) for x in tiny.values() if x > 0]
    assert not violated(check(honest, tiny, positive, SIZES))
    (hamming, change_one) = sorted(violated(check(weak, tiny, positive, (3, 4))), key=lambda r: r.relation)[::-1]
    assert (hamming.relation, change_one.relation) == ("hamming", "change_one")
    example = hamming.counterexample
    grid = weak.prepare(example.case.problem).grid
    assert_shown(example, lambda u: grid.step * models.modular(IntType(m)).sum(map(grid.integer, u)))
    assert example.difference > 2 * example.claimed


# 5. Shifted with the real U - L in place of fl(U - L)


def test_shifted_needs_the_rounded_spread():
    honest = replace(subject(Shifted(Iterated())), entries=1 << 15)
    weak = replace(
        honest,
        claim=lambda problem: (1 + Fraction(problem.size * (problem.size - 1), 2**tiny.k)) * problem.spread,
    )
    assert not violated(check(honest, tiny, bounds(tiny, 5), SIZES))
    found = by_relation(violated(check(weak, tiny, bounds(tiny, 5), SIZES)))
    assert set(found) == {Relation.HAMMING, Relation.CHANGE_ONE}
    for result in found.values():
        L = result.counterexample.case.problem.lower
        assert_shown(result.counterexample, lambda u, L=L: models.iterated(tiny).sum(tiny.add(x, -L) for x in u))


# 6. Saturating in order, taken for order-free with both signs


def test_saturating_in_order_is_not_order_free():
    honest = subject(Saturating())
    weak = replace(honest, steps=lambda problem: ("saturating",))
    assert not violated(check(honest, int3, bounds(int3), SIZES))
    found = by_relation(violated(check(weak, int3, bounds(int3), SIZES)))
    assert set(found) == {Relation.SYMMETRIC, Relation.CHANGE_ONE}
    for result in found.values():
        assert_shown(result.counterexample, models.saturating(int3).sum)
    one_sign = [(L, U) for L, U in bounds(int3) if L >= 0 or U <= 0]
    assert not violated(check(weak, int3, one_sign, SIZES))


def test_a_reordering_alone_is_a_violation():
    """Within [-1, 1] every short dataset keeps to the bound, but the order still shows."""
    weak = replace(subject(Saturating()), steps=lambda problem: ("saturating",))
    (symmetric, *_) = violated(check(weak, IntType(5), [(-1, 1)], SIZES))
    example = symmetric.counterexample
    assert example.meaning == "reordered"
    assert Relation.SYMMETRIC.distance(list(example.left), list(example.right)) == 0
    assert example.left_sum != example.right_sum
    assert example.claimed == 0


# And what the others rest on


def test_a_halved_accuracy_is_caught():
    honest = replace(subject(Iterated()), entries=1 << 12)
    weak = replace(honest, accuracy=lambda problem: honest.accuracy(problem) / 2)
    (result,) = violated(check(weak, tiny, bounds(tiny, 4), SIZES))
    assert result.relation == ACCURACY
    example = result.counterexample
    assert abs(models.iterated(tiny).sum(example.left) - sum(example.left)) == example.difference > example.claimed


@pytest.mark.parametrize("label", METHODS)
def test_a_negative_claim_is_reported(label):
    """As of a bound h u / (1 - h u) without its condition h u < 1: nothing is so close, not even the same records."""
    honest = replace(subject(METHODS[label]), entries=1 << 10)
    weak = replace(honest, claim=lambda problem: Fraction(-1), accuracy=lambda problem: None)
    kind = int3 if honest.method.takes is IntType else tiny
    found = check(weak, kind, [(0, kind.max), (-1, 1)], (0, 1, 2))
    assert found
    for result in found:
        assert result.violations == result.cases
        example = result.counterexample
        assert (example.left, example.difference, example.claimed) == (example.right, 0, -1)


def test_truncation_with_the_hamming_bound_in_place_of_change_one_is_caught():
    """The shifted neighbour after a truncation: max(M, U - L) is needed, M alone is too little for both signs."""
    honest = subject(Checked())
    weak = replace(honest, claim=lambda problem: problem.ideal)
    found = by_relation(violated(check(weak, int3, bounds(int3), SIZES)))
    assert set(found) == {Relation.INSERT_DELETE, Relation.SYMMETRIC}
    example = found[Relation.INSERT_DELETE].counterexample
    n = example.case.problem.max_size
    assert sorted((len(example.left), len(example.right))) == [n, n + 1]  # an insertion pushes the last record out
    assert Relation.INSERT_DELETE.distance(list(example.left), list(example.right)) == 1
    assert abs(sum(example.left[:n]) - sum(example.right[:n])) == example.difference > example.claimed


def test_violations_are_printed_and_end_in_exit_code_1(monkeypatch):
    weak = replace(subject(Saturating()), claim=lambda problem: problem.ideal / 2)
    done = Verification(tuple(check(weak, int3, bounds(int3), SIZES)), quick=True, seconds=0.0)
    monkeypatch.setattr(method_commands, "verify", lambda *_: done)
    shown = CliRunner().invoke(app, ["verify", "--quick"])
    assert shown.exit_code == 1
    assert "VIOLATIONS" in shown.stdout
    assert "counterexample" in shown.stdout
    assert "adds to" in shown.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    "label, condition",
    [("shifted", "method"), ("shifted_kahan", "method"), ("iterated", "limit"), ("toward_zero", "limit")],
)
def test_a_method_that_applies_and_claims_nothing_is_reported(label, condition):
    """As without its condition that U - L is finite, or that the number of records is known."""
    honest = subject(METHODS[label])

    def unmet(problem):
        left_out = ("overflows",) if condition == "method" else ("needs a limit", "needs the public number")
        return [reason for reason in honest.method.unmet(problem) if not any(text in reason for text in left_out)]

    found = violated(check(replace(honest, unmet=unmet), tiny, [(tiny.min, tiny.max), (0, 1)], (1, 2)))
    assert found
    for result in found:
        assert result.counterexample.claimed is None
        assert "it is said to apply, and claims nothing" in str(result.counterexample)
        assert result.to_json()["counterexample"]["claimed"] is None
    assert all(result.violations < result.cases for result in found) or condition == "limit"
    silent = violated(check(replace(honest, claim=lambda problem: None), tiny, [(0, 1)], (1, 2)))
    assert silent
    assert all("TypeError: the sensitivity is None" in str(result.counterexample) for result in silent)


def test_halves_need_the_errors_of_both_sums():
    """Four records are kept; with a 0 in front of them other pairs are added, and all roundings go the other way."""
    kind, ulp = FloatType(5, 6), Fraction(1, 2**5)
    records = [1 + ulp, 1 + ulp, Fraction(1), 1 + 3 * ulp]
    upper = max(records)
    method, add = METHODS["split_pairwise"], models.pairwise(kind).sum
    problem = Problem(kind, -1, upper, "insert_delete", max_size=4)
    assert method.unmet(problem) == []
    difference, error = add(records) - add([0, *records[:3]]), method.error(4, upper, kind)
    assert difference - upper == 10 * kind.unit_roundoff
    assert upper + error < difference <= upper + 2 * error == method.sensitivity(problem)


# 7. A claim below the bound that stands in for an enumeration


def test_what_is_bounded_and_not_enumerated_is_held_to_the_bound():
    """Among four records within these bounds one that changes moves the sum by at most 373/16, as the closure shows."""
    honest, bound = subject(Iterated(accumulator=FloatType(3, 4))), Fraction(373, 16)

    def claiming(claim):
        weak = replace(honest, claim=lambda problem: claim, accuracy=lambda problem: None, entries=1 << 18)
        return by_relation(check(weak, tiny, [(Fraction(-14), Fraction(5, 16))], [4]))[Relation.CHANGE_ONE]

    assert (claiming(bound).certified, claiming(bound).violations) == (1, 0)
    assert claiming(bound - Fraction(1, 16)).violations == 1
