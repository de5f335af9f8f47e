"""Pairs drawn at random: a table, a question that it can be asked, and a neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa

from tests.neighbours.cells import KINDS, as_python
from tests.neighbours.queries import Ask, Period, Query
from tests.neighbours.relations import Pair, draw_neighbour
from tests.neighbours.tables import ALONE, READERS

FLOAT_BOUNDS = (
    *((0, 1000), (-1, 1), (0, 10), (-1e308, 1e308), (0, 1e-300), (-3.7, 1000.1), (1, 1 + 2.0**-50), (1e6, 1e6 + 1)),
    *((-5, -1), (2, 2), (0, 0), (0, 1.5e-323), (1e300, 1e305), (0.1, 0.3), (-1e-5, 1e12), (-5e-324, 5e-324)),
)
INTEGER_BOUNDS = (
    *((0, 100), (-5, 7), (3, 3), (0, 0), (1, 10), (-2, -1), (0.5, 9.5), (0, 1), (-1, 1), (-128, 127), (0, 255)),
    *((-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (0, 2**64 - 1), (2**53 + 1, 2**53 + 101)),
)
DIGIT_BOUNDS = ((0, 100), (-5, 15), (-1000, 10**6), (5, 6), (-1, 1), (0, 0), (2, 2), (-(2**63), 2**63 - 1), (-9, -1))
"""Of decimals, in their last digits."""

INTEGER_METHODS = ("modular", "split_modular", "saturating", "split", "checked", "split_checked", "wide")
FLOAT_METHODS = (
    *("grid", "iterated", "split_iterated", "pairwise", "split_pairwise", "numpy_pairwise", "split_numpy_pairwise"),
    *("kahan", "split_kahan", "toward_zero", "shifted", "shifted_pairwise", "shifted_kahan", "shifted_toward_zero"),
)
PERIODS = (
    *(("year", "2011", "2024"), ("month", "2024-01", "2024-03"), ("day", "2024-02-28", "2024-03-01")),
    *(("hour", "2024-03-10T00", "2024-03-10T09"), ("day", "2011-12-28", "2012-01-02")),
    ("week", "2024-W09", "2024-W11"),
)
SIGNS = ("==", "!=", "<", "<=", ">", ">=")
ZONES = (None, None, None, "America/New_York", "Pacific/Apia")
RELATIONS = ("symmetric", "insert_delete", "change_one", "hamming")
SHIFTS = (0, 1, -1, 2**40 + 7, -(2**70), 10**25)
STORED_OTHERWISE = ("time32", "time64", "date64", "duration")
"""Ids that files and databases keep in another unit, in which their lots are drawn."""

NAMED = ("a", "b", "A", "1", "ä", "")
"""Groups that are asked for where cells have no types."""


def draw_pair(random: Random, readers: list[str] | None = None) -> Pair | None:
    """A pair of neighbours; None where this draw makes none."""
    weights = {name: READERS[name].drawn for name in readers or READERS}
    reader = random.choices(list(weights), list(weights.values()))[0]
    kinds = draw_kinds(random, reader)
    pools = {name: draw_pool(random, kind) for name, kind in kinds.items()}

    def rows(most: int) -> list[tuple[Any, ...]]:
        return [tuple(random.choice(pool) for pool in pools.values()) for _ in range(random.randint(0, most))]

    query = draw_query(random, reader, kinds, pools)
    used = query.columns or list(kinds)[:1]
    kinds, pools = ({name: own[name] for name in kinds if name in used} for own in (kinds, pools))
    common, more = rows(random.choice((2, 8, 16, 24))), rows(4)
    more = more or [tuple(random.choice(pool) for pool in pools.values())]
    if query.person is not None and random.random() < 0.3:  # nobody in the last rows
        place = list(kinds).index(query.person)
        nobody = {"typed": None, "objects": None, "csv": b""}[KINDS[kinds[query.person]].family]
        common += [(*row[:place], nobody, *row[place + 1 :]) for row in rows(3)]
    sides = draw_neighbour(random, query, kinds, common, more)
    if sides is None:
        return None
    cuts = tuple(draw_cuts(random, len(sides)) for _ in "lr")
    shuffled = random.randrange(2**32) if not query.ordered and not query.depends_on_order else None
    return Pair(
        query,
        reader,
        kinds,
        sides,
        (cuts[0], cuts[1]),
        random.choice((None, shuffled)),
        draw_variant(random, reader, kinds, query, len(sides)),
        random.choice(SHIFTS),
        random.random() < 0.15,
    )


def draw_variant(
    random: Random, reader: str, kinds: dict[str, str], query: Query, size: int
) -> tuple[str, tuple[int, ...], int | None] | None:
    """Another way to hand over the same table, in another order where that makes no difference."""
    if random.random() < 0.5 or query.depends_on_order:
        return None
    if query.person is not None and any(unit in kinds["id"] for unit in STORED_OTHERWISE):
        return reader, draw_cuts(random, size), None
    alike = [
        name
        for name in READERS
        if READERS[name].family == READERS[reader].family
        and (name in ALONE) == (reader in ALONE)
        and (not name.startswith("folders") or kinds.get("k") == "string")
    ]
    return random.choice([*alike, reader]), draw_cuts(random, size), random.choice((None, random.randrange(2**32)))


def draw_cuts(random: Random, size: int) -> tuple[int, ...]:
    """Where batches end, some of them empty; the last may be, too."""
    cuts = [random.randint(0, size) for _ in range(random.choice((0, 0, 1, 2, 4)))]
    return tuple(sorted([*cuts, *([size] if random.random() < 0.2 else [])]))


def draw_kinds(random: Random, reader: str) -> dict[str, str]:
    """The kinds of the columns: numbers x, ids, keys, what is filtered by, and moments t."""
    family = READERS[reader].family
    held = READERS[reader].kinds or KINDS
    own = [name for name, kind in KINDS.items() if kind.family == family and name in held]
    numbers = [name for name in own if KINDS[name].is_number]
    x = random.choice(numbers)
    if family != "typed":
        x = random.choice(([name for name in own if "number" in name] * 4) + own)
    moments = [name for name in own if KINDS[name].is_moment or family != "typed"]
    f = random.choice((random.choice(own), random.choice(numbers)))
    texts = {"typed": "string", "objects": "text objects", "csv": "text cells"}
    key = random.choice((random.choice(own), texts[family]))
    ids = [*own, *["interval"] * 4] if "interval" in own else [*own, own[0]]
    if reader.startswith("folders"):
        key = "string"
    return {"x": x, "id": random.choice(ids), "k": key, "f": f, "t": random.choice(moments)}


def draw_pool(random: Random, kind: str) -> list[Any]:
    """A few cells, so that they meet again: any, or some that are next to each other, and often alike."""
    pool, size = KINDS[kind].pool, random.choice((2, 3, 4, 8))
    if random.random() < 0.5:
        return random.sample(pool, min(len(pool), size))
    first = random.randrange(len(pool))
    return [*pool[first : first + size], *random.sample(pool, 1)]


def draw_query(random: Random, reader: str, kinds: dict[str, str], pools: dict[str, list[Any]]) -> Query:
    person = "id" if random.random() < 0.55 else None
    relation = "symmetric" if person is not None else random.choice(RELATIONS)
    by: tuple[str | Period, ...] = ()
    groups: tuple[Any, ...] | None = None
    how = random.random()
    if random.random() < 0.15:  # a sum of all rows, by any method
        person, how = None, 1.0
    counts = random.random() < 0.2
    if counts and random.random() < 0.5:  # without groups
        how = min(how, 0.9) if how > 0.85 else 0.9
    if how < 0.45 or (person is not None and how < 0.75):
        by, groups = ("k",), draw_groups(random, kinds["k"], pools["k"])
    elif how < 0.85 and reader not in ALONE:
        kind, first, last = random.choice(PERIODS)
        own = KINDS[kinds["t"]].type
        zone = random.choice(ZONES) if own is None or getattr(own, "tz", None) is not None else None
        by = (Period("t", kind, first, last, zone),)
    if groups is not None and random.random() < 0.2 and reader not in ALONE:
        by, groups = ("k", "f"), (groups, draw_groups(random, kinds["f"], pools["f"]))
    where: tuple[tuple[str, str, Any], ...] = ()
    if how < 1 and random.random() < 0.35 and reader not in ALONE:
        column = random.choice(("f", "x", "k", "t"))
        value = draw_value(random, kinds[column], pools[column])
        signs = ("==", "!=") if KINDS[kinds[column]].type is None and isinstance(value, str) else SIGNS
        if value is not None:
            where = ((column, random.choice(signs), value),)
    plain = not by and not where and person is None
    missing = random.choice((None, "zero", "drop"))
    dtype = None
    if READERS[reader].family == "csv" and all(column != "x" for column, _, _ in where):
        dtype = random.choice((None, "float64", "int64"))
    count = 1 if reader in ALONE else random.choice((1, 1, 2, 3))
    asks = tuple(draw_ask(random, kinds, pools, plain, reader, missing == "drop", dtype) for _ in range(count))
    if plain and count == 1 and relation in ("symmetric", "insert_delete"):
        asks = (draw_limit(random, asks[0]),)
    if counts:
        asks = tuple(draw_counts(random, ask, bool(by), person is not None, reader in ALONE) for ask in asks)
    most = random.choice((1, 1, 2, 3)) if by or all(ask.has_cells for ask in asks) else 1
    return Query(asks, relation, by, groups, where, person, random.choice((1, 1, 2, 3)), most, missing)


def draw_value(random: Random, kind: str, pool: list[Any]) -> Any:
    """A cell as a value to compare with; None where there is none."""
    found = [as_python(kind, cell) for cell in [*pool, *KINDS[kind].pool[:4]]]
    if KINDS[kind].family == "csv":
        return random.choice((1, 2.5, "a", "7", "2024"))
    if KINDS[kind].family == "objects":
        return random.choice((1, 0.5, "a", "1", True))
    plain = [value for value in found if value is not None and value == value]
    return random.choice(plain) if plain else None


def draw_groups(random: Random, kind: str, pool: list[Any]) -> tuple[Any, ...]:
    if KINDS[kind].type is None and random.random() < 0.2:
        return random.choice((NAMED, (1, 0, 7), (1.0, 0.5), (True, False)))[: random.choice((1, 2, 3, 6))]
    found = [as_python(kind, cell) for cell in [*pool, *KINDS[kind].pool[:3]]]
    plain: list[Any] = []
    for value in found:
        if KINDS[kind].type is None and not (isinstance(value, str) and value.isprintable()):
            continue
        if value is not None and value == value and value not in plain:
            plain.append(value)
    return tuple(plain[: random.choice((1, 2, 4, 8, 8))]) or NAMED[:2]


def draw_ask(
    random: Random,
    kinds: dict[str, str],
    pools: dict[str, list[Any]],
    plain: bool,
    reader: str,
    drops: bool,
    dtype: str | None,
) -> Ask:
    statistic = random.choice(("Sum", "Sum", "Sum", "Mean", "Variance", "Std", "Count", "Histogram"))
    typed: list[tuple[str, Any]] = [] if dtype is None else [("dtype", dtype)]
    if statistic == "Count":
        return Ask("Count", random.choice(("x", "k", "t") if drops else ("x", None)) if reader not in ALONE else "x")
    if statistic == "Histogram":
        if random.random() < 0.5 and reader not in ALONE:
            return Ask("Histogram", "k", (("categories", draw_groups(random, kinds["k"], pools["k"])),))
        edges = random.choice(((0, 1, 2, 1000), (-1.5, 0, 0.5, 1), (0.0, 1e300), (-(2**63), 0, 2**53, 2**63 - 1)))
        return Ask("Histogram", "x", (("edges", edges), *typed))
    lower, upper = random.choice(draw_bounds(kinds["x"], dtype))
    method: list[tuple[str, Any]] = []
    if statistic == "Sum" and plain and random.random() < 0.6:
        own = KINDS[kinds["x"]].type
        is_float = own is None or pa.types.is_floating(own) if dtype is None else "float" in dtype
        method = [("method", random.choice(FLOAT_METHODS if is_float else INTEGER_METHODS))]
    return Ask(statistic, "x", (("lower", lower), ("upper", upper), *typed, *method))


def draw_counts(random: Random, ask: Ask, by_group: bool, of_persons: bool, alone: bool) -> Ask:
    """Noisy counts from which advice is read, or the share that bounds cut off."""
    lower, upper = ask.get("lower", 0), ask.get("upper", 10)
    typed = tuple((name, value) for name, value in ask.given if name == "dtype")
    whole = () if by_group else (Ask("Bounds", "x", typed), Ask("Bounds", "x", (("coverage", "1/2"), *typed)))
    persons = (Ask("TotalBounds", "x", typed), *(() if alone else (Ask("MaxRows"),))) if of_persons and whole else ()
    return random.choice((Ask("Clipped", "x", (("lower", lower), ("upper", upper), *typed)), *whole, *persons))


def draw_limit(random: Random, ask: Ask) -> Ask:
    """A sum by a method that may need a limit on the number of rows, with one."""
    if ask.get("method") is None:
        return ask
    return Ask(ask.statistic, ask.column, (*ask.given, *random.choice(((), (("max_size", 5),), (("max_size", 100),)))))


def draw_bounds(kind: str, dtype: str | None) -> Sequence[tuple[Any, Any]]:
    """Bounds that a column's type has values in."""
    own = KINDS[kind].type if dtype is None else getattr(pa, dtype)()
    if own is None or pa.types.is_floating(own) or pa.types.is_null(own):
        return FLOAT_BOUNDS
    if pa.types.is_decimal(own):
        unit_value = Fraction(10) ** -own.scale
        return [(low * unit_value, high * unit_value) for low, high in DIGIT_BOUNDS]
    if pa.types.is_boolean(own):
        return ((0, 1), (1, 1), (0, 0), (-3, 5))
    low, high = (0, 2**own.bit_width - 1)
    if pa.types.is_signed_integer(own):
        low, high = -(2 ** (own.bit_width - 1)), 2 ** (own.bit_width - 1) - 1
    return [*(ends for ends in INTEGER_BOUNDS if low <= ends[0] and ends[1] <= high), (low, high)]
