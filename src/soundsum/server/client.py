"""The client of an owner's server: tables that answer as `Private` does, with releases that can be checked.

Every charged request has a key of its own. If the connection is lost, the client asks again with the same key, so one
question is charged once.
"""

from __future__ import annotations

import ipaddress
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote as quote_path
from urllib.parse import urlsplit

import numpy as np

from soundsum.budget import BudgetExceeded, Cost
from soundsum.numbers.quoting import quote
from soundsum.privacy.planner import Plan
from soundsum.randomness import random_bytes
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.certificates import read_claim
from soundsum.releases.collections import Releases, Several
from soundsum.releases.options import list_fields
from soundsum.releases.released import Release
from soundsum.releases.request import name_statistics, read_bounds
from soundsum.releases.schema import ColumnSchema
from soundsum.releases.stored import read_releases
from soundsum.statistics import Count, Histogram, Mean, Statistic, Std, Sum, Variance
from soundsum.tables.periods import Period
from soundsum.tables.read_guard import ReadFailed

if TYPE_CHECKING:
    import httpx

TIMES = 3
"""Attempts at a request whose connection is lost."""


def connect(url: str, token: str) -> Connection:
    """Connect to an owner's server (`soundsum serve`) with the token its owner gave you.

    url: its address; unless it is on this machine, one that begins with https://.
    token: your token, which begins with ss_.
    """
    return Connection(url, token)


class Connection:
    """A connection to an owner's server."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise RefusedValue(
                "url",
                Reason.MALFORMED,
                "`url={given}` is no address of a server",
                "give one such as https://data.example.org",
                given=quote(url),
            )
        if parts.scheme == "http" and not _is_local(parts.hostname):
            raise RefusedValue(
                "url",
                Reason.UNSOUND,
                "`url={given}` is not encrypted, so others could read your token and your releases",
                "give an address that begins with https://",
                given=quote(url),
            )
        try:
            import httpx
        except ModuleNotFoundError:
            httpx = None  # type: ignore[assignment]
        if httpx is None:
            raise RefusedValue(
                None,
                Reason.MISSING,
                "the client needs httpx, which is not installed",
                "`pip install 'soundsum[server]'`",
            )
        self._client = httpx.Client(
            base_url=url,
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(30, read=600),
            trust_env=False,
        )
        weakref.finalize(self, self._client.close)

    def tables(self) -> list[str]:
        """List the tables that you have a share of."""
        return [one["name"] for one in self._ask("GET", "/v1/tables")]

    def table(self, name: str) -> RemoteTable:
        """Find a table by its name."""
        return RemoteTable(self, name)

    def releases(self) -> list[dict[str, Any]]:
        """List your charges, with the numbers of their releases."""
        listed: list[dict[str, Any]] = self._ask("GET", "/v1/releases")
        return listed

    def release(self, id: str) -> Several:
        """Give one of your releases again, as it was given."""
        return read_releases(self._ask("GET", f"/v1/releases/{quote_path(id, safe='')}")["releases"])

    def __repr__(self) -> str:
        return f"<connection to {self._client.base_url}>"

    def _ask(
        self, method: str, path: str, asked: Any = None, key: str | None = None, stored_will_do: bool = False
    ) -> Any:
        import httpx

        headers = {} if key is None else {"idempotency-key": key}
        headers |= {"prefer": "stored"} if stored_will_do else {}
        answer: httpx.Response | None = None
        for attempt in range(TIMES):
            try:
                answer = self._client.request(method, path, json=asked, headers=headers)
            except httpx.TransportError:
                if attempt + 1 < TIMES:
                    time.sleep(0.2 * 2**attempt)
            if answer is not None and not _is_in_progress(answer, key):
                break
        if answer is None:
            raise ConnectionError("the server cannot be reached; asked again with its key, a request is charged once")
        return answer.json() if answer.status_code == 200 else _raise(answer)


@dataclass(frozen=True)
class RemoteBudget:
    """A table's whole budget and your share of it: what there is, what is spent, and what is left."""

    total: Mapping[str, str | None]
    spent: Cost
    left: Cost
    share: Mapping[str, Any]


class RemoteTable:
    """A table on an owner's server. The calls are those of `Private`."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self.name = connection, name
        self._path = f"/v1/tables/{quote_path(name, safe='')}"
        self._told: dict[str, Any] = connection._ask("GET", self._path)

    @property
    def schema(self) -> dict[str, ColumnSchema]:
        """The columns as their owner declared them."""
        return {
            column: ColumnSchema(
                said["type"], None if said["categories"] is None else tuple(said["categories"]), said["lower"],
                said["upper"],
            )
            for column, said in self._told["schema"].items()
        }  # fmt: skip

    @property
    def budget(self) -> RemoteBudget:
        """The budget as it stands."""
        told = self._connection._ask("GET", f"{self._path}/budget")
        whole, share = told["table"], told["share"]
        return RemoteBudget(
            whole["total"],
            Cost(**whole["spent"]),
            Cost(**whole["left"]),
            {"total": share["total"], "spent": Cost(**share["spent"]), "left": Cost(**share["left"])},
        )

    def sum(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        method: str = "auto", **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private sum; bounds default to the schema's."""
        return self._one(Sum(column, *read_bounds(lower, upper, bounds), method=method), epsilon, options)

    def mean(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private mean; bounds default to the schema's."""
        return self._one(Mean(column, *read_bounds(lower, upper, bounds)), epsilon, options)

    def variance(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private variance; bounds default to the schema's."""
        return self._one(Variance(column, *read_bounds(lower, upper, bounds)), epsilon, options)

    def std(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private standard deviation; bounds default to the schema's."""
        return self._one(Std(column, *read_bounds(lower, upper, bounds)), epsilon, options)

    def count(self, epsilon: Any = None, *, column: str | None = None, **options: Any) -> Release | Releases:
        """Release a private number of rows."""
        return self._one(Count(column), epsilon, options)

    def histogram(
        self, column: str, edges: Sequence[Any] | None = None, epsilon: Any = None, *,
        categories: Sequence[Any] | None = None, bins: int | None = None, lower: Any = None, upper: Any = None,
        **options: Any,
    ) -> Releases:  # fmt: skip
        """Release private counts by edges, bins or categories."""
        asked = Histogram(column, edges, categories, bins=bins, lower=lower, upper=upper)
        return cast(Releases, self._one(asked, epsilon, options))

    def release(
        self,
        statistics: Sequence[Statistic] | Mapping[str, Statistic],
        epsilon: Any = None,
        *,
        key: str | None = None,
        stored_will_do: bool = False,
        **options: Any,
    ) -> Several:
        """Release several statistics for one charge. Asked again with the same `key`, it is given as it was.

        With `stored_will_do`, your last release for the same request is given again, without a charge.
        """
        asked = write_request(statistics, {"epsilon": epsilon, **options})
        told = self._connection._ask(
            "POST", f"{self._path}/release", asked, key or random_bytes(16).hex(), stored_will_do
        )
        by = options.get("by")
        listed = [by] if isinstance(by, Period) else by if isinstance(by, list) else []
        return read_releases(told["releases"], [one for one in listed if isinstance(one, Period)])

    def plan(self, column: str, lower: Any = None, upper: Any = None, **options: Any) -> Plan:
        """Plan a sum, whose error and epsilon are then computed here; nothing is charged."""
        asked = write_request(
            [Sum(column, lower, upper, method=options.pop("method", "auto"))], options | {"epsilon": 1}
        )
        (told,) = self._connection._ask("POST", f"{self._path}/plan", asked)["statistics"]
        plan = read_claim(told["plan"]).plan
        assert isinstance(plan, Plan)
        return plan

    def dummy(self, statistics: Any, epsilon: Any = None, **options: Any) -> dict[str, Any]:
        """Ask made-up rows with the table's schema; nothing is charged, and every field says so."""
        asked = write_request(statistics, {"epsilon": epsilon, **options})
        told: dict[str, Any] = self._connection._ask("POST", f"{self._path}/dummy", asked)
        return told

    def __repr__(self) -> str:
        told = self._told
        return (
            f"<table {self.name} on a server, about {told['privacy_unit'] or 'records'}: {', '.join(told['schema'])}>"
        )

    def _one(self, statistic: Statistic, epsilon: Any, options: dict[str, Any]) -> Release | Releases:
        (made,) = self.release([statistic], epsilon, **options)
        assert isinstance(made, Release | Releases)
        return made


def write_request(statistics: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Write a request as JSON has it (docs/requests.md)."""
    names, asked = name_statistics(statistics)
    settings = {name: _plain(value) for name, value in options.items() if value is not None}
    if "where" in settings:
        settings["where"] = _write_where(options["where"])
    by = options.get("by")
    if isinstance(by, Period) or (isinstance(by, list) and any(isinstance(one, Period) for one in by)):
        _write_periods(settings, by, options.get("groups"))
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
    spelled = [_spell_period(one) if isinstance(one, Period) else one for one in columns]
    settings["by"], settings["groups"] = (spelled, written) if isinstance(by, list) else (spelled[0], written[0])
    if settings["groups"] is None:
        del settings["groups"]


def _spell_period(period: Period) -> str:
    zone = "" if period.zone is None else f", {period.zone}"
    return f"{period.kind}({period.column}{zone})"


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
        return _spell_period(value)
    raise RefusedType(
        None, Reason.UNSUPPORTED, "{given} cannot be sent to a server", "give plain values", given=quote(value)
    )


def _is_in_progress(answer: httpx.Response, key: str | None) -> bool:
    """Whether an earlier attempt of ours, whose connection was lost, is still being answered."""
    return answer.status_code == 409 and key is not None and _error(answer).get("reason") == "repeated"


def _error(answer: httpx.Response) -> dict[str, Any]:
    try:
        error = answer.json()["error"]
        return error if isinstance(error, dict) else {}
    except (ValueError, LookupError, TypeError):
        return {}


def _raise(answer: httpx.Response) -> Any:
    error = _error(answer)
    message, option = str(error.get("message", "the server cannot answer this")), error.get("option")
    known = {str(reason): reason for reason in Reason}
    reason = known.get(str(error.get("reason")), Reason.UNSUPPORTED)
    left = error.get("left")
    match answer.status_code:
        case 409 if isinstance(left, dict):
            facts = {f"left_{name}": amount for name, amount in left.items() if amount is not None}
            raise BudgetExceeded(option, reason, "{message}", message=message, **facts)
        case 401:
            raise RefusedValue("token", Reason.MISMATCH, "{message}", message=message)
        case 404:
            raise RefusedValue("table", Reason.UNKNOWN, "{message}", message=message)
        case 429:
            raise RefusedValue("request", Reason.TOO_MANY, "{message}", message=message)
        case 503:
            raise ReadFailed(message)
    raise RefusedValue(option, reason, "{message}", message=message)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
