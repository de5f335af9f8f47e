"""Fixtures of the gradient tests, which need torch and Opacus: `make gradients` installs both and runs them."""

import socket
import sys
import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on being imported
    import opacus  # noqa: F401
    import torch

TESTS = str(Path(__file__).parents[1])


@pytest.fixture(autouse=True)
def same_seed():
    """What a test draws by torch does not depend on the tests before it. Noise is not drawn by torch."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def standard_library_first(monkeypatch):
    """A spawned process gets this path, and must find Python's `numbers` and `statistics` before those in tests/."""
    monkeypatch.setattr(sys, "path", sorted(sys.path, key=lambda folder: folder == TESTS))


@pytest.fixture
def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
