"""Requests as JSON has them (docs/requests.md): written from Python for an owner's server, and as JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from soundsum.budget.query import SEARCH
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal
from soundsum.privacy.selection import Found
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.options import OPTIONS, REQUIRED, SETTINGS, list_fields, name_in_request
from soundsum.releases.request import name_statistics
from soundsum.requests.parse_groups import FOUND
from soundsum.statistics import STATISTICS, Statistic
from soundsum.statistics.group_counts import GroupCounts
from soundsum.tables.periods import Period
from soundsum.tables.relations import Relation


def write_request(statistics: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request as JSON has it (docs/requests.md)."""
    names, asked = name_statistics(statistics)
    given = {name: value for name, value in options.items() if value is not None and not isinstance(value, Found)}
    settings = {name: list(map(_plain, one)) if name == "groups" and isinstance(one, Mapping) else _plain(one)
                for name, one in given.items()}  # fmt: skip
    if "where" in settings:
        settings["where"] = _write_where(options["where"])
    by = options.get("by")
    groups = options.get("groups")
    if isinstance(groups, Found):
        settings["by"] = _spell_columns(by)
        settings |= _write_found(groups, options, any(isinstance(one, GroupCounts) for one in asked))
    elif isinstance(by, Period) or (isinstance(by, list) and any(isinstance(one, Period) for one in by)):
        _write_periods(settings, by, groups)
    return {**settings, "statistics": {name: _write_statistic(one) for name, one in zip(names, asked, strict=True)}}


def _write_statistic(statistic: Statistic) -> dict[str, Any]:
    written: dict[str, Any] = {"statistic": statistic.name}
    defaults = {field.name: field.default for field in fields(statistic)}  # type: ignore[arg-type]
    for name in list_fields(type(statistic)):
        value = statistic.__dict__.get(name)
        if value is not None and (name in ("column",) or value is not defaults[name]):
            written[name] = _plain(value)
    if "lower" in written or "upper" in written:
        written["bounds"] = [written.pop("lower", None), written.pop("upper", None)]
    return written


def _write_where(where: Any) -> list[str]:
    """Conditions as texts that all hold: each a choice of one condition from every alternative."""
    if isinstance(where, str):
        return [where]
    several = [where] if isinstance(where, tuple) else list(where)
    if all(isinstance(one, str) for one in several):
        return [str(one) for one in several]
    alternatives = several if all(isinstance(one, list) for one in several) else [several]
    return [" or ".join(_write_condition(one) for one in choice) for choice in product(*alternatives)]


def _write_condition(condition: Any) -> str:
    column, sign, value = condition
    if sign == "in":
        return f"{column} in {', '.join(map(_write_value, value))}"
    return f"{column} {sign} {_write_value(value)}"


def _write_value(value: Any) -> str:
    if isinstance(value, str):
        if "'" in value and '"' in value:
            raise RefusedValue(
                "where", Reason.UNSUPPORTED, "{given} has both kinds of quotes", "leave it out", given=quote(value)
            )
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(_plain(value))


def _write_periods(settings: dict[str, Any], by: Any, groups: Any) -> None:
    columns = by if isinstance(by, list) else [by]
    lists = list(groups) if isinstance(by, list) and groups is not None else [groups] * len(columns)
    written: list[Any] = []
    for column, own in zip(columns, lists, strict=True):
        if isinstance(column, Period) and column.has_range:
            first, *_, last = [column.spell(column.name(start)) for start in (column.every() * 2)]
            written.append([f"{first}..{last}"])
        else:
            written.append(None if own is None else _plain(own))
    settings["by"], settings["groups"] = _spell_columns(by), written if isinstance(by, list) else written[0]
    if settings["groups"] is None:
        del settings["groups"]


def _write_found(found: Found, options: Mapping[str, Any], finds_alone: bool) -> dict[str, Any]:
    """Groups that are to be found, as a request has them: with one delta, of which Gaussian noise takes half."""
    delta, noise = options.get("delta"), options.get("noise", "laplace")
    own = None if delta is None else decimal(delta, "delta")
    written = {"groups": FOUND, "delta": str(found.delta)}
    if finds_alone and delta is None:
        return written if found.noise == "laplace" else {**written, "noise": found.noise}
    if (found.weight, found.noise, noise, delta) == (1, "laplace", "laplace", None):
        return written
    if (found.weight, found.noise, noise, own) == (1, "laplace", "gaussian", found.delta):
        return {"groups": FOUND, "delta": str(2 * found.delta), "noise": noise}
    raise RefusedValue(
        "groups",
        Reason.UNSUPPORTED,
        "a request has one `delta`, and no weight for the search",
        "with Gaussian noise, give `delta` and that of `ss.Found` the same value; or find the groups first",
    )


def _spell_columns(by: Any) -> Any:
    if isinstance(by, list):
        return [_spell_columns(one) for one in by]
    return str(by) if isinstance(by, Period) else by


def _plain(value: Any) -> Any:
    """A value as JSON has it, exact numbers as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    if isinstance(value, Period):
        return str(value)
    raise RefusedType(
        None, Reason.UNSUPPORTED, "{given} cannot be sent to a server", "give plain values", given=quote(value)
    )


def describe_requests() -> dict[str, Any]:
    """Requests as JSON Schema: the settings, and the statistics by name, each with the options of its kind.

    >>> sorted(describe_requests()["properties"]["statistics"]["additionalProperties"]["oneOf"][1]["properties"])
    ['column', 'statistic', 'weight']
    """
    kinds = [
        {
            "type": "object",
            "properties": {"statistic": {"const": name}, **dict(_properties(list_fields(STATISTICS[name])))},
            "required": ["statistic"],
            "additionalProperties": False,
        }
        for name in STATISTICS
    ]
    kinds.append({**kinds[-1], "properties": {"statistic": {"const": SEARCH}}})  # the groups themselves
    named = {"type": "object", "minProperties": 1, "additionalProperties": {"oneOf": kinds}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {**dict(_properties(SETTINGS)), "statistics": named},
        "required": ["statistics"],
        "additionalProperties": False,
    }


def _properties(names: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        called, option = name_in_request(name), OPTIONS.get(name)
        if called is None:
            continue
        if option is None or option.json is None:  # of a statistic from elsewhere
            yield called, {}
            continue
        said = dict(option.json)
        if called == "bounds":
            said = {"type": "array", "items": said, "minItems": 2, "maxItems": 2}
        if option.default is not REQUIRED and option.default is not None:
            said["default"] = str(option.default) if isinstance(option.default, Relation) else option.default
        yield called, said | ({} if option.flag is None else {"description": option.flag.help})
