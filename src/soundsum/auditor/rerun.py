"""Confirm that sums are deterministic, in three fresh processes, with one thread and with two.

Small datasets are summed many times in each if that is quick, since a random sum may agree three times by chance. If
any sum of a target varies, nothing about that target is certified.

A target may bring its own way (`fresh`). Importable functions run in `python -m soundsum.auditor.rerun`, which reads a
function and its arguments from stdin and writes the sums to stdout. A function that cannot be sent to another process
(a lambda, a closure) is repeated in this one, and the finding says so.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from soundsum.auditor.calling import Failure, Unsupported, as_number, ask, call, failure
from soundsum.auditor.measuring import Measurement, sum_of
from soundsum.auditor.process import with_threads
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import Value
from soundsum.tables.runs import Runs

THREADS = (1, 2, 1)
"""The threads of each fresh process."""

SECONDS = 300.0

TIMES, SMALL, SHARE = 20, 1 << 12, 2.0
"""Repetitions in each process, for datasets of at most this many records, within this many seconds."""

IN_FRESH = "the same in 3 fresh processes, with 1 and 2 threads"
IN_THIS = "the same each time in this process; the function cannot be imported by another one"


def confirm(target: Target, seen: Sequence[Measurement]) -> list[tuple[bool, str]]:
    """For each measurement, whether all sums came out the same each time, and how that was tested."""
    asked, expected = [], []
    for one in seen:
        often = max(1, min(TIMES, int(SHARE / max(one.seconds, 1e-6))))
        for side, answer in zip((one.attack.left, one.attack.right), one.answers, strict=True):
            times = often if side.size <= SMALL else 1
            asked += [(side, target.parameters(one.attack.problem, side.size), one.attack)] * times
            expected += [answer] * times
    how, same = IN_FRESH, True
    for threads in THREADS:
        again = ask(target.refuses, partial(_again, target, [(side, given) for side, given, _ in asked], threads))
        if isinstance(again, Failure):
            return [(False, f"it could not be run in a fresh process: {again.text}")] * len(seen)
        if again is None:
            how = IN_THIS
            again = [sum_of(target, side, made) for side, _, made in asked]
        same = same and all(map(_same, again, expected))
    return [(True, how) if same else (False, "a noiseless sum differs from one time to the next")] * len(seen)


def _again(target: Target, asked: Sequence[tuple[Runs, Mapping[str, Any]]], threads: int) -> list[Any] | None:
    """The sums in a fresh process; None if the function cannot get there."""
    if target.fresh is not None:
        return [x if isinstance(x, Failure) else as_number(x, target.name) for x in target.fresh(asked, threads)]
    try:
        parcel = pickle.dumps(sys.path) + pickle.dumps((target.noiseless, target.accepts_runs, list(asked)))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    if b"__main__" in parcel:
        return None
    ran = subprocess.run(
        [sys.executable, "-m", "soundsum.auditor.rerun"],
        input=parcel,
        capture_output=True,
        timeout=SECONDS,
        env=with_threads(threads),
    )
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        raise Unsupported(said[-1] if said else f"it ended with exit code {ran.returncode}")
    found: list[Any] = pickle.loads(ran.stdout)
    return [x if isinstance(x, Failure) else as_number(x, target.name) for x in found]


def _same(one: Value | Failure, other: Value | Failure) -> bool:
    if isinstance(one, Failure) or isinstance(other, Failure):
        return isinstance(one, Failure) and isinstance(other, Failure)
    return one == other or (one != one and other != other)


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints does not get among the sums
    sys.path[:] = pickle.load(sys.stdin.buffer)  # first: the function may lie anywhere on it
    noiseless, accepts_runs, asked = pickle.load(sys.stdin.buffer)
    sums: list[Any] = []
    for records, parameters in asked:
        try:
            data = records if accepts_runs or records.type.dtype is None else np.asarray(records)
            sums.append(call(noiseless, parameters, data))
        except (Exception, SystemExit) as error:
            sums.append(failure(error))
    with answers:
        pickle.dump(sums, answers)


if __name__ == "__main__":
    main()
