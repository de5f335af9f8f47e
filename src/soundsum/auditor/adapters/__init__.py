"""Adapters to real libraries: a library's name in, its targets out, each run by a worker in an environment of its own.

An adapter is one file that needs NumPy and its library alone; it is run by path and never imported here. Beside it lies
a file of pinned requirements with hashes, by which `install` makes an environment. `docs/adapters.md` says how to write
one, here or in another package, and `write_adapter` begins one.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from soundsum.auditor.environments import Environment, environment_for
from soundsum.auditor.environments import install as install_environment
from soundsum.auditor.limits import Limits
from soundsum.auditor.process import Library, LibraryMissing
from soundsum.auditor.target import Target
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

HERE = Path(__file__).parent

NAMES = tuple(path.stem.replace("_", "-") for path in sorted(HERE.glob("[a-z]*.py")))
"""The libraries with adapters. Points, dashes and underscores in a name are the same, as in pip."""


def split_name(name: str) -> tuple[str, str | None] | None:
    """The adapter's name and the function's after it, or None if there is no such adapter.

    >>> split_name("tmlt.analytics.sum"), split_name("opendp"), split_name("nonesuch")
    (('tmlt-analytics', 'sum'), ('opendp', None), None)
    """
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        library = re.sub(r"[-_.]+", "-", ".".join(parts[:end])).lower()
        if library in NAMES:
            return library, ".".join(parts[end:]) or None
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
    found = split_name(name)
    if found is None:
        near = _find_near(name, NAMES)
        if not near:
            raise RefusedValue(
                "name",
                Reason.UNKNOWN,
                "there is no adapter for {given}",
                "there are {known}",
                given=quote(name),
                known=", ".join(NAMES),
            )
        raise RefusedValue(
            "name",
            Reason.UNKNOWN,
            "there is no adapter for {given}",
            "did you mean {near}?",
            given=quote(name),
            near=near,
        )
    library, within = found
    return open_file(library, _file(library), install, spec, function or within, limits)


def environment_of(name: str, spec: str | None = None) -> Environment | None:
    """The environment that `install` makes for a library, or None if there is no such adapter."""
    found = split_name(name)
    return None if found is None else environment_for(found[0], _file(found[0]).with_suffix(".txt"), spec)


def open_file(
    name: str,
    adapter: Path,
    install: bool = False,
    spec: str | None = None,
    function: str | None = None,
    limits: Limits | None = None,
) -> list[Target]:
    """The targets of an adapter by its file, for packages that bring their own; its pins lie beside it, as .txt."""
    python = Path(sys.executable)
    if install or spec:
        python = install_environment(name, adapter.with_suffix(".txt"), spec)
    targets = None
    with suppress(LibraryMissing):
        targets = Library(name, python, adapter, limits or Limits()).targets()
    if targets is None:
        raise RefusedValue(
            "install",
            Reason.MISSING,
            "{library} cannot be imported here",
            "give `install` to use an environment of its own",
            library=name,
        )
    if function is None:
        return targets
    chosen = [x for x in targets if x.name == f"{name}.{function}" or x.name.startswith(f"{name}.{function}.")]
    if not chosen:
        names = [x.name for x in targets]
        near = _find_near(f"{name}.{function}", names)
        if not near:
            raise RefusedValue(
                "function",
                Reason.UNKNOWN,
                "{library} has no target {given}",
                "there are {known}",
                library=name,
                given=quote(function),
                known=", ".join(names),
            )
        raise RefusedValue(
            "function",
            Reason.UNKNOWN,
            "{library} has no target {given}",
            "did you mean {near}?",
            library=name,
            given=quote(function),
            near=near,
        )
    return chosen


def _file(library: str) -> Path:
    return HERE / f"{library.replace('-', '_')}.py"


def _find_near(name: str, names: Sequence[str]) -> str:
    return " or ".join(difflib.get_close_matches(name, names, n=3, cutoff=0.4))


TEMPLATE = '''\
"""An adapter for the auditor of soundsum: replace the example by calls of your library.

    soundsum audit {file}            # as it is: the textbook sum below breaks its promise
    soundsum audit {file} --timing   # also compares times of calls on neighbours

The file is run by path in a process of its own, which needs NumPy and your library but not soundsum. To run it in an
environment with a version of your library: soundsum audit {file} --install-spec 'mylib==1.0'
"""

# Lines that define, with lower, upper, epsilon, size and np as globals:
#   noiseless(data)  your library's own code up to the noise, and nothing of your own. Of a mean, return what gets the
#                    noise: if that is a sum which is divided afterwards, return the sum. Leave it out if you cannot
#                    reach it; the auditor then judges runs of release alone.
#   claimed(data)    the sensitivity that the library scales its noise to, read from its object if there is one.
#   release(data)    one noisy output.
# The auditor runs these lines, and puts them into the program that shows a violation: keep them to 8 lines.
PROGRAM = """\\
def noiseless(data): return np.clip(data, lower, upper).sum()
def claimed(data): return upper - lower
def release(data): return noiseless(data) + np.random.default_rng().laplace(0, claimed(data) / epsilon)
"""


def claimed(lower, upper):
    """The same sensitivity, asked without data."""
    return upper - lower


def targets():
    # Import your library here, so that a missing one is reported: import mylib
    for dtype in ("float64", "float32"):  # one target for each function, type and option that takes its own path
        yield {{
            "name": f"sum.{{dtype}}",
            "repro": PROGRAM,
            "claimed": claimed,
            "dtype": dtype,
            # The documented relation: symmetric (a record more or less), change_one; insert_delete and hamming if the
            # order of records counts. Quote the documentation.
            "relation": "change_one",
            "relation_quote": "replace this by a quotation, with file and line",
            "claim_quote": "upper - lower: replace this by a quotation, with file and line",
            # The promise. For Gaussian noise also "delta", and "noise_multiplier", its standard deviation over the
            # sensitivity.
            "epsilon": 1,
            "noise": "laplace",
            "version": "0",
            "source": "mylib/sums.py:1",
            # Whether records beyond the bounds are documented to be clamped. Without it they are not tried.
            "clamps": True,
            # Quote where NaN and infinities are documented as records. Without it they are not tried. A parameter that
            # no documentation allows, such as a norm beyond the type, is unfair: raise NotImplementedError in claimed.
            # "specials_quote": '"..." (mylib/sums.py:1)',
            # Exceptions by which the library declines parameters:
            # "refuses": (ValueError,),
        }}
'''


def write_adapter(path: Path) -> str:
    """Return the text of a new adapter in a file of that name.

    >>> "soundsum audit mylib.py" in write_adapter(Path("mylib.py"))
    True
    """
    return TEMPLATE.format(file=path.name)
