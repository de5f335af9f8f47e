"""The red team notices what it is there for: the package is broken on purpose, and it says so within some draws."""

from dataclasses import replace
from decimal import Decimal
from random import Random

import pyarrow.compute as pc
import pytest

import soundsum as ss
from soundsum import native
from soundsum.engines import ids, person_sums
from soundsum.engines.memory import Memory
from soundsum.privacy.guarantee import Guarantee
from soundsum.releases import pipeline
from soundsum.tables import columns
from soundsum.tables.filters import Condition
from tests.neighbours import claims
from tests.neighbours.asking import Told
from tests.neighbours.drawing import draw_pair
from tests.neighbours.judging import judge, shrink
from tests.neighbours.queries import Ask, Query
from tests.neighbours.relations import Pair
from tests.neighbours.running import as_code

DRAWS = 6000
"""Of one reader; the rarest fault shows in one of a thousand, so that other cells or statistics do not hide it."""

APART = "neighbours are further apart than claimed"
OTHER = "the same table gives other numbers"
DEFINED = "totals are not those of the definition"
IDEAL = "the claim is not the ideal"
SAID = "neighbours are told apart by what is said"
FAILED = "a read fails because of a record"
SHOWN = "a release shows more than its numbers"


def double_the_clamp(patch):
    whole = person_sums.bound_part
    patch.setattr(person_sums, "bound_part", lambda part, rows: whole(part, 2 * rows))


def pass_missing_values(patch):
    def passes(self, keys):
        return whole(self, keys) | pc.is_null(keys, nan_is_null=True).to_numpy(zero_copy_only=False)

    whole = Condition.passes
    patch.setattr(Condition, "passes", passes)


def draw_lots_by_arrival(patch):
    def read():
        def number(given):
            found = own.find(given)
            met.update(found.words[found.known].tolist())
            return found

        own, met = whole(), set()
        return own._replace(
            find=number, spelled=lambda: native.PersonIds.listed([str(place).encode() for place in range(len(met))])
        )

    whole = ids._read_objects
    patch.setattr(ids, "_read_objects", read)


def fit_noise_to_half(patch):
    whole = Guarantee.noise_for
    patch.setattr(Guarantee, "noise_for", lambda self, norms: whole(self, replace(norms, l1=(norms.l1 + 1) // 2)))


def choke_on_text(patch):
    def number(x):
        return float(x) if isinstance(x, str) else whole(x)

    whole = columns._as_float
    patch.setattr(columns, "_as_float", number)


def remember(patch, change):
    """Lets a function of what was added up, and how many rows there were, change every release."""

    def add_up(self, tasks, rows):
        kept[:] = whole(self, tasks, rows)
        return tuple(kept)

    kept, whole, make = [], Memory.add_up, pipeline._release
    patch.setattr(Memory, "add_up", add_up)
    patch.setattr(pipeline, "_release", lambda *given: change(make(*given), *kept))


def remember_the_sums(patch):
    def change(made, sums, n):
        vars(made)["_sums"] = sums
        return made

    remember(patch, change)


def say_how_many(patch):
    def change(made, sums, n):
        vars(made.facts)["origin"] = replace(
            made.facts.origin, query=replace(made.facts.origin.query, source=f"{n} rows")
        )
        return made

    remember(patch, change)


BROKEN = {
    "a person's totals are clamped to twice as much": (double_the_clamp, APART, "stream"),
    "filters pass what is missing": (pass_missing_values, DEFINED, "arrow"),
    "lots are drawn by arrival": (draw_lots_by_arrival, OTHER, "lists"),
    "lots by arrival move too much": (draw_lots_by_arrival, APART, "lists"),
    "noise is fitted to half of what moves": (fit_noise_to_half, IDEAL, "csv"),
    "a text that is no number fails the read": (choke_on_text, SAID, "object frame"),
    "a text that is no number fails both reads": (choke_on_text, FAILED, "lists"),
    "a release keeps its sums": (remember_the_sums, SHOWN, "parquet"),
    "a release says how many rows there are": (say_how_many, SHOWN, "duckdb relation"),
}


def draws_lots(query):
    """Returns whether a person's groups may be more than count."""
    return query.person is not None and bool(query.by)


@pytest.mark.parametrize("name", BROKEN)
def test_it_finds(name, monkeypatch, tmp_path):
    break_it, rule, reader = BROKEN[name]
    break_it(monkeypatch)
    for number in range(DRAWS):
        pair = draw_pair(Random(f"broken/{number}"), [reader])
        if pair is None or (break_it is draw_lots_by_arrival and not draws_lots(pair.query)):
            continue  # without judging what cannot show it
        found = judge(pair, tmp_path / "data").finding
        if found is not None and found.rule == rule:
            break
    else:
        pytest.fail(f"nothing was found: {rule}")
    small = shrink(pair, tmp_path / "data", rule)
    assert len(small.rows) <= 6
    assert judge(small, tmp_path / "data").finding.rule == rule


def test_a_finding_is_printed_as_code_that_finds_it(monkeypatch, tmp_path, capsys):
    double_the_clamp(monkeypatch)
    query = Query((Ask("Sum", "x", (("lower", 0), ("upper", 1))),), person="id")
    rows = (("left", (1, Decimal("1.00"))), ("left", (1, Decimal("1.00"))), ("both", (0, None)))
    pair = Pair(query, "arrow", {"x": "int8", "id": "decimal128(10, 2)"}, rows)
    exec(as_code(pair), {})
    assert APART in capsys.readouterr().out


def test_the_largest_difference_by_hand():
    """A record in one of two groups that is changed: at worst 3 goes from one and 5 comes to the other."""
    unit = claims.Unit(sized=True, entries=3, left_out=True)
    assert claims.worst(-3, 5, unit) == claims.Norms(10, 64, 2)
    assert claims.worst(2, 5, replace(unit, entries=1)) == claims.Norms(5, 25, 1)
    assert claims.worst(2, 5, replace(unit, entries=1, left_out=False)) == claims.Norms(3, 9, 1)
    assert claims.worst(-3, 5, claims.Unit(False, 9, True, 2, 3)) == claims.Norms(30, 300, 3)


def test_noise_is_what_it_was_told(tmp_path):
    Told.shift, Told.told = 7, None
    released = ss.release({"x": [1, 2]}, [ss.Sum("x", 0, 10), ss.Count()], epsilon=1, noise="told")
    assert released[1].noisy == (9,)
    assert released[0].facts.noises[0].norms.l1 == released[0].certificate["released"][0]["l1_steps"]
