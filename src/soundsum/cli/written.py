"""Files that a command writes: each on its own, so that one that fails keeps no other from being written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console


def require_writable(path: Path | None) -> None:
    """Refuses a file that cannot be made, before anything is computed for it."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it")


def write_each(console: Console, makers: Mapping[Path, Callable[[], str]]) -> None:
    """Makes and writes every file; the first failure is raised when all have been tried, a fault before a full disk."""
    failed: list[Exception] = []
    for path, make in makers.items():
        try:
            path.write_text(make(), encoding="utf-8")
            console.print(f"written: {path}", highlight=False)
        except Exception as error:
            console.print(f"not written: {path}", style="red", highlight=False)
            failed.append(error)
    faults = [error for error in failed if not isinstance(error, OSError)]
    if faults:
        raise RuntimeError("a report could not be made; the others are written") from faults[0]
    if failed:
        raise failed[0]
