"""Transformations that turn a bound under one relation into a bound under another: permutation, truncation, splitting.

- A uniform secret permutation first: what held for an ordered relation holds for its unordered one, as a coupling
  (`thrm:couple-unknown-n`).
- Truncation to the first n records: an insert-delete bound is the larger of the insert-delete bound on at most n
  records and the *change-one* bound on exactly n (Hamming is not enough: dropping the n-th record lets another in, so
  the kept sequences need not be Hamming neighbours).
- Splitting by sign: one record is in one half, so a bound for each half bounds the sum of both by the larger.
"""

from __future__ import annotations

from fractions import Fraction

from soundsum.randomness import random_permutation
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.records import Column, Records, keep, keep_values, stretch
from soundsum.tables.runs import Runs

MOST_PERMUTED = 1 << 28
"""Records that may be brought into memory to permute them."""


def truncation_bound(insert_delete: Fraction, change_one: Fraction) -> Fraction:
    """The insert-delete sensitivity after truncation, from those on at most n and on exactly n records."""
    return max(insert_delete, change_one)


def permute(data: Records) -> Records:
    """The records in a uniformly random order. An array is in memory already; runs would have to be written out."""
    if isinstance(data, Runs) and data.size > MOST_PERMUTED:
        raise RefusedValue(
            "data",
            Reason.TOO_MANY,
            "runs of {records} records are too many to permute in memory (the limit is {most})",
            "use a method whose sum does not depend on the order, such as grid or split",
            records=f"{data.size:,}",
            most=f"{MOST_PERMUTED:,}",
        )
    order = random_permutation(data.size)
    if isinstance(data, Runs):
        values = list(data)
        return Runs(data.type, ((values[i], 1) for i in order.tolist()))
    return keep(data, order)


def truncate(data: Records, n: int) -> Records:
    """The first n records."""
    if isinstance(data, Runs):
        return data[:n]
    return stretch(data, slice(0, n))


def by_sign(data: Records) -> tuple[Records, Records]:
    """The negative records and the rest, each in order. A missing record is among the rest: it counts as 0 there."""
    if isinstance(data, Runs):
        return keep_values(data, lambda x: x < 0), keep_values(data, lambda x: not x < 0)
    negative = data.negative()
    return Column(data.values[negative], data.type), keep(data, ~negative)
