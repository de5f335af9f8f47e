"""Columns that a request groups by or takes persons' ids from: named in its table, or given beside a single column."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soundsum.numbers.quoting import is_hashable, quote, say_column
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.arrow_arrays import is_arrow
from soundsum.tables.memory_table import is_column
from soundsum.tables.periods import SPELLED, Period
from soundsum.tables.runs import Runs
from soundsum.tables.schemas import Schema, list_names, require_columns

SPELLED_PERIOD = re.compile(r"(?:ss\.)?(year|month|week|day|hour)\(([^\n]+)\)")


@dataclass(frozen=True)
class KeyColumns:
    """The columns of groups, or periods of them, and the column of persons' ids.

    Values that were given beside data of a single column are `beside`, by the option they were given as.
    """

    by: Any
    privacy_unit: Any
    beside: Mapping[str, Any]
    groups: list[Any] = field(init=False)  # the columns of groups by name; None where there are none

    def __post_init__(self) -> None:
        several = self.by if isinstance(self.by, list) else [self.by]
        object.__setattr__(self, "groups", [one.column if isinstance(one, Period) else one for one in several])

    @classmethod
    def of(cls, data: Any, by: Any, privacy_unit: Any, is_table: bool = False) -> KeyColumns:
        """Tell names of columns from values that were given beside data of a single column.

        `is_table` says that the data is a table, whatever its class: one that is an engine's own.
        """
        names, beside = {"by": by, "privacy_unit": privacy_unit}, {}
        for option, key in names.items():
            if key is not None and not _names_columns(key) and not is_table and is_column(data):
                names[option], beside[option] = option, _as_column(option, key)
            elif option == "by" and isinstance(key, list) and key and all(isinstance(one, str | Period) for one in key):
                if len(set(key)) < len(key):
                    raise RefusedValue(
                        "by",
                        Reason.REPEATED,
                        "`by` names columns of the table, each once, and {name} is there twice",
                        "values go with data that is one column",
                        name=quote(str(next(one for one in key if key.count(one) > 1))),
                    )
                names[option] = key if len(key) > 1 else key[0]
            elif not _is_name(key):
                example = "ward" if option == "by" else "person"
                raise RefusedType(
                    option,
                    Reason.WRONG_TYPE,
                    "`{option}={given}` is not the name of a column",
                    "give the name of a column of the table, such as `{option}={example}`; values go with data that is "
                    "one column",
                    given=quote(key),
                    example=repr(example),
                )
        if isinstance(data, Runs) and any(name is not None for name in names.values()):
            raise RefusedType(
                "data",
                Reason.UNSUPPORTED,
                "data is Runs, and groups and persons are of single records",
                "pass `np.asarray(runs)`",
            )
        return cls(names["by"], names["privacy_unit"], beside)

    def require_in(self, names: list[Any], schema: Schema, columns: Sequence[Any], others: Sequence[Any]) -> None:
        """Refuse columns that a table of these names does not have: those of the statistics, these, and all others."""
        _refuse_spelled_periods(self.groups, names)
        _require_groups(self.by, self.groups, schema, names)
        for option, keys in {"by": self.groups, "privacy_unit": [self.privacy_unit]}.items():
            for name in keys if None in names else ():  # data that is a single column
                if name not in names:
                    raise RefusedValue(
                        option,
                        Reason.UNKNOWN,
                        "{column} is not in the table",
                        "{names}",
                        column=say_column(name),
                        names=list_names(schema, names, name, option),
                    )
        own = [name for name in (*self.groups, self.privacy_unit) if name is not None]
        require_columns(names, schema, *columns, *own, *others)


def _is_name(given: Any) -> bool:
    """Returns whether this can be looked up among names; NA, which is not equal to itself, cannot."""
    return is_hashable(given) and isinstance(given == given, bool | np.bool_)


def require_name(option: str, given: Any) -> None:
    """Refuses a column's values where its name is asked for."""
    if not _is_name(given) or (hasattr(given, "__len__") and not isinstance(given, str | bytes | tuple)):
        raise RefusedType(
            option,
            Reason.WRONG_TYPE,
            "`{option}={given}` is not the name of a column",
            "give the name of a column of the table, such as `{option}='pay'`",
            given=quote(given),
        )


def _names_columns(key: Any) -> bool:
    """Returns whether this names a column, as a period does too, and cannot be the column's values."""
    return isinstance(key, str | Period) or (isinstance(key, list) and any(isinstance(one, Period) for one in key))


def _as_column(option: str, values: Any) -> Any:
    if is_arrow(values) or hasattr(values, "__len__"):
        return values
    if not hasattr(values, "__iter__"):
        raise RefusedType(
            option,
            Reason.WRONG_TYPE,
            "`{option}={given}` is neither the name of a column nor its values",
            "give one of these",
            given=quote(values),
        )
    return list(values)


def _refuse_spelled_periods(columns: Sequence[Any], names: Sequence[Any]) -> None:
    """Refuses a period as the command line spells it, where no column is called so."""
    for name in columns:
        found = SPELLED_PERIOD.fullmatch(name) if isinstance(name, str) and name not in names else None
        if found is not None:
            kind, column = found[1], found[2].strip().strip("'\"")
            raise RefusedValue(
                "by",
                Reason.UNKNOWN,
                "no column is called {given}",
                "give {kind}s as `by=ss.{kind}({column}, first, last)`, each such as {example}",
                given=quote(name),
                kind=kind,
                column=repr(column),
                example=repr(SPELLED[kind]),
            )


def _require_groups(by: Any, columns: Sequence[Any], schema: Schema, names: list[Any]) -> None:
    """Refuses values, or several columns, that were given as names of columns and are not in the table."""
    if isinstance(by, tuple) and by not in names:
        raise RefusedValue(
            "by",
            Reason.WRONG_TYPE,
            "`by={given}` is a tuple",
            "give several columns as a list, such as `by={listed}`",
            given=quote(by),
            listed=quote(list(by)),
        )
    absent = [one for one in columns if one not in names] if isinstance(by, list) else []
    if absent:
        raise RefusedValue(
            "by",
            Reason.UNKNOWN,
            "`by` names columns of the table, and {column} is not in it",
            "{names} (values go with data that is one column)",
            column=quote(absent[0]),
            names=list_names(schema, names, absent[0]),
        )
