"""Targets whose functions are run elsewhere: each call is a question to a library's worker, and its answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from soundsum.auditor.process import Limits, Process, number_as_text, number_from_text, runs_as_text
from soundsum.auditor.target import PASSED, Fresh, Target
from soundsum.tables.runs import Runs


@dataclass(frozen=True)
class Library:
    """A library in an environment, as its adapter describes it; its targets share one worker."""

    name: str
    python: Path
    adapter: Path
    limits: Limits

    @cached_property
    def process(self) -> Process:
        return Process(self.python, self.adapter, self.limits)

    def targets(self) -> list[Target]:
        return [self._target(plain) for plain in self.process.ask({})]

    def _target(self, plain: Mapping[str, Any]) -> Target:
        name, roles = plain["name"], plain["roles"]
        functions: dict[str, Any] = {role: _function(self.process, name, role, names) for role, names in roles.items()}
        rest = {key: value for key, value in plain.items() if key not in ("name", "roles")}
        promised = {"streams": False, "specials": bool(rest.get("specials_quote")), **rest}
        return Target(
            **promised,
            **functions,
            name=f"{self.name}.{name}",
            library=self.name,
            accepts_runs=True,
            fresh=self._fresh(name, roles["noiseless"]) if "noiseless" in roles else None,
        )

    def _fresh(self, target: str, names: Sequence[str]) -> Fresh:
        def sums(asked: Sequence[tuple[Runs, Mapping[str, Any]]], threads: int) -> list[Any]:
            process = Process(self.python, self.adapter, self.limits, threads)
            try:
                ask = _function(process, target, "noiseless", names)
                return [
                    ask(data=data, **{name: given[name] for name in names if name in given}) for data, given in asked
                ]
            finally:
                process.close()

        return sums


def _function(process: Process, target: str, role: str, names: Sequence[str]) -> Callable[..., Any]:
    """A function with the signature of the one in the worker."""

    def ask(data: Runs | None = None, **parameters: Any) -> Any:
        given = {key: None if x is None else number_as_text(x) for key, x in parameters.items()}
        request = {"target": target, "role": role, "parameters": given}
        if data is not None:
            request["data"] = runs_as_text(data)
        values = [number_from_text(text) for text in process.ask(request)]
        return values if "runs" in names else values[0]

    shown = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in PASSED if name in names]
    ask.__name__ = role
    ask.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return ask
