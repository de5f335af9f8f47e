"""soundsum's own methods as targets: each asked for its sum, its proved sensitivity and its releases, as users do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum._version import __version__
from soundsum.auditor.target import Target
from soundsum.methods import METHODS
from soundsum.methods.problem import Problem
from soundsum.numbers.types import NumberType, number_type
from soundsum.privacy.planner import Plan
from soundsum.releases.planning import plan
from soundsum.tables.relations import Relation

MAX_SIZE = 1 << 20
"""Where methods that need a limit truncate, if the number of records is private."""

PROBLEMS = (
    ("float64", Relation.CHANGE_ONE),
    ("float32", Relation.HAMMING),
    ("float32", Relation.SYMMETRIC),
    ("int64", Relation.CHANGE_ONE),
    ("int32", Relation.SYMMETRIC),
)
"""The promises under which each method is audited, where it accepts them."""


@dataclass(frozen=True)
class Planned:
    """A method for one type and relation, planned again for every call."""

    method: str
    dtype: NumberType
    relation: Relation

    def plan(self, lower: Any, upper: Any, size: int | None) -> Plan:
        limit = None if self.relation.sized else MAX_SIZE
        return plan(Problem(self.dtype, lower, upper, self.relation, size, limit), self.method)


@dataclass(frozen=True)
class OurSum(Planned):
    def __call__(self, data: Any, lower: Any, upper: Any, size: int | None) -> Any:
        return self.plan(lower, upper, size).sum(data)


@dataclass(frozen=True)
class OurRelease(Planned):
    def __call__(self, data: Any, lower: Any, upper: Any, epsilon: float, size: int | None) -> Any:
        return self.plan(lower, upper, size).release(data, epsilon).exact


@dataclass(frozen=True)
class OurClaim(Planned):
    def __call__(self, lower: Any, upper: Any, size: int | None) -> Fraction:
        return self.plan(lower, upper, size).sensitivity


def targets(method: str | None = None) -> list[Target]:
    """Every method, under every promise of PROBLEMS that it takes.

    >>> [t.name for t in targets("wide")]
    ['soundsum.wide[int64, change_one]', 'soundsum.wide[int32, symmetric]']
    """
    chosen = [name for name in METHODS if method is None or name == method]
    made = [_target(name, number_type(dtype), relation) for name in chosen for dtype, relation in PROBLEMS]
    return [target for target in made if target is not None]


def _target(method: str, kind: NumberType, relation: Relation) -> Target | None:
    try:
        example = Planned(method, kind, relation).plan(-1, 1, 100 if relation.sized else None)
    except ValueError:  # not for these: its `unmet` says why
        try:
            example = Planned(method, kind, relation).plan(1, 2, 100 if relation.sized else None)
        except ValueError:
            return None
    return Target(
        name=f"soundsum.{method}[{kind.name}, {relation}]",
        release=OurRelease(method, kind, relation),
        noiseless=OurSum(method, kind, relation),
        claimed=OurClaim(method, kind, relation),
        dtype=kind,
        relation=relation,
        noise="discrete_laplace",
        modulus=example.modulus,
        deterministic=not example.randomised,
        accepts_runs=True,
        streams="numpy" not in method,  # which adds an array
        refuses=(ValueError,),
        library="soundsum",
        version=__version__,
        source=f"soundsum.methods: {method}",
        claim_quote=f"plan.sensitivity (docs/theorems/{example.theorem.name}.md)",
        relation_quote=f"relation={relation}",
        repro="\n".join(
            [
                "import soundsum as ss",
                f"p = ss.plan(ss.Problem({kind.name!r}, lower, upper, {str(relation)!r}, "
                f"{'size' if relation.sized else f'max_size={MAX_SIZE}'}), {method!r})",
                "def noiseless(data): return p.sum(data)",
                "def release(data): return p.release(data, epsilon).exact",
            ]
        ),
    )
