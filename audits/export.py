"""Exports the repository for publication: the files of the current commit, without `undisclosed/` and without history.

`make release` writes them to a new folder, or refuses: if a tracked file has changes, if the folder holds anything, or
if a file would name a finding whose maintainers have not had their time. The history names such findings too, so a
published repository starts anew from this folder.
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

WITHHELD = "undisclosed"
DESTINATION = Path("build/release/soundsum")


class ExportRefused(Exception):
    """Nothing was exported."""


def export(repository: Path, to: Path) -> int:
    """Write the files of the current commit to a new folder, and return their number."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise ExportRefused(f"{to} is not empty; remove it, or name another folder")
    if changed := _git(repository, "status", "--porcelain").decode().splitlines():
        raise ExportRefused(f"the working tree differs from the commit ({changed[0].strip()}, ...); commit or undo")
    packed = _git(repository, "archive", "--format=tar", "HEAD", "--", ".", f":(exclude){WITHHELD}")
    to.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(to, filter="data")
    told = list(leaks(to, withheld_names(repository / WITHHELD)))
    if told:
        shutil.rmtree(to)
        raise ExportRefused("what is withheld would be published: " + "; ".join(told))
    return sum(path.is_file() for path in to.rglob("*"))


def withheld_names(folder: Path) -> tuple[str, ...]:
    """Collect the names of programs that show a finding: a function of a library and a rule."""
    return tuple(sorted(path.stem for path in folder.glob("*/programs/*.py")))


def leaks(exported: Path, names: Sequence[str]) -> Iterator[str]:
    """Find files that should not be there, or that name a withheld finding."""
    for path in sorted(exported.rglob("*")):
        place = path.relative_to(exported)
        if {WITHHELD, ".git"} & set(place.parts):
            yield str(place)
        elif path.is_file() and not path.is_symlink():
            text = path.read_bytes()
            yield from (f"{place} names {name}" for name in names if name.encode() in text)


def _git(repository: Path, *arguments: str) -> bytes:
    ran = subprocess.run(["git", "-C", repository, *arguments], capture_output=True)
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        raise ExportRefused(said[-1] if said else "git failed")
    return ran.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--to", type=Path, default=DESTINATION, help="a folder that is new or empty")
    given = parser.parse_args()
    try:
        files = export(Path.cwd(), given.to)
    except ExportRefused as reason:
        print(f"make release: {reason}", file=sys.stderr)
        return 1
    print(f"{given.to}: {files:,} files, without {WITHHELD}/ and without history")
    return 0


if __name__ == "__main__":
    sys.exit(main())
