"""The client of an owner's server: tables that answer as `Private` does, with releases that can be checked.

Every charged request has a key of its own. If the connection is lost, the client asks again with the same key, so one
question is charged once.
"""

from __future__ import annotations

import ipaddress
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote as quote_path
from urllib.parse import urlsplit

from soundsum.budget import BudgetExceeded, Cost
from soundsum.numbers.quoting import quote
from soundsum.privacy.planner import Plan
from soundsum.privacy.selection import Found
from soundsum.randomness import random_bytes
from soundsum.refusals import INSTALL, Reason, RefusedValue
from soundsum.releases.advice import BoundsAdvice, MaxRowsAdvice
from soundsum.releases.certificates import read_claim
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Several
from soundsum.releases.released import Release
from soundsum.releases.request import ask_bounds, read_bounds
from soundsum.releases.schema import ColumnSchema
from soundsum.releases.stored import read_releases
from soundsum.requests.write_request import write_request
from soundsum.statistics import Count, Histogram, MaxRows, Mean, Quantile, Statistic, Std, Sum, Variance
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.quantile import MEDIAN, list_quantiles
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
                INSTALL,
                extra="server",
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
        return _read_answer(self._ask("GET", f"/v1/releases/{quote_path(id, safe='')}"))

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
            again = "" if key is None else "; asked again with its key, a request is charged once"
            raise ConnectionError(f"no server answers at {self._client.base_url}; start it or check the address{again}")
        return answer.json() if answer.status_code == 200 else _raise(answer)


@dataclass(frozen=True)
class RemoteBudget:
    """A table's whole budget and your share of it: what there is, what is spent, and what is left."""

    total: Cost
    spent: Cost
    left: Cost
    share: Mapping[str, Cost]

    def __repr__(self) -> str:
        own = self.share
        return f"<budget: {self.left} left of {self.total}; your share: {own['left']} left of {own['total']}>"


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
            Cost(**whole["total"]),
            Cost(**whole["spent"]),
            Cost(**whole["left"]),
            {"total": Cost(**share["total"]), "spent": Cost(**share["spent"]), "left": Cost(**share["left"])},
        )

    def sum(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        method: str = "auto", **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private sum; bounds default to the schema's."""
        return self._one(
            Sum(column, *read_bounds(lower, upper, bounds, options.get("max_rows")), method=method), epsilon, options
        )

    def mean(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private mean; bounds default to the schema's."""
        return self._one(Mean(column, *read_bounds(lower, upper, bounds, options.get("max_rows"))), epsilon, options)

    def variance(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private variance; bounds default to the schema's."""
        return self._one(
            Variance(column, *read_bounds(lower, upper, bounds, options.get("max_rows"))), epsilon, options
        )

    def std(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private standard deviation; bounds default to the schema's."""
        return self._one(Std(column, *read_bounds(lower, upper, bounds, options.get("max_rows"))), epsilon, options)

    def count(self, epsilon: Any = None, *, column: str | None = None, **options: Any) -> Release | Releases:
        """Release a private number of rows."""
        return self._one(Count(column), epsilon, options)

    def histogram(
        self, column: str, edges: Sequence[Any] | None = None, epsilon: Any = None, *,
        categories: Sequence[Any] | None = None, bins: int | None = None, lower: Any = None, upper: Any = None,
        bounds: Any = None, **options: Any,
    ) -> Releases:  # fmt: skip
        """Release private counts by edges, bins or categories; bounds and categories default to the schema's."""
        lower, upper = read_bounds(lower, upper, bounds)
        asked = Histogram(column, edges, categories, bins=bins, lower=lower, upper=upper)
        return cast(Releases, self._one(asked, epsilon, options))

    def groups(
        self, by: str | Period | list[str | Period], epsilon: Any = None, delta: Any = None, *, where: Any = None,
        max_groups: int | None = None, noise: str = "laplace", **options: Any,
    ) -> Releases:  # fmt: skip
        """Find groups that nobody listed, with the noisy number of persons in each."""
        asked = {"by": by, "groups": Found(delta, noise=noise), "where": where, "max_rows": 1, "max_groups": max_groups}
        return cast(Releases, self._one(GroupCounts(), epsilon, asked | options))

    def quantile(
        self, column: str, quantile: Any, lower: Any = None, upper: Any = None, epsilon: Any = None, *,
        bounds: Any = None, candidates: Any = None, **options: Any,
    ) -> Release | Releases | Several:  # fmt: skip
        """Release a private quantile, or several of a list; bounds default to the schema's."""
        low, high = read_bounds(lower, upper, bounds)
        listed, labels = list_quantiles(quantile)
        asked = [Quantile(column, one, low, high, candidates=candidates) for one in listed]
        if labels is None:
            return self._one(asked[0], epsilon, options)
        return Several(self.release(asked, epsilon, **options), labels)

    def median(
        self, column: str, lower: Any = None, upper: Any = None, epsilon: Any = None, *, bounds: Any = None,
        candidates: Any = None, **options: Any,
    ) -> Release | Releases:  # fmt: skip
        """Release a private median; bounds default to the schema's."""
        low, high = read_bounds(lower, upper, bounds)
        return self._one(Quantile(column, MEDIAN, low, high, candidates=candidates), epsilon, options)

    def suggest_bounds(
        self, column: str, epsilon: Any = None, *, coverage: Any = 0.99, max_rows: int | None = None, **options: Any
    ) -> BoundsAdvice:
        """Suggest bounds for a column: of persons' totals, with max_rows= of their rows."""
        asked, most = ask_bounds(column, coverage, None, max_rows, self._told["privacy_unit"] is not None)
        (advice,) = self.release([asked], epsilon, max_rows=1, max_groups=most, **options)
        return cast(BoundsAdvice, advice)

    def suggest_max_rows(self, epsilon: Any = None, *, coverage: Any = 0.99, **options: Any) -> MaxRowsAdvice:
        """Suggest how many rows of a person to count."""
        (advice,) = self.release([MaxRows(coverage=coverage)], epsilon, max_groups=1, **options)
        return cast(MaxRowsAdvice, advice)

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
        return _read_answer(told, [one for one in listed if isinstance(one, Period)])

    def plan(
        self, column: str, lower: Any = None, upper: Any = None, *, bounds: Any = None, method: str = "auto",
        **options: Any,
    ) -> Plan:  # fmt: skip
        """Plan a sum, whose error and epsilon are then computed here; nothing is charged."""
        asked = write_request(
            [Sum(column, *read_bounds(lower, upper, bounds), method=method)], options | {"epsilon": 1}
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


def _read_answer(told: Mapping[str, Any], periods: Sequence[Period] = ()) -> Several:
    """Read a release, or one in which no group was found."""
    return read_releases({name: one for name, one in told.items() if name not in ("id", "at")}, periods)


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
            raise RefusedValue(
                "token",
                Reason.MISMATCH,
                "`token` is not valid or has ended",
                "ask the owner for a new one",
            )
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
