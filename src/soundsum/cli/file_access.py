"""Files of a command: the one it reads, on disk or from stdin with a progress bar beside it, and those it writes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soundsum.refusals import Reason, Refusal, RefusedValue
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
        except Refusal as error:
            _name_stdin(error, str(path))
            raise


def _name_stdin(refusal: Refusal, path: str) -> None:
    """Name stdin in a refusal, instead of the temporary file that it was copied to."""
    refusal.facts = {
        name: fact.replace(path, "stdin") if isinstance(fact, str) else fact for name, fact in refusal.facts.items()
    }
    if (refusal.option, refusal.reason) == ("data", Reason.UNREADABLE) and {"format", "suffix"} & refusal.facts.keys():
        refusal.remedy = "it is empty or broken: give CSV, with names first"


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


def require_writable(option: str, path: Path | None) -> None:
    """Refuse a file that cannot be made, before anything is computed for it."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise RefusedValue(
            option,
            Reason.ABSENT,
            "{path}: there is no folder {folder}",
            "make it, or name another file",
            path=str(path),
            folder=str(path.parent),
        )
    if path.is_dir():
        raise RefusedValue(option, Reason.MISMATCH, "{path} is a folder", "name a file in it", path=str(path))


def write_each(console: Console, makers: Mapping[Path, Callable[[], str]]) -> None:
    """Make and write every file, each on its own, so that one that fails keeps no other from being written.

    The first failure is raised when all have been tried, a fault before a full disk.
    """
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
