"""The page for people who train and the example run, and say what they are there to say."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_runs():
    text = (ROOT / "docs/gradients.md").read_text()
    namespace = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            exec(compile(block, "docs/gradients.md", "exec"), namespace)
    assert namespace["engine"].get_epsilon(1e-5) > 0
    assert namespace["s"].sensitivity == 1


def test_the_example_trains_both_to_the_same_epsilon_and_accuracy():
    code = ROOT / "examples" / "private_training.py"
    ran = subprocess.run([sys.executable, code], capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stderr
    found = re.findall(r"(\S+)% of digits recognised, epsilon (\S+) at delta", ran.stdout)
    (theirs, their_epsilon), (ours, our_epsilon) = (tuple(map(float, pair)) for pair in found)
    assert our_epsilon == pytest.approx(their_epsilon, abs=0.011)
    assert ours > 85
    assert abs(ours - theirs) < 7  # percent, of 360 digits and two draws of noise
    assert "bfloat16: half_precision_batch: told apart" in ran.stdout
    assert "ours: half_precision_batch: not told apart" in ran.stdout
