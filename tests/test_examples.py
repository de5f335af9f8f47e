"""The examples run, and say what they are there to say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
    if path.stem != "private_training"  # which needs torch: tests/gradients runs it
]
SAYS = {"private_table": "2 charges, epsilon = 0 left", "is_my_sum_sound": "np.sum: moves by up to 65,536 times"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path):
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert SAYS[path.stem] in ran.stdout
