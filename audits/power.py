"""Measures the auditor on the zoo: how many unsound mechanisms it catches, and how many sound ones it accuses.

`make audit-power` runs every mechanism at default limits, which takes up to a minute each, and writes the table of
docs/auditor.md. It fails if a sound mechanism is accused or fewer than 38 unsound ones are caught. Outcomes are kept in
build/power.json, so that ARGS="--only NAME" measures a few again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import soundsum as ss
from audits.zoo import animals

PAGE = Path(__file__).parents[1] / "docs" / "auditor.md"
BEGIN, END = "<!-- audit-power: begin -->", "<!-- audit-power: end -->"
LEAST = 38
RESULTS = Path("build/power.json")


@dataclass(frozen=True)
class Outcome:
    """An audited mechanism of the zoo."""

    name: str
    kind: str
    sound: bool
    verdict: str
    rules: Sequence[str]
    seconds: float

    @property
    def accused(self) -> bool:
        return bool(self.rules)

    @property
    def right(self) -> bool:
        return self.accused is not self.sound


def judge(name: str, seconds: float) -> Outcome:
    one = next(animal for animal in animals() if animal.name == name)
    done = ss.audit(one.target, seconds=seconds)
    (target,) = done.targets
    rules = tuple(dict.fromkeys(finding.rule for finding in done.violations))
    return Outcome(name, one.kind, one.sound, str(done.verdict_of(target)), rules, done.seconds)


def table(outcomes: Sequence[Outcome]) -> str:
    """Write the page's part: the count, and for each kind of fault what was caught and missed."""
    unsound, sound = [o for o in outcomes if not o.sound], [o for o in outcomes if o.sound]
    caught, accused = [o for o in unsound if o.accused], [o for o in sound if o.accused]
    kinds = dict.fromkeys(o.kind for o in unsound)
    lines = [
        f"Of {len(unsound)} unsound mechanisms of {len(kinds)} kinds, {len(caught)} are caught; of {len(sound)} sound "
        f"ones, {len(accused)} are accused.",
        "",
        "| kind | caught | missed |",
        "|---|---|---|",
    ]
    for kind in kinds:
        those = [o for o in unsound if o.kind == kind]
        names = ["; ".join(o.name.partition(": ")[2] for o in those if o.accused is way) for way in (True, False)]
        lines.append(f"| {kind} | {names[0]} | {names[1]} |")
    if accused:
        lines.append(f"\nAccused though sound: {', '.join(o.name for o in accused)}.")
    return "\n".join(lines)


def write(text: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="mechanisms whose name contains this")
    parser.add_argument("--seconds", type=float, default=60.0, help="the limit for each mechanism")
    parser.add_argument("--jobs", type=int, default=1, help="audits at the same time")
    asked = parser.parse_args()
    every = list(animals())
    chosen = [(one.name, asked.seconds) for one in every if asked.only in one.name]
    measured = {o["name"]: Outcome(**o) for o in json.loads(RESULTS.read_text())} if RESULTS.exists() else {}
    with multiprocessing.get_context("spawn").Pool(asked.jobs, maxtasksperchild=1) as pool:
        for result in [pool.apply_async(judge, one) for one in chosen]:
            o = measured[result.get().name] = result.get()
            mark = "right" if o.right else "WRONG"
            print(f"{mark}  {o.name}: {o.verdict} {', '.join(o.rules)} ({o.seconds:.0f} s)", flush=True)
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps([asdict(one) for one in measured.values()], indent=1) + "\n")
    missing = [one.name for one in every if one.name not in measured]
    if missing:
        print(f"not measured yet, so the page is left alone: {', '.join(missing)}")
        return 0
    outcomes = [measured[one.name] for one in every]
    print(table(outcomes))
    write(table(outcomes))
    caught = sum(not o.sound and o.accused for o in outcomes)
    return int(caught < LEAST or any(o.sound and o.accused for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
