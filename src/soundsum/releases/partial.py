"""Exact totals of parts of a table, which merge across days and machines and are then released at once.

A partial is as private as the data: it belongs to the owner, shows nothing of what it holds, and lies in files that
nobody else can read. Only `release` adds noise, for one charge.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soundsum.budget import Budget
from soundsum.engines import Memory
from soundsum.engines.ids import PersonWords, ShardWords
from soundsum.engines.parts import Added, AddedUp, PersonPairs
from soundsum.numbers.quoting import printed, quote
from soundsum.privacy.guarantee import guarantee
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.outcomes import Several
from soundsum.releases.partial_file import read_partial, write_new, write_partial
from soundsum.releases.pipeline import carry_out
from soundsum.releases.prepare import look, prepare
from soundsum.releases.request import Request, name_statistics
from soundsum.releases.schema import ColumnSchema
from soundsum.releases.signatures import explain
from soundsum.releases.typed_plan import TypedPlan, find_types, require_exact, require_mergeable
from soundsum.statistics import Statistic
from soundsum.tables.read_guard import hold_no_data
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation

MOST_SHARDS = 1 << 20


class Partial:
    """Exact totals of some parts of a table: made by `plan` and `add`, merged with `+`, released once all are there.

    >>> from soundsum import Sum
    >>> plan = Partial.plan([Sum("cost", 0, 100)], by="ward", groups=["a", "b"])
    >>> monday = plan.add({"cost": [12.5, 80.0], "ward": ["a", "b"]}, part="2024-05-06")
    >>> tuesday = plan.add({"cost": [41.0], "ward": ["a"]}, part="2024-05-07")
    >>> both = monday + tuesday
    >>> both
    <partial sums: sum of cost by ward; 2 parts>
    >>> (total,) = both.release(epsilon=1)
    >>> list(total)
    ['a', 'b']
    """

    def __init__(
        self, plan: TypedPlan, parts: Collection[str], held: Added | PersonPairs, budget: Budget | None = None
    ) -> None:
        """Made by `plan(...).add(...)` and `load`."""
        self._plan, self._parts, self._held, self._budget = plan, frozenset(parts), held, budget

    @staticmethod
    @explain("Partial.plan")
    def plan(
        statistics: Sequence[Statistic] | Mapping[str, Statistic],
        *,
        by: Any = None,
        groups: Any = None,
        where: Any = None,
        privacy_unit: str | None = None,
        max_rows: int = 1,
        max_groups: int = 1,
        relation: Relation | str = Relation.SYMMETRIC,
        missing: Missing | None = None,
        name: str | None = None,
    ) -> PartialPlan:
        """Plan to add up parts of a table apart; its `add` makes a partial of each.

        {options}
        """
        names, asked = name_statistics(statistics)
        request = Request(
            statistics=tuple(asked),
            names=tuple(names) if isinstance(statistics, Mapping) else None,
            relation=Relation.read(relation),
            missing=missing,
            by=by,
            groups=groups,
            where=where,
            privacy_unit=privacy_unit,
            max_rows=max_rows,
            max_groups=max_groups,
            name=name,
        )
        return PartialPlan(request, tuple(names))

    def __add__(self, other: object) -> Partial:
        """Both together, of parts with other names and the same plan."""
        if not isinstance(other, Partial):
            return NotImplemented
        self._plan.require_same(other._plan)
        if twice := self._parts & other._parts:
            raise RefusedValue(
                "part",
                Reason.REPEATED,
                "{what} {given} is in both, and would be added up twice",
                "merge each once",
                what="part" if self._plan.shards is None else "shard",
                given=quote(min(twice)),
            )
        if self._budget is not None and other._budget is not None and self._budget is not other._budget:
            raise RefusedValue(
                "budget",
                Reason.MISMATCH,
                "the parts are of two owner's tables, each with a budget of its own",
                "plan both from one",
            )
        held = self._held.merge(other._held, self._plan.tasks)  # type: ignore[arg-type]
        return Partial(self._plan, self._parts | other._parts, held, self._budget or other._budget)

    def __radd__(self, other: object) -> Partial:
        """Python's `sum` starts from 0."""
        return self if other == 0 and type(other) is int else NotImplemented

    @hold_no_data
    def release(
        self,
        epsilon: Any = None,
        *,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
        budget: Budget | None = None,
    ) -> Several:
        """Release every statistic of the plan for one charge, as `soundsum.release` does over all parts at once.

        Each call is a release of its own and charged. A partial from an owner's table is charged to that table's
        budget, which has to be given to one that was loaded from a file.
        """
        promised = guarantee(epsilon, delta, rho, noise)
        self._require_whole()
        held, plan = self._held, self._plan
        names, _ = name_statistics(
            dict(zip(plan.request.names, plan.request.statistics, strict=True))
            if plan.request.names is not None
            else list(plan.request.statistics)
        )
        return Several(carry_out(AddedUp(held), plan.prepared, promised, self._find_budget(budget)), names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a new file that only its owner can read; a file that is there already is refused.

        The file is as private as the data, and docs/partials/format.md says how it is written.
        """
        write_new(path, self._to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Partial:
        """Read a file that `save` wrote; a damaged one, or one of a newer version, is refused."""
        with open(path, "rb") as file:
            return cls._from_bytes(file.read(), printed(os.fsdecode(path)))

    def _to_bytes(self) -> bytes:
        held = self._held.compact(self._plan.tasks) if isinstance(self._held, PersonPairs) else self._held
        return write_partial(self._plan, self._parts, held)

    @classmethod
    def _from_bytes(cls, written: bytes, named: str = "these bytes") -> Partial:
        return cls(*read_partial(written, named))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its file, for the owner's own workers; a budget stays where it is."""
        return Partial._from_bytes, (self._to_bytes(),)

    def __repr__(self) -> str:
        plan = self._plan
        number_of = f"{len(self._parts):,} part{'s' * (len(self._parts) != 1)}"
        if plan.shards is not None:
            number_of = f"{len(self._parts):,} of {plan.shards:,} shards"
        return f"<partial sums: {plan.query.brief()}; {number_of}>"

    def _require_whole(self) -> None:
        of = self._plan.shards
        if of is not None and len(self._parts) < of:
            raise RefusedValue(
                "of",
                Reason.MISSING,
                "{there:,} of {of:,} shards are there, and a release is of all persons",
                "merge the others first",
                there=len(self._parts),
                of=of,
            )

    def _find_budget(self, given: Budget | None) -> Budget | None:
        budget = self._budget if given is None else given
        if self._budget is not None and budget is not self._budget:
            raise RefusedValue(
                "budget",
                Reason.MISMATCH,
                "the parts are of an owner's table, whose budget is another",
                "leave `budget` out",
            )
        if budget is None and self._plan.request.is_private:
            raise RefusedType(
                "budget",
                Reason.MISSING,
                "the parts are of an owner's table, and `budget` is missing",
                "give the table's own, such as `budget=owner.budget`",
            )
        return budget


@dataclass(frozen=True)
class PartialPlan:
    """A plan to add up parts of a table, each somewhere else; made by `Partial.plan` or by an owner's table.

    `add` is the owner's: it reads the data at once, and what goes wrong is raised as it is.
    """

    request: Request
    names: tuple[str, ...] = ()
    schema: Mapping[str, ColumnSchema] = field(default_factory=dict, repr=False)
    budget: Budget | None = field(default=None, repr=False, compare=False)
    place: int | None = None  # of the shard
    shards: int | None = None

    def __post_init__(self) -> None:
        require_mergeable(self.request)

    def __repr__(self) -> str:
        of = "" if self.place is None else f", shard {self.place} of {self.shards}"
        return f"<plan of partial sums: {', '.join(self.names)}{of}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "budget": None}  # which stays with the owner

    def shard(self, place: int, *, of: int) -> PartialPlan:
        """The plan for one shard of the persons: those whose SHA-256 falls on `place`, from 0 to of - 1.

        Add up all data in it at once. Its totals have no ids in them.
        """
        if self.request.privacy_unit is None:
            raise RefusedValue(
                "place",
                Reason.NEEDS,
                "shards divide persons, and this plan protects records",
                "give `privacy_unit` in the plan, or add the parts up without shards",
            )
        for name, given in {"place": place, "of": of}.items():
            if isinstance(given, bool) or not isinstance(given, int):
                raise RefusedType(
                    name,
                    Reason.NOT_WHOLE,
                    "`{option}={given}` is not a whole number",
                    "give one, such as `shard(0, of=8)`",
                    given=quote(given),
                )
        if of < 1:
            raise RefusedValue(
                "of", Reason.TOO_SMALL, "`of={given}` is not a number of shards", "give 1 or more", given=of
            )
        if of > MOST_SHARDS:
            raise RefusedValue(
                "of",
                Reason.TOO_MANY,
                "`of={given}` is more shards than anybody merges",
                "give {most} or fewer",
                given=of,
                most=f"{MOST_SHARDS:,}",
            )
        if not 0 <= place < of:
            raise RefusedValue(
                "place",
                Reason.UNKNOWN,
                "`place={given}` is not one of {of} shards",
                "give one from 0 to {last}",
                given=place,
                of=of,
                last=of - 1,
            )
        return replace(self, place=place, shards=of)

    def add(self, data: Any, *, part: str | None = None, table: Any = None, engine: str | None = None) -> Partial:
        """Add up one part of the data, exactly. The owner names it, and each name merges once.

        data: a table, as for `soundsum.release`: a data frame, a dict of columns, files or a database's address.
        part: the name of this part, such as a date or the index of a partition. A shard has its own.
        table, engine: as for `soundsum.release`.
        """
        name = self._name(part)
        request = replace(self.request, table=table, engine=engine)
        if self.schema:
            look(data, request, self.schema, ())
        opened, prepared = prepare(data, request)
        require_exact(prepared.tasks)
        kind = None
        persons: PersonWords | None = None
        if prepared.rows.privacy_unit is not None:
            if not isinstance(opened, Memory):
                raise RefusedValue(
                    "data",
                    Reason.UNSUPPORTED,
                    "{engine} adds up no parts by person",
                    "give its rows as a table in memory, as Arrow batches or as files",
                    engine=opened.name,
                )
            ids = opened.schema.key_type(prepared.rows.privacy_unit)
            persons = PersonWords(ids) if self.place is None else ShardWords(ids, self.place, self.shards or 1)
            kind = persons.kind
        types = find_types(opened, self.request.statistics)
        plan = TypedPlan(self.request, tuple(prepared.tasks), prepared.rows, types, kind, self.shards)
        if persons is None:
            totals, n = opened.add_up(plan.tasks, plan.rows)
            return Partial(plan, {name}, Added(totals, n if plan.counts_rows else None), self.budget)
        assert isinstance(opened, Memory)
        sums, _ = opened.accumulate(plan.tasks, plan.rows, persons)
        if self.place is not None:
            return Partial(plan, {name}, Added([own.totals() for own in sums], None), self.budget)
        return Partial(plan, {name}, PersonPairs.of(sums, persons), self.budget)

    def _name(self, part: str | None) -> str:
        if self.place is not None:
            if part is not None:
                raise RefusedValue(
                    "part",
                    Reason.CONFLICT,
                    "a shard is added up at once, over all data, and has a name already",
                    "leave `part` out",
                )
            return str(self.place)
        if part is None or part == "":
            raise RefusedValue(
                "part",
                Reason.MISSING,
                "`part` is missing: parts that are equal by name are added up once",
                "name it, such as `part='2024-05-06'`",
            )
        if not isinstance(part, str):
            raise RefusedType(
                "part",
                Reason.WRONG_TYPE,
                "`part={given}` is not text",
                "name it, such as `part='2024-05-06'`",
                given=quote(part),
            )
        return part
