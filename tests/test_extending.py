"""soundsum grows by one file: a toy statistic, noise, method, attack family and engine, all defined here.

None of them is in any list of the package. Each goes as far as it applies: plan, release, certificate, check, verify
and the command line. What is not registered is refused by name.
"""

import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum import engines, methods, statistics
from soundsum import registry as registries
from soundsum.attacks import FAMILIES, families
from soundsum.attacks.families import rounding
from soundsum.cli import app
from soundsum.engines import ENGINES, Engine
from soundsum.kernels import wide_sum
from soundsum.methods import METHODS, Method, Theorem
from soundsum.methods.steps import inward
from soundsum.numbers.models import clean, wide
from soundsum.numbers.types import IntType, float64, int64
from soundsum.paper.verify import verify
from soundsum.privacy import noises
from soundsum.privacy.cost import parse_positive
from soundsum.privacy.noise import NOISES, Noise
from soundsum.refusals import Reason
from soundsum.statistics import STATISTICS
from soundsum.statistics.statistic import SUM, Additive, Bounded, Part
from tests.refusing import refused


@pytest.fixture
def registered():
    """Registers things for one test."""
    before = [(registry, set(registry)) for registry in (STATISTICS, NOISES, METHODS, FAMILIES, ENGINES)]
    yield lambda registry, thing: registry.register(thing)
    for registry, names in before:
        for name in set(registry) - names:
            registry.forget(name)


def soundsum(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.parametrize("package", [engines, families, methods, noises, statistics], ids=lambda given: given.__name__)
def test_whatever_lies_in_a_folder_is_imported(package, tmp_path, monkeypatch):
    """So one more file there is found, and needs no list edited."""
    toys = f"toys_{package.__name__.replace('.', '_')}"
    folder = tmp_path / toys
    folder.mkdir()
    for name in ("__init__", "one", "two"):
        (folder / f"{name}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    registries.import_all(toys, [str(folder)])
    assert {f"{toys}.one", f"{toys}.two"} <= set(sys.modules)
    asked = []
    monkeypatch.setattr(registries, "import_all", lambda *given: asked.append(given))
    importlib.reload(package)
    monkeypatch.undo()
    importlib.reload(package)
    assert asked == [(package.__name__, package.__path__)]


# A statistic: the sum of the squares of integers


@dataclass(frozen=True)
class SumOfSquares(Bounded):
    """The sum of the squares of a column of integers."""

    name = "sum_of_squares"

    @classmethod
    def parts(cls, plan, steps):
        most = max(steps.low**2, steps.high**2)
        least = 0 if steps.low <= 0 <= steps.high else min(steps.low**2, steps.high**2)
        norms = plan.unit.norms(least, most, plan.problem.relation)
        return (Part("sum of squares", Fraction(1), norms, (0, 0, 1), (least, most), power=2),)

    @classmethod
    def estimator(cls, plan, steps, noises, n, unit_value):
        return Additive(noises[0], unit_value**2, is_whole=unit_value == 1)


def test_a_statistic(registered):
    registered(STATISTICS, SumOfSquares)
    data = {"x": np.array([1, -2, 3, 90]), "k": ["a", "b", "a", "b"], "id": [1, 1, 2, 2]}
    asked = [SumOfSquares("x", -5, 5), ss.Count()]
    total, _ = ss.release(data, asked, epsilon=10**6)
    assert total.value == 1 + 4 + 9 + 25
    assert [part["sensitivity"] for part in total.certificate["released"]] == ["25"]
    assert ss.check(json.loads(json.dumps(total.certificate))) == []
    groups, _ = ss.release(data, asked, epsilon=10**6, by="k", groups=["a", "b"])
    assert {k: r.value for k, r in groups.items()} == {"a": 10, "b": 29}
    assert groups.to_arrow().column("value").to_pylist() == [10, 29]
    persons, _ = ss.release(data, asked, epsilon=10**6, privacy_unit="id", max_rows=1)
    assert persons.value == 5 + 25  # 9 + 25 held to 25
    assert persons.persons == "each person adds at most as much as 1 row can; rows without an id left out"
    assert ss.check(persons.certificate) == []
    assert ss.check({**persons.certificate, "statistic": "cube"})


# A noise: two-sided geometric, which is discrete Laplace with another parameter


@dataclass(frozen=True)
class Geometric(Noise):
    """P(z) proportional to exp(-rate |z|), by its rate."""

    name = "geometric"
    parameter_name = "rate"

    @classmethod
    def accept(cls, epsilon, delta, rho):
        return parse_positive("epsilon", epsilon), Fraction(0), None

    @classmethod
    def fit(cls, norms, epsilon, delta, rho):
        return cls(epsilon / norms.l1)

    def _laplace(self):
        return NOISES["laplace"](1 / self.parameter)

    def draw(self, count):
        return self._laplace().draw(count)

    def half_width(self, confidence):
        return self._laplace().half_width(confidence)


def test_a_noise(registered, tmp_path):
    registered(NOISES, Geometric)
    r = ss.sum([1.0, 2.0], 0, 10, 1, noise="geometric")
    (part,) = r.certificate["released"]
    assert (part["noise"], Fraction(part["rate"])) == ("geometric", Fraction(1, part["l1_steps"]))
    assert ss.check(json.loads(json.dumps(r.certificate))) == []
    assert r.interval(0.95) == pytest.approx((r.value - 29.957, r.value + 29.957), abs=0.001)
    assert ss.plan(ss.Problem("float64", 0, 10)).error(epsilon=1, noise="geometric") == pytest.approx(29.957, abs=0.001)
    budget = ss.Budget(epsilon=1)
    ss.mean([1.0], 0, 10, 1, noise="geometric", budget=budget)
    assert budget.left.epsilon == 0
    pyarrow.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "x.parquet")
    options = ("--column", "x", "--bounds", 0, 9, "--epsilon", 1, "--noise", "geometric", "--json")
    ran = soundsum("sum", tmp_path / "x.parquet", *options)
    assert json.loads(ran.stdout)["certificate"]["released"][0]["noise"] == "geometric"


def test_an_unknown_noise_is_refused():
    with refused("noise", "unknown", ValueError, given="'staircase'"):
        ss.sum([1.0], 0, 10, 1, noise="staircase")


# A method: integers added from the last to the first


@dataclass(frozen=True)
class Backwards(Method):
    name = "backwards"
    theorem = Theorem("wide", "thrm:reals-sens", "an exact sum is the same in any order")
    takes = IntType
    adds_floats = False

    def unmet(self, problem):
        return [] if isinstance(problem.dtype, IntType) else ["adds integers; use grid"]

    def sensitivity(self, problem):
        low, high = inward(problem)
        return Fraction(high - low if problem.relation.sized else max(abs(low), abs(high)))

    def model(self, problem):
        return wide()

    def add(self, problem, data, missing):
        low, high = inward(problem)
        return Fraction(
            sum(int(clean(x, low, high)) for x in reversed(list(data)) if not (missing == "drop" and x != x))
        )


@dataclass(frozen=True)
class BackwardsByHalf(Backwards):
    name = "backwards_by_half"

    def sensitivity(self, problem):
        return super().sensitivity(problem) / 2


def test_a_method(registered, tmp_path):
    registered(METHODS, Backwards())
    problem = ss.Problem("int64", -3, 9)
    p = ss.plan(problem, "backwards")
    data = np.array([5, 7, -100, 2])
    assert p.sum(data) == wide_sum(data, -3, 9)
    assert p.sensitivity == 9
    assert "backwards" in [q.method for q in ss.plans(problem) if not q.unmet]
    assert "backwards" in p.explain()
    r = ss.sum(data, -3, 9, 10**6, method="backwards")
    assert r.value == 11
    assert ss.check(json.loads(json.dumps(r.certificate))) == []
    assert verify(quick=True, only=["backwards"], processes=1).violations == 0
    pyarrow.parquet.write_table(pa.table({"x": data}), tmp_path / "x.parquet")
    options = ("--column", "x", "--bounds", 0, 9, "--epsilon", 1, "--method", "backwards", "--json")
    ran = soundsum("sum", tmp_path / "x.parquet", *options)
    assert json.loads(ran.stdout)["certificate"]["method"] == "backwards"
    assert "backwards" in soundsum("plan", "--dtype", "int8", "--bounds", 0, 9).stdout


def test_a_method_that_claims_too_little_is_caught(registered):
    registered(METHODS, BackwardsByHalf())
    assert verify(quick=True, only=["backwards_by_half"], processes=1).violations > 0


def test_an_unknown_method_is_refused():
    with refused("method", Reason.UNKNOWN, ValueError, given="'abacus'"):
        ss.plan(ss.Problem("int64", 0, 1), "abacus")


# A family of attacks: rounding under another name


def test_a_family_of_attacks(registered):
    def build(situation, copies=None):
        made = rounding.build(situation, j=copies)
        return replace(made, name="one_tie", parameters={"copies": made.parameters["j"]})

    registered(
        FAMILIES,
        replace(
            FAMILIES["rounding"],
            name="one_tie",
            parameters={"copies": "2^copies records"},
            build=build,
            candidates=lambda situation, wish, fixed: ({"copies": j} for j in range(2, situation.floats.k)),
        ),
    )
    a = ss.attack("one_tie", copies=5)
    assert a.measure() == a.predicted > a.ideal >= a.measure("grid")
    assert ss.attack("one_tie", "float32", ratio=50).ratio >= 50
    assert "one_tie" in soundsum("attack", "list").stdout
    shown = soundsum("attack", "show", "one_tie", "--with", "copies=6", "--json")
    assert json.loads(shown.stdout)["parameters"] == {"copies": 6}
    with refused("name", Reason.UNKNOWN, ValueError, given="'two_ties'"):
        ss.attack("two_ties")


# An engine: rows as dicts, added up in plain Python


class DictRows(list):
    """Rows as dicts, with the types of their columns."""

    types: Mapping[str, object]


class DictSchema:
    def __init__(self, data):
        self._data = data

    @property
    def names(self):
        return list(self._data.types)

    def type(self, column, dtype=None):
        return {"int64": int64, "float64": float64}[self._data.types[column]], Fraction(1)

    def expect_groups(self, column, groups):
        pass

    def expect_ids(self, column):
        pass

    def rows(self):
        return len(self._data)


class DictEngine(Engine):
    name = "dicts"

    def __init__(self, data, beside):
        self.data, self.schema = data, DictSchema(data)

    @classmethod
    def accepts(cls, data):
        return isinstance(data, DictRows)

    def add_up(self, tasks, rows):
        return [self._totals(task, rows) for task in tasks], len(self.data)

    def _totals(self, task, rows):
        groups = [None] if rows.groups is None else rows.groups.names
        powers = {group: [0, 0, 0] for group in groups}
        for row in self.data:
            group = None if rows.by is None else row[rows.by]
            if group in powers and not (task.missing == "drop" and row["x"] != row["x"]):
                q = self._integer(task, row)
                powers[group] = [s + q**power for power, s in enumerate(powers[group])]
        parts = task.claim.parts
        return [[sum(w * s for w, s in zip(part.weights, powers[g], strict=True)) for g in groups] for part in parts]

    def _integer(self, task, row):
        steps = task.claim.record_steps
        if task.statistic.takes != "numbers":
            return 1
        x = row[task.statistic.column]
        return int(clean(x, steps.low, steps.high)) if steps.grid is None else steps.grid.integer(x)


def test_an_engine(registered):
    registered(ENGINES, DictEngine)
    table = DictRows([{"x": 1.5, "k": "a"}, {"x": 2.5, "k": "b"}, {"x": 99.0, "k": "a"}, {"x": float("nan"), "k": "c"}])
    table.types = {"x": "float64", "k": "text"}
    columns = {"x": np.array([row["x"] for row in table]), "k": [row["k"] for row in table]}
    asked = [ss.Sum("x", 0, 10), ss.Mean("x", 0, 10), ss.Variance("x", 0, 10), ss.Count()]
    for options in ({}, {"by": "k", "groups": ["a", "b"]}):
        theirs, ours = (ss.release(data, asked, rho=10**30, noise="gaussian", **options) for data in (table, columns))
        for one, other in zip(theirs, ours, strict=True):
            for a, b in [(one, other)] if not options else zip(one.values(), other.values(), strict=True):
                assert a.value == pytest.approx(b.value, abs=1e-5)
                assert ss.check(a.certificate) == []
                assert a.certificate == b.certificate | {"engine": "dicts"}
    assert ss.private_max_size(table, 10**6) == 4
    with refused("column", "unknown", ValueError, column="column 'y'", names="it has x, k"):
        ss.sum(table, 0, 1, 1, column="y")


def test_a_name_stands_for_one_thing(registered):
    for registry, thing in ((NOISES, NOISES["laplace"]), (METHODS, METHODS["wide"]), (STATISTICS, ss.Sum)):
        with refused(registry.what, "exists", ValueError):
            registry.register(thing)


def test_the_power_sums_are_named():
    assert SUM == (0, 1, 0)
