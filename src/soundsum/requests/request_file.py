"""Requests: a TOML file that asks for several statistics by name, and the options that they share.

A request may come from somebody else, so its length, depth and number of answers are limited, and whatever it has that
is not known is refused.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

from soundsum.methods.problem import read_bound, require_ascending
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.releases.options import SETTINGS, list_fields, name_in_request
from soundsum.releases.request import MOST_STATISTICS
from soundsum.requests.parse_columns import Source
from soundsum.requests.parse_conditions import read_where
from soundsum.requests.parse_groups import FOUND, read_found, read_periods
from soundsum.statistics import STATISTICS, Statistic
from soundsum.statistics.group_counts import GroupCounts
from soundsum.tables.filters import MOST_LISTED
from soundsum.tables.paths import read_file

LONGEST = 1 << 22
"""Characters of a request."""

MOST_NUMBERS = 100_000
"""In the answer to a request, where each takes kilobytes: it stands there with all that is claimed of it."""

DEEP = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){16}""")
"""A key of more parts than any that is known has; to read one takes time that grows with the square of their number."""


def read_request(path: str) -> tuple[dict[str, Any], dict[str, Statistic]]:
    """Read the settings and the named statistics of a request file; anything else is refused with the file's name."""
    written = _read_toml(path, read_file("request", path, "a TOML file"))
    try:
        return take_request(written)
    except Refusal as error:
        refusal = error
    raise refusal.within(path)


def take_request(written: dict[str, Any], has_schema: bool = False) -> tuple[dict[str, Any], dict[str, Statistic]]:
    """Divide a request, as TOML or JSON has it, into its settings and its statistics by name.

    With `has_schema` it is about an owner's table, whose schema may have the bounds and categories it leaves out.
    """
    settings = dict(written)
    _require_lists(settings.get("groups"))
    asked = _require_statistics(settings)
    made: dict[str, Statistic] = {}
    for name, one in asked.items():
        made[name] = _read_statistic(name, one, has_schema)
        require_few(settings, made)  # at once, as the edges of many bins take time
    if any(isinstance(one, GroupCounts) for one in made.values()) and (
        len(made) > 1 or settings.get("groups") != FOUND
    ):
        raise RefusedValue(
            "groups",
            Reason.NEEDS,
            "the statistic groups finds groups, and counts the persons in them",
            "ask for it alone, with `groups='found'`",
        )
    return settings, made


def read_settings(settings: dict[str, Any], statistics: Mapping[str, Statistic], file: Source) -> dict[str, Any]:
    """The settings, with conditions, and periods and their groups, read as on the command line."""
    within = settings.get("table")
    by, groups = read_periods(settings.get("by"), settings.get("groups"), file, within)
    where = read_where(settings.get("where", []), file, within)
    finds_alone = any(isinstance(one, GroupCounts) for one in statistics.values())
    return read_found(settings | {"by": by, "groups": groups, "where": where}, finds_alone)


def require_few(settings: dict[str, Any], statistics: dict[str, Statistic]) -> None:
    """Refuse a request for more numbers than can be written down at once, before it is charged."""
    groups: Any = settings.get("groups")
    listed = groups if isinstance(settings.get("by"), list) and _are_lists(groups) else [groups]
    rows = math.prod([len(one) if isinstance(one, list) else 1 for one in listed])
    count = rows * sum([_count_cells(one) for one in statistics.values()])
    if count > MOST_NUMBERS:
        raise RefusedValue(
            "statistics",
            Reason.TOO_MANY,
            "it asks for {count:,} numbers, and a request for at most {most:,}",
            "ask in parts",
            count=count,
            most=MOST_NUMBERS,
        )


def _count_cells(statistic: Statistic) -> int:
    if getattr(statistic, "is_incomplete", False):  # categories and bounds are in an owner's schema
        bins = getattr(statistic, "bins", None)
        return bins if isinstance(bins, int) else 1
    return 1 if statistic.cells is None else len(statistic.cells.names)


def _require_lists(groups: Any) -> None:
    """Refuse groups that are tables of names: they are not counted as lists are."""
    if isinstance(groups, dict) or (isinstance(groups, list) and any(isinstance(one, dict) for one in groups)):
        raise RefusedType(
            "groups",
            Reason.WRONG_TYPE,
            "`groups={given}` is not a list",
            "give the groups to release, such as `groups=['a', 'b']`",
            given=quote(groups),
        )


def _are_lists(groups: Any) -> bool:
    return isinstance(groups, list) and all(isinstance(one, list) for one in groups)


def _read_toml(path: str, text: str) -> dict[str, Any]:
    if len(text) > LONGEST:
        raise RefusedValue(
            "request",
            Reason.TOO_LARGE,
            "{path}: it has over {most} MiB, too much for a request",
            "ask in parts",
            path=path,
            most=LONGEST >> 20,
        )
    said = "it is nested too deeply"
    try:
        if DEEP.search(text) is None:
            return tomllib.loads(text)
    except RecursionError:
        pass
    except tomllib.TOMLDecodeError as error:
        said = f"it is not TOML: {error}"
    except ValueError:
        said = "it has a number of too many digits"
    raise RefusedValue(
        "request",
        Reason.UNREADABLE,
        "{path}: {said}",
        "soundsum release --help shows an example",
        path=path,
        said=said,
    )


def _require_statistics(written: dict[str, Any]) -> dict[str, Any]:
    """Take the statistics out of the document, which leaves the settings."""
    asked = written.pop("statistics", None)
    for name, value in written.items():
        if name not in SETTINGS:
            _refuse_unknown(name, value)
    if not isinstance(asked, dict) or not asked:
        raise RefusedValue(
            "statistics",
            Reason.MISSING,
            "it asks for nothing",
            "add [statistics.total] with statistic, column and bounds",
        )
    if not all(isinstance(one, dict) for one in asked.values()):
        raise RefusedValue(
            "statistics",
            Reason.MALFORMED,
            "[statistics] needs a name for each",
            "give one, such as [statistics.total]",
        )
    if len(asked) > MOST_STATISTICS:
        raise RefusedValue(
            "statistics",
            Reason.TOO_MANY,
            "it asks for {count:,} statistics, and one release has at most {most:,}",
            "ask in parts",
            count=len(asked),
            most=MOST_STATISTICS,
        )
    where = written.get("where", [])
    if not isinstance(where, list) or not all(isinstance(one, str) for one in where):
        raise RefusedValue(
            "where",
            Reason.MALFORMED,
            "`where` is not a list of texts",
            "list the conditions, such as `where=['age >= 18']`",
        )
    if len(where) > MOST_LISTED:
        raise RefusedValue(
            "where",
            Reason.TOO_MANY,
            "`where` has {count:,} conditions, and a request at most {most:,}",
            "give fewer",
            count=len(where),
            most=MOST_LISTED,
        )
    return asked


def _refuse_unknown(name: str, value: Any) -> NoReturn:
    """Refuse an unknown name at the top of the file and suggest the one that may have been meant."""
    if isinstance(value, dict):
        below = next((inner for inner, one in value.items() if isinstance(one, dict)), None)
        raise RefusedValue(
            "request",
            Reason.UNKNOWN,
            "[{table}] is not known",
            "statistics are tables such as [statistics.{below}]",
            table=name if below is None else f"{name}.{below}",
            below=below or "total",
        )
    near = get_close_matches(name, SETTINGS, 1)
    if near:
        raise RefusedValue(
            "request",
            Reason.UNKNOWN,
            "{given} is not an option of a request",
            "did you mean {near}?",
            given=quote(name),
            near=near[0],
        )
    raise RefusedValue(
        "request",
        Reason.UNKNOWN,
        "{given} is not an option of a request",
        "there are {known}, and [statistics.NAME]",
        given=quote(name),
        known=", ".join(SETTINGS),
    )


def _read_statistic(name: str, given: dict[str, Any], has_schema: bool) -> Statistic:
    try:
        return _make_statistic(dict(given), has_schema)
    except Refusal as error:
        refusal = error
    raise refusal.within(f"[statistics.{name}]")


def _make_statistic(wanted: dict[str, Any], has_schema: bool) -> Statistic:
    if "statistic" not in wanted:
        raise RefusedValue(
            "statistic",
            Reason.MISSING,
            "`statistic` is missing",
            "give one of {known}",
            known=", ".join(STATISTICS),
        )
    called = wanted.pop("statistic")
    kind = GroupCounts if called == GroupCounts.name else STATISTICS.find(called)
    allowed = list_fields(kind)
    if "bounds" in wanted and "lower" in allowed:
        if "lower" in wanted or "upper" in wanted:
            raise RefusedValue(
                "bounds", Reason.REPEATED, "`bounds` are given, and lower or upper too", "give `bounds` alone"
            )
        wanted["lower"], wanted["upper"] = _pair(wanted.pop("bounds"))
    elif "lower" in wanted or "upper" in wanted:
        raise RefusedValue(
            "bounds",
            Reason.MALFORMED,
            "a request has both bounds in one option",
            "give them as `bounds=[0, 100]`",
        )
    for name in wanted:
        if name in SETTINGS and name not in allowed:
            raise RefusedValue(
                name,
                Reason.CONFLICT,
                "`{option}` is about the whole request",
                "move it to the top, above the first [table]",
            )
        if name not in allowed:
            raise RefusedValue(
                "statistics",
                Reason.UNKNOWN,
                "{given} does not belong to a {kind}",
                "it takes {known}",
                given=quote(name),
                kind=kind.name,
                known=", ".join(allowed_fields(kind)),
            )
    if kind.needs_column and "column" not in wanted:
        raise RefusedValue("column", Reason.MISSING, "`column` is missing", "name the column to read")
    if "lower" in allowed and "bins" not in allowed and "lower" not in wanted and not has_schema:
        raise RefusedValue(
            "bounds",
            Reason.MISSING,
            "`bounds` are missing",
            "give them from public knowledge, such as `bounds=[0, 100]`",
        )
    made: Statistic = kind(**wanted)
    if not has_schema:
        _ = made.cells  # refuses a histogram without any
    return made


def allowed_fields(kind: type[Statistic]) -> list[str]:
    """The fields of a statistic in a request, beside its kind."""
    return [spelled for name in list_fields(kind) if (spelled := name_in_request(name)) is not None]


def _pair(bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise RefusedValue(
            "bounds",
            Reason.MALFORMED,
            "`bounds={given}`:",
            "give two numbers, such as `bounds=[0, 100]`",
            given=quote(bounds),
        )
    lower, upper = read_bound("lower", bounds[0]), read_bound("upper", bounds[1])
    require_ascending(lower, upper)
    return bounds[0], bounds[1]
