"""The command that audits. Exit code 1 if a violation was found, 2 if nothing could be audited.

It writes the HTML page every time, since the terminal shows the first violation of each target alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from soundsum.cli.file_access import require_writable, write_each
from soundsum.cli.parameters import AsJson
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

PAGE = Path("audit.html")

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def audit(
    target: Annotated[
        str | None,
        typer.Argument(help="A library (numpy, diffprivlib), library.function, pkg.mod:function, or adapter.py."),
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="For pkg.mod:function: the records' type.")] = None,
    relation: Annotated[str | None, typer.Option(help=f"For pkg.mod:function: {', '.join(Relation)}.")] = None,
    epsilon: Annotated[str, typer.Option(help="For pkg.mod:function: the promised epsilon.")] = "1",
    delta: Annotated[str, typer.Option(help="For pkg.mod:function: the promised delta.")] = "0",
    bounds: Annotated[
        tuple[str, str] | None,
        typer.Option(help="For pkg.mod:function that takes no lower and upper: its bounds.", metavar="L U"),
    ] = None,
    noiseless: Annotated[
        str | None, typer.Option(help="pkg.mod:function that returns the sum before noise.", metavar="NAME")
    ] = None,
    claimed: Annotated[
        str | None, typer.Option(help="The sensitivity used: a number, or pkg.mod:function.", metavar="S")
    ] = None,
    no_specials: Annotated[
        bool, typer.Option("--no-specials", help="For pkg.mod:function: try no NaN or infinities.")
    ] = False,
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", help="Try only this family; repeat for several.", metavar="NAME")
    ] = None,
    time: Annotated[float, typer.Option(help="Seconds of CPU time per target, and per call in a worker.")] = 60.0,
    memory: Annotated[str, typer.Option(help="The most memory for a target's datasets, such as 8G.")] = "8G",
    runs: Annotated[int, typer.Option(help="Pairs of releases per attack; 0 to compare noiseless sums only.")] = 10_000,
    alpha: Annotated[float, typer.Option(help="The false alarm rate of statistical verdicts.")] = 1e-6,
    no_search: Annotated[
        bool, typer.Option("--no-search", help="Do not search for neighbours outside the families.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Also time calls on neighbours, beside identical copies: evidence only.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a target is INCONCLUSIVE.")] = False,
    install: Annotated[bool, typer.Option("--install", help="Install the library in its own environment.")] = False,
    install_spec: Annotated[
        str | None, typer.Option(help="Install another version: diffprivlib==0.6.5.", metavar="SPEC")
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Remove all environments made by --install.")] = False,
    new: Annotated[
        Path | None,
        typer.Option("--new", help="Write a commented adapter that runs, and audit nothing.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
    to_html: Annotated[
        Path | None, typer.Option("--html", help="Write the HTML page here, not to audit.html.", metavar="FILE")
    ] = None,
    to_junit: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML.", metavar="FILE")] = None,
    to_sarif: Annotated[Path | None, typer.Option("--sarif", help="Write SARIF 2.1.0.", metavar="FILE")] = None,
) -> None:
    """Attack a library's sums, or your own function, and report whether they keep their promise.

    Examples:

        soundsum audit numpy.sum

        soundsum audit diffprivlib --install --html audit.html

        soundsum audit mypkg.mod:my_sum --dtype float64 --relation change_one --epsilon 1

        soundsum audit --new mylib.py

        soundsum audit mylib.py

        soundsum audit soundsum --runs 0

        soundsum audit numpy.sum --json > audit.json
    """
    if clean:
        _clean(Console())
        return
    if new is not None:
        _write_new(Console(), new)
        return
    if target is None:
        raise RefusedValue(
            "target",
            Reason.MISSING,
            "there is no target",
            "give one: a library's name, library.function, or pkg.mod:function",
        )
    require_writable("to_html", to_html)
    require_writable("to_junit", to_junit)
    require_writable("to_sarif", to_sarif)
    page = to_html or _default_page()
    if page is not None:  # what would fail in the end fails now
        from soundsum.pages import template

        template("audit.html")
    from soundsum.auditor.auditing import audit as run
    from soundsum.cli.views import audit_view

    promise = {"dtype": dtype, "relation": relation, "epsilon": epsilon, "delta": delta, "bounds": bounds}
    whom = _target(target, promise | {"specials": not no_specials}, noiseless, claimed)
    options: dict[str, Any] = {"runs": runs, "alpha": alpha, "seconds": time, "memory": _bytes(memory)}
    options |= {"search": not no_search, "timing": timing, "install": install, "spec": install_spec}
    console = Console(stderr=as_json)
    if as_json:
        done = run(whom, attacks or "all", **options)
        typer.echo(json.dumps(done.to_json(), indent=2))
    else:
        done = audit_view.watch(console, whom, attacks or "all", options)
        audit_view.show(console, done)
    if install or install_spec:
        _tell_environment(console, target, install_spec)
    _write(console, done, page, to_junit, to_sarif)
    for one in done.inconclusive if as_json else ():
        console.print(f"{one.name} is inconclusive: {'; '.join(done.unsettled[one.name])}", highlight=False)
    raise typer.Exit(done.exit_code or int(strict and bool(done.inconclusive)))


def _write_new(console: Console, path: Path) -> None:
    from soundsum.auditor.adapters import write_adapter

    if path.suffix != ".py":
        raise RefusedValue(
            "new",
            Reason.MALFORMED,
            "`new={given}` is not the name of a Python file",
            "give one such as mylib.py",
            given=quote(str(path)),
        )
    if path.exists():
        raise RefusedValue(
            "new", Reason.CONFLICT, "`new={given}` exists already", "name another file", given=quote(str(path))
        )
    require_writable("new", path)
    write_each(console, {path: lambda: write_adapter(path)})
    console.print(f"Now run: soundsum audit {path}", highlight=False)


def _target(target: str, promise: dict[str, Any], noiseless: str | None, claimed: str | None) -> Any:
    if ":" not in target:
        given = [name for name in ("dtype", "relation", "bounds") if promise[name] is not None]
        given += [] if promise["specials"] else ["no_specials"]
        if given:
            raise RefusedValue(
                given[0],
                Reason.CONFLICT,
                "`{option}`: {target} brings its own promise",
                "leave `{option}` out, which is for pkg.mod:function",
                target=target,
            )
        return target
    from soundsum.auditor.resolve import imported, own_target
    from soundsum.auditor.target import Target

    found = imported(target)
    if isinstance(found, Target):
        return found
    for name in ("dtype", "relation"):
        if promise[name] is None:
            raise RefusedValue(
                name,
                Reason.MISSING,
                "`{option}` is missing",
                "say what {target} promises, such as `{option}={example}`",
                target=target,
                example=quote("float64" if name == "dtype" else "change_one"),
            )
    return own_target(target, noiseless=noiseless, claimed=claimed, **promise)


def _default_page() -> Path | None:
    """Where the page goes unless `--html` names a file; None without Jinja2, or in a folder that cannot be written."""
    return PAGE if find_spec("jinja2") is not None and os.access(".", os.W_OK) else None


def _write(console: Console, done: Any, page: Path | None, to_junit: Path | None, to_sarif: Path | None) -> None:
    from soundsum.auditor import audit_page, ci_files

    makers: list[tuple[Path | None, Callable[[], str]]] = [
        (page, lambda: audit_page.page(done)),
        (to_junit, lambda: ci_files.junit(done)),
        (to_sarif, lambda: json.dumps(ci_files.sarif(done), indent=2) + "\n"),
    ]
    write_each(console, {path: make for path, make in makers if path is not None})


def _tell_environment(console: Console, target: str, spec: str | None) -> None:
    """Prints where the library was installed, and its size."""
    from soundsum.auditor.adapters import environment_of

    made = environment_of(target, spec)
    if made is not None and made.ready:
        console.print(f"environment: {made.path} ({made.size / 2**20:,.0f} MB; --clean removes it)", highlight=False)


def _clean(console: Console) -> None:
    removed = import_module("soundsum.auditor.environments").clean()
    for place, size in removed:
        console.print(f"removed {place} ({size / 2**20:,.0f} MB)", highlight=False)
    if not removed:
        console.print("there are no environments", highlight=False)


def _bytes(text: str) -> int:
    """A size such as 8G.

    >>> _bytes("8G"), _bytes("512M"), _bytes("1000")
    (8589934592, 536870912, 1000)
    """
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number and number[-1] in UNITS:
        number, unit = number[:-1], number[-1]
    try:
        return int(float(number) * UNITS[unit])
    except (ValueError, OverflowError):
        pass
    raise RefusedValue(
        "memory",
        Reason.MALFORMED,
        "`memory={given}` is not a size",
        "give one such as 8G or 512M",
        given=quote(text),
    )


def register(app: typer.Typer) -> None:
    app.command()(audit)
