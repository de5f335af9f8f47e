"""The number types against NumPy, ml_dtypes, the hardware, and definitions that share no code with them."""

import ctypes
import math
import platform
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Rounding, exact, floor_log2, power_of_two
from soundsum.numbers.types import NAMED, FloatType, IntType, bfloat16, float16, float32, float64, number_type
from tests.refusing import refused

TINY_INTS = [IntType(bits, signed) for bits in range(1, 6) for signed in (True, False)]
TINY_FLOATS = [FloatType(k, l) for k in (1, 2, 3) for l in (2, 3)]  # noqa: E741
NAMED_INTS = [T for T in NAMED.values() if T.is_integer]
FLOAT8 = FloatType(2, 5)
SIXTEEN_BITS = [(float16, np.float16), (bfloat16, ml_dtypes.bfloat16)]
HARDWARE = [(float32, np.float32, np.uint32), (float64, np.float64, np.uint64)]


def same(a, b):
    return a == b or (a != a and b != b)


# Integers


@pytest.mark.parametrize("T", NAMED_INTS, ids=str)
def test_named_integers_are_numpys(T):
    info = np.iinfo(T.dtype)
    assert (T.min, T.max, T.bits, T.signed) == (info.min, info.max, info.bits, info.kind == "i")
    for x in (T.min, T.min + 1, 0, 1, T.max):
        assert T.to_bits(x) == int(np.array(x, T.dtype).view(f"u{T.bits // 8}"))
        assert T.from_bits(T.to_bits(x)) == x


@pytest.mark.parametrize("T", [NAMED["int8"], NAMED["uint8"]], ids=str)
def test_every_pair_of_bytes_adds_as_numpy(T):
    values = np.arange(T.min, T.max + 1).astype(T.dtype)
    modular = np.add.outer(values, values)
    saturating = np.clip(np.add.outer(values.astype(int), values.astype(int)), T.min, T.max)
    assert [[T.modular_add(a, b) for b in T.values()] for a in T.values()] == modular.tolist()
    assert [[T.saturating_add(a, b) for b in T.values()] for a in T.values()] == saturating.tolist()


@pytest.mark.parametrize("T", TINY_INTS, ids=str)
def test_integers_of_any_width(T):
    values = list(T.values())
    assert values == list(range(T.min, T.max + 1))
    assert len(values) == T.modulus == 1 << T.bits
    assert T.max - T.min == T.modulus - 1
    assert (T.min < 0) == T.signed
    assert sorted(map(T.from_bits, range(T.modulus))) == values
    assert [T.from_bits(T.to_bits(x)) for x in values] == values
    for a, b in product(values, values):
        assert T.modular_add(a, b) in T
        assert (T.modular_add(a, b) - a - b) % T.modulus == 0
        assert T.saturating_add(a, b) == min(values, key=lambda x: abs(x - a - b))


def test_a_wide_integer_keeps_every_bit():
    T = IntType(128, signed=True)
    assert T.saturating_add(T.max, 1) == T.max == 2**127 - 1
    assert T.modular_add(T.max, 1) == T.min
    assert T.to_bits(-1) == 2**128 - 1
    assert T.dtype is None


@pytest.mark.parametrize("T", TINY_INTS, ids=str)
def test_integers_next_to_each_other(T):
    values = list(T.values())
    assert [T.next_up(x) for x in values] == [*values[1:], None]
    assert [T.next_down(x) for x in values] == [None, *values[:-1]]


@pytest.mark.parametrize(
    "x, nearest, toward_zero",
    [
        ("5/2", 2, 2),
        ("7/2", 4, 3),
        ("-5/2", -2, -2),
        ("-7/2", -4, -3),
        ("8/3", 3, 2),
        (1000, 127, 127),
        (-999, -128, -128),
    ],
)
def test_integers_round_half_to_even_and_saturate(x, nearest, toward_zero):
    T = IntType(8)
    assert T.round(Fraction(x)) == nearest
    assert T.round(Fraction(x), Rounding.TOWARD_ZERO) == toward_zero


def test_what_an_integer_type_holds():
    T = IntType(3)
    assert [x for x in range(-9, 9) if x in T] == list(T.values())
    assert Fraction(3) in T
    for other in (Fraction(1, 2), Fraction(4), 1.0, math.inf, math.nan, "1", None):
        assert other not in T


# Floats


@pytest.mark.parametrize("T", TINY_FLOATS, ids=str)
def test_every_value_of_a_tiny_float(T):
    values = list(T.values())
    positive = [x for x in values if x > 0]
    normal = [x for x in positive if x >= T.smallest_normal]
    assert len(values) == 2 * ((2**T.l - 1) * 2**T.k) - 1
    assert all(a < b for a, b in pairwise(values))
    assert values == [-x for x in reversed(values)]
    assert (T.min, T.max, T.smallest_subnormal) == (values[0], values[-1], positive[0])
    assert normal == [
        (1 + Fraction(m, 2**T.k)) * 2**e * T.smallest_normal for e in range(2**T.l - 2) for m in range(2**T.k)
    ]
    assert sorted({T.from_bits(T.to_bits(x)) for x in values}) == values

    middles = [(a + b) / 2 for a, b in pairwise(values)]
    assert all(x in T for x in [*values, math.inf, -math.inf, math.nan])
    assert not any(x in T for x in [*middles, 2 * T.max, "1", None])

    assert [T.next_up(x) for x in [-math.inf, *values]] == [*values, math.inf]
    assert [T.next_down(x) for x in [*values, math.inf]] == [-math.inf, *values]
    assert [T.ulp(x) for x in positive[:-1]] == [b - a for a, b in pairwise(positive)]
    assert [T.ulp(-x) for x in positive] == [T.ulp(x) for x in positive]
    assert T.ulp(0) == T.smallest_subnormal


def nearest(T, values, x):
    """IEEE 754: the nearest of the values continued by 2^(emax+1), which stands for infinity; of two, the even one."""
    end = power_of_two(T.max_exponent + 1)
    ladder = [-end, *values, end]
    at = bisect_left(ladder, x)
    y = min(ladder[max(at - 1, 0) : at + 1], key=lambda y: (abs(y - x), abs(y) != end and T.to_bits(y) % 2))
    return math.copysign(math.inf, y) if abs(y) == end else y


def toward_zero(values, x):
    """The largest magnitude of the values that does not exceed that of x, with the sign of x."""
    magnitudes = values[len(values) // 2 :]
    found = magnitudes[bisect_right(magnitudes, abs(x)) - 1]
    return found if x > 0 else -found


@pytest.mark.parametrize("T", TINY_FLOATS, ids=str)
def test_rounding_is_its_definition(T):
    values, step = list(T.values()), T.smallest_subnormal / 8
    for i in range(int(T.max * Fraction(5, 4) / step)):
        for x in (i * step, -i * step):
            assert T.round(x) == nearest(T, values, x)
            assert T.round(x, Rounding.TOWARD_ZERO) == toward_zero(values, x)


@np.errstate(all="ignore")
def test_every_pair_of_float8_adds_as_ml_dtypes():
    stored = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2)
    values = [FLOAT8.from_bits(pattern) for pattern in range(256)]
    sums = np.add.outer(stored, stored).astype(float).ravel().tolist()
    assert all(map(same, values, stored.astype(float).tolist()))
    assert all(same(FLOAT8.add(a, b), s) for (a, b), s in zip(product(values, values), sums, strict=True))


def test_every_pair_of_float8_adds_toward_zero():
    values = list(FLOAT8.values())
    assert all(FLOAT8.add(a, b, Rounding.TOWARD_ZERO) == toward_zero(values, a + b) for a, b in product(values, values))


@pytest.mark.slow
@pytest.mark.parametrize("T, dtype", SIXTEEN_BITS, ids=["float16", "bfloat16"])
@np.errstate(all="ignore")
def test_every_16_bit_float(T, dtype):
    patterns = np.arange(1 << 16, dtype=np.uint16)
    stored = patterns.view(dtype)
    values = [T.from_bits(pattern) for pattern in patterns.tolist()]
    number, zero = ~np.isnan(stored), stored == 0

    def all_equal(ours, theirs):
        return all(map(same, ours, theirs.tolist()))

    assert all_equal(values, stored)
    back = np.array(list(map(T.to_bits, values)), dtype=np.uint16)
    assert np.array_equal(back[number & ~zero], patterns[number & ~zero])
    assert not back[zero].any()
    assert np.isnan(back[~number].view(dtype)).all()

    assert all_equal(map(T.next_up, values), np.nextafter(stored, dtype(math.inf)))
    assert all_equal(map(T.next_down, values), np.nextafter(stored, dtype(-math.inf)))
    below_max = np.abs(stored[np.abs(stored) < ml_dtypes.finfo(dtype).max])
    assert all_equal([T.ulp(x) for x in values if abs(x) < T.max], np.spacing(below_max))


@pytest.mark.parametrize("T, dtype", [*SIXTEEN_BITS, *(pair[:2] for pair in HARDWARE)], ids=lambda x: str(x))
def test_the_limits_of_named_floats(T, dtype):
    info = ml_dtypes.finfo(dtype)
    theirs = (info.min, info.max, info.smallest_normal, info.smallest_subnormal, info.eps, info.eps / dtype(2))
    ours = (T.min, T.max, T.smallest_normal, T.smallest_subnormal, T.ulp(1), T.unit_roundoff)
    assert ours == tuple(float(x) for x in theirs)
    assert (T.k, T.l, T.bits) == (info.nmant, info.bits - 1 - info.nmant, info.bits)


# The hardware, in both of its rounding modes

FE_TOWARDZERO = {"x86_64": 0xC00, "aarch64": 0xC00000}.get(platform.machine())


@contextmanager
def hardware_rounding(mode: Rounding) -> Iterator[None]:
    libm = ctypes.CDLL("libm.so.6")
    before = libm.fegetround()
    try:
        if mode == Rounding.TOWARD_ZERO:
            assert libm.fesetround(FE_TOWARDZERO) == 0
        yield
    finally:
        libm.fesetround(before)


def hard_pairs(dtype, unsigned):
    """Ties, subnormals, the largest values, powers of two and their neighbours, cancellation; and any two at all."""
    rng, info, many = np.random.default_rng(1), np.finfo(dtype), 2000

    def floats(low, high, size):
        return rng.integers(low, high, size, dtype=unsigned).view(dtype) * rng.choice([dtype(-1), dtype(1)], size)

    def up(x):
        return np.nextafter(x, dtype(math.inf))

    inf, one = np.array(math.inf, dtype).view(unsigned), np.array(1, dtype).view(unsigned)
    x, near_one = floats(0, inf, many), floats(one - (one >> 4), one + (one >> 4), many)
    half = np.spacing(np.abs(x)) / 2 * rng.choice([dtype(-1), dtype(1)], many)
    power = np.ldexp(dtype(1), rng.integers(info.minexp, info.maxexp, many, dtype=np.int32))
    edges = [0, 1, info.tiny, info.max, info.smallest_subnormal, info.eps, info.eps / 2, math.inf, math.nan]
    edges = np.array([s * y for e in edges for y in (dtype(e), up(dtype(e)), -up(-dtype(e))) for s in (1, -1)], dtype)
    pairs = [
        (x, rng.permutation(x)),
        (near_one, rng.permutation(near_one)),
        *((x, y) for y in (half, 3 * half, up(half), -up(-half), -x, -up(x), -up(-x))),
        *((s * p, rng.permutation(power)) for p in (power, up(power), -up(-power)) for s in (1, -1)),
        (power, -np.spacing(power) / 4),
        (floats(0, 1 << 8, many), floats(0, 1 << 8, many)),
        (floats(inf - 64, inf, many), floats(inf - 64, inf, many)),
        (np.full(many, info.max), (info.max + up(-info.max)) * floats(one - 3, one + 3, many) / 2),
        tuple(np.array(list(product(edges, edges)), dtype).T),
    ]
    return (np.concatenate(side) for side in zip(*pairs, strict=True))


@pytest.mark.skipif(FE_TOWARDZERO is None, reason="the rounding mode's number is not known for this processor")
@pytest.mark.parametrize("mode", Rounding)
@pytest.mark.parametrize("T, dtype, unsigned", HARDWARE, ids=["float32", "float64"])
@np.errstate(all="ignore")
def test_the_hardware_adds_the_same(T, dtype, unsigned, mode):
    left, right = hard_pairs(dtype, unsigned)
    with hardware_rounding(mode):
        sums = np.add(left, right)
    numbers = [[exact(x) for x in column.tolist()] for column in (left, right)]
    wrong = [pair for *pair, s in zip(*numbers, sums.tolist(), strict=True) if not same(T.add(*pair, mode), s)]
    assert wrong == []
    assert np.isinf(sums).any()
    assert (np.abs(sums) == np.finfo(dtype).max).any()
    assert np.array_equal(sums, left + right, equal_nan=True) == (mode == Rounding.NEAREST)


@pytest.mark.parametrize("T", [*TINY_FLOATS, float16, float64], ids=str)
def test_overflow_is_infinity_to_nearest_and_the_largest_value_toward_zero(T):
    half = T.ulp(T.max) / 2
    assert T.next_down(T.max) == T.max - 2 * half
    for sign in (1, -1):
        largest, infinity = sign * T.max, sign * math.inf
        assert T.round(sign * (T.max + half)) == infinity
        assert T.round(sign * (T.max + half * Fraction(999, 1000))) == largest
        assert T.add(largest, largest) == infinity
        assert T.add(largest, largest, Rounding.TOWARD_ZERO) == largest
        assert T.round(sign * 2**5000, Rounding.TOWARD_ZERO) == largest


@pytest.mark.parametrize("mode", Rounding)
def test_infinities_and_nan_propagate(mode):
    T, inf, nan = FLOAT8, math.inf, math.nan
    for a, b, s in [
        (inf, T.min, inf),
        (T.max, -inf, -inf),
        (inf, inf, inf),
        (inf, -inf, nan),
        (nan, 1, nan),
        (inf, nan, nan),
    ]:
        assert same(T.add(a, b, mode), s)
        assert same(T.add(b, a, mode), s)
    assert [T.round(inf, mode), T.round(-inf, mode)] == [inf, -inf]
    assert math.isnan(T.round(nan, mode))
    assert math.isnan(T.next_up(nan))


def test_one_type_holds_another_when_it_has_all_its_values():
    for S, T in product(TINY_FLOATS, TINY_FLOATS):
        assert T.holds(S) == (set(S.values()) <= set(T.values()))
    assert float32.holds(bfloat16)
    assert not float16.holds(bfloat16)


# For all types and numbers

float_types = st.builds(FloatType, st.integers(1, 60), st.integers(2, 12))
modes = st.sampled_from(Rounding)
rationals = st.fractions() | st.builds(lambda m, e: m * power_of_two(e), st.integers(), st.integers(-2200, 2200))


@st.composite
def types_with_values(draw):
    T = draw(float_types)
    return T, draw(st.integers(0, T.to_bits(math.inf) - 1).map(T.from_bits)) * draw(st.sampled_from([1, -1]))


@given(types_with_values())
def test_up_and_down_undo_each_other(case):
    T, x = case
    assert T.next_up(T.next_down(x)) == x == T.next_down(T.next_up(x))
    assert T.next_down(x) < x < T.next_up(x)


@given(types_with_values(), modes)
def test_a_value_rounds_to_itself(case, mode):
    T, x = case
    assert x in T
    assert T.round(x, mode) == T.round_up(x) == T.round_down(x) == x == T.from_bits(T.to_bits(x))


@given(float_types, rationals, rationals, modes)
def test_rounding_is_idempotent_monotone_and_odd(T, x, y, mode):
    low, high = T.round(min(x, y), mode), T.round(max(x, y), mode)
    assert low <= high
    assert T.round(low, mode) == low
    assert T.round(-x, mode) == -T.round(x, mode)


@given(float_types, rationals)
def test_rounding_up_and_down_bracket(T, x):
    down, up = T.round_down(x), T.round_up(x)
    assert down in T
    assert up in T
    assert down <= x <= up
    assert up == (x if x in T else T.next_up(down))
    assert T.round(x, Rounding.TOWARD_ZERO) == max(min(down if x > 0 else up, T.max), T.min)
    assert T.round(x) in (down, up)


@given(float_types, rationals)
def test_rounding_errs_by_half_an_ulp(T, x):
    rounded = T.round(x)
    if abs(x) <= T.max:
        assert abs(rounded - x) <= T.ulp(x) / 2 <= max(T.unit_roundoff * abs(x), T.smallest_subnormal / 2)
        assert abs(T.round(x, Rounding.TOWARD_ZERO) - x) < T.ulp(x)


@given(rationals.filter(bool))
def test_floor_log2_is_exact(x):
    assert power_of_two(floor_log2(x)) <= abs(x) < power_of_two(floor_log2(x) + 1)


# Names


@pytest.mark.parametrize("T", [*NAMED.values(), *TINY_INTS, *TINY_FLOATS], ids=str)
def test_a_type_is_read_back_from_its_name(T):
    assert number_type(T.name) == number_type(T) == T
    assert str(T) == T.name
    if T.dtype is not None and T.name != "bfloat16":
        assert number_type(T.dtype) == number_type(T.dtype.type) == number_type(T.dtype.newbyteorder()) == T


@pytest.mark.parametrize(
    "dtype, T",
    [
        ("f4", float32),
        (float, float64),
        (int, IntType(64)),
        ("uint24", IntType(24, signed=False)),
        ("float(2, 3)", FloatType(2, 3)),
        (ml_dtypes.bfloat16, bfloat16),
        (np.dtype(ml_dtypes.bfloat16), bfloat16),
    ],
)
def test_types_from_numpy_and_strings(dtype, T):
    assert number_type(dtype) == T


@pytest.mark.parametrize(
    "dtype", ["complex128", bool, None, "int0", "(2,3", "", object, ml_dtypes.float8_e5m2, 5, "float(2)"]
)
def test_an_unknown_type_is_named_with_the_remedy(dtype):
    with refused("dtype", "unknown", TypeError, given=quote(dtype), names=", ".join(NAMED)):
        number_type(dtype)


@pytest.mark.parametrize(
    "make, option, reason, facts",
    [
        (lambda: IntType(0), "bits", "too-small", {"given": "0", "least": 1}),
        (lambda: IntType(2.5), "bits", "not-whole", {"given": "2.5"}),
        (lambda: FloatType(0, 2), "k", "too-small", {"given": "0", "least": 1}),
        (lambda: FloatType(2, 1), "l", "too-small", {"given": "1", "least": 2}),
        (lambda: number_type("float(0,2)"), "k", "too-small", {"given": "0"}),
        (lambda: IntType(4).to_bits(8), "x", "mismatch", {"given": "8", "kind": "int4", "least": -8, "most": 7}),
        (lambda: IntType(4).from_bits(16), "pattern", "mismatch", {"given": "16", "bits": 4}),
        (lambda: FloatType(2, 3).to_bits(Fraction(9, 8)), "x", "mismatch", {"given": "9/8", "nearest": "1"}),
        (lambda: FloatType(2, 3).next_up(17), "x", "mismatch", {"given": "17", "nearest": "inf"}),
        (lambda: FloatType(2, 3).from_bits(-1), "pattern", "mismatch", {"given": "-1", "bits": 6}),
    ],
)
def test_what_is_not_a_type_or_a_value_is_refused(make, option, reason, facts):
    with refused(option, reason, ValueError, **facts):
        make()


def test_zero_has_no_logarithm():
    with pytest.raises(ValueError, match="only of nonzero"):
        floor_log2(0)


# Exact values


@pytest.mark.parametrize(
    "given, value",
    [
        (7, 7),
        ("1/3", Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (0.1, Fraction(3602879701896397, 2**55)),
        (np.float64(0.1), Fraction(3602879701896397, 2**55)),
        (np.float32(0.1), Fraction(13421773, 2**27)),
        (np.float16(0.1), Fraction(1638, 2**14)),
        (ml_dtypes.bfloat16(0.1), Fraction(205, 2**11)),
        (np.longdouble(1) + np.finfo(np.longdouble).eps, 1 + Fraction(*np.finfo(np.longdouble).eps.as_integer_ratio())),
        (np.int64(2**63 - 1), 2**63 - 1),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.str_("0.1"), Fraction(1, 10)),
        (math.inf, math.inf),
        (np.float32(-math.inf), -math.inf),
    ],
)
def test_exact_is_the_value_given(given, value):
    assert exact(given) == value
    assert isinstance(exact(given), int | Fraction) or math.isinf(value)


@pytest.mark.parametrize(
    "given", [True, np.True_, None, "one", "nan", "1/0", "", [1], 1j, np.complex64(1), np.ones(1), Decimal("NaN"), b"1"]
)
def test_what_is_not_a_number_is_named(given):
    with refused("lower", "not-a-number", TypeError, given=quote(given)):
        exact(given, "lower")
