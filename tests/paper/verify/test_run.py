"""The quick run finds no violation, covers every method, and says so in the terminal and as JSON."""

import io
import json
from dataclasses import dataclass
from fractions import Fraction

import pytest
from rich.console import Console
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.cli.commands.method_commands import markdown, print_report
from soundsum.methods import METHODS, Method, Wide
from soundsum.methods.problem import Problem
from soundsum.paper.verify import Verification, verify
from soundsum.paper.verify.verification import ACCURACY
from soundsum.refusals import Reason
from soundsum.tables.relations import Relation
from tests.refusing import refused


@pytest.fixture(scope="module")
def quick() -> Verification:
    return verify(quick=True)


@pytest.mark.slow
def test_no_claim_is_below_the_truth(quick):
    assert quick.violations == 0
    assert quick.counterexamples == []


@pytest.mark.slow
def test_every_method_is_looked_at_under_every_relation_it_covers(quick):
    seen = {(result.method, result.relation) for result in quick.results}
    unknown_size_only = {"split_checked", "split_iterated", "split_pairwise", "split_numpy_pairwise", "split_kahan"}
    for method in METHODS:
        sized = method not in unknown_size_only
        unsized = not method.startswith("shifted")
        for relation in Relation:
            assert ((method, relation) in seen) == (sized if relation.sized else unsized), (method, relation)
        assert (method, ACCURACY) in seen
    assert {f"grid_{m}" for m in ("saturating", "modular", "split", "checked")} <= {m for m, _ in seen}


@pytest.mark.slow
def test_the_integer_sums_and_the_grid_are_tight(quick):
    ideal = {"wide", "grid", "grid_randomised", "modular", "saturating", "split", "split_modular", "split_checked"}
    for result in quick.by_method():
        if result.method in ideal and result.relation != ACCURACY:
            assert result.ratio == 1, (result.method, result.relation)


@pytest.mark.slow
def test_no_ratio_is_above_one_and_only_long_datasets_are_bounded_indirectly(quick):
    for result in quick.results:
        assert result.ratio is None or 0 <= result.ratio <= 1
        if result.certified:
            assert result.relation == Relation.CHANGE_ONE or "pairwise" in result.method


def test_a_claim_that_needs_no_size_does_not_change_with_it():
    """So looking at all sizes at once is looking at each."""
    for method in METHODS.values():
        kind = "int5" if method.theorem.name in ("wide", "modular", "saturating", "split") else "float(2,3)"
        for relation in Relation:
            free = Problem(kind, -3, 2, relation)
            if not method.unmet(free):
                sized = [
                    Problem(kind, -3, 2, relation, **{"size" if relation.sized else "max_size": n}) for n in range(9)
                ]
                assert {method.sensitivity(problem) for problem in sized} == {method.sensitivity(free)}


def test_one_method_alone_in_this_process():
    told = []
    done = verify(quick=True, only=["checked"], progress=lambda n, total: told.append((n, total)), processes=1)
    assert {result.method for result in done.results} == {"checked"}
    assert told[-1][0] == told[-1][1] > 0
    with refused("only", Reason.UNKNOWN, ValueError, given="'abacus'"):
        verify(quick=True, only=["abacus"])


@pytest.mark.slow
def test_as_json_and_as_text(quick):
    plain = json.loads(json.dumps(quick.to_json()))
    assert plain["violations"] == 0
    assert {"method", "relation", "dtype", "cases", "pairs", "violations", "ratio", "at"} <= plain["results"][0].keys()
    assert all(Fraction(r["ratio"]) <= 1 for r in plain["results"] if r["ratio"] is not None)
    text = io.StringIO()
    print_report(Console(file=text, width=120), quick)
    assert text.getvalue().strip().split("\n\n")[-1].startswith("no violation in")
    assert markdown(quick).count("\n| ") == len({result.method for result in quick.results}) + 1


def test_the_exit_code_is_0_without_violations():
    done = CliRunner().invoke(app, ["verify", "--quick", "--only", "wide", "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["quick"] is True


@pytest.fixture
def registered():
    """Registers methods for one test."""
    labels = []

    def register(method):
        labels.append(METHODS.register(method).label)
        return method

    yield register
    for label in labels:
        METHODS.forget(label)


@dataclass(frozen=True)
class Halved(Wide):
    """Adds exactly, and claims half of what a record can move."""

    name = "halved"

    def sensitivity(self, problem):
        return super().sensitivity(problem) / 2


@dataclass(frozen=True)
class Shy(Wide):
    """Applies to nothing."""

    name = "shy"

    def unmet(self, problem):
        return ["not today"]


def test_a_method_that_claims_half_is_caught(registered):
    registered(Halved())
    done = verify(quick=True, only=["halved"], processes=1)
    assert done.violations > 0
    assert done.counterexamples
    with refused("method", Reason.UNSOUND, ValueError):
        ss.plan(ss.Problem("int8", 0, 5), "float")  # which would not take it for one


def test_a_method_that_nothing_was_checked_of_is_an_error(registered):
    registered(Shy())
    for only in (["shy"], ["wide", "shy"]):
        with refused("only", Reason.EMPTY, ValueError, methods="shy"):
            verify(quick=True, only=only, processes=1)


def test_a_method_that_does_not_say_what_it_adds_is_refused():
    class Silent(Method):
        name = "silent"
        theorem = Wide.theorem
        unmet = sensitivity = model = add = lambda *arguments: None

    with refused("method", Reason.MISSING, TypeError, method="silent", attribute="takes"):
        METHODS.register(Silent())
    assert "silent" not in METHODS
