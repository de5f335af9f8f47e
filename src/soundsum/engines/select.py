"""A query as one SELECT: what is the same in every SQL, around the few expressions that each engine keeps by hand.

From the inside out: every row's group, person, cells, whether it counts and its integers; their sums by group and cell,
one grouping set for each layer; and under a unit of persons each person's parts, clamped, of the groups in which they
have most rows, added up. A filter is a CASE inside the sums and never a WHERE, so that no index decides by a record
what is read. Group keys and values are bound, identifiers quoted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from soundsum.engines.dialect import Dialect, Own, integer_literal
from soundsum.engines.engine import Totals
from soundsum.engines.person_sums import bound_part, count_cells
from soundsum.engines.sum_query import Integer, SumQuery, Term, first_places, float_steps, list_keys
from soundsum.kernels.grouped import MOST_RANKED
from soundsum.statistics import Task
from soundsum.statistics.histogram import Categories, Edges
from soundsum.tables.cells import LONGEST
from soundsum.tables.filter_values import as_value
from soundsum.tables.filters import Condition, Filter
from soundsum.tables.period_groups import Periods

SIGNS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class Selection:
    """The SELECT of a query over a table, and how its answer is read."""

    def __init__(self, query: SumQuery, kinds: Mapping[str, Any], dialect: Dialect) -> None:
        self._query, self._kinds, self._sql = query, kinds, dialect
        self._joins: list[str] = []  # of what was added up with the lists of groups
        self._keys: list[str] = []  # by which all layers are grouped
        self._cells = [None if found is None else f"cell{layer}" for layer, found in enumerate(query.layers)]

    def text(self, table: str) -> str:
        added = self._added(f"SELECT {', '.join(self._row()) or '1'} FROM {table} AS t")
        group = f", {self._group} AS place" if self._ranks_rows else ""
        listed = f"SELECT s.*, {self._entry()} AS entry{group} FROM ({added}) AS s {' '.join(self._joins)}"
        if self._query.rows.privacy_unit is not None:
            return self._of_persons(listed)
        names = [name for term in self._query.terms for name in self._names(term)]
        return f"SELECT {', '.join(['layer', 'entry', 'n', *names])} FROM ({listed}) AS e"

    # What every row gives

    def _row(self) -> list[str]:
        """Every row's person, keys, cells, whether it counts, and its integers."""
        query, rows = self._query, self._query.rows
        columns = []
        if rows.privacy_unit is not None:
            columns.append(f"{self.identify(rows.privacy_unit)} AS id")
            self._keys.append("id")
        if rows.groups is not None:
            keys, places = list_keys(rows, self._kinds)
            by, parts = zip(*rows.groups_by_column, strict=True)
            names = [f"key{i}" for i in range(len(by))]
            found = self._look_up("g", names, by, parts, keys, places)
            columns += [f"{text} AS {name}" for text, name in zip(found, names, strict=True)]
            self._keys += names
        for layer, one in enumerate(query.layers):
            if one is not None:
                columns.append(f"{self._cell(layer, *one)} AS cell{layer}")
        passes = [] if rows.where is None else [self.passes(rows.where)]
        for i, column in enumerate(query.counters):
            there = [] if column is None else [self._is_there(self.own(column))]
            columns.append(f"{' AND '.join([*passes, *there]) or 'true'} AS counts{i}")
        return columns + [f"{self._integer(one)} AS q{i}" for i, one in enumerate(query.integers)]

    def identify(self, column: str) -> str:
        """A person's id; NULL for NaN, and for text and bytes that are too long."""
        import pyarrow as pa

        own = self.own(column)
        nan, key = self._sql.is_nan(own), self._sql.key(own)
        if nan is not None:
            return f"CASE WHEN NOT {nan} THEN {key} END"
        has_length = pa.types.is_string(own.kind) or pa.types.is_binary(own.kind)
        return f"CASE WHEN octet_length({key}) <= {LONGEST} THEN {key} END" if has_length else key

    def own(self, column: str) -> Own:
        """A column as rows have it."""
        return Own(f"t.{self._sql.quote(column)}", self._kinds[column])

    def _look_up(
        self,
        name: str,
        names: Sequence[str],
        columns: Sequence[str],
        parts: Sequence[Any],
        keys: list[list[Any]],
        places: list[int],
    ) -> list[str]:
        """A row's keys, under these names, which are looked up in lists of them once everything is added up.

        Each key is listed once, so nothing is there twice.
        """
        listed: list[tuple[list[Any], Own | None]] = []
        found = []
        for column, part, values in zip(columns, parts, keys, strict=True):
            own = self.own(column)
            points = part.boundaries(own.kind) if isinstance(part, Periods) else None
            key = self._sql.key(own)
            found.append(key if points is None else self._sql.bucket(key, points, own))
            listed.append((values, own if points is None else None))
        equal = " AND ".join(f"s.{key} = {name}.k{i}" for i, key in enumerate(names))
        self._joins.append(f"LEFT JOIN {self._sql.list_of(name, listed, places)} ON {equal}")
        return found

    def _cell(self, layer: int, column: str, cells: Any) -> str:
        """The cell a row is in, NULL for none; or what tells a category."""
        own = self.own(column)
        if isinstance(cells, Categories):
            first = first_places((key,) for key in cells.groups.typed(own.kind))
            keys, places = [[key for (key,) in first]], list(first.values())
            return self._look_up(f"c{layer}", [f"cell{layer}"], [column], [cells.groups], keys, places)[0]
        assert isinstance(cells, Edges)
        number, points = self._number(own, cells.edges)
        found, count = self._sql.bucket(number, points, None), len(points) - 1
        last = self._sql.bucket(number, [points[-1]], None)  # 1 at the last edge and above
        is_last = f"{last} = 1 AND {number} <= {self._point(points[-1])}"
        return f"CASE WHEN {is_last} THEN {count - 1} WHEN {found} BETWEEN 1 AND {count} THEN {found} - 1 END"

    def _point(self, x: int | float) -> str:
        return self._sql.literal(x) if isinstance(x, float) else f"CAST('{x}' AS {self._sql.whole})"

    def _number(self, own: Own, edges: Sequence[int | float]) -> tuple[str, list[int] | list[float]]:
        """A column and edges in one type, in which they compare as in memory: doubles, or integers where all are."""
        import pyarrow as pa

        text = self._as_integer(own)
        if pa.types.is_boolean(own.kind) or pa.types.is_integer(own.kind):
            if all(isinstance(edge, int) for edge in edges):
                return f"CAST({text} AS {self._sql.whole})", [int(edge) for edge in edges]
        elif pa.types.is_decimal(own.kind):
            held = self._sql.scaled(own, -(1 << 63), (1 << 63) - 1)
            text = f"(CAST({held} AS {self._sql.double}) / {self._sql.literal(float(10**own.kind.scale))})"
        number, nan = f"CAST({text} AS {self._sql.double})", self._sql.is_nan(own)
        return number if nan is None else f"CASE WHEN NOT {nan} THEN {number} END", [float(edge) for edge in edges]

    def _as_integer(self, own: Own) -> str:
        import pyarrow as pa

        return f"CAST({own.text} AS integer)" if pa.types.is_boolean(own.kind) else own.text

    def _is_there(self, own: Own) -> str:
        nan = self._sql.is_nan(own)
        return f"{own.text} IS NOT NULL" if nan is None else f"({own.text} IS NOT NULL AND NOT {nan})"

    def passes(self, where: Filter) -> str:
        """The test for rows that meet every condition of one of the alternatives; never NULL."""
        alternatives = [
            " AND ".join(f"coalesce({self._condition(one)}, false)" for one in alternative)
            for alternative in where.alternatives
        ]
        return alternatives[0] if len(alternatives) == 1 else f"({' OR '.join(f'({one})' for one in alternatives)})"

    def _condition(self, condition: Condition) -> str:
        own = self.own(condition.column)
        nan = self._sql.is_nan(own)
        values = [self._sql.value(as_value(one.value, own.kind), own) for one in condition.each]
        several = f"IN ({', '.join(values)})"
        compared = (
            f"{self._sql.key(own)} {several if condition.sign == 'in' else f'{SIGNS[condition.sign]} {values[0]}'}"
        )
        return f"({compared})" if nan is None else f"({compared} AND NOT {nan})"

    def _integer(self, one: Integer) -> str:
        """A record's integer: within the bounds of its steps, whatever the record is."""
        import pyarrow as pa

        own, low, high = self.own(one.column), one.steps.low, one.steps.high
        if one.steps.grid is not None:
            steps = float_steps(one.steps)
            if steps is None:
                return integer_literal(low)
            return self._sql.on_grid(f"CAST({own.text} AS {self._sql.double})", steps)
        missing = max(low, min(0, high))
        if pa.types.is_decimal(own.kind):
            scaled, nan = self._sql.scaled(own, low, high), self._sql.is_nan(own)
            there = scaled if nan is None else f"CASE WHEN NOT {nan} THEN {scaled} END"
            return f"coalesce({there}, {integer_literal(missing)})"
        integer = f"coalesce(CAST({self._as_integer(own)} AS bigint), {integer_literal(missing)})"
        return self._sql.clamp(integer, integer_literal(low), integer_literal(high))

    # What is added up

    def _added(self, rows: str) -> str:
        """All sums, by person, group and cell."""
        query, keys = self._query, self._keys
        there = [cell for cell in self._cells if cell is not None]
        sums = [f"{text} AS {name}" for term in query.terms for text, name in self._sums(term)]
        n = "count(*)" if query.needs_size else "0"
        sets = ", ".join(f"({', '.join([*keys, *([cell] if cell else [])])})" for cell in self._cells)
        listed = ", ".join([*keys, *there, f"{self._layer()} AS layer", f"{n} AS n", *sums])
        how = f" GROUP BY GROUPING SETS ({sets})" if there else f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {listed} FROM ({rows}) AS r{how}"

    def _layer(self) -> str:
        """The layer of a line of the answer: the only one whose cell it was grouped by."""
        whens = [f"WHEN grouping({cell}) = 0 THEN {i}" for i, cell in enumerate(self._cells) if cell is not None]
        plain = self._cells.index(None) if None in self._cells else "NULL"
        return f"CASE {' '.join(whens)} ELSE {plain} END" if whens else str(plain)

    def _entry(self) -> str:
        """The entry of a layer: the group, or the pair of group and cell; NULL if either is not listed."""
        group = self._group
        whens = []
        for layer, one in enumerate(self._query.layers):
            cell = "" if one is None else f"c{layer}.place" if isinstance(one[1], Categories) else f"s.cell{layer}"
            place = f"{group} * {self._query.cell_count(layer)} + {cell}" if cell else group
            whens.append(f"WHEN s.layer = {layer} THEN {place}")
        return f"CASE {' '.join(whens)} END"

    @property
    def _group(self) -> str:
        return "0" if self._query.rows.groups is None else "g.place"

    @property
    def _ranks_rows(self) -> bool:
        return any(task.ranks_rows for task in self._query.tasks)

    def _bits(self, term: Term) -> int:
        assert term.integer is not None
        return self._query.integers[term.integer].bits * term.power

    def _names(self, term: Term) -> list[str]:
        if term.power == 0:
            return [f"rows{term.counter}"]
        limbs = range(len(self._sql.shifts(self._bits(term))))
        return [f"sum{term.integer}_{term.counter}_{term.power}_{limb}" for limb in limbs]

    def _sums(self, term: Term) -> Iterable[tuple[str, str]]:
        counts, names = f"counts{term.counter}", self._names(term)
        if term.power == 0:
            yield f"count(CASE WHEN {counts} THEN 1 END)", names[0]
            return
        q = " * ".join([f"q{term.integer}"] * term.power)
        for i, (shift, name) in enumerate(zip(self._sql.shifts(self._bits(term)), names, strict=True)):
            yield f"sum(CASE WHEN {counts} THEN {self._sql.limb(q, shift, i == 0)} ELSE 0 END)", name

    # What persons add up to

    def _of_persons(self, listed: str) -> str:
        """Each person's parts, clamped, of the groups in which they have most rows, added up; between equals by lot."""
        query = self._query
        unit, person = query.tasks[0].claim.plan.unit, query.rows.privacy_unit
        assert person is not None
        unlisted_last = "CASE WHEN entry IS NULL THEN 1 ELSE 0 END"
        capped = {own for own in query.asked if unit.max_groups < query.entries(own.layer)}  # else all entries count
        then = f"{self._sql.lot('id', self._kinds[person], 'entry')}, entry" if capped else "entry"
        ranks = [
            f"row_number() OVER (PARTITION BY layer, id ORDER BY {unlisted_last}, rows{i} DESC, {then}) AS rank{i}"
            for i in sorted({own.counter for own in capped})
        ]
        if self._ranks_rows:
            listed, ranks = self._in_order(listed), [*ranks, self._rank_of_group()]
        ranked = f"SELECT {', '.join(['e.*', *ranks])} FROM ({listed}) AS e"  # and no WHERE, which would reach the scan
        parts = []
        for t, (task, own) in enumerate(zip(query.tasks, query.asked, strict=True)):
            added = self._indicators if task.bins_persons else self._clamped_parts
            if task.ranks_rows:
                counts = f"id IS NOT NULL AND entry IS NOT NULL AND layer = {own.layer}"
                kept = f"CASE WHEN {counts} AND group_rank <= {unit.max_groups} THEN {self._kept(task)}"
                parts.append(f"sum({kept} ELSE {self._whole(0)} END) AS p{t}_0")
                continue
            for p, clamped in enumerate(added(task, own.counter, own.integer)):
                counts = f"id IS NOT NULL AND entry IS NOT NULL AND layer = {own.layer}"
                if own in capped:
                    counts += f" AND rank{own.counter} <= {unit.max_groups}"
                parts.append(f"sum(CASE WHEN {counts} THEN {clamped} ELSE {self._whole(0)} END) AS p{t}_{p}")
        return f"SELECT layer, entry, 0 AS n, {', '.join(parts)} FROM ({ranked}) AS k GROUP BY layer, entry"

    # The rows of a person that count because of their order

    @property
    def _own_rows(self) -> str:
        """The number of a person's rows in a cell that is counted."""
        counter = next(
            own.counter for task, own in zip(self._query.tasks, self._query.asked, strict=True) if task.ranks_rows
        )
        return f"(CASE WHEN entry IS NULL THEN 0 ELSE rows{counter} END)"

    def _in_order(self, listed: str) -> str:
        """With every person's number of rows in a group, that up to each cell, and their lot there."""
        person, groups = self._query.rows.privacy_unit, self._query.rows.group_count or 1
        assert person is not None
        own, pair = self._own_rows, "PARTITION BY layer, id, place"
        lot = self._sql.first_word(self._sql.lot("id", self._kinds[person], f"(place + {groups})"))
        windows = [
            f"sum({own}) OVER ({pair}) AS group_rows",
            f"sum({own}) OVER ({pair} ORDER BY CASE WHEN entry IS NULL THEN -1 ELSE entry END) AS upto",
            f"{lot} AS lot",
        ]
        return f"SELECT o.*, {', '.join(windows)} FROM ({listed}) AS o"

    def _rank_of_group(self) -> str:
        """The place of a group among those of a person: the most rows first, between equals by lot."""
        person, groups = self._query.rows.privacy_unit, self._query.rows.group_count or 1
        assert person is not None
        then = "place"
        if self._query.tasks[0].claim.plan.unit.max_groups < groups:
            then = f"{self._sql.lot('id', self._kinds[person], 'place')}, place"
        unlisted_last = "CASE WHEN entry IS NULL THEN 1 ELSE 0 END"
        order = f"{unlisted_last}, group_rows DESC, {then}"
        return f"dense_rank() OVER (PARTITION BY layer, id ORDER BY {order}) AS group_rank"

    def _kept(self, task: Task) -> str:
        """How many of a person's rows in a cell count.

        Of m rows in order those at floor((j + u) m / r), j < r, where r is m at most: below the k-th there are
        ceil(k r / m - u) of them, for u = lot / 2^32.
        """
        allowed = task.claim.plan.unit.max_rows
        assert allowed is not None
        whole = self._sql.whole
        m, word = f"CAST(greatest(group_rows, 1) AS {whole})", self._whole(1 << 32)
        r = f"CAST(least(group_rows, {self._whole(min(allowed, MOST_RANKED))}) AS {whole})"
        bottom = f"({m} * {word})"

        def below(k: str) -> str:
            top = f"(CAST({k} AS {whole}) * {r} * {word} - CAST(lot AS {whole}) * {m} + {bottom} - {self._whole(1)})"
            return self._sql.floor_quotient(top, bottom)

        return f"{below('upto')} - {below(f'(upto - {self._own_rows})')}"

    def _clamped_parts(self, task: Task, counter: int, integer: int | None) -> Iterable[str]:
        allowed = task.claim.plan.unit.max_rows
        assert allowed is not None
        rows, together = f"CAST(rows{counter} AS {self._sql.whole})", len(task.claim.parts) > 1
        for part in task.claim.parts:
            powers = [
                rows,
                *(self._joined(Term(counter, integer, power)) if part.weights[power] else "" for power in (1, 2)),
            ]
            own = " + ".join(
                f"{self._whole(weight)} * {power}" for weight, power in zip(part.weights, powers, strict=True) if weight
            )
            if together:  # whoever has more rows counts as so many average ones
                each = self._sql.floor_quotient(f"({own})", rows)
                rest = self._sql.floor_quotient(f"((({own}) - {each} * {rows}) * {self._whole(allowed)})", rows)
                scaled = f"{each} * {self._whole(allowed)} + {rest}"
                own = f"CASE WHEN rows{counter} > {allowed} THEN {scaled} ELSE {own} END"
            bounds = bound_part(part, allowed)
            yield self._sql.clamp_whole(own, self._whole(bounds.least), self._whole(bounds.most))

    def _indicators(self, task: Task, counter: int, integer: int | None) -> Iterable[str]:
        """1 for a person who has rows, and for each threshold that their total, or number of rows, is above."""
        rows = f"CAST(rows{counter} AS {self._sql.whole})"
        own = self._joined(Term(counter, integer, 1)) if task.statistic.takes == "numbers" else rows
        for above in ["", *(f" AND {own} > {self._whole(threshold)}" for threshold in task.thresholds)]:
            yield f"CASE WHEN rows{counter} > 0{above} THEN {self._whole(1)} ELSE {self._whole(0)} END"

    def _joined(self, term: Term) -> str:
        limbs = zip(self._names(term), self._sql.shifts(self._bits(term)), strict=True)
        return f"({' + '.join(f'{self._whole(1 << (shift or 0))} * {name}' for name, shift in limbs)})"

    def _whole(self, x: int) -> str:
        return f"CAST('{x}' AS {self._sql.whole})"

    # The answer

    def totals(self, found: Iterable[Sequence[Any]]) -> tuple[list[Totals], int]:
        """Every task's totals, and the number of rows."""
        query = self._query
        if query.rows.privacy_unit is not None:
            return self._person_totals(found), 0
        sums: dict[int, dict[int, dict[Term, int]]] = {}
        n = 0
        for layer, entry, rows, *rest in found:
            n += int(rows) if layer == 0 else 0
            if entry is not None:
                limbs, known = iter(rest), sums.setdefault(layer, {}).setdefault(entry, {})
                for term in query.terms:
                    known[term] = known.get(term, 0) + self._read(term, limbs)
        return query.weigh(sums), n

    def _read(self, term: Term, limbs: Any) -> int:
        """A term's sum, from its limbs; a sum of no rows is NULL."""
        shifts = [None] if term.power == 0 else self._sql.shifts(self._bits(term))
        return sum(int(next(limbs) or 0) << (shift or 0) for shift in shifts)

    def _person_totals(self, found: Iterable[Sequence[Any]]) -> list[Totals]:
        query = self._query
        columns = [1 + len(task.thresholds) if task.bins_persons else len(task.claim.parts) for task in query.tasks]
        totals: list[Totals] = [
            [[0] * query.entries(own.layer) for _ in range(count)]
            for count, own in zip(columns, query.asked, strict=True)
        ]
        for layer, entry, _, *rest in found:
            values = iter(rest)
            for own, parts in zip(query.asked, totals, strict=True):
                for into, value in zip(parts, values, strict=False):
                    if own.layer == layer and entry is not None:
                        into[entry] += int(value)
        return [
            [count_cells(sums[0], sums[1:])] if task.bins_persons else sums
            for task, sums in zip(query.tasks, totals, strict=True)
        ]
