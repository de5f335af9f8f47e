"""The file that a command reads: on disk or from stdin, with a progress bar beside it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soundsum.tables import files
from soundsum.tables.paths import Watched, is_address


@contextmanager
def on_disk(file: str) -> Iterator[str]:
    """The file itself; what comes from stdin is put into one first, to be read as any CSV."""
    if file != "-":
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stdin.csv")
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield str(path)
        except (ValueError, TypeError, OSError) as error:
            if str(path) not in str(error):
                raise
            said = str(error).replace(str(path), "stdin")
            raise ValueError(said.replace(", or its suffix is wrong", ": give CSV, with names first")) from None


@contextmanager
def watch(file: str) -> Iterator[Any]:
    """The table to read, with a progress bar beside it on a terminal."""
    if is_address(file):
        yield file
        return
    terminal = Console(stderr=True)
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TextColumn("rows"), TimeRemainingColumn())
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", total=files.rows(file))
        yield Watched(file, lambda rows: bar.advance(task, rows))
