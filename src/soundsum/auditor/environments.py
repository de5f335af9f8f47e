"""Environments for libraries whose versions clash: virtual ones in the user's cache, one for each library and its pins.

An adapter's own versions are installed with hashes checked, nothing else beside them, and from wheels where there are
any. Another version is installed on request only (`spec`), with the adapter's other pins.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

READY = "soundsum-ready"
"""The file that says that an environment is complete."""

OFFLINE = ("ConnectionError", "ConnectTimeout", "NameResolutionError", "ProxyError", "name resolution", "unreachable")
"""Words of pip's messages without an index; pip has no exit code for it. They choose the remedy alone."""


class NotInstalled(RefusedValue):
    """A library could not be installed."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in the cache."""

    path: Path

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def ready(self) -> bool:
        return (self.path / READY).exists()

    @property
    def size(self) -> int:
        """The bytes it takes on disk."""
        return sum(file.lstat().st_size for file in self.path.rglob("*"))


def cache() -> Path:
    """Where environments are: $SOUNDSUM_CACHE, or a folder in the user's cache directory."""
    own = os.environ.get("SOUNDSUM_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(own) if own else Path(home) / "soundsum") / "environments"


def environments() -> list[Environment]:
    """Every environment on disk, unfinished ones too."""
    return [Environment(path) for path in sorted(cache().glob("*")) if path.is_dir()]


def clean() -> list[tuple[Path, int]]:
    """Remove every environment; the place and size of each."""
    removed = [(environment.path, environment.size) for environment in environments()]
    shutil.rmtree(cache(), ignore_errors=True)
    return removed


def environment_for(name: str, pins: Path, spec: str | None = None) -> Environment:
    """The place of a library's environment, which need not be there: other pins or another Python, another place."""
    wanted = f"{sys.version_info[:2]} {pins.read_text() if pins.exists() else ''} {spec}"
    return Environment(cache() / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}")


def install(name: str, pins: Path, spec: str | None = None) -> Path:
    """The Python of a library's environment, which is made if it is not there."""
    if spec is None and not pins.exists():
        raise NotInstalled(
            "spec", Reason.NEEDS, "{library} has no pinned versions to install", "give one with `spec`", library=name
        )
    if spec is not None:
        _check(name, spec)
    environment = environment_for(name, pins, spec)
    with _locked(cache() / f"{environment.path.name}.lock"):
        if not environment.ready:
            shutil.rmtree(environment.path, ignore_errors=True)
            try:
                _make(environment, name, pins, spec)
            except BaseException:
                shutil.rmtree(environment.path, ignore_errors=True)
                raise
    return environment.python


def _make(environment: Environment, name: str, pins: Path, spec: str | None) -> None:
    venv.create(environment.path, with_pip=True, symlinks=True)
    if spec is None:
        what = ["--no-deps", "--require-hashes", "--requirement", str(pins)]
    else:
        constraints = environment.path / "constraints.txt"
        constraints.write_text(_constraints(pins, _project(spec)))
        what = ["--prefer-binary", "--constraint", str(constraints), spec, "numpy"]
    pip = [
        str(environment.python),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--quiet",
        "install",
        "--no-input",
        *what,
    ]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        raise _refuse_install(name, done.stderr)
    (environment.path / READY).touch()


def _refuse_install(name: str, said: str) -> NotInstalled:
    """The refusal with pip's complaint in one line, and the remedy."""
    if any(sign in said for sign in OFFLINE):
        return NotInstalled(
            "install",
            Reason.ABSENT,
            "{library} could not be installed: no package index was reached",
            "connect to a network, point pip to an index it can reach, or install {library} beside soundsum and leave "
            "out `install`",
            library=name,
        )
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR")]
    reason = errors[-1] if errors else (said.strip().splitlines() or ["pip gave no reason"])[-1]
    if "+cpu" in reason:
        return NotInstalled(
            "install",
            Reason.ABSENT,
            "{library} could not be installed: {said}",
            "point pip to PyTorch's own index, where its CPU builds are",
            library=name,
            said=reason[:300],
        )
    return NotInstalled(
        "install",
        Reason.ABSENT,
        "{library} could not be installed: {said}",
        "install it beside soundsum and leave out `install`",
        library=name,
        said=reason[:300],
    )


def _check(name: str, spec: str) -> None:
    """A spec is one requirement by name and version, not an option of pip's or an address to fetch from."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?\s*([=<>!~]=?[^;@/\\]*)?", spec):
        raise NotInstalled(
            "spec",
            Reason.MALFORMED,
            "`spec={given}` is not a name with a version",
            "give one such as {library}==1.0",
            given=quote(spec),
            library=name,
        )


def _project(spec: str) -> str:
    return _normal(re.split(r"[\s\[=<>!~]", spec)[0])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _constraints(pins: Path, project: str) -> str:
    """The adapter's versions without hashes, and without that of the project that another version is wanted of."""
    lines = pins.read_text().splitlines() if pins.exists() else []
    pinned = [line.rstrip(" \\") for line in lines if "==" in line]
    return "".join(f"{line}\n" for line in pinned if _project(line) != project)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One at a time, in this and other processes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
