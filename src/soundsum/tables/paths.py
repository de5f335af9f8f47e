"""The files of a path: one, those of a glob or a list, or all in a folder, whose names may be keys with values.

Nothing below the path that was given is ever shown: names of files may be names of people. A key is public, as the name
of a column is, but its value in the name of a folder is a record's: it is read here, for every engine, and nothing in
it makes a read fail.
"""

from __future__ import annotations

import glob
import os
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
"""Compression of CSV files by their ending; the other formats compress inside."""

STORES = ("s3", "gs", "gcs", "az")
"""How the addresses of files in object stores begin."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder for a key without a value."""

Path: TypeAlias = str | os.PathLike[str]
PATHS = (str, os.PathLike)


@dataclass(frozen=True)
class Watched:
    """A table whose reading is watched: `advance` is called with the rows of every batch."""

    data: Any
    advance: Callable[[int], None]


@dataclass(frozen=True)
class Files:
    """Files of one format; in folders such as year=2020, with the keys that these are about."""

    given: str
    files: list[str]
    format: str
    keys: tuple[str, ...] = ()
    folder: str | None = None
    system: Any = None  # Arrow's file system for them, where they are not this machine's

    def below(self, file: str) -> str:
        """The part of a file's path that was found, and not given."""
        return file if self.folder is None else os.path.relpath(file, self.folder)

    def spelled(self, file: str) -> tuple[str, ...]:
        """The values of the keys, as the names of the file's folders spell them."""
        return tuple(value for _, value in _pairs(self.below(file))) if self.keys else ()

    def values(self, file: str) -> tuple[str | None, ...]:
        """The values of the keys for a file's rows; one that is not UTF-8 is missing, as a cell of CSV would be."""
        return tuple(map(_decode, self.spelled(file)))


@dataclass(frozen=True)
class RawPath:
    """A path by its bytes, which need not be text; Arrow takes them so."""

    path: str

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def is_path(data: Any) -> bool:
    """Returns whether the data is the path of a table, or a list of such."""
    if isinstance(data, list | tuple):  # of paths as pathlib has them: texts may be a column, whatever they say
        return bool(data) and all(isinstance(one, os.PathLike) for one in data)
    return isinstance(data, PATHS)


def find_files(data: Any) -> Files:
    """The files there are; refused if they are not there, not to be read, or not of one format."""
    given = expand(data) if isinstance(data, PATHS) else "the list of paths"
    if not given:
        raise RefusedValue("data", Reason.EMPTY, "the path is empty", "give that of a file, such as pay.parquet")
    path = printed(given)
    folder = given if isinstance(data, PATHS) and os.path.isdir(given) else None
    named = [given] if isinstance(data, PATHS) else data
    found = _within(folder) if folder else [file for one in named for file in _named(one)]
    if folder and not found:
        raise nothing_in(given)
    if not all(os.path.exists(file) for file in found):
        raise FileNotFoundError(f"{given}: no such file; check the path")
    if len({os.path.realpath(file) for file in found}) < len(found):
        raise RefusedValue(
            "data",
            Reason.REPEATED,
            "{path} names a file twice, whose rows would count twice",
            "name each file once",
            path=path,
        )
    if not folder and any(os.path.isdir(file) for file in found):
        raise RefusedValue(
            "data",
            Reason.UNSUPPORTED,
            "{path} matches folders",
            "give files, such as *.csv, or one folder, which is read whole",
            path=path,
        )
    kind = find_format(given, found)
    if not all(os.path.isfile(file) for file in found):
        raise _mixed(path)
    if not all(os.access(file, os.R_OK) for file in found):
        raise PermissionError(f"{given}: no permission to read it; ask its owner, or run as a user who may")
    return Files(given, found, kind, find_keys(given, found, folder, kind), folder)


def nothing_in(given: str) -> RefusedValue:
    """Refuses a folder without files of a known format."""
    return RefusedValue(
        "data",
        Reason.ABSENT,
        "{path}: there are no files in it that end with {formats}",
        "give a folder that has some",
        path=printed(given),
        formats=", ".join(FORMATS),
    )


def find_format(given: str, found: Sequence[str]) -> str:
    """The one format of these files, by their suffixes."""
    path, suffixes = printed(given), {_suffix(file) for file in found}
    if None in suffixes:
        last = os.path.splitext(given)[1].lower()
        if not last:
            raise RefusedValue(
                "data",
                Reason.UNSUPPORTED,
                "{path}: without a suffix its format is not known",
                "use {formats}",
                path=path,
                formats=", ".join(FORMATS),
            )
        raise RefusedValue(
            "data",
            Reason.UNSUPPORTED,
            "{path}: {suffix} is not a known format",
            "use {formats}",
            path=path,
            suffix=printed(last),
            formats=", ".join(FORMATS),
        )
    formats = {FORMATS[suffix] for suffix in suffixes if suffix is not None}
    if len(formats) > 1:
        raise _mixed(path)
    return min(formats)


def _mixed(path: str) -> RefusedValue:
    return RefusedValue(
        "data",
        Reason.MISMATCH,
        "{path}: its files are not all of one kind",
        "name files with one suffix",
        path=path,
    )


def find_keys(given: str, found: Sequence[str], folder: str | None, kind: str) -> tuple[str, ...]:
    """The keys by which the folders below a folder are named."""
    keys = {tuple(key for key, _ in _pairs(os.path.relpath(file, folder))) for file in found} if folder else {()}
    if len(keys) > 1 or (keys != {()} and kind == "csv") or len(set(min(keys))) < len(min(keys)):
        raise RefusedValue(
            "data",
            Reason.UNSUPPORTED,
            "{path}: its folders do not all name the same keys, or hold CSV",
            "list the files instead",
            path=printed(given),
        )
    return min(keys)


def is_address(data: Any) -> bool:
    """Returns whether the data is a database's address, such as postgresql://host/database."""
    return isinstance(data, str) and "://" in data


def is_stored(data: Any) -> bool:
    """Returns whether the data is the address of files in an object store, such as s3://bucket/pay.parquet."""
    return is_address(data) and data.partition("://")[0].lower() in STORES


def name_source(data: Any, table: Any = None) -> str:
    """Name the data: by its file or table, or by its kind; never by anything in it."""
    if table is not None:
        return table if isinstance(table, str) else ".".join(map(str, table))
    data = data.data if isinstance(data, Watched) else data
    if is_address(data) and not is_stored(data):  # which may have a password in it
        return f"a {data.partition('://')[0]} database"
    if isinstance(data, PATHS):
        return os.path.basename(os.path.normpath(os.fspath(data)))
    if is_path(data):
        return f"{len(data)} files"
    kind = type(data)
    package = kind.__module__.partition(".")[0].lstrip("_")
    return f"a {kind.__name__}" if package == "builtins" else f"a {package} {kind.__name__}"


def expand(path: Path) -> str:
    """The path with ~ and $VARIABLES written out, unless there is a file of just that name."""
    name = os.fspath(path)
    return name if os.path.lexists(name) else os.path.expanduser(os.path.expandvars(name))


def is_table(path: str) -> bool:
    """Returns whether a path has the ending of a table's file."""
    return _suffix(path) is not None


def compression(file: str) -> str | None:
    return COMPRESSED.get(os.path.splitext(file)[1].lower())


def _named(path: Path) -> list[str]:
    name = expand(path)
    return sorted(glob.glob(name)) or [name]


def _within(folder: str) -> list[str]:
    """Every file of a known format, at any depth, but those that are hidden."""
    found = []
    for place, folders, names in os.walk(folder, onerror=lambda error: _refuse(folder)):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [os.path.join(place, name) for name in names if _suffix(name) and not name.startswith((".", "_"))]
    return sorted(found)


def _refuse(folder: str) -> None:
    raise PermissionError(f"{folder}: no permission to read all of it; ask its owner, or run as a user who may")


def _suffix(file: str) -> str | None:
    """The suffix of a known format; of a CSV file that is compressed, the one before."""
    name, last = os.path.splitext(os.fspath(file).lower())
    inner = os.path.splitext(name)[1] if last in COMPRESSED else last
    return inner if inner in FORMATS and (inner == ".csv" or last == inner) else None


def _pairs(below: str) -> list[tuple[str, str]]:
    """The keys that folders are named by, each with its value as it is spelled."""
    parts = [part.partition("=") for part in os.path.dirname(below).split(os.sep)]
    return [(key, value) for key, sign, value in parts if sign]


def _decode(spelled: str) -> str | None:
    try:
        return None if spelled == NO_VALUE else unquote_to_bytes(os.fsencode(spelled)).decode()
    except UnicodeDecodeError:
        return None


def read_file(option: str, path: str, what: str) -> str:
    """Read a text file; refuse the option that names it if that cannot be done."""
    try:
        return pathlib.Path(expand(path)).read_text("utf-8")
    except UnicodeDecodeError:
        failure = None
    except OSError as error:
        failure = error
    if failure is None:
        raise RefusedValue(option, Reason.UNREADABLE, "{path}: it is not text in UTF-8", "save it as UTF-8", path=path)
    if isinstance(failure, FileNotFoundError):
        raise RefusedValue(option, Reason.ABSENT, "{path}: no such file", "check the path", path=path)
    raise RefusedValue(
        option,
        Reason.UNREADABLE,
        "{path}: {problem}",
        "give {what}",
        path=path,
        problem=(failure.strerror or "it cannot be read").lower(),
        what=what,
    )
