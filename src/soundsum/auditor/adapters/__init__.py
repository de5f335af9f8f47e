"""Adapters to real libraries: a library's name in, its targets out, each run by a worker in an environment of its own.

An adapter is one file that needs NumPy and its library alone; it is run by path and never imported here. Beside it lies
a file of pinned requirements with hashes. Those of other packages come by the entry point group `soundsum.adapters`.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from soundsum.auditor import environments
from soundsum.auditor.process import Limits, Missing, Process, number_as_text, number_from_text, runs_as_text
from soundsum.auditor.target import Target
from soundsum.data.runs import Runs

GROUP = "soundsum.adapters"

NAMES = {"python_dp": "python-dp", "pipeline_dp": "pipeline-dp", "jax_privacy": "jax-privacy"}
NAMES |= {"smartnoise_sql": "smartnoise-sql", "tmlt_analytics": "tmlt.analytics"}
"""Libraries whose name is not the adapter's file."""


def adapters() -> dict[str, Path]:
    """The file of each adapter, by its library's name; those of other packages last."""
    own = {NAMES.get(path.stem, path.stem): path for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
    others = {}
    for point in entry_points(group=GROUP):
        found = find_spec(point.module)
        if found is not None and found.origin is not None and point.name not in own:
            others[point.name] = Path(found.origin)
    return own | others


def split_name(name: str) -> tuple[str, str | None] | None:
    """A library's name and, after it, a function's, or None if there is no such adapter.

    >>> split_name("tmlt.analytics.sum"), split_name("opendp"), split_name("nonesuch")
    (('tmlt.analytics', 'sum'), ('opendp', None), None)
    """
    for library in adapters():
        if name == library:
            return library, None
        if name.startswith(f"{library}."):
            return library, name[len(library) + 1 :]
    return None


def open_adapter(
    name: str,
    install: bool = False,
    spec: str | None = None,
    function: str | None = None,
    limits: Limits | None = None,
) -> list[Target]:
    """The targets of a library: those of one function, where it is given.

    `install` makes an environment with the adapter's pinned versions, or uses the one made before; `spec` does so with
    other versions ("diffprivlib==0.6.5"). Without either the library is looked for beside soundsum.
    """
    path = adapters().get(name)
    if path is None:
        raise ValueError(f"there is no adapter for {name!r}{_nearest(name, adapters())}")
    python = Path(sys.executable)
    if install or spec:
        python = environments.install(name, path.with_suffix(".txt"), spec)
    library = _Library(name, python, path, limits or Limits())
    try:
        described: list[dict[str, Any]] = library.process.ask({})
    except Missing as missing:
        raise ValueError(
            f"{name} cannot be imported here ({missing}); give --install to use an environment of its own"
        ) from None
    names = [plain["name"] for plain in described]
    if function is not None:
        described = [x for x in described if x["name"] == function or x["name"].startswith(f"{function}.")]
        if not described:
            raise ValueError(f"{name} has no target {function!r}{_nearest(function, names)}")
    return [library.target(plain) for plain in described]


@dataclass(frozen=True)
class _Library:
    """A library in a worker, which all its targets share."""

    name: str
    python: Path
    adapter: Path
    limits: Limits

    def __post_init__(self) -> None:
        object.__setattr__(self, "process", Process(self.python, self.adapter, self.limits))

    process: Process = None  # type: ignore[assignment]

    def target(self, plain: Mapping[str, Any]) -> Target:
        """A Target whose functions ask the worker."""
        name = plain["name"]
        roles = {role: self._function(self.process, name, role, names) for role, names in plain["roles"].items()}
        rest = {key: value for key, value in plain.items() if key not in ("name", "roles")}
        return Target(
            **{**rest, **roles},
            name=f"{self.name}.{name}",
            library=self.name,
            accepts_runs=True,
            fresh=self._fresh(name) if "noiseless" in roles else None,
        )

    def _function(self, process: Process, target: str, role: str, names: Sequence[str]) -> Callable[..., Any]:
        def ask(data: Runs | None = None, **parameters: Any) -> Any:
            given = {key: None if x is None else number_as_text(x) for key, x in parameters.items()}
            request = {"target": target, "role": role, "parameters": given}
            if data is not None:
                request["data"] = runs_as_text(data)
            values = [number_from_text(text) for text in process.ask(request)]
            return values if "runs" in names else values[0]

        parameter = inspect.Parameter
        ask.__name__ = role
        ask.__signature__ = inspect.Signature([parameter(x, parameter.KEYWORD_ONLY) for x in names])  # type: ignore[attr-defined]
        return ask

    def _fresh(self, target: str) -> Callable[[Sequence[Runs], Mapping[str, Any], int], list[Any]]:
        """The noiseless sums of datasets in a new process with so many threads."""

        def sums(datasets: Sequence[Runs], parameters: Mapping[str, Any], threads: int) -> list[Any]:
            process = Process(self.python, self.adapter, self.limits, threads)
            try:
                ask = self._function(process, target, "noiseless", [*parameters])
                return [ask(data=data, **parameters) for data in datasets]
            finally:
                process.close()

        return sums


def _nearest(name: str, names: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, [*names], n=3, cutoff=0.4)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(names)}"
