"""Results of a verification: one per method, relation and type, with the smallest counterexample, if any.

Every number is exact; `to_json` writes them as strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from soundsum.methods.problem import Problem
from soundsum.numbers.rationals import Value
from soundsum.tables.relations import Relation

ACCURACY = "accuracy"
"""Stands in a relation's place where the claim is about one dataset's sum and the exact one."""


@dataclass(frozen=True)
class Case:
    """A problem for which a claim was compared with the truth; `sizes` gives the numbers of records it covers."""

    problem: Problem
    sizes: str
    variant: str = ""

    def __str__(self) -> str:
        kind = f"{self.problem.dtype} {self.variant}".strip()
        return f"{kind} in [{self.problem.lower}, {self.problem.upper}], {self.sizes}"


@dataclass(frozen=True)
class Counterexample:
    """Two datasets small enough to add by hand (for accuracy: one, with its exact sum on the right).

    If a method applies but claims nothing, there are no datasets, and `meaning` gives the reason.
    """

    case: Case
    left: tuple[Value, ...]
    right: tuple[Value, ...]
    left_sum: Value
    right_sum: Value
    difference: Value
    claimed: Fraction | None
    meaning: str = "neighbours"

    def __str__(self) -> str:
        def dataset(values: tuple[Value, ...]) -> str:
            return f"[{', '.join(map(str, values))}]"

        if self.claimed is None:
            return f"{self.case}: it is said to apply, and claims nothing ({self.meaning})"
        exact = "its exact sum is" if self.meaning == ACCURACY else f"{dataset(self.right)} adds to"
        return (
            f"{self.case} ({self.meaning}): {dataset(self.left)} adds to {self.left_sum}, "
            f"{exact} {self.right_sum}; they differ by {self.difference}, claimed is at most {self.claimed}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "case": str(self.case),
            "meaning": self.meaning,
            "left": list(map(str, self.left)),
            "right": list(map(str, self.right)),
            "left_sum": str(self.left_sum),
            "right_sum": str(self.right_sum),
            "difference": str(self.difference),
            "claimed": None if self.claimed is None else str(self.claimed),
        }


@dataclass(frozen=True)
class Result:
    """The outcome for one method, relation and type: the number of cases and pairs, and the truth beside the claim.

    `certified` counts the cases in which the truth was not computed but bounded, through the measured accuracy.
    `ratio` is the largest true/claimed value among the others, and `at` the case where it occurs.
    """

    method: str
    relation: str
    dtype: str
    cases: int = 0
    pairs: int = 0
    certified: int = 0
    violations: int = 0
    ratio: Fraction | None = None
    at: Case | None = None
    counterexample: Counterexample | None = None
    exhaustive: bool = True

    def join(self, other: Result) -> Result:
        """Both results as one."""
        closer = max((self, other), key=lambda r: -1 if r.ratio is None else r.ratio)
        found = [r.counterexample for r in (self, other) if r.counterexample]
        return replace(
            self,
            dtype=self.dtype if self.dtype == other.dtype else "all",
            cases=self.cases + other.cases,
            pairs=self.pairs + other.pairs,
            certified=self.certified + other.certified,
            violations=self.violations + other.violations,
            ratio=closer.ratio,
            at=closer.at,
            counterexample=min(found, key=smallness, default=None),
            exhaustive=self.exhaustive and other.exhaustive,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "relation": self.relation,
            "dtype": self.dtype,
            "cases": self.cases,
            "pairs": self.pairs,
            "certified": self.certified,
            "violations": self.violations,
            "ratio": None if self.ratio is None else str(self.ratio),
            "at": None if self.at is None else str(self.at),
            "counterexample": None if self.counterexample is None else self.counterexample.to_json(),
            "exhaustive": self.exhaustive,
        }


@dataclass(frozen=True)
class Verification:
    """Everything that was checked; `violations` must be 0."""

    results: tuple[Result, ...]
    quick: bool
    seconds: float

    @property
    def violations(self) -> int:
        return sum(result.violations for result in self.results)

    @property
    def cases(self) -> int:
        return sum(result.cases for result in self.results)

    @property
    def pairs(self) -> int:
        return sum(result.pairs for result in self.results)

    @property
    def counterexamples(self) -> list[Counterexample]:
        return [result.counterexample for result in self.results if result.counterexample]

    def by_method(self) -> list[Result]:
        """One result per method and relation, all types together."""
        return join(replace(result, dtype="all") for result in self.results)

    def to_json(self) -> dict[str, Any]:
        return {
            "quick": self.quick,
            "seconds": round(self.seconds, 1),
            "cases": self.cases,
            "pairs": self.pairs,
            "violations": self.violations,
            "results": [result.to_json() for result in self.results],
        }


def compare_pairs(
    label: str,
    case: Case,
    kind: str,
    claimed: Fraction,
    pairs: Iterable[tuple[Any, Any, Fraction]],
    violation: type[Counterexample],
) -> Result:
    """Compare the true figure of every neighbouring pair, given with the pair, with the one figure that is claimed."""
    worst, seen, violations, first = Fraction(0), 0, 0, None
    for left, right, figure in pairs:
        seen += 1
        worst = max(worst, figure)
        if figure > claimed:
            violations += 1
            first = first or violation(case, left, right, 0, 0, figure, claimed)
    return Result(
        label,
        case.problem.relation,
        kind,
        cases=1,
        pairs=seen,
        violations=violations,
        ratio=worst / claimed,
        at=case,
        counterexample=first,
    )


def join(results: Iterable[Result]) -> list[Result]:
    """Results of the same method, relation and type as one each, in a fixed order of relations."""
    order = [*Relation, ACCURACY]
    known: dict[tuple[str, int, str], Result] = {}
    for result in results:
        key = result.method, order.index(result.relation), result.dtype
        known[key] = known[key].join(result) if key in known else result
    methods = list(dict.fromkeys(method for method, _, _ in known))
    return [known[key] for key in sorted(known, key=lambda key: (methods.index(key[0]), *key[1:]))]


def smallness(example: Counterexample) -> tuple[int, int, Fraction]:
    """Few records first, then few characters, then tight bounds: easy to check by hand."""
    problem = example.case.problem
    return len(example.left) + len(example.right), len(str(example)), problem.spread
