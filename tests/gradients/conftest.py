"""Fixtures of the gradient tests, which need torch and Opacus: `make gradients` installs both and runs them."""

import socket
import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs, on being imported
    import opacus  # noqa: F401
    import torch


@pytest.fixture(autouse=True)
def same_seed():
    """What a test draws by torch does not depend on the tests before it. Noise is not drawn by torch."""
    torch.manual_seed(0)


@pytest.fixture
def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]
