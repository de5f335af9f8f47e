"""Requests as JSON Schema, made from the declared options: for a server's description, editors and other checkers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundsum.budget.query import SEARCH
from soundsum.releases.options import OPTIONS, REQUIRED, SETTINGS, list_fields, name_in_request
from soundsum.statistics import STATISTICS
from soundsum.tables.relations import Relation


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
