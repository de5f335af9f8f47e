"""Draws, one after another: what was covered, and what was found, as code that looks at it again."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.neighbours.drawing import draw_pair
from tests.neighbours.judging import judge, shrink
from tests.neighbours.relations import Pair

FOUND_AT_MOST = 20
"""Findings that are shrunk and printed; those of a rule that was met before are only counted."""


@dataclass
class Tally:
    """What one process saw."""

    draws: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    covered: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: list[tuple[int, str, str, str]] = field(default_factory=list)  # draw, rule, details, code
    rules: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0


def run(seed: str, numbers: range, deadline: float | None, engines: list[str] | None = None) -> Tally:
    """Draws of these numbers, until the deadline; with engines, of tables in these alone."""
    if engines:
        from tests.neighbours.engines import started

        with started(engines):
            return _run(seed, numbers, deadline, engines)
    return _run(seed, numbers, deadline, None)


def _run(seed: str, numbers: range, deadline: float | None, readers: list[str] | None) -> Tally:
    tally, began, told = Tally(), time.process_time(), time.monotonic()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="soundsum-neighbours-", dir=memory) as folder:
        for number in numbers:
            if deadline is not None and time.monotonic() > deadline:
                break
            tally.draws += 1
            pair = draw_pair(Random(f"{seed}/{number}"), readers)
            if pair is None:
                continue
            look(tally, number, pair, Path(folder, "data"))
            if time.monotonic() - told > 10:
                told = time.monotonic()
                compared = tally.outcomes["compared"]
                print(
                    f"{tally.draws:,} draws, {compared:,} pairs compared, {len(tally.covered)} kinds of things covered,"
                    f" {sum(tally.rules.values())} findings",
                    file=sys.stderr,
                    flush=True,
                )
    tally.cpu = time.process_time() - began
    return tally


def look(tally: Tally, number: int, pair: Pair, folder: Path) -> None:
    verdict = judge(pair, folder)
    tally.outcomes[verdict.outcome] += 1
    tally.outcomes["modelled"] += verdict.modelled
    if verdict.outcome == "compared":
        tally.covered.update(cover(pair))
    if verdict.finding is not None:
        rule = verdict.finding.rule
        tally.rules[rule] += 1
        if tally.rules[rule] <= 3 and len(tally.found) < FOUND_AT_MOST:
            small = shrink(pair, folder, rule)
            again = judge(small, folder).finding or verdict.finding
            tally.found.append((number, rule, again.details, as_code(small)))


def cover(pair: Pair) -> list[tuple[str, str]]:
    """Everything that a pair has of each kind of thing."""
    query, kinds = pair.query, pair.kinds
    things = [("reader", pair.reader), ("relation", "persons" if query.person else query.relation)]
    things += [("statistic", ask.statistic) for ask in query.asks]
    things += [("numbers", kinds[ask.column]) for ask in query.asks if ask.column == "x" and ask.statistic != "Count"]
    things += [("method", ask.get("method", "auto")) for ask in query.asks if ask.statistic == "Sum"]
    things += [("id", kinds["id"])] if query.person else []
    things += [("key", kinds[one]) if isinstance(one, str) else ("period", one.kind) for one in query.by]
    things += [("moments", kinds[one.column]) for one in query.by if not isinstance(one, str)]
    things += [("filter", kinds[column]) for column, _, _ in query.where]
    things += [("caps", f"{query.max_rows} rows, {query.max_groups} groups")] if query.person else []
    things += [("missing", str(query.missing)), ("batches", str(len(pair.cuts[0]) + 1))]
    things += [("variant", pair.variant[0])] if pair.variant else []
    return [*things, *([("compared", "everything to be seen")] if pair.looks else [])]


def as_code(pair: Pair) -> str:
    """A program that judges the pair again."""
    return "\n".join(
        [
            "from tests.neighbours.again import *",
            f"pair = {pair!r}".replace("<NA>", "NA"),
            "print(pair.left(), pair.right(), sep='\\n')",
            "print(judge(pair, FOLDER))",
        ]
    )


def join(tallies: list[Tally]) -> Tally:
    whole = Tally()
    for one in tallies:
        whole.draws += one.draws
        whole.cpu += one.cpu
        whole.outcomes += one.outcomes
        whole.covered += one.covered
        whole.rules += one.rules
        whole.found += one.found
    whole.found.sort()
    return whole
