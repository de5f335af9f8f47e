"""The worker: a process of its own in which a library is run, started by path with its environment's Python.

It needs NumPy and the library alone, never soundsum. A request and its answer are frames on pipes, a length of four
bytes and then JSON; numbers travel exactly, floats in hex and integers in decimal. Data arrives as runs of patterns.
The adapter is a file with `targets()`; `docs/adapters.md` says how to write one.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import inspect
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, BinaryIO

import numpy as np

CHUNK = 1 << 20
"""A library that takes chunks is fed at most this many records at once."""

KEPT = 2
"""The number of prepared datasets kept in memory: two neighbours."""

PASSED = ("data", "lower", "upper", "epsilon", "size", "runs")
"""The parameters a target's function may name; the adapter binds all others."""

ROLES = ("release", "noiseless", "claimed")

CLIPPED = {
    "relation": "symmetric",
    "ordered": True,
    "epsilon": 1,
    "delta": 1e-5,
    "noise": "gaussian",
}
"""The promise of a sum of clipped gradients, for targets that give the norm to clip to (`clips_to`)."""

LARGEST = {"float64": 1.7976931348623157e308, "float32": 3.4028234e38, "float16": 65504.0, "bfloat16": 3.3895313e38}
"""No norm beyond the type of the gradients is tried, since no documentation allows one."""


class LibraryRefused(Exception):
    """The library declined the parameters."""


class Data:
    """A dataset as runs: patterns of values, each repeated. bfloat16 is stored as float32, which holds it exactly."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self.dtype: str = plain["dtype"]
        self.kind = np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)
        self.parts = [(np.array([number(x) for x in pattern], self.kind), n) for pattern, n in plain["parts"]]
        self.size = sum(len(pattern) * count for pattern, count in self.parts)

    def array(self) -> Any:
        """The records written out."""
        array, at = np.empty(self.size, self.kind), 0
        for pattern, count in self.parts:
            end = at + len(pattern) * count
            array[at:end].reshape(count, len(pattern))[:] = pattern
            at = end
        return array

    def chunks(self) -> Iterator[Any]:
        """The records in order, as arrays of at most CHUNK each."""
        for pattern, count in self.parts:
            most = max(1, CHUNK // len(pattern))
            whole = np.tile(pattern, min(most, count))
            for start in range(0, count, most):
                yield whole[: min(most, count - start) * len(pattern)]


def number(text: str) -> int | float:
    """A number from its text: an integer, a fraction, a hex float, inf or nan."""
    if "0x" in text or "n" in text:
        return float.fromhex(text)
    return float(Fraction(text)) if "/" in text else int(text)


def text(value: Any) -> str:
    """A number as text that `number` reads back exactly."""
    item = value.item() if callable(getattr(value, "item", None)) else value
    if isinstance(item, bool) or not isinstance(item, int | float):
        raise TypeError(f"{repr(item)[:60]} is not a number")
    return str(item) if isinstance(item, int) else item.hex()


class Worker:
    """An adapter's targets, and the datasets prepared last."""

    def __init__(self, path: str) -> None:
        spec = importlib.util.spec_from_file_location("adapter", path)
        assert spec is not None
        assert spec.loader is not None
        adapter = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(adapter)
        self.targets: dict[str, dict[str, Any]] = {x["name"]: complete(x) for x in adapter.targets()}
        self.prepared: dict[str, Any] = {}
        self.seconds = 0.0  # of the last call, without what prepares its data

    def describe(self) -> list[dict[str, Any]]:
        """The description of each target, and the parameters that each of its functions names."""
        return [
            {
                **{key: value for key, value in target.items() if key not in (*ROLES, "feed", "refuses", "clips_to")},
                "roles": {role: wanted(target, role) for role in ROLES if target.get(role) is not None},
            }
            for target in self.targets.values()
        ]

    def call(self, request: dict[str, Any]) -> list[str]:
        """Call one of a target's functions with those of the parameters that it names."""
        target = self.targets[request["target"]]
        function = target[request["role"]]
        given = {name: None if x is None else number(x) for name, x in request["parameters"].items()}
        try:
            named = {name: given[name] for name in names(function) if name != "data"}
            if "data" in names(function):
                named["data"] = self.prepare(target, request["data"], given)
            start = time.perf_counter()
            result = function(**named)
            self.seconds = time.perf_counter() - start
        except target.get("refuses", ()) as refusal:
            raise LibraryRefused(f"{type(refusal).__name__}: {refusal}") from refusal
        return [text(value) for value in (result if "runs" in named else [result])]

    def prepare(self, target: dict[str, Any], plain: dict[str, Any], given: dict[str, Any]) -> Any:
        """The data in the target's form: an array, or the result of its `feed`. The last few are kept."""
        feed: Callable[..., Any] = target.get("feed", Data.array)
        named = {name: given[name] for name in names(feed)[1:]}
        key = json.dumps([target["name"] if "feed" in target else "", plain, sorted(named.items())])
        if key not in self.prepared:
            while len(self.prepared) >= KEPT:
                del self.prepared[next(iter(self.prepared))]
            self.prepared[key] = feed(Data(plain), **named)
        return fresh(self.prepared[key])


def fresh(data: Any) -> Any:
    """A copy for each call, if the data can be changed in place; other libraries' frames cannot."""
    changeable = type(data).__module__.partition(".")[0] in ("builtins", "numpy", "pandas", "torch")
    return copy.deepcopy(data) if changeable else data


def names(function: Callable[..., Any]) -> list[str]:
    """The available parameters that a function names."""
    bound = getattr(function, "keywords", {})
    return [name for name in inspect.signature(function).parameters if name in PASSED and name not in bound]


def wanted(target: dict[str, Any], role: str) -> list[str]:
    """The parameters of a function and of its `feed`."""
    own = names(target[role])
    return list(dict.fromkeys([*own, *(names(target["feed"]) if "data" in own and "feed" in target else [])]))


def complete(target: dict[str, Any]) -> dict[str, Any]:
    """A target with the functions that its program defines, each called with the parameters as its globals.

    The lines that are audited and those of a repro are then the same. A sum of gradients clipped to the norm
    `clips_to`, an expression in lower and upper, gets the promise in CLIPPED and claims that norm, or what its library
    says.
    """
    if "clips_to" in target:
        own = target.get("claimed")
        claim = partial(claimed_norm, norm=target["clips_to"], kind=target["dtype"], own=own)
        target = {**CLIPPED, **target, "claimed": claim}
    defined = [line.name for line in ast.parse(target.get("repro", "")).body if isinstance(line, ast.FunctionDef)]
    made: dict[str, Any] = {role: called(target["repro"], role) for role in ("noiseless", "release") if role in defined}
    return {**made, **target}


def claimed_norm(lower: Any, upper: Any, norm: str, kind: str, own: Callable[..., Any] | None) -> Any:
    value = eval(norm, {"lower": lower, "upper": upper})
    if value > LARGEST[kind]:
        raise NotImplementedError(f"a clipping norm of {value:g} lies beyond {kind}, which ends at {LARGEST[kind]:g}")
    return value if own is None else own(lower=lower, upper=upper)


def called(program: str, role: str) -> Callable[..., Any]:
    code = compile(program, f"<{role}>", "exec")

    @lru_cache(maxsize=2, typed=True)  # what a library compiles for a function is compiled once
    def defined(lower: Any, upper: Any, epsilon: Any, size: Any) -> Callable[..., Any]:
        space = {"np": np, "lower": lower, "upper": upper, "epsilon": epsilon, "size": size}
        exec(code, space)
        own: Callable[..., Any] = space[role]
        return own

    def function(data: Any, lower: Any, upper: Any, epsilon: Any, size: Any) -> Any:
        return defined(lower, upper, epsilon, size)(data)

    def several(data: Any, lower: Any, upper: Any, epsilon: Any, size: Any, runs: int) -> Any:
        release = defined(lower, upper, epsilon, size)
        return [release(fresh(data)) for _ in range(runs)]

    return several if role == "release" else function


def answer(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request; every failure becomes an answer too."""
    try:
        if "target" not in request:
            return {"targets": worker.describe()}
        return {"values": worker.call(request), "seconds": worker.seconds}
    except LibraryRefused as refusal:
        return {"refused": str(refusal)}
    except (MemoryError, NotImplementedError) as fault:
        worker.prepared.clear()
        what = "out of memory" if isinstance(fault, MemoryError) else "not supported"
        return {"unsupported": f"{what}: {fault}" if str(fault) else what}
    except (Exception, SystemExit) as fault:
        return {"raised": f"{type(fault).__name__}: {fault}"}


def read(pipe: BinaryIO) -> Any:
    """The next frame, or None at the end."""
    header = pipe.read(4)
    return json.loads(pipe.read(int.from_bytes(header, "big"))) if len(header) == 4 else None


def write(pipe: BinaryIO, plain: Any) -> None:
    frame = json.dumps(plain).encode()
    pipe.write(len(frame).to_bytes(4, "big") + frame)
    pipe.flush()


def taken() -> int:
    """The bytes of this process's memory that the limit counts, the loaded library's among them."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[5]) * resource.getpagesize()


def main() -> None:
    path, memory = sys.argv[1], int(sys.argv[2])
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # nothing that a library reads or prints gets between the frames
    os.dup2(2, 1)
    try:
        worker = Worker(path)
    except ImportError as fault:
        write(answers, {"missing": str(fault)})
        return
    limit = memory + taken()
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    write(answers, {"ready": True})
    while (request := read(requests)) is not None:
        write(answers, answer(worker, request))


if __name__ == "__main__":
    main()
