"""The command that releases several statistics at once, by their names, from a small TOML file.

epsilon = 1
by = "dept"
groups = ["sales", "care"]

[statistics.total]
statistic = "sum"
column = "pay"
bounds = [0, 200000]
weight = 2

[statistics.staff]
statistic = "count"
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer

import soundsum as ss
from soundsum.cli.file_access import on_disk, watch
from soundsum.cli.parameters import read_options, take
from soundsum.cli.refusals import say_in_request
from soundsum.cli.spelled import read_condition, read_file, read_periods
from soundsum.cli.views.released import choose_form, show
from soundsum.methods.problem import read_bound, require_ascending
from soundsum.releases.options import SETTINGS, list_fields, name_in_request
from soundsum.releases.request import MOST_STATISTICS
from soundsum.releases.signatures import CALLS
from soundsum.statistics import STATISTICS, Statistic
from soundsum.tables.filters import MOST_LISTED

TAKEN = ("data", "statistics", "epsilon", "table", "engine", "budget", "name")
"""Options of `soundsum.release` that the command has; the others stand in the request."""

LONGEST = 1 << 22
"""Characters of a request."""

MOST_NUMBERS = 100_000
"""In the answer to a request, where each takes kilobytes: it stands there with all that is claimed of it."""

DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){16}""")
"""A key of more parts than any that is known has; to read one takes time that grows with the square of their number."""


def release_several(
    file: str,
    request: str,
    epsilon: str | None,
    table: str | None,
    engine: str | None,
    budget: str | None,
    data: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Release several statistics for one charge, as a small TOML file asks for them by name.

    Example: soundsum release pay.parquet request.toml --budget ledger.db

    with request.toml:

        epsilon = 1

        \\[statistics.total]

        statistic = "sum"

        column = "pay"

        bounds = [0, 200000]

        weight = 2  # twice the share of epsilon that staff gets

        \\[statistics.staff]

        statistic = "count"
    """
    form = choose_form(as_json, as_csv)
    settings, statistics = read_request(request)
    given = {"epsilon": epsilon, "table": table, "engine": engine}
    options = {name: value for name, value in given.items() if value is not None}
    for name, value in options.items():
        if name in settings:
            raise ValueError(f"{name} is given in {request} and as --{name} {value}; give it once")
    if budget is not None:
        _refuse_sources(settings, request)
    ledger = None if budget is None else ss.Budget(path=budget)
    with on_disk(file) as path, _naming(request, path, {*options, "name", "budget"}), watch(path) as opened:
        settings = _read_spelled(settings | options, path)
        _require_few(settings, statistics, request)  # again, as a range of periods is many groups
        outcome = ss.release(opened, statistics, name=data, budget=ledger, **settings)
    show(outcome, form)


def _refuse_sources(settings: dict[str, Any], request: str) -> None:
    """Whoever holds the ledger says which table it is charged for; a request may come from somebody else."""
    for name in ("table", "engine"):
        if name in settings:
            raise ValueError(
                f"{request} sets {name}, which only the command may with --budget: the ledger is for one table; "
                f"leave it out of the request and give --{name}"
            )


def _require_few(settings: dict[str, Any], statistics: dict[str, Statistic], request: str) -> None:
    """Refuse a request for more numbers than can be written down at once, before it is charged."""
    groups: Any = settings.get("groups")
    listed = groups if isinstance(settings.get("by"), list) and _are_lists(groups) else [groups]
    rows = math.prod([len(one) if isinstance(one, list) else 1 for one in listed])
    count = rows * sum([1 if one.cells is None else len(one.cells.names) for one in statistics.values()])
    if count > MOST_NUMBERS:
        raise ValueError(
            f"{request} asks for {count:,} numbers, and a request for at most {MOST_NUMBERS:,}; ask in parts"
        )


def _are_lists(groups: Any) -> bool:
    return isinstance(groups, list) and all(isinstance(one, list) for one in groups)


def _read_spelled(settings: dict[str, Any], file: str) -> dict[str, Any]:
    """The settings, with conditions, and periods and their groups, read as on the command line."""
    within = settings.get("table")
    by, groups = read_periods(settings.get("by"), settings.get("groups"), file, within)
    where = [read_condition(text, file, within) for text in settings.get("where", ())]
    return settings | {"by": by, "groups": groups, "where": where or None}


@contextmanager
def _naming(request: str, file: str, on_the_command_line: set[str]) -> Iterator[None]:
    """Report a refused request with its file's name and in the file's own spelling."""
    try:
        yield
    except ss.BudgetExceeded:
        raise
    except (ValueError, TypeError) as error:
        said = say_in_request(str(error), on_the_command_line)
        is_its_own = file not in said and not any(f"{name}=" in said for name in on_the_command_line)
        raise ValueError(f"{request}: {said}" if is_its_own else said) from None


def read_request(path: str) -> tuple[dict[str, Any], dict[str, Statistic]]:
    """Read the settings and the named statistics of a request file; anything else is refused with the file's name."""
    text = read_file(path, "a TOML file")
    if len(text) > LONGEST:
        raise ValueError(f"{path} has over {LONGEST >> 20} MiB, too much for a request; ask in parts")
    if DEEP.search(text):
        raise ValueError(f"{path} is nested too deeply; soundsum release --help shows an example")
    try:
        written = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply; soundsum release --help shows an example") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not TOML: {error}; soundsum release --help shows an example") from None
    except ValueError:
        raise ValueError(f"{path} has a number of too many digits; give one such as 1 or 0.5") from None
    asked = written.pop("statistics", None)
    for name in written:
        if name not in SETTINGS:
            raise ValueError(f"{path}: {_say_unknown(name, written[name])}")
    if not isinstance(asked, dict) or not asked or not all(isinstance(one, dict) for one in asked.values()):
        if isinstance(asked, dict) and asked:
            raise ValueError(f"{path}: [statistics] needs a name for each, such as [statistics.total]")
        raise ValueError(f"{path} asks for nothing; add [statistics.total] with statistic, column and bounds")
    if len(asked) > MOST_STATISTICS:
        raise ValueError(f"{path} asks for {len(asked):,} statistics, and one release has at most {MOST_STATISTICS:,}")
    where = written.get("where", [])
    if not isinstance(where, list) or not all(isinstance(one, str) for one in where):
        raise ValueError(f'{path}: where is a list of conditions, such as where = ["age >= 18"]')
    if len(where) > MOST_LISTED:
        raise ValueError(f"{path}: where has {len(where):,} conditions, and a request at most {MOST_LISTED:,}")
    made: dict[str, Statistic] = {}
    for name, one in asked.items():
        made[name] = _statistic(f"{path}, [statistics.{name}]", one)
        _require_few(written, made, path)  # at once, as the edges of many bins take time
    return written, made


def _say_unknown(name: str, value: Any) -> str:
    """Explain an unknown name at the top of the file and suggest the one that may have been meant."""
    if isinstance(value, dict):
        below = next((inner for inner, one in value.items() if isinstance(one, dict)), None)
        table = name if below is None else f"{name}.{below}"
        return f"[{table}] is not known; statistics are tables such as [statistics.{below or 'total'}]"
    near = get_close_matches(name, SETTINGS, 1)
    if near:
        return f"{name!r} is not a setting; did you mean {near[0]}?"
    return f"{name!r} is not a setting; there are {', '.join(SETTINGS)}, and [statistics.NAME]"


def _statistic(place: str, given: dict[str, Any]) -> Statistic:
    if "statistic" not in given:
        raise ValueError(f"{place}: statistic is missing; give one of {', '.join(STATISTICS)}")
    wanted = dict(given)
    try:
        kind = STATISTICS.find(wanted.pop("statistic"))
        allowed = list_fields(kind)
        if "bounds" in wanted and "lower" in allowed:
            if "lower" in wanted or "upper" in wanted:
                raise ValueError("bounds are given, and lower or upper too; give bounds alone")
            wanted["lower"], wanted["upper"] = _pair(wanted.pop("bounds"))
        elif "lower" in wanted or "upper" in wanted:
            raise ValueError("in a request both bounds stand together; give them as bounds = [0, 100]")
        for name in wanted:
            if name in SETTINGS and name not in allowed:
                raise ValueError(f"{name!r} is about the whole request; move it to the top, above the first [table]")
            if name not in allowed:
                raise ValueError(
                    f"{name!r} does not belong to a {kind.name}; it takes {', '.join(allowed_fields(kind))}"
                )
        if kind.needs_column and "column" not in wanted:
            raise ValueError("column is missing; name the column to read")
        if "lower" in allowed and "bins" not in allowed and "lower" not in wanted:
            raise ValueError("bounds are missing, from public knowledge, such as bounds = [0, 100]")
        made = kind(**wanted)
        _ = made.cells  # refuses a histogram without any
        return made
    except (ValueError, TypeError) as error:
        raise ValueError(f"{place}: {say_in_request(str(error))}") from None


def allowed_fields(kind: type[Statistic]) -> list[str]:
    """What a request may say of a statistic, beside its kind."""
    return [spelled for name in list_fields(kind) if (spelled := name_in_request(name)) is not None]


def _pair(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ValueError(f"bounds = {bounds}: give two numbers, such as bounds = [0, 100]")
    lower, upper = read_bound("lower", bounds[0]), read_bound("upper", bounds[1])
    require_ascending(lower, upper)
    return bounds[0], bounds[1]


def register(app: typer.Typer) -> None:
    options = CALLS["release"].options
    app.command("release")(take(release_several, read_options([options[name] for name in TAKEN])))
