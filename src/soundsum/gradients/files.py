"""Files that are read once: what is loaded from one cannot be loaded again, here or in another process."""

from __future__ import annotations

import os
from typing import Any

from soundsum import randomness
from soundsum.gradients.needs import torch


def read_once(path: Any) -> Any:
    """What torch saved in a file, which is then gone; where it cannot be read it stays."""
    name = os.fspath(path)
    taken = f"{name}.{randomness.random_bytes(8).hex()}"
    try:
        os.rename(name, taken)  # one process gets it
    except FileNotFoundError:
        raise FileNotFoundError(f"{name}: there is no such file; a saved sum can be loaded once") from None
    try:
        state = torch.load(taken, weights_only=True)
    except BaseException:
        os.rename(taken, name)
        raise
    os.remove(taken)
    return state
