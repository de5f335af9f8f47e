"""Files that are written once and read once: what is loaded from one cannot be loaded again, here or elsewhere."""

from __future__ import annotations

import os
from collections.abc import Set
from typing import IO, Any

from soundsum import randomness
from soundsum.gradients.needs import torch


def new_file(path: Any) -> IO[bytes]:
    """A file that was not there before, for its owner alone: what is kept in it has no noise."""
    name = _name(path)
    try:
        return open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))
    except FileExistsError:
        raise FileExistsError(f"{name}: there is such a file, and nothing is written over it; give another") from None


def read_once(path: Any, keys: Set[str]) -> Any:
    """The dict with these keys that torch saved in a file, which is then gone; any other file stays as it is."""
    name = _name(path)
    _require_keys(name, keys)
    taken = f"{name}.{randomness.random_bytes(8).hex()}"
    try:
        os.rename(name, taken)  # one process gets it
    except FileNotFoundError:
        raise _gone(name) from None
    try:
        state = torch.load(taken, weights_only=True)
    except BaseException:
        os.rename(taken, name)
        raise
    os.remove(taken)
    return state


def _require_keys(name: str, keys: Set[str]) -> None:
    try:
        found = torch.load(name, weights_only=True, mmap=True)  # without reading the tensors
    except FileNotFoundError:
        raise _gone(name) from None
    except OSError:
        raise
    except Exception as other:  # as many kinds as there are files
        raise ValueError(f"{name}: this is not a whole file that Sum.save wrote; it stays as it is") from other
    if not isinstance(found, dict) or set(found) != keys:
        raise ValueError(f"{name}: this file holds no sum; it stays as it is. Give one that Sum.save wrote")


def _gone(name: str) -> FileNotFoundError:
    return FileNotFoundError(f"{name}: there is no such file; a saved sum can be loaded once")


def _name(path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a {type(path).__name__} is no path: a sum is kept in a file, so that it can be loaded once")
    return os.fspath(path)
