"""A table as it is served: the owner's `Private`, a snapshot of its schema, and the questions in progress.

A question is read, and refused, by the snapshot alone. If the table refuses a question, it is asked of made-up rows of
the same schema, and only if they are refused for the same reason, which must then be public, is it told.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.budget import Budget, BudgetExceeded, Cost
from soundsum.budget.history import Asker, Entry
from soundsum.budget.query import SHORT
from soundsum.budget.shares import AlreadyAsked, Question, Share
from soundsum.engines import ENGINES, find_engine
from soundsum.numbers.rationals import finite, nearest_float
from soundsum.privacy.guarantee import guarantee
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Outcome, Several
from soundsum.releases.padding import read_pad
from soundsum.releases.private import TERMS, Private
from soundsum.releases.released import Release
from soundsum.releases.schema import ColumnSchema, find_groups
from soundsum.requests.parse_columns import Snapshot
from soundsum.requests.request_file import read_settings, require_few, take_request
from soundsum.server.cores import SMALL
from soundsum.server.made_up import MADE_UP, make_up
from soundsum.server.owner_file import OwnedTable
from soundsum.server.wire import Reply, refuse, unanswered
from soundsum.statistics import Clipped, Count, Histogram, Quantile, Statistic, Sum
from soundsum.tables.periods import Period
from soundsum.tables.read_guard import OPERATOR

LATEST = 1_000
"""Charges that are listed."""

BRIEF = 300
"""Characters of what a charge was for, in a list."""

MOST_NUMBERS = 2_000
"""In one answer, where each takes kilobytes."""

LONGEST_ANSWER = 6_000_000
"""Characters, as each number comes with its certificate, which repeats the request."""

PER_STATISTIC = 250
"""Characters that a certificate adds to what the request says of a statistic."""

ADDITIVE = ("sum", "count", "histogram")
"""Statistics whose error is known before anything is read."""

OF_THE_LANGUAGE = ("statistic", "noise", "dtype", "relation", "missing")
"""Options whose values have names of the language of requests; other names that a refusal lists are of columns."""

Asked = tuple[dict[str, Any], dict[str, Statistic]]


@dataclass(frozen=True)
class Stored:
    """A release as it was given, and its place in the ledger."""

    entry: Entry
    answer: str

    @property
    def id(self) -> str:
        assert self.entry.asker is not None
        return f"{self.entry.asker.source}-{self.entry.number}"


class ServedTable:
    """One table of the owner's, for every analyst who has a share of it."""

    def __init__(self, owned: OwnedTable, private: Private) -> None:
        self.owned, self.name, self._private = owned, owned.name, private
        self._snapshot = Snapshot.of(owned.data, owned.terms.get("table"))
        self._made_up = make_up(owned, self._snapshot, private.schema)
        self._running: dict[tuple[str, str], str] = {}  # analysts and keys, and what they ask
        self.holders: set[str] = set()  # analysts who are known to have a share, which nobody loses
        self._lock = threading.Lock()
        engine = find_engine(owned.data, owned.terms.get("engine"))
        self._is_read_here = owned.pad is None and engine is ENGINES["memory"] and os.path.isfile(owned.data)
        self._warm_up()

    def _warm_up(self) -> None:
        """Ask about the made-up rows, so that no analyst's answer is late because of what is worked out only once."""
        private = self._made_up()
        epsilon, rho = (None if limit is None else limit / 4 for limit in (private.budget.epsilon, private.budget.rho))
        asked: list[Statistic] = [Count()]
        for name in [name for name, one in private.schema.items() if one.lower is not None][:1]:
            asked += [Sum(name), Quantile(name, "1/2")]
        for one in asked:
            with suppress(Refusal):
                private.release([one], epsilon, rho=rho).to_json()

    @property
    def budget(self) -> Budget:
        return self._private.budget

    @property
    def pad_seconds(self) -> float:
        """The time that every answer takes; 0 where there is no pad."""
        return 0.0 if self.owned.pad is None else read_pad(self.owned.pad)

    @property
    def is_small(self) -> bool:
        """Whether this process reads it, and soon: a short file without a pad."""
        try:
            return self._is_read_here and os.stat(self.owned.data).st_size <= SMALL
        except OSError:
            return False

    # Free of charge, and without the table

    def describe(self) -> dict[str, Any]:
        """Describe the table by what its owner declared."""
        terms = self.owned.terms
        return {
            "name": self.name,
            "privacy_unit": terms.get("privacy_unit"),
            "relation": terms.get("relation", "symmetric"),
            "max_rows": terms.get("max_rows", 1),
            "max_groups": terms.get("max_groups", 1),
            "pad": self.owned.pad,
            "schema": {name: _describe_column(column) for name, column in self._private.schema.items()},
        }

    def share(self, analyst: str) -> Share | None:
        return self.budget.share(Asker(analyst, self.name))

    def is_shared_with(self, analyst: str) -> bool:
        if analyst not in self.holders and self.share(analyst) is not None:
            self.holders.add(analyst)
        return analyst in self.holders

    def describe_budget(self, analyst: str) -> dict[str, Any]:
        """Describe the whole budget, an analyst's share and their charges."""
        share, budget = self.share(analyst), self.budget
        whole = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}
        own = budget.asked_by(Asker(analyst, self.name), LATEST)
        return {
            "table": {
                "total": {name: None if x is None else str(x) for name, x in whole.items()},
                "spent": budget.spent.to_json(),
                "left": budget.left.to_json(),
            },
            "share": None
            if share is None
            else {"total": share.limit.to_json(), "spent": share.spent.to_json(), "left": share.left.to_json()},
            "charges": [
                {"id": f"{self.name}-{one.number}", "at": one.at.isoformat(), "what": say_briefly(one),
                 "cost": one.cost.to_json()}
                for one in own
            ],
        }  # fmt: skip

    def read(self, written: Mapping[str, Any]) -> Asked:
        """Read a request by the snapshot; raise what is refused."""
        refusal: Refusal | None = None
        try:
            own = {name: value for name, value in written.items() if name in TERMS and name != "statistics"}
            if own:
                raise _refuse_terms(next(iter(own)))
            settings, statistics = take_request(dict(written), has_schema=True)
            if settings.get("by") is not None and settings.get("groups") is None and _is_plain(settings["by"]):
                settings["by"], settings["groups"] = find_groups(settings["by"], self._private.schema)
            settings = read_settings(settings, statistics, self._snapshot)
            self._require_few(settings, statistics, written)
            return settings, statistics
        except Refusal as error:
            refusal = error
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):  # of what is written alone
            OPERATOR.exception("a request could not be read")
        raise self._refuse(refusal or _refuse_unread())

    def plan(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Say what the noise would do to each statistic, what it all costs, and the epsilon that an error takes."""
        asked = dict(written)
        wanted = asked.pop("error", None)
        if wanted is not None and "epsilon" not in asked:
            asked["epsilon"] = 1
        settings, statistics = self.read(asked)
        made, cost = self._ask_made_up(settings, statistics)
        told = [_describe_noise(name, outcome) for name, outcome in zip(made.names, made, strict=True)]
        if wanted is not None:
            for one, outcome in zip(told, made, strict=True):
                one["epsilon_for_error"] = _find_epsilon(outcome, wanted, settings)
        return {"statistics": told, "cost": cost.to_json()}

    def dummy(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request from the made-up rows; every field says so."""
        settings, statistics = self.read(written)
        made, _ = self._ask_made_up(settings, statistics)
        rows = made.to_arrow().to_pylist()
        return {"dummy": True, "rows": MADE_UP, "releases": [{f"dummy_{k}": _plain(v) for k, v in row.items()}
                                                             for row in rows]}  # fmt: skip

    def _ask_made_up(self, settings: Mapping[str, Any], statistics: Mapping[str, Statistic]) -> tuple[Several, Cost]:
        refusal: Refusal | None = None
        try:
            private = self._made_up()
            return private.release(statistics, **settings), private.budget.spent
        except BudgetExceeded as error:
            raise refuse(error, 409) from None
        except Refusal as error:
            refusal = error
        raise self._refuse(refusal)

    def _require_few(
        self, settings: Mapping[str, Any], statistics: Mapping[str, Statistic], written: Mapping[str, Any]
    ) -> None:
        """Refuse what asks for too many numbers: groups times cells, by the owner's schema where none are listed.

        Refuse an answer that would be too long, too, as nobody else is answered while it is written.
        """
        by, groups = settings.get("by"), settings.get("groups")
        columns = by if isinstance(by, list) else [by]
        lists = groups if isinstance(by, list) and isinstance(groups, list) else [groups]
        rows = 1
        for place, column in enumerate(columns):
            own = lists[place] if place < len(lists) else None
            if isinstance(own, list):
                rows *= len(own)
            elif isinstance(column, Period) and column.has_range:
                rows *= len(list(column.every()))
        count = rows * sum(self._count_cells(one) for one in statistics.values())
        require_few(dict(settings), dict(statistics))
        if count > MOST_NUMBERS:
            raise RefusedValue(
                "statistics",
                Reason.TOO_MANY,
                "it asks for {count:,} numbers, and a request for at most {most:,}",
                "ask in parts",
                count=count,
                most=MOST_NUMBERS,
            )
        listed, others = written.get("groups"), {name: one for name, one in written.items() if name != "groups"}
        repeated = len(json.dumps(others)) + min(len(json.dumps(listed)), SHORT) + PER_STATISTIC * len(statistics)
        if count * (1_000 + repeated) > LONGEST_ANSWER:
            raise RefusedValue(
                "statistics",
                Reason.TOO_MANY,
                "it asks for {count:,} numbers, and each repeats the {repeated:,} characters of the request",
                "ask in parts",
                count=count,
                repeated=repeated,
            )

    def _count_cells(self, one: Statistic) -> int:
        if isinstance(one, Clipped) and one.is_incomplete:
            return 3
        if isinstance(one, Histogram) and one.is_incomplete:
            said = self._private.schema.get(str(one.column), ColumnSchema())
            return one.bins if isinstance(one.bins, int) else len(said.categories or ())
        return 1 if one.cells is None else len(one.cells.names)

    # Charged

    def find(self, analyst: str, key: str, body: str) -> Stored | None:
        """Find what became of a key: its stored release, or None if it is new; otherwise raise why it has none."""
        question = Question(Asker(analyst, self.name), key, body)
        self._require_ended(analyst, key, body)
        asked = self.budget.answered(question)
        if asked is None:
            return None
        if asked.body != body:
            raise _refuse_other()
        if asked.answer is None:
            raise unanswered()
        return Stored(asked.charge, asked.answer)

    def find_same(self, analyst: str, body: str) -> Stored | None:
        """Find the analyst's own last release for the same request, of those that are due."""
        hidden: set[int] = set()
        while True:  # one that was found, and is not running now, is due
            number = self.budget.find_same(Question(Asker(analyst, self.name), None, body), hidden)
            running = self._find_running(analyst)
            if number not in running:
                return None if number is None else self.stored(analyst, number)
            hidden |= running

    def begin(self, analyst: str, key: str, body: str) -> None:
        """Keep what becomes of a question unseen until `end`."""
        with self._lock:
            self._require_ended(analyst, key, body)
            self._running[analyst, key] = body

    def end(self, analyst: str, key: str) -> None:
        with self._lock:
            del self._running[analyst, key]

    def _require_ended(self, analyst: str, key: str, body: str) -> None:
        running = self._running.get((analyst, key))
        if running is not None:
            raise _in_progress() if running == body else _refuse_other()

    def release(self, analyst: str, key: str, body: str, asked: Asked) -> Stored:
        """Charge, read and release, when the pad says; raise a Reply otherwise."""
        settings, statistics = asked
        question = Question(Asker(analyst, self.name), key, body)
        refusal: Refusal | None = None
        try:
            private = self._private.on_behalf_of(question)
            private.release(statistics, **settings)
            given = private.budget.given
            assert given is not None
            assert given.answer is not None
            return Stored(given.charge, given.answer)
        except BudgetExceeded as error:
            reply: Reply | None = refuse(error, 409, left=error.left.to_json())
        except AlreadyAsked:
            reply = _in_progress()
        except Refusal as error:
            refusal, reply = error, None
        except Exception:
            OPERATOR.exception("a release could not be made")
            reply = unanswered()
        if reply is not None:
            raise reply
        assert refusal is not None
        raise self._tell(refusal, settings, statistics)

    def _tell(self, refusal: Refusal, settings: Mapping[str, Any], statistics: Mapping[str, Statistic]) -> Reply:
        """Tell a refusal if it is public: if made-up rows are refused for the same reason."""
        public: Refusal | None = None
        try:
            self._made_up().release(statistics, **settings)
        except Refusal as error:
            public = error
        except Exception:
            OPERATOR.exception("made-up rows could not be asked")
        if public is not None and (public.option, public.reason) == (refusal.option, refusal.reason):
            return self._refuse(public)
        if refusal.option == "rho" and refusal.reason == Reason.MISMATCH:  # a share counts as the budget does
            return refuse(refusal)
        OPERATOR.error("a release was refused: %s", refusal)
        return unanswered()

    def _refuse(self, refusal: Refusal) -> Reply:
        """Put a refusal into words; of the columns there are, name those that the schema declares, not the file's."""
        if "names" in refusal.facts and refusal.option not in OF_THE_LANGUAGE:
            declared = ", ".join(self._private.schema) or "no columns"
            refusal = refusal.stating(names=f"its owner declares {declared}")
        return refuse(refusal)

    # What was released before

    def releases(self, analyst: str) -> list[dict[str, Any]]:
        """List an analyst's last charges; of those in progress nothing is said but the charge."""
        entries = self.budget.asked_by(Asker(analyst, self.name), LATEST)
        hidden = self._find_running(analyst)  # looked up last: what is not running any more is due
        return [
            {"id": f"{self.name}-{entry.number}", "table": self.name, "at": entry.at.isoformat(),
             "what": say_briefly(entry), "cost": entry.cost.to_json(),
             "released": entry.state == "released" and entry.number not in hidden}
            for entry in entries
        ]  # fmt: skip

    def stored(self, analyst: str, number: int) -> Stored | None:
        """Return an analyst's own release, as it was given."""
        found = self.budget.asked(number, Asker(analyst, self.name))
        if found is None or found.answer is None:
            return None
        return None if number in self._find_running(analyst) else Stored(found.charge, found.answer)

    def _find_running(self, analyst: str) -> set[int]:
        with self._lock:
            keys = [key for who, key in self._running if who == analyst]
        asker = Asker(analyst, self.name)
        found = {self.budget.find_key(Question(asker, key)) for key in keys}
        return {number for number in found if number is not None}


def say_briefly(entry: Entry) -> str:
    """Say what a charge was for, in a list or a log."""
    said = entry.brief()
    return said if len(said) <= BRIEF else f"{said[:BRIEF]}..."


def _refuse_other() -> Reply:
    return Reply(422, "this idempotency key was given before, with another request", "key", "conflict")


def _in_progress() -> Reply:
    return Reply(409, "the request with this idempotency key is still being answered", "key", "repeated")


def _refuse_terms(name: str) -> RefusedValue:
    return RefusedValue(
        name,
        Reason.MISMATCH,
        "`{option}` is one of the owner's terms, which a query cannot change",
        "leave {name} out",
        name=name,
    )


def _refuse_unread() -> RefusedValue:
    return RefusedValue(
        "request",
        Reason.MALFORMED,
        "something in the request is of another type than it should be",
        "see docs/requests.md",
    )


def _is_plain(by: Any) -> bool:
    """Whether columns are spelled as names and none as a period."""
    several = by if isinstance(by, list) else [by]
    return all(isinstance(one, str) and not one.endswith(")") for one in several)


def _describe_column(column: ColumnSchema) -> dict[str, Any]:
    listed = None if column.categories is None else [_plain(one) for one in column.categories]
    ends = [None if end is None else _plain(end) for end in (column.lower, column.upper)]
    kind = None if column.type is None else str(column.type)
    return {"type": kind, "categories": listed, "lower": ends[0], "upper": ends[1]}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, float):
        return finite(value)
    return value if isinstance(value, int | str | list | None) else str(value)


def _first(outcome: Outcome) -> Release | None:
    if isinstance(outcome, Releases):
        return next(iter(outcome.values()), None)
    return outcome if isinstance(outcome, Release) else None


def _describe_noise(name: str, outcome: Outcome) -> dict[str, Any]:
    one = _first(outcome)
    told: dict[str, Any] = {"name": name, "statistic": None if one is None else one.claim.kind.name, "error": None}
    if one is not None and one.claim.kind.name in ADDITIVE:
        low, high = one.exact_interval(0.95)
        told["error"] = finite(nearest_float((high - low) / 2))
    if one is not None and one.facts.is_ranked:
        told["rank_error"] = one.rank_error(0.95)
    if isinstance(outcome, Releases) and outcome.threshold is not None:
        told["threshold"] = outcome.threshold
    if one is not None and one.claim.kind.name == "sum":
        told["plan"] = one.certificate
    return told


def _find_epsilon(outcome: Outcome, error: Any, settings: Mapping[str, Any]) -> str | None:
    """The epsilon of the whole request at which a sum has this error."""
    one = _first(outcome)
    if one is None or one.claim.kind.name != "sum" or one.guarantee.epsilon in (None, 0):
        return None
    refusal: Refusal | None = None
    try:
        share = one.guarantee.epsilon / guarantee(settings.get("epsilon")).epsilon  # type: ignore[operator]
        return str(Fraction(one.plan.epsilon_for(error)) / share)
    except Refusal as refused:
        refusal = refused
    raise refuse(refusal)


def join_answer(stored: Stored) -> str:
    """Put a stored release into an answer without changing a character of it."""
    head = json.dumps({"id": stored.id, "at": stored.entry.at.isoformat()})
    return f"{head[:-1]}, {stored.answer[1:]}"  # both are objects
