"""Feeds random buffers to kernels built under AddressSanitizer and UBSan: `make fuzz` builds and runs it.

Arrays are allocated to their last byte, so that a read beyond is seen. Small sums are held against the models, large
ones against what any sum of clamped records obeys, and wrong arguments straight at the extension must be refused.
"""

import argparse
import importlib.util
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

options = argparse.ArgumentParser(description=__doc__)
options.add_argument("--module", type=Path, required=True, help="the folder of the sanitized _kernels")
options.add_argument("--seconds", type=float, default=30)
options.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
options = options.parse_args()

(sanitized,) = options.module.glob("_kernels*.so")
spec = importlib.util.spec_from_file_location("soundsum._kernels", sanitized)
_kernels = sys.modules["soundsum._kernels"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(_kernels)

import numpy as np  # noqa: E402

from soundsum import kernels, native  # noqa: E402
from soundsum.gradients.adding import Measured, work_out  # noqa: E402
from soundsum.gradients.normal import draw, kernel_table  # noqa: E402
from soundsum.kernels.arguments import raw_records  # noqa: E402
from soundsum.kernels.persons import MOST_CODES, BoundedPart, IntegerCodes, PairSums, TextWords  # noqa: E402
from soundsum.kernels.preparation import clamped_integers  # noqa: E402
from soundsum.numbers import models  # noqa: E402
from soundsum.numbers.clipping import Grid, clip_blocks  # noqa: E402
from soundsum.numbers.grids import as_doubles  # noqa: E402
from soundsum.numbers.rationals import is_special  # noqa: E402
from soundsum.tables.records import Column  # noqa: E402
from soundsum.tables.runs import Runs  # noqa: E402
from soundsum.tables.timestamps import Wanted, second_of  # noqa: E402
from tests.kernels.data import FLOATS, INTEGERS, NOTABLE_GRIDS, cleaned, integers, telling  # noqa: E402

assert native.Records is _kernels.Records
rng = np.random.default_rng(options.seed)
GRIDS = list(NOTABLE_GRIDS.values())
SMALL = 60  # what a model does in no time


def pick(*choices):
    return choices[rng.integers(len(choices))]


def length():
    around = pick(0, 16, 64, 2048, 4096, 32768)
    return pick(int(rng.integers(SMALL)), max(0, around + int(rng.integers(-2, 3))))


def buffer(kind, n):
    """n random elements at any stride, aligned or not, the last of them at the end of the allocation."""
    step = pick(1, 1, 1, 2, 3, -1, -2, 0)
    size = n and (n - 1) * abs(step) + 1
    bits = rng.integers(0, 1 << kind.bits, size, dtype=f"u{kind.bits // 8}")
    if bits.size:
        some = rng.random(bits.size) < rng.random()
        bits[some] = rng.choice(np.array(telling(kind), dtype=bits.dtype), some.sum())
    if pick(True, False, False):
        bits = np.concatenate([np.zeros(1, np.uint8), bits.view(np.uint8)])[1:].view(bits.dtype)
    values = bits.view(kind.dtype)
    return values[::step] if step else np.broadcast_to(values[:1], n)


def column(kind, n):
    values, first_bit = buffer(kind, n), int(rng.integers(40))
    if pick(True, False):
        return Column(values, kind, nullable=pick(True, False))
    return Column(values, kind, rng.integers(0, 256, (first_bit + n + 7) // 8, dtype=np.uint8), first_bit)


def runs(kind):
    def pattern():
        return tuple(map(kind.from_bits, buffer(kind, pick(1, 2, 3, 2047, 2049)).view(f"u{kind.bits // 8}").tolist()))

    return Runs(kind, [(pattern(), int(rng.integers(5))) for _ in range(rng.integers(4))])


def bounds(kind):
    values = [x for x in map(kind.from_bits, telling(kind)) if not is_special(x)]
    return sorted([pick(*values), pick(*values)])


def check_integers():
    kind, missing, threads = pick(*INTEGERS), pick("zero", "drop"), pick(None, 1, 2, 5)
    data, (low, high) = pick(column(kind, length()), runs(kind)), bounds(kind)
    total = kernels.wide_sum(data, low, high, missing=missing, threads=threads)
    held = kernels.saturating_sum(data, low, high, missing=missing)
    squares = kernels.sum_of_squares(data, low, high, missing=missing)
    assert min(0, low * data.size) <= total <= max(0, high * data.size)
    assert held in kind
    assert 0 <= squares <= max(low * low, high * high) * data.size
    if data.size <= SMALL:
        kept = cleaned(data, low, high, missing)
        sums = models.wide().sum(kept), models.saturating(kind).sum(kept), models.squares().sum(kept)
        assert (total, held, squares) == sums


def check_floats():
    kind, missing, how = pick(*FLOATS), pick("zero", "drop"), pick(*models.FLOAT_SUMS)
    wider = pick(*(wider for wider in FLOATS if wider.holds(kind)))
    data, (low, high) = pick(column(kind, length()), runs(kind)), bounds(kind)
    total = kernels.float_sum(how, data, low, high, accumulator=wider, missing=missing)
    assert total in wider
    if data.size <= SMALL:
        model = models.FLOAT_SUMS[how](wider).sum(cleaned(data, low, high, missing))
        assert wider.to_bits(total) == wider.to_bits(model)


def check_grids():
    kind, missing, threads, n = pick(*FLOATS), pick("zero", "drop"), pick(None, 1, 2, 5), length()
    grid, groups = pick(*GRIDS), pick(1, 2, 1000)
    data, codes = column(kind, n), rng.integers(0, groups, n, dtype=pick(np.int32, np.int64))
    if n <= SMALL or as_doubles(grid):
        total = kernels.grid_sum(data, grid, missing=missing, threads=threads)
        assert min(0, grid.low * n) <= total <= max(0, grid.high * n)
        assert n > SMALL or total == sum(integers(data, grid, missing))
        if n <= SMALL or not as_doubles(grid).shift:
            grouped = kernels.grouped_grid_sum(data, codes, groups, grid, missing=missing, threads=threads)
            assert sum(grouped) == total
    assert 0 <= kernels.missing_count(data) <= n


def check_groups_of_integers():
    kind, missing, threads, n = pick(*INTEGERS), pick("zero", "drop"), pick(None, 1, 2, 5), length()
    (low, high), groups = bounds(kind), pick(1, 2, 1000)
    data, codes = column(kind, n), rng.integers(0, groups, n, dtype=pick(np.int32, np.int64))
    grouped = kernels.grouped_wide_sum(data, codes, groups, low, high, missing=missing, threads=threads)
    assert sum(grouped) == kernels.wide_sum(data, low, high, missing=missing)


def bitmap(n):
    """None, or as many random bits as are needed from a random one on, to the last byte."""
    first_bit = int(rng.integers(40))
    return pick((None, first_bit), (rng.integers(0, 256, (first_bit + n + 7) // 8, dtype=np.uint8), first_bit))


def check_places():
    listed = np.unique(rng.integers(-(1 << 63), 1 << 63, int(rng.integers(0, 300)), dtype=np.int64))
    listed = rng.permutation(listed if rng.integers(2) else np.unique(listed >> 54))
    keys = rng.choice(np.r_[listed, rng.integers(-(1 << 63), 1 << 63, 5)], length())
    place = {key: i for i, key in enumerate(listed.tolist())}
    bits, first_bit = bitmap(len(keys))
    there = Column(keys, INTEGERS[0], bits, first_bit, nullable=True).valid_bits()
    found = native.Places(listed).find(keys, bits, first_bit, pick(0, 1, 2, 5)).tolist()
    wanted = [place.get(key, len(listed)) if t else len(listed) for key, t in zip(keys.tolist(), there, strict=True)]
    assert found == wanted


def check_persons():
    groups, powers, threads = pick(1, 2, 1000), pick(0, 1, 2), pick(1, 2, 5, 20)
    sums, rows, total = PairSums(groups, powers), 0, 0
    for _ in range(rng.integers(1, 4)):
        n = length()
        persons = rng.integers(0, 1 << 64, n, dtype=np.uint64) >> np.uint64(pick(0, 40, 60, 63))
        persons[rng.random(n) < pick(0, 0.01)] = (1 << 64) - 1
        codes, counts = rng.integers(-1, groups + 1, n, dtype=np.int32), rng.random(n) < rng.random()
        q = rng.integers(-(1 << 31), 1 << 31, n)
        sums.add(
            persons,
            counts,
            pick(codes, codes) if groups > 1 else pick(None, codes),
            q if powers else None,
            threads=threads,
        )
        rows += n
        total += int(q[counts & (codes >= 0) & (codes < groups)].sum())
    parts = [BoundedPart((1, 0, 0), 0, 1 << 70), BoundedPart((0, int(powers > 0), 0), -(1 << 100), 1 << 100)]
    texts = TextWords()  # which gave none of the words: nothing may be read beyond what it keeps
    lengths = rng.integers(0, 100, length())
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    texts.find(offsets, rng.integers(0, 256, offsets[-1], dtype=np.uint8), np.ones(len(lengths), bool))
    ids = pick(
        native.PersonIds.integers(pick(1, 10**6)),
        native.PersonIds.naturals(),
        native.PersonIds.floats(),
        native.PersonIds.listed([b"", b"a" * 70]),
        texts.as_ids(),
        texts.as_ids(int(rng.integers(39))),
    )
    proportion = pick(True, False)
    found = sums.totals(parts, pick(1, 3, 2**70), pick(groups, 1), in_proportion=proportion, ids=ids, threads=threads)
    assert 0 <= sum(found[0]) <= rows
    assert sums.pairs <= rows
    if powers and groups > 1:
        everything = sums.totals(parts, 2**70, groups, in_proportion=False, ids=ids)
        assert sum(everything[1]) == total


def check_texts():
    words, known = TextWords(), {}
    for _ in range(rng.integers(1, 4)):
        texts = [rng.bytes(int(rng.integers(0, pick(1, 3, 40)))) for _ in range(min(length(), 3000))]
        counts = rng.random(len(texts)) < 0.9
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        data = np.frombuffer(bytearray(b"".join(texts)), np.uint8).copy()
        for text, word, there in zip(
            texts, words.find(offsets, data, counts, threads=pick(1, 2, 5)).tolist(), counts, strict=True
        ):
            assert known.setdefault(text, word) == word if there else word == 0
    assert len(set(known.values())) == len(known)


def check_found_keys():
    numbers, sums, pairs, threads = IntegerCodes(), PairSums(MOST_CODES, 0), set(), pick(1, 2, 5, 20)
    for _ in range(rng.integers(1, 4)):
        n = length()
        keys = rng.integers(-(1 << 63), 1 << 63, n) >> pick(0, 3, 40, 56, 63)
        persons = rng.integers(0, 1 << 64, n, dtype=np.uint64) >> np.uint64(pick(0, 60, 63))
        counts = rng.random(n) < rng.random()
        codes = numbers.find_codes(keys, counts, threads=threads)
        assert (codes[~counts] == -1).all()
        assert (numbers.list_codes(codes)[counts] == keys[counts]).all()
        sums.add(persons, pick(counts, np.ones(n, bool)), codes, None, threads=threads)
        pairs |= set(zip(persons[counts].tolist(), codes[counts].tolist(), strict=True))
    numbers.list_codes(rng.integers(-(1 << 31), 1 << 31, 9, dtype=np.int32))
    ids = pick(native.PersonIds.naturals(), native.PersonIds.listed([b"", b"a" * 30, b"b" * 31]))
    names = native.KeyNames([(numbers.as_names(), pick("i", "u", "d"))], None)
    everywhere = sums.count(MOST_CODES, ids, names, numbers.codes, threads)
    assert everywhere.tolist() == np.bincount([code for _, code in pairs], minlength=numbers.codes).tolist()
    most = pick(1, 2)
    in_few = sums.count(most, ids, names, numbers.codes, threads)
    assert (in_few <= everywhere).all()
    assert in_few.sum() == sum(min(most, n) for n in Counter(person for person, _ in pairs).values())


def check_groups_that_stay():
    keys, powers, threads = pick(2, 50, 3000), pick(0, 1, 2), pick(1, 2, 5, 20)
    kept = rng.permutation(keys)[: int(rng.integers(1, keys + 1))]
    numbers = np.full(pick(keys, keys, keys // 2 + 1), -1, np.int32)  # keys beyond have none
    kept = kept[kept < len(numbers)]
    if not len(kept):
        return
    numbers[kept] = np.arange(len(kept))
    found, listed = PairSums(keys, powers), PairSums(max(2, len(kept)), powers)
    for _ in range(rng.integers(1, 4)):
        n = length()
        persons = rng.integers(0, 1 << 64, n, dtype=np.uint64) >> np.uint64(pick(0, 52, 60, 63))
        codes, counts, q = rng.integers(-1, keys + 1, n, dtype=np.int32), rng.random(n) < rng.random(), None
        if powers:
            q = rng.integers(-(1 << 31), 1 << 31, n)
        within = (codes >= 0) & (codes < len(numbers))
        found.add(persons, counts, codes, q, threads=threads)
        listed.add(persons, counts, np.where(within, numbers[np.where(within, codes, 0)], -1), q, threads=threads)
    ids, most = native.PersonIds.naturals(), pick(1, 2, 5)
    part = BoundedPart((1, int(powers > 0), int(powers > 1)), -(1 << 60), 1 << 60)
    if pick(True, False):
        found.totals([part], 1, most, in_proportion=False, ids=ids, threads=threads)  # which puts pairs in order
    found.renumber(numbers, len(kept), threads)
    asked = {"in_proportion": pick(True, False), "ids": ids, "threads": threads}
    own, same = (sums.totals([part], 2, min(most, len(kept)), **asked) for sums in (found, listed))
    assert own[0] == same[0][: len(kept)]
    assert found.pairs == listed.pairs


def check_cells():
    alphabet = np.frombuffer(b"0123456789+-.eEinfaty \xc2\xa0\xe2\x80\xff\xf0", np.uint8)
    cells = [bytes(rng.choice(alphabet, int(rng.integers(0, 12)))) for _ in range(min(length(), 3000))]
    lengths = np.array([*map(len, cells)], np.uint32)
    block = np.frombuffer(bytearray(b"".join(cells)), np.uint8).copy()
    places = np.stack([np.cumsum(lengths, dtype=np.uint32) - lengths, lengths], axis=1)[:: pick(1, 2)]
    size = len(places)
    values, integers, flags = (
        np.empty(size, pick(float, np.float32)),
        np.empty(size, np.int64),
        np.empty(size, np.uint8),
    )
    native.parse_floats(block, places, values, flags)
    are_floats = flags.copy()
    native.parse_integers(block, places, -(2**63), 2**63 - 1, integers, flags)
    assert (flags <= are_floats).all()
    assert (integers.astype(values.dtype)[flags == 1] == values[flags == 1]).all()
    native.parse_moments(block, places, pick(False, True), pick(False, True), integers, flags)
    assert not (flags & are_floats).any()
    native.parse_truths(block, places, np.empty(size, np.uint8), flags)
    assert (flags <= are_floats).all()  # as no letter of true or false but these is in the alphabet
    out = np.empty(int(places[:, 1].sum()), np.uint8)
    native.copy_cells(block, places, True, np.empty(size + 1, np.int32), out, flags)
    assert (are_floats <= flags).all()


def moment():
    """A date or time with numbers at the edge of what it can have."""

    def clock():
        return ":".join(f"{pick(0, 1, 23, 24, 59, 60):02}" for _ in range(rng.integers(1, 4)))

    text = f"{pick(0, 1, 1900, 2000, 2023, 9999):04}-{pick(0, 1, 2, 4, 12, 13):02}-{pick(0, 1, 28, 29, 30, 31, 32):02}"
    if pick(True, True, False):
        text += pick("T", " ") + clock() + pick("", "", ".5", ",25") + pick("", "Z", f"+{clock()}", f"-{clock()}")
    return bytearray(f"{pick('', ' ')}{text}{pick('', ' ')}".encode())


def check_moments():
    """Dates and times, perhaps with bytes changed, cut off or put in: the kernel and the model read the same."""
    alphabet = np.frombuffer(b"0123456789-:.,+TZ \t\xc2\xa0\xff", np.uint8)
    cells = []
    for _ in range(min(length(), 300)):
        cell = moment()
        for _ in range(pick(0, 0, 1, 2)):
            at = int(rng.integers(len(cell) + 1))
            cell[at : at + pick(0, 1, 1, 1, 9)] = bytes(rng.choice(alphabet, pick(0, 1, 1, 1)))
        cells.append(bytes(cell))
    lengths = np.array([*map(len, cells)], np.uint32)
    block = np.frombuffer(bytearray(b"".join(cells)), np.uint8).copy()
    places = np.stack([np.cumsum(lengths, dtype=np.uint32) - lengths, lengths], axis=1)
    wanted, seconds = Wanted(pick(False, True), pick(False, True)), np.zeros(len(cells), np.int64)
    flags = np.zeros(len(cells), np.uint8)
    native.parse_moments(block, places, wanted.instants, wanted.times, seconds, flags)
    for cell, second, there in zip(cells, seconds.tolist(), flags.tolist(), strict=True):
        assert second_of(cell.decode(errors="replace"), wanted) == (second if there else None), cell


def matrix(kind, rows, columns):
    """Random bits of floats, the last of them at the end of the allocation; rows of like magnitude among them."""
    bits = rng.integers(0, 1 << kind.bits, rows * columns, dtype=f"u{kind.bits // 8}")
    some = rng.random(bits.size) < pick(0, 0.001, 0.5)
    bits[some] = rng.choice(np.array(telling(kind), dtype=bits.dtype), some.sum())
    bits = bits.reshape(rows, columns)
    one, sign = kind.to_bits(1), 1 << (kind.bits - 1)
    for row in np.flatnonzero(rng.random(rows) < 0.7).tolist():  # the others are seldom finite
        high = max(1, one + (pick(-30, -12, 0, 3) << kind.k))
        bits[row] = rng.integers(0, high, columns, dtype=bits.dtype) | (sign * rng.integers(0, 2, columns, bits.dtype))
    return bits


def measure_matrices(tensors, rows, scale):
    top, low, high = (np.zeros(len(rows), np.uint64) for _ in range(3))
    arrays, names = zip(*tensors, strict=True)
    native.measure_gradients(arrays, names, list(rows), np.array(scale), top, low, high, pick(0, 1, 2, 5))
    return Measured(
        top.view(np.float64).tolist(), [a + (b << 32) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    )


def check_gradients():
    rows, kinds = pick(0, 1, 5, 31, 33), [pick(*FLOATS) for _ in range(pick(1, 2, 3))]
    columns = [pick(1, 7, 30) if pick(True, True, False) else pick(255, 513, 2049, 16383, 16385) for _ in kinds]
    grid = Grid.of(pick(1.0, 0.1, 2.0**-100, 1000.0, 2.0**79))
    tensors = [(matrix(kind, rows, d), kind.name) for kind, d in zip(kinds, columns, strict=True)]
    blocks = pick([[i] for i in range(len(kinds))], [list(range(len(kinds)))])
    share = grid.limit // len(blocks)
    limits = [[pick(share, share, 0, 1) for _ in range(rows)] for _ in blocks]
    totals = [np.zeros(d, np.int64) for d in columns]
    found = work_out(tensors, blocks, limits, grid, SimpleNamespace(measure=measure_matrices))
    for block, how in zip(blocks, found, strict=True):
        arrays, names = zip(*(tensors[i] for i in block), strict=True)
        largest, m = np.array(how.largest).view(np.uint64), np.array(how.m, np.int32)
        native.add_gradients(
            arrays, names, np.array(how.scale), largest, m, np.array(how.shift, np.int32),
            [totals[i] for i in block], pick(0, 1, 2, 5),
        )  # fmt: skip
    for block, limit in zip(blocks, limits, strict=True):
        assert all((abs(totals[i]) <= sum(limit)).all() for i in block)
    if max(columns) <= SMALL:
        values = [
            [list(map(float, map(kind.from_bits, row))) for row in bits.tolist()]
            for kind, (bits, _) in zip(kinds, tensors, strict=True)
        ]
        want = [[0] * sum(columns[i] for i in block) for block in blocks]
        for row in range(rows):
            parts = [[x for i in block for x in values[i][row]] for block in blocks]
            clipped = clip_blocks(parts, grid, [limit[row] for limit in limits])
            want = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(want, clipped, strict=True)]
        assert [[q for i in block for q in totals[i].tolist()] for block in blocks] == want


def check_noise_of_gradients():
    key, first, n = rng.bytes(32), int(rng.integers(0, 1 << 60)), length()
    sigma, into = pick(1, 3, 1 << 24, (1 << 56) - 1), np.zeros(n, np.int64)
    left = native.add_rounded_normal(key, np.array(kernel_table(), np.uint64), sigma, first, into, pick(0, 1, 2, 5))
    assert len(left) <= n // 100 + 2
    for j in rng.integers(0, n, min(n, 20)).tolist():
        assert first + j in left or into[j] == draw(key, first + j, sigma)


def check_rows():
    """Random bytes, split where the scan says, have the rows that they have in one piece."""
    alphabet = np.frombuffer(b'aa1,,""\n\r\xff', np.uint8)
    text, spare, place = rng.choice(alphabet, length()), np.zeros(64, np.uint8), [0, pick(2**32 - 1, 1), 1]
    whole = np.concatenate([text, spare])
    rows = len(native.split_rows(whole, len(text), place, 2, 10**6))
    first, last, state = native.scan_rows(text, 0)
    end = native.find_row_end(text)
    assert first is None or (end is not None and end < first <= end + 2)
    assert end is None or native.find_row_end(text[: end + 1].copy()) == end
    _, none, same_state = native.scan_rows(text[last or 0 :].copy(), 0)
    assert none is None
    assert same_state == (state if len(text) > (last or 0) else 0)
    parts = [text[: last or 0], text[last or 0 :]]
    split = [native.split_rows(np.concatenate([part, spare]), len(part), place, 2, 10**6) for part in parts]
    assert sum(map(len, split)) == rows


def check_preparation():
    kind, n, grid = pick(*FLOATS), length(), pick(*GRIDS)
    data, (low, high) = column(kind, n), bounds(kind)
    raw, doubles = raw_records(data), as_doubles(grid)
    clean = Column(native.clean(raw, float(low), float(high), 0.0).view(kind.dtype), kind)
    shifted = Column(native.clean(raw, float(low), float(high), float(low)).view(kind.dtype), kind)
    assert clean.size == shifted.size == n
    if n <= SMALL:
        kept = cleaned(data, low, high)
        assert list(clean) == kept
        assert list(shifted) == [kind.add(x, -low) for x in kept]
    there = native.find_present(raw).tolist()
    assert there == (~data.missing()).astype(int).tolist()
    if doubles:
        found = native.grid_integers(raw, *doubles[:-1], grid.missing - doubles.shift, pick(0, 1, 3)) + doubles.shift
        assert ((grid.low <= found) & (found <= grid.high)).all()
        assert n > SMALL or found.tolist() == integers(data, grid)


def check_clamped_integers():
    kind = pick(*INTEGERS)
    data, (low, high) = column(kind, length()), bounds(kind)
    found = clamped_integers(data, low, high).tolist()
    assert found == cleaned(data, low, high)


def check_that_no_grid_leaves_its_integers():
    """Privacy rests on the last clamp alone: whatever the constants and the records, NaN and infinity included."""
    kind, n = pick(*FLOATS), length()
    constants = rng.integers(0, 1 << 64, 3, dtype=np.uint64).view(np.float64).tolist()
    low, high = sorted(rng.integers(-(1 << 51), (1 << 51) + 1, 2).tolist())
    data = column(kind, n)
    raw = raw_records(data)
    assert low * n <= native.grid_sum(raw, *constants, low, high, pick(0, 1, 2, 5)) <= high * n
    codes, sums = rng.integers(0, 3, n), kernels.no_sums(3)
    native.grouped_grid_sum(raw, codes, sums, *constants, low, high, low, 2)
    for total, size in zip(kernels.as_integers(sums), np.bincount(codes, minlength=3), strict=True):
        assert low * int(size) <= total <= high * int(size)


def check_refusals():
    n, wraps = int(rng.integers(1, 50)), 2**64 - int(rng.integers(1, 70))
    bits, one = rng.integers(0, 1 << 64, n, dtype=np.uint64), np.ones(1, np.int64)
    unaligned = np.frombuffer(bytes(8 * n + 1), np.uint8)[1:].view(np.uint64)
    bitmap = np.zeros((n + 7) // 8, np.uint8)
    of_array, of_runs = native.Records.of_array, native.Records.of_runs
    ints, floats = of_array(bits, "int64", None, 0), of_array(bits, "float64", None, 0)
    some_runs, huge = of_runs(bits, "int64", n * one, one), np.array([2**63 - 1, 2**63 - 1, n + 2])
    codes, grid, sums = np.zeros(n, np.int64), (0.0, 1.0, 1.0), kernels.no_sums(2)
    odd = np.zeros((3, 2), np.uint64).reshape(-1)[1:5].reshape(2, 2)  # 8 bytes off
    read_only = kernels.no_sums(2)
    read_only.flags.writeable = False

    seed = bytes(native.SEED_SIZE)
    persons, texts = native.PersonSums(2, 1, seed), native.Texts(seed)
    integers = native.PersonIds.integers()
    bitmap_of_rows, parts = np.ones(n, np.uint8), np.zeros((1, 5, 2), np.uint64)

    def with_code(code, dtype=np.int64):
        return np.where(np.arange(n) == rng.integers(n), dtype(code), dtype(0)).astype(dtype)

    def measured(array=bits.reshape(n, 1), name="float64", rows=(0,), scale=np.ones(1), high=np.zeros(1, np.uint64)):  # noqa: B008
        native.measure_gradients(
            [array], [name], list(rows), scale, np.zeros(1, np.uint64), np.zeros(1, np.uint64), high, 1
        )

    def added(m=np.zeros(n, np.int32), shift=np.full(n, 31, np.int32), into=np.zeros(1, np.int64)):  # noqa: B008
        native.add_gradients([np.zeros((n, 1))], ["float64"], np.ones(n), np.zeros(n, np.uint64), m, shift, [into], 1)

    wrong = {
        "bitmap too short": lambda: of_array(bits, "int64", bitmap[:-1].copy(), 0),
        "first bit too late": lambda: of_array(bits, "int64", bitmap, 8 * len(bitmap) - n + 1),
        "first bit wraps round": lambda: of_array(bits, "int64", bitmap, wraps),
        "first bit negative": lambda: of_array(bits, "int64", bitmap, -1),
        "item too large": lambda: of_array(bits, pick("int32", "float16", "uint8"), None, 0),
        "item too small": lambda: of_array(bits.astype(np.uint8), pick("int32", "bfloat16", "uint64"), None, 0),
        "no such type": lambda: of_array(bits, pick("float128", "int", "", "float"), None, 0),
        "two dimensions": lambda: of_array(bits.reshape(1, n), "int64", None, 0),
        "objects": lambda: of_array(bits.astype(object), "int64", None, 0),
        "not an array": lambda: of_array(pick(None, 1, "x", [1.0]), "int64", None, 0),
        "lengths too short": lambda: of_runs(bits, "int64", (n - 1) * one, one),
        "lengths too long": lambda: of_runs(bits, "int64", (n + 1) * one, one),
        "lengths wrap round": lambda: of_runs(bits, "int64", huge, np.ones(3, np.int64)),
        "lengths negative": lambda: of_runs(bits, "int64", np.array([n + 1, -1]), np.array([1, 1])),
        "repeats negative": lambda: of_runs(bits, "int64", n * one, -one),
        "repeats missing": lambda: of_runs(bits, "int64", n * one, one[:0]),
        "patterns strided": lambda: of_runs(np.repeat(bits, 4)[::2], "int64", 2 * n * one, one),
        "patterns unaligned": lambda: of_runs(unaligned, "int64", n * one, one),
        "runs to arrays' kernels": lambda: pick(
            lambda: native.wide_sum(some_runs, 0, 1, 1),
            lambda: native.square_sum(some_runs, 0, 1),
            lambda: native.missing_count(some_runs),
            lambda: native.clean(some_runs, 0.0, 1.0, 0.0),
            lambda: native.grid_integers(some_runs, *grid, 0, 1, 0, 1),
            lambda: native.grouped_wide_sum(some_runs, codes, sums[:1], 0, 1, 0, 1),
        )(),
        "floats to integers' kernels": lambda: native.wide_sum(floats, 0, 1, 1),
        "integers to floats' kernels": lambda: pick(
            lambda: native.grid_sum(ints, *grid, 0, 1, 1),
            lambda: native.grid_integers(ints, *grid, 0, 1, 0, 1),
            lambda: native.clean(ints, 0.0, 1.0, 0.0),
            lambda: native.float_sum(ints, "iterated", "float64", 0.0, 1.0, False),
        )(),
        "bounds beyond the type": lambda: native.wide_sum(ints, 0, 2**63, 1),
        "no such sum": lambda: native.float_sum(floats, "naive", "float64", 0.0, 1.0, False),
        "no such arithmetic": lambda: native.float_sum(floats, "iterated", "int64", 0.0, 1.0, False),
        "grid upside down": lambda: native.grid_sum(floats, *grid, 1, 0, 1),
        "grid too large": lambda: native.grid_sum(floats, *grid, -1, 2**51 + 1, 1),
        "code too large": lambda: native.grouped_wide_sum(ints, with_code(2), sums, 0, 1, 0, 1),
        "code far too large": lambda: native.grouped_wide_sum(ints, with_code(2**62), sums, 0, 1, 0, 1),
        "code negative": lambda: native.grouped_wide_sum(ints, with_code(-1, np.int32), sums, 0, 1, 0, 1),
        "no groups": lambda: native.grouped_grid_sum(floats, codes, sums[:0], *grid, 0, 1, 0, 1),
        "codes too short": lambda: native.grouped_grid_sum(floats, codes[1:], sums, *grid, 0, 1, 0, 1),
        "codes of another type": lambda: native.grouped_wide_sum(ints, codes.astype(np.int16), sums, 0, 1, 0, 1),
        "codes unaligned": lambda: native.grouped_wide_sum(ints, unaligned.view(np.int64), sums, 0, 1, 0, 1),
        "sums unaligned": lambda: native.grouped_wide_sum(ints, codes, odd, 0, 1, 0, 1),
        "sums of one word": lambda: native.grouped_wide_sum(ints, codes, np.zeros((2, 1), np.uint64), 0, 1, 0, 1),
        "sums of another type": lambda: native.grouped_wide_sum(ints, codes, np.zeros((2, 2)), 0, 1, 0, 1),
        "sums that cannot be written": lambda: native.grouped_wide_sum(ints, codes, read_only, 0, 1, 0, 1),
        "records made by hand": lambda: native.Records(),
        "seed too short": lambda: pick(native.PersonSums, lambda *a: native.Texts(a[2]))(1, 1, bytes(8)),
        "no groups of persons": lambda: native.PersonSums(0, 1, seed),
        "too many powers": lambda: native.PersonSums(1, 3, seed),
        "persons without integers": lambda: persons.add(bits, bitmap_of_rows, codes.astype(np.int32), None, False, 1),
        "persons without codes": lambda: persons.add(bits, bitmap_of_rows, None, codes, False, 1),
        "too few persons": lambda: persons.add(bits[1:], bitmap_of_rows, codes.astype(np.int32), codes, False, 1),
        "persons unaligned": lambda: persons.add(unaligned, bitmap_of_rows, codes.astype(np.int32), codes, False, 1),
        "totals too short": lambda: persons.total(parts, 1, 1, False, integers, np.zeros((1, 1, 2), np.uint64), 1),
        "a number beyond the groups": lambda: native.PersonSums(3, 1, seed).renumber(np.array([0, 2], np.int32), 2, 1),
        "more groups than before": lambda: native.PersonSums(3, 1, seed).renumber(np.zeros(1, np.int32), pick(0, 4), 1),
        "a number for two groups": lambda: native.PersonSums(3, 1, seed).renumber(np.array([1, 1], np.int32), 2, 1),
        "numbers without groups": lambda: native.PersonSums(1, 1, seed).renumber(np.zeros(1, np.int32), 1, 1),
        "parts too short": lambda: persons.total(
            parts[:, 1:].copy(), 1, 1, False, integers, np.zeros((1, 2, 2), np.uint64), 1
        ),
        "too many places": lambda: native.PersonIds.decimals(texts, 39),
        "offsets beyond the data": lambda: texts.number(np.array([0, 9]), bitmap[:1], bitmap[:1], bits[:1].copy(), 1),
        "offsets that go down": lambda: texts.number(
            np.array([0, 1, 0]), bitmap[:1], np.ones(2, np.uint8), np.zeros(2, np.uint64), 1
        ),
        "cells beyond the data": lambda: native.copy_cells(
            bitmap[:1],
            np.array([[0, 9]], np.uint32),
            True,
            np.empty(2, np.int32),
            np.empty(9, np.uint8),
            np.ones(1, np.uint8),
        ),
        "too few bytes for cells": lambda: native.copy_cells(
            bitmap[:1],
            np.array([[0, 1]], np.uint32),
            True,
            np.empty(2, np.int32),
            np.empty(0, np.uint8),
            np.ones(1, np.uint8),
        ),
        "a block without spare bytes": lambda: native.split_rows(np.zeros(70, np.uint8), 7, [0], 1, 9),
        "a column nowhere": lambda: native.split_rows(np.zeros(80, np.uint8), 7, [1], 1, 9),
        "no such state": lambda: native.scan_rows(bitmap, 5),
        "moments beyond the data": lambda: native.parse_moments(
            bitmap[:1], np.array([[0, 9]], np.uint32), False, False, np.empty(1, np.int64), np.empty(1, np.uint8)
        ),
        "too few seconds": lambda: native.parse_moments(
            bitmap[:1], np.array([[0, 1]], np.uint32), False, False, np.empty(0, np.int64), np.empty(1, np.uint8)
        ),
        "a row nowhere": lambda: measured(rows=[pick(n, -1)]),
        "too few scales": lambda: measured(scale=np.ones(0)),
        "too little room for squares": lambda: measured(high=np.zeros(0, np.uint64)),
        "gradients of another type": lambda: measured(name=pick("float32", "bfloat16", "int64", "")),
        "gradients in one dimension": lambda: measured(array=bits),
        "gradients unaligned": lambda: measured(array=unaligned.reshape(n, 1)),
        "sums too short for gradients": lambda: added(into=np.zeros(0, np.int64)),
        "sums of gradients that cannot be written": lambda: added(into=read_only.view(np.int64)[0, :1]),
        "a factor for too few": lambda: added(m=np.zeros(n - 1, np.int32)),
        "a negative factor": lambda: added(m=np.full(n, -1, np.int32)),
        "a shift of nothing": lambda: added(shift=np.full(n, pick(30, 0, -1), np.int32)),
        "a key too short": lambda: native.add_rounded_normal(bytes(31), np.zeros(12, np.uint64), 1, 0, codes, 1),
        "a table too short": lambda: native.add_rounded_normal(bytes(32), np.zeros(11, np.uint64), 1, 0, codes, 1),
        "too much noise": lambda: native.add_rounded_normal(bytes(32), np.zeros(12, np.uint64), 1 << 56, 0, codes, 1),
    }
    for name, call in wrong.items():
        try:
            call()
        except (ValueError, TypeError, RuntimeError):
            continue
        raise AssertionError(f"not refused: {name}")
    return len(wrong)


checks = [check for name, check in globals().items() if name.startswith("check_")]
print(f"seed {options.seed}", file=sys.stderr)  # for the run that does not reach its end
end, done = time.monotonic() + options.seconds, 0
while time.monotonic() < end:
    done += pick(*checks)() or 1
print(f"{done:,} checks of the sanitized kernels in {options.seconds:g} s and no fault; --seed {options.seed}")
