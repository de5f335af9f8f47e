"""Find the targets of a name: naive targets, soundsum's methods, adapters to libraries, and your own functions.

"numpy" is every target of that library, "numpy.sum" those of one function, "mypkg.mod:my_sum" a function that can be
imported, "mylib.py" an adapter in a file. Adapters outside this repository are found by the entry point group
`soundsum.adapters`: a function that returns targets, and may take the limits of workers as an argument.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from soundsum.auditor import adapters, naive_targets, own_methods
from soundsum.auditor.limits import Limits
from soundsum.auditor.target import Target
from soundsum.numbers.quoting import quote, say_type
from soundsum.refusals import Reason, RefusedValue

GROUP = "soundsum.adapters"


def known_libraries() -> list[str]:
    """Every name that can be audited."""
    return [*naive_targets.names(), "soundsum", *adapters.NAMES, *(entry.name for entry in entry_points(group=GROUP))]


def open_targets(
    name: str, install: bool = False, spec: str | None = None, limits: Limits | None = None
) -> list[Target]:
    """The targets of a library, or of one of its functions; a refusal names the nearest if there are none.

    `limits` apply to the processes that run libraries.

    >>> [t.name for t in open_targets("soundsum.modular")][:1]
    ['soundsum.modular[int64, change_one]']
    """
    if ":" in name:
        raise RefusedValue(
            "target",
            Reason.NEEDS,
            "`target={given}`: a function of your own needs its promise",
            "give `ss.Target(release=function, dtype='float64', relation='change_one', epsilon=1)`, with the type, "
            "relation and epsilon it claims",
            given=quote(name),
        )
    limits = limits or Limits()
    if name.endswith(".py"):
        return _open_file(Path(name), install, spec, limits)
    if adapters.split_name(name) is not None:
        return adapters.open_adapter(name, install, spec, limits=limits)
    library, _, function = name.partition(".")
    found = _open(library, install or spec is not None, limits)
    if found is None:
        raise _refuse_unknown(name, known_libraries())
    chosen = [t for t in found if not function or t.name == name or t.name.startswith((f"{name}[", f"{name}."))]
    if not chosen:
        raise _refuse_unknown(name, [t.name.partition("[")[0] for t in found])
    return chosen


def _open_file(path: Path, install: bool, spec: str | None, limits: Limits) -> list[Target]:
    """The targets of an adapter in a file, which runs in a process of its own."""
    if not path.is_file():
        raise RefusedValue(
            "target",
            Reason.ABSENT,
            "`target={given}`: there is no such file",
            "soundsum audit --new {given} writes one to start from",
            given=quote(str(path)),
        )
    return adapters.open_file(path.stem.replace("_", "-"), path.resolve(), install, spec, limits=limits)


def _open(library: str, install: bool, limits: Limits) -> list[Target] | None:
    if library not in known_libraries():
        return None
    if install:
        raise RefusedValue(
            "install",
            Reason.UNSUPPORTED,
            "{library} is audited as it is here",
            "leave `install` out",
            library=library,
        )
    if library == "soundsum":
        return own_methods.targets()
    if library in naive_targets.names():
        return naive_targets.targets(library)
    for entry in entry_points(group=GROUP):
        if entry.name == library:
            make = entry.load()
            return list(make(limits) if inspect.signature(make).parameters else make())
    return None


def _refuse_unknown(name: str, names: list[str]) -> RefusedValue:
    names = list(dict.fromkeys(names))
    near = difflib.get_close_matches(name, names, 3, 0.5)
    if not near:
        return RefusedValue(
            "target",
            Reason.UNKNOWN,
            "`target={given}` is not known",
            "the names are {known}, or pkg.mod:function",
            given=quote(name),
            known=", ".join(names),
        )
    return RefusedValue(
        "target",
        Reason.UNKNOWN,
        "`target={given}` is not known",
        "did you mean {near}? the names are {known}, or pkg.mod:function",
        given=quote(name),
        near=" or ".join(near),
        known=", ".join(names),
    )


def own_target(name: str, *, noiseless: str | None = None, claimed: str | None = None, **promise: Any) -> Target:
    """A target made of functions that can be imported, each named pkg.mod:function; `claimed` may be a number."""
    found = imported(name)
    if isinstance(found, Target):
        return found
    stated = claimed if claimed is None or ":" not in claimed else imported(claimed, "claimed")
    return Target(
        release=found,
        noiseless=imported(noiseless, "noiseless") if noiseless else None,
        claimed=stated,
        name=name,
        source=_where(found),
        **promise,
    )


def imported(name: str, option: str = "target") -> Any:
    """The function or Target with this module and name; modules in the current folder are found too."""
    place, _, function = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: Any = None
    missing, failed = place, ""
    try:
        found = importlib.import_module(place)
    except ImportError as error:
        missing = error.name or place
        if not f"{place}.".startswith(f"{missing}."):
            failed = missing
    if failed:
        raise RefusedValue(
            option,
            Reason.ABSENT,
            "`{option}={given}`: the module is there, but its import of {missing} failed",
            "install {missing}, or run this where it is installed",
            given=quote(name),
            missing=failed,
        )
    if found is None:
        raise RefusedValue(
            option,
            Reason.ABSENT,
            "`{option}={given}`: the module {missing} cannot be imported",
            "give pkg.mod:function, of a module that can be imported here",
            given=quote(name),
            missing=missing,
        )
    for part in function.split("."):
        if not hasattr(found, part):
            raise _refuse_attribute(option, name, function, difflib.get_close_matches(part, dir(found), 3))
        found = getattr(found, part)
    if not isinstance(found, Target) and not callable(found):
        raise RefusedValue(
            option,
            Reason.WRONG_TYPE,
            "`{option}={given}` is {type}, not a function",
            "name one",
            given=quote(name),
            type=say_type(found),
        )
    return found


def _refuse_attribute(option: str, name: str, function: str, near: list[str]) -> RefusedValue:
    if not near:
        return RefusedValue(
            option,
            Reason.UNKNOWN,
            "`{option}={given}`: the module has no {function}",
            "name a function of that module",
            given=quote(name),
            function=function,
        )
    return RefusedValue(
        option,
        Reason.UNKNOWN,
        "`{option}={given}`: the module has no {function}",
        "did you mean {near}?",
        given=quote(name),
        function=function,
        near=" or ".join(near),
    )


def _where(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
