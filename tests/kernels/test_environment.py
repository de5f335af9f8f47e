"""The kernels do not mind what rounding a thread is left in, put back what they found, and let other threads run."""

import ctypes
import platform
import threading
import time
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from soundsum import kernels
from soundsum.kernels.sums import QUAD
from soundsum.numbers import models
from soundsum.numbers.grids import power_of_two_grid
from soundsum.numbers.types import bfloat16, float16, float32, float64
from soundsum.tables.records import Column
from soundsum.tables.runs import Runs

on_x86_linux = pytest.mark.skipif(
    (platform.machine(), platform.system()) != ("x86_64", "Linux"),
    reason="reads MXCSR through glibc on x86-64",
)
# Of MXCSR: rounding in bits 13 and 14, flush-to-zero in bit 15, denormals-are-zero in bit 6; bits 0 to 5 are flags.
ODD_MODES = {
    "down": 0x2000,
    "up": 0x4000,
    "toward zero": 0x6000,
    "subnormals flushed": 0x8040,
    "both": 0xE040,
}
FLAGS = 0x3F


def control_word() -> int:
    environment = (ctypes.c_uint32 * 8)()  # glibc's fenv_t, which ends in MXCSR
    ctypes.CDLL(None).fegetenv(environment)
    return environment[7]


@contextmanager
def odd_mode(bits):
    """This thread rounds and flushes as the bits say; only what must be seen so should run inside."""
    library, before, odd = ctypes.CDLL(None), (ctypes.c_uint32 * 8)(), (ctypes.c_uint32 * 8)()
    library.fegetenv(before)
    odd[:] = before
    odd[7] = before[7] | bits
    library.fesetenv(odd)
    try:
        yield
    finally:
        library.fesetenv(before)


@cache
def calls():
    """Sums that come out otherwise when rounded otherwise or when subnormals are zero."""
    plain = [Fraction(x) for x in np.random.default_rng(5).standard_normal(1000).tolist()]
    made = {}
    for kind in (float16, bfloat16, float32, float64):
        tiny = kind.smallest_subnormal
        for name, values, lower, upper in [
            ("plain", [kind.round(x) for x in plain], -2, 2),
            ("subnormal", [3 * tiny, -tiny] * 500, -5 * tiny, 2 * tiny),
            ("offset", [3 * tiny, 4 * tiny] * 500, 2 * tiny, 5 * tiny),
        ]:
            column, codes = Column(*Runs.of(values, kind).chunks(), kind), np.arange(1000) % 2
            grid = power_of_two_grid(kind, Fraction(lower), Fraction(upper), sized=True)
            made[f"grid {kind} {name}"] = (kernels.grid_sum, column, grid)
            made[f"groups {kind} {name}"] = (kernels.grouped_grid_sum, column, codes, 2, grid)
            for how in models.FLOAT_SUMS:
                made[f"{how} {kind} {name}"] = (kernels.float_sum, how, column, lower, upper)
            for how in ("iterated", "kahan", "pairwise"):
                in_128_bits = partial(kernels.float_sum, accumulator=QUAD)
                made[f"{how} {kind} {name} in 128 bits"] = (in_128_bits, how, column, lower, upper)
    return made


@on_x86_linux
@pytest.mark.parametrize("mode", ODD_MODES)
def test_every_kernel_sets_what_its_theorem_assumes(mode):
    expected = {name: function(*arguments) for name, (function, *arguments) in calls().items()}
    found = {}
    with odd_mode(ODD_MODES[mode]):
        before = control_word()
        for name, (function, *arguments) in calls().items():
            found[name] = function(*arguments)
        after = control_word()
    assert found == expected
    assert before & ODD_MODES[mode] == ODD_MODES[mode]
    assert before & ~FLAGS == after & ~FLAGS


@on_x86_linux
@pytest.mark.parametrize("mode", ODD_MODES)
def test_new_threads_of_a_kernel_do_so_too(mode):
    values = np.random.default_rng(6).uniform(0, 1, 5000) * 2.0**-1030
    grid = power_of_two_grid(float64, Fraction(0), Fraction(2) ** -1030, sized=False)
    codes, expected = np.arange(5000) % 2, kernels.grid_sum(values, grid, threads=1)
    with odd_mode(ODD_MODES[mode]):
        found = kernels.grid_sum(values, grid, threads=2)
        grouped = kernels.grouped_grid_sum(values, codes, 2, grid, threads=2)
        after = control_word()
    assert found == sum(grouped) == expected
    assert after & ODD_MODES[mode] == ODD_MODES[mode]


@on_x86_linux
@pytest.mark.parametrize("mode", ODD_MODES)
def test_a_refusal_leaves_the_mode_as_it_was(mode):
    data, codes = np.ones(3), np.array([0, 1, 9])
    grid, refused = power_of_two_grid(float64, Fraction(0), Fraction(1), sized=False), False
    with odd_mode(ODD_MODES[mode]):
        before = control_word()
        try:
            kernels.grouped_grid_sum(data, codes, 2, grid)
        except ValueError:
            refused = True
        after = control_word()
    assert refused
    assert before & ~FLAGS == after & ~FLAGS


@on_x86_linux
def test_an_ordinary_thread_stays_ordinary():
    before = control_word()
    for function, *arguments in calls().values():
        function(*arguments)
    assert before & ~FLAGS == control_word() & ~FLAGS


@pytest.mark.parametrize(
    "work",
    [
        lambda: kernels.float_sum("iterated", Runs("float64", [(1, 2**28)]), 0, 1),
        lambda: kernels.saturating_sum(Runs("int64", [((1, -1), 2**28)]), -1, 1),
    ],
    ids=["floats", "integers"],
)
def test_other_threads_run_during_a_kernel(work):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    clock = threading.Thread(target=tick)
    clock.start()
    try:
        start = time.monotonic()
        work()
        end = time.monotonic()
    finally:
        done.set()
        clock.join()
    quarter = (end - start) / 4
    assert any(start + quarter < t < end - quarter for t in ticks)
