"""Files in an object store, such as s3://bucket/visits/*.parquet: one, those of a pattern, or all below a prefix.

fsspec lists and reads them, with the credentials that its package for the store finds. What is read of them, and when,
is as for files on this machine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from soundsum.tables.paths import Files, find_format, find_keys, is_table, nothing_in

PATTERN = "*?["


def find_stored(address: str) -> Files:
    """The files there are; refused if there are none, or not of one format."""
    scheme, _, path = address.rstrip("/").partition("://")
    bucket, slash, key = path.partition("/")
    given = f"{scheme}://{bucket.rpartition('@')[2]}{slash}{key}"  # without a password, if any
    store = _connect(scheme.lower())
    missing = denied = False
    found: list[str] = []
    folder = None
    try:
        if any(sign in path for sign in PATTERN):
            found = sorted(name for name, info in store.glob(path, detail=True).items() if info["type"] == "file")
        elif store.info(path)["type"] == "file":
            found = [path]
        else:
            folder = path
            found = [name for name in sorted(store.find(path)) if is_table(name) and not _is_hidden(name, path)]
        missing = not found
    except FileNotFoundError:
        missing = True
    except PermissionError:
        denied = True
    except Exception:
        store = None  # whose words may name what is in it
    if store is None:
        raise ConnectionError(f"{given}: the store does not answer, or not to you; check the address and credentials")
    if denied:
        raise PermissionError(f"{given}: no permission to read it; check the credentials")
    if missing and folder is not None:
        raise nothing_in(given)
    if missing:
        raise FileNotFoundError(f"{given}: no such file; check the address")
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    kind = find_format(given, found)
    return Files(given, found, kind, find_keys(given, found, folder, kind), folder, PyFileSystem(FSSpecHandler(store)))


def _is_hidden(file: str, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.removeprefix(folder).split("/"))


def _connect(scheme: str) -> Any:
    """The file system for a scheme: that of fsspec's own package for it, such as s3fs, or else obstore's."""
    missing = False
    try:
        import fsspec

        try:
            store = fsspec.filesystem(scheme)
        except ImportError:
            store = import_module("obstore.fsspec").FsspecStore(scheme)
        store.invalidate_cache()
        return store
    except ImportError:
        missing = True
    except Exception:  # of credentials that are not there, or not well formed
        pass
    if missing:
        raise ImportError(f"files at {scheme}:// are read by fsspec; run: pip install 'soundsum[stores]'")
    raise ConnectionError(f"the store at {scheme}:// cannot be set up; check its settings and credentials")
