"""Ctrl-C stops a long sum within a second, in the middle of a kernel too, and leaves the arithmetic as it was."""

import signal
import subprocess
import sys
import time

import pytest

CODE = """
import sys, time
import soundsum as ss
from soundsum.kernels import float_sum, saturating_sum
runs = ss.Runs("int8" if "saturating" in sys.argv else "float32", [(1, 2**36), (2, 2**36)])
print("ready", flush=True)
start = time.monotonic()
try:
    if "saturating" in sys.argv:
        saturating_sum(runs, 0, 2)
    else:
        float_sum(sys.argv[1], runs, 0, 2)
except KeyboardInterrupt:
    print("stopped", 0.1 + 0.2 == 0.30000000000000004, 1e-310 + 0.0 != 0, 2 / 3 == 0.6666666666666666)
"""


@pytest.mark.parametrize("how", ["iterated", "kahan", "toward_zero", "pairwise", "saturating"])
def test_a_kernel_hears_an_interrupt(how):
    process = subprocess.Popen([sys.executable, "-c", CODE, how], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)  # it would take minutes
    assert said == "stopped True True True\n"
