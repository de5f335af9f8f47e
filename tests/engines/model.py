"""Sums by person as they are defined, in dictionaries and integers of any size: what the kernel must equal."""

import datetime
import hashlib
import math
import struct
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

from soundsum.methods.steps import RecordSteps
from soundsum.tables.records import Column


def person_of(x):
    """Whom an id stands for; None for nobody."""
    if x is None or x != x:
        return None
    return 0.0 if x == 0 and isinstance(x, float) else x


def integer_of(x, steps: RecordSteps):
    if steps.grid is not None:
        return steps.grid.integer(x)
    return min(max(0 if x != x else x, steps.low), steps.high)


def spelled(person):
    """An id as a text, of which lots are drawn."""
    if isinstance(person, str | bytes):
        return person.encode() if isinstance(person, str) else person
    if isinstance(person, tuple):  # an interval: months, days and nanoseconds
        return struct.pack("<iiq", *person)
    if isinstance(person, Decimal):
        return (str(math.floor(person)) if abs(person) < 10**28 else f"{person:f}").encode()  # 256 bits, in tests
    if isinstance(person, datetime.date):
        return str((person - datetime.date(1970, 1, 1)).days).encode()
    if isinstance(person, float):
        return str(math.trunc(person) if abs(person) < 2**53 else 0).encode()
    return str(int(person)).encode() if isinstance(person, int) else b""


def lot(person, group):
    """What decides between groups in which a person has equally many rows: the lowest comes first."""
    return hashlib.sha256(spelled(person) + f"/{group}".encode()).digest()


def person_totals(rows, steps, parts, missing, unit):
    """Every part's total for each group; rows are (id, code, record), a code beyond the groups is none."""
    groups = 1 if unit.groups is None else unit.groups
    pairs = defaultdict(lambda: defaultdict(list))
    for x, code, record in rows:
        person = person_of(x)
        if person is not None and code < groups and not (missing == "drop" and record != record):
            pairs[person][code].append(integer_of(record, steps))
    totals = [[0] * groups for _ in parts]
    for person, mine in pairs.items():
        ranked = sorted(mine, key=lambda code: (-len(mine[code]), lot(person, code)))
        for code in ranked[: unit.max_groups]:
            for part, total in zip(parts, totals, strict=True):
                total[code] += bounded(mine[code], part, unit.max_rows, together=len(parts) > 1)
    return totals


def bounded(integers, part, max_rows, together):
    powers = len(integers), sum(integers), sum(q * q for q in integers)
    own = sum(w * s for w, s in zip(part.weights, powers, strict=True))
    if together and len(integers) > max_rows:
        own = own * max_rows // len(integers)
    low, high = part.range
    return min(max(own, max_rows * min(low, 0)), max_rows * max(high, 0))


def rows_of(ids, codes, column: Column | None):
    records = [0] * len(ids) if column is None else list(column)
    return list(zip(ids, [0] * len(ids) if codes is None else codes, records, strict=True))


def ranked_cells(rows, unit, cells):
    """The rows counted in every pair of group and cell; rows are (id, code, cell), of either none beyond the last.

    Of a person's m rows in a group, in order, those at floor((j + u) m / r): u is a lot of the id and group.
    """
    groups = 1 if unit.groups is None else unit.groups
    pairs = defaultdict(lambda: defaultdict(list))
    for x, code, cell in rows:
        person = person_of(x)
        if person is not None and code < groups and cell < cells:
            pairs[person][code].append(cell)
    totals = [0] * (groups * cells)
    for person, mine in pairs.items():
        ranked = sorted(mine, key=lambda code: (-len(mine[code]), lot(person, code)))
        for code in ranked[: unit.max_groups]:
            for cell in keep_in_order(mine[code], unit.max_rows, lot(person, groups + code)):
                totals[code * cells + cell] += 1
    return totals


def keep_in_order(values, most, drawn):
    """At most so many of the values, at equal distances in order."""
    own, m, r = sorted(values), len(values), min(most, len(values))
    u = Fraction(int.from_bytes(drawn[:4], "big"), 1 << 32) if r < m else Fraction(0)
    return [own[math.floor((j + u) * m / r)] for j in range(r)]
