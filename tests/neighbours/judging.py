"""A pair of neighbours judged: the first promise that does not hold, if any."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.neighbours import claims, reference
from tests.neighbours.asking import Answer, Outcome, ask, look_at, shift_to_equal
from tests.neighbours.claims import Norms
from tests.neighbours.queries import EXACT, Ask, Query
from tests.neighbours.relations import Pair, shrink_once
from tests.neighbours.tables import Table


@dataclass(frozen=True)
class Finding:
    """A promise that was broken: which, and the numbers."""

    rule: str
    details: str


@dataclass(frozen=True)
class Verdict:
    """What became of a pair: "compared", "refused" or "undelivered", and what was found."""

    outcome: str
    finding: Finding | None = None
    modelled: bool = False


def judge(pair: Pair, folder: Path) -> Verdict:
    query, left_table, right_table = pair.query, pair.left(), pair.right()
    left, right = (ask(query, table, folder, pair.shift) for table in (left_table, right_table))
    if left.undelivered or right.undelivered:
        return Verdict("undelivered")
    if (left.error, left.warned) != (right.error, right.warned) and not _holds_only_nested(left_table, right_table):
        said = [one.error or "; ".join(one.warned) or "an answer" for one in (left, right)]
        return Verdict("compared", Finding("neighbours are told apart by what is said", " | ".join(said)))
    if left.error is not None or right.error is not None:
        return _judge_error(pair, left if left.error is not None else right, folder)
    finding = _judge_numbers(query, left, right, pair)
    modelled = False
    for answer, table in ((left, left_table), (right, right_table)):
        if finding is None:
            finding, modelled = _compare_with_definition(query, answer, table)
    finding = finding or _compare_variant(pair, left, folder)
    if finding is None and pair.looks:
        finding = _compare_looks(pair, left, right, folder)
    return Verdict("compared", finding, modelled)


def _holds_only_nested(*tables: Table) -> bool:
    """Whether numbers are nothing but lists or dicts in one of them, which is refused as no column of numbers."""
    columns = [table.column("x") for table in tables if "x" in table.kinds]
    return any(cells and all(isinstance(cell, list | tuple | dict) for cell in cells) for cells in columns)


def _judge_error(pair: Pair, left: Answer, folder: Path) -> Verdict:
    """A refusal is fine; a read that fails is only where one of no rows at all does, for it is then the type's."""
    if left.failed:
        empty = ask(pair.query, pair.nothing(), folder, pair.shift)
        if not empty.failed:
            return Verdict("compared", Finding("a read fails because of a record", str(left.error)))
    return Verdict("refused")


def _judge_numbers(query: Query, left: Answer, right: Answer, pair: Pair) -> Finding | None:
    for asked, mine, theirs in zip(query.asks, left.outcomes, right.outcomes, strict=True):
        ideal = ideal_norms(query, asked, mine)
        for place, (a, b) in enumerate(zip(mine.parts, theirs.parts, strict=True)):
            about = f"{asked.statistic}, {a.name}"
            if (a.name, a.step, a.norms) != (b.name, b.step, b.norms):
                return Finding("the claim depends on the data", f"{about}: {a.norms} | {b.norms}")
            if ideal is not None and a.norms.l1 + ideal[place].l1 and a.norms != ideal[place]:
                return Finding("the claim is not the ideal", f"{about}: claimed {a.norms}, ideal {ideal[place]}")
            if mine.modulus is not None:
                low, high = type_ends(mine) or (0, 0)
                for number in (*a.released, *b.released):
                    if not low <= number <= high:
                        return Finding("a modular sum is let out unwrapped", f"{about}: {number} of {mine.modulus}")
            moved = Norms.of([_apart(x - y, mine.modulus) for x, y in zip(a.totals, b.totals, strict=True)])
            if moved.exceeds(a.norms) and not mine.randomised:
                return Finding(
                    "neighbours are further apart than claimed",
                    f"{about}: claimed {a.norms}, moved {moved}: {a.totals} | {b.totals}",
                )
    return None


def _apart(difference: int, modulus: int | None) -> int:
    if modulus is None:
        return difference
    return (difference + modulus // 2) % modulus - modulus // 2


def type_ends(outcome: Outcome) -> tuple[int, int] | None:
    """The least and the largest integer of the type that is counted in; None for floats."""
    name = outcome.dtype
    if "int" not in name:
        return None
    bits = int(name.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def ideal_norms(query: Query, asked: Ask, outcome: Outcome) -> list[Norms] | None:
    """The norms of every part by first principles; None for methods that claim something else."""
    method = asked.get("method", "auto")
    if method not in EXACT:
        return None
    person = query.person is not None
    unit = claims.Unit(
        query.sized,
        len(outcome.parts[0].totals),
        bool(query.by or query.where or asked.has_cells or query.missing == "drop"),
        (1 if asked.counts_persons else query.max_rows) if person else None,
        query.max_groups if person else 1,
    )
    names = [part.name for part in outcome.parts]
    low = high = 0
    if asked.statistic in ("Sum", "Mean", "Variance", "Std"):
        step = outcome.parts[0].step * (1 if names[0] == "sum" else 2)
        lower, upper = Fraction(asked.get("lower")), Fraction(asked.get("upper"))
        ends, plain = type_ends(outcome), query.sized and unit.entries == 1 and not unit.left_out
        start = reference.grid_of(lower, upper, step, ends is None and (plain or names[0] != "sum"))
        low, high = claims.integer_range(lower - start, upper - start, step, ends)
    ideal = [claims.worst(*ends, unit) for ends in claims.part_ranges(names, low, high)]
    if outcome.modulus is not None:
        most = min(ideal[0].l1, outcome.modulus // 2)
        ideal = [Norms(most, most**2, ideal[0].entries)]
    return ideal


def _compare_with_definition(query: Query, answer: Answer, table: Table) -> tuple[Finding | None, bool]:
    modelled = False
    for asked, outcome in zip(query.asks, answer.outcomes, strict=True):
        if asked.get("method", "auto") not in EXACT or asked.get("dtype") is not None:
            continue
        if asked.has_cells and asked.cells is None:
            continue  # cells that are not written down here
        ends = type_ends(outcome)
        parts = [(part.name, part.step) for part in outcome.parts]
        try:
            defined = reference.totals(query, asked, table, parts, ends)
        except reference.Unmodelled:
            continue
        modelled = True
        for part, wanted in zip(outcome.parts, defined, strict=True):
            apart = [_apart(a - b, outcome.modulus) for a, b in zip(part.totals, wanted, strict=True)]
            if any(apart):
                about = f"{asked.statistic}, {part.name}: {part.totals}, by definition {wanted}"
                return Finding("totals are not those of the definition", about), True
    return None, modelled


def _compare_variant(pair: Pair, left: Answer, folder: Path) -> Finding | None:
    table = pair.other()
    if table is None or any(outcome.randomised for outcome in left.outcomes):
        return None
    other = ask(pair.query, table, folder, pair.shift)
    if other.undelivered or (other.error is not None and not other.failed and other.error != left.error):
        return None  # a reader may refuse a type
    if other.failed:
        return _judge_error(pair, other, folder).finding
    if other.totals != left.totals:
        return Finding("the same table gives other numbers", f"{left.totals} | {table.reader}: {other.totals}")
    return None


def _compare_looks(pair: Pair, left: Answer, right: Answer, folder: Path) -> Finding | None:
    """Noise that makes both let out the same numbers makes everything that can be seen the same."""
    if any(outcome.randomised for outcome in left.outcomes):
        return None
    again = ask(pair.query, pair.right(), folder, told=shift_to_equal(left, right, pair.shift))
    mine, theirs = look_at(left.release), look_at(again.release)
    for name, seen in mine.items():
        if seen != theirs[name]:
            return Finding("a release shows more than its numbers", f"{name}: {_differ(seen, theirs[name])}")
    return None


def _differ(one: object, other: object) -> str:
    if isinstance(one, list) and isinstance(other, list):
        return next((f"{a} | {b}" for a, b in zip(one, other, strict=False) if a != b), "lengths")[:500]
    return f"{one} | {other}"[:1000]


def shrink(pair: Pair, folder: Path, rule: str, most: int = 400) -> Pair:
    """The smallest pair found, in so many tries, that breaks the same promise."""
    tries = 0
    smaller = True
    while smaller and tries < most:
        smaller = False
        for one in shrink_once(pair):
            if repr(one) == repr(pair):
                continue
            tries += 1
            finding = judge(one, folder).finding
            if finding is not None and finding.rule == rule:
                pair, smaller = one, True
                break
            if tries >= most:
                break
    return pair
