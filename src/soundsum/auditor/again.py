"""A fresh process that sums datasets again: a function and its arguments come by stdin, the sums go to stdout."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any

import numpy as np

from soundsum.auditor.asking import failure
from soundsum.auditor.target import call


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
