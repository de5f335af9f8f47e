"""No statement is weakened unnoticed, and none rests on more than the standard library's reals."""

import re

import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.methods.problem import Problem
from soundsum.privacy.planner import GRID, WIDE, Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.task import Claim

from .statements import ASSUMPTIONS, PAGES, PROOFS, STATEMENTS, axioms, every_theorem, named, statements, untold
from .test_releases import KINDS

AXIOMS = {
    "Classical_Prop.classic",
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
SOURCES = sorted(PROOFS.glob("*.v"))
README = PROOFS / "README.md"
COMMENT = r"\(\*.*?\*\)"


def test_the_statements_are_the_stored_ones():
    assert statements() == STATEMENTS.read_text()


def test_what_the_statements_speak_of_is_stored_too():
    """A theorem can be weakened through what it uses as well: a hypothesis that nothing meets, a larger bound."""
    assert untold(STATEMENTS.read_text()) == set()
    assert untold("A.b\nTrees.mags_of = Trees.mags + Trees.leaf") == {"Trees.mags_of", "Trees.leaf"}


def test_no_theorem_rests_on_more_than_the_stored_axioms():
    """Each of them has its line; those with the same axioms are asked together, which takes a fraction of the time."""
    stored = dict(line.split(": ", 1) for line in ASSUMPTIONS.read_text().splitlines())
    assert list(stored) == every_theorem()
    groups = {told: [name for name in stored if stored[name] == told] for told in dict.fromkeys(stored.values())}
    assert axioms(list(groups.values())) == list(groups)


def test_nothing_is_assumed_but_the_reals():
    lists = (line.split(": ")[1].split(", ") for line in ASSUMPTIONS.read_text().splitlines())
    assert {axiom for axioms in lists for axiom in axioms} <= AXIOMS | {"nothing"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "theorems"], ids=lambda page: page.stem)
def test_every_page_names_its_theorems(page):
    assert len(named()[page.stem]) >= 2


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_nothing_is_left_open(file):
    code = re.sub(COMMENT, "", file.read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check)\b", code)
    assert not re.search(r"\bUnset (Guard|Positivity|Universe) Checking\b", code)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_a_file_says_what_it_proves(file):
    """An opening comment, and every file that is checked is listed."""
    assert file.read_text().startswith("(** ")
    assert file.name in (PROOFS / "_CoqProject").read_text() or file.name == "Oracle.v"


def test_a_file_names_the_page_that_explains_it():
    """As the list of files links it, for all that have one page and another name."""
    rows = re.findall(r"^\| ([\w, ]+) \| \[[\w ]+\]\(\.\./(docs/theorems/\w+\.md)\)", README.read_text(), re.MULTILINE)
    linked = {name: page for names, page in rows for name in names.split(", ")}
    openings = {name: (PROOFS / f"{name}.v").read_text().split("*)")[0] for name in linked}
    assert [name for name, page in linked.items() if page not in openings[name]] == []
    assert len(linked) > len(SOURCES) / 2


UNITS = ("records", "records by group", "persons", "persons by group")


def table_of_releases():
    """The rows under "Which theorem covers a release", and what each of its letters stands for."""
    text = re.search(r"^## Which theorem covers a release$(.*?)^## ", README.read_text(), re.MULTILINE | re.DOTALL)[1]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return (
        [row for row in rows if len(row) == 6][2:],
        dict(re.findall(r"^- ([A-Z]): (.*?)(?=^- |\n\n)", text, re.M | re.S)),
        text,
    )


def test_every_release_has_its_theorem():
    """Statistic by unit by relation by noise, without an empty cell; what is refused names its test."""
    rows, letters, text = table_of_releases()
    assert [(kind, unit) for kind, unit, *_ in rows] == [(kind, unit) for kind in KINDS for unit in UNITS]
    for _, _, *cells in rows:
        assert all(letter in letters for cell in cells for letter in cell.split(", "))
        assert all(len(cell.split(", ")) == 2 for cell in cells)
    for said in letters.values():
        assert re.search(r"`(\w+\.\w+|tests/[\w/]+\.py::\w+)`", said)
    assert set(re.findall(r"`(\w+\.[a-z_]\w*)`", text)) <= set(every_theorem())
    for file, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text):
        assert f"def {name}(" in (PROOFS.parent / file).read_text()


def test_each_theorem_about_releases_is_applied_to_a_concrete_one():
    """So its hypotheses can be met together."""
    text = README.read_text().split("## Which theorem covers a release")[1].split("## Weakened by hand")[0]
    applied = set(re.findall(r"\w+", re.sub(COMMENT, "", (PROOFS / "Concrete.v").read_text(), flags=re.DOTALL)))
    named = {name.split(".")[1] for name in re.findall(r"`([A-Z]\w+\.[a-z_]\w*)`", text)}
    assert len(named) > 30
    assert named <= applied


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_table_calls_refused_is_refused(kind):
    """And nothing else is: every relation of records, and persons under symmetric alone."""
    for row in table_of_releases()[0]:
        if row[0] != kind:
            continue
        unit = Unit(3 if row[1].endswith("group") or kind == "histogram" else None, 2 if "persons" in row[1] else None)
        for relation, cell in zip(("symmetric", "insert_delete", "change_one", "hamming"), row[2:], strict=True):
            plan = Plan(Problem("float64", 0, 1, relation), GRID, unit)
            if kind in ("count", "histogram"):
                plan = Plan(Problem("uint8", 1, 1, relation), WIDE, unit)
            assert bool(plan.unmet or KINDS[kind].unmet(plan)) == (cell == "R, R"), (row, relation)
            if cell == "N, N":
                assert not any(part.norms.l1 for part in Claim(KINDS[kind], plan).parts)


STAFF = pa.table({"x": [0.5, 7.0, 3.0], "n": [0, 7, 3], "team": ["a", "b", "c"], "id": [1, 1, 2]})
ASKED = {
    "sum": lambda column: ss.Sum(column, 0, 9),
    "count": ss.Count,
    "mean": lambda column: ss.Mean(column, 0, 9),
    "variance": lambda column: ss.Variance(column, 0, 9),
    "histogram": lambda column: ss.Histogram(column, edges=[0, 4, 9]),
}
NOISES = (
    {"epsilon": 1},
    {"noise": "gaussian", "rho": 1},
    {"noise": "gaussian", "epsilon": 1, "delta": "1e-6"},
)


def released(**options):
    """Whether it is; if not, nothing was charged for it."""
    budget = ss.Budget(rho=9) if "rho" in options else ss.Budget(epsilon=9, delta="1/10")
    try:
        ss.release(STAFF, budget=budget, **options)
    except ValueError:
        assert not budget.entries()
        return False
    return True


@pytest.mark.parametrize("more", [{}, {"missing": "drop"}, {"where": [("x", ">", 1)]}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_table_has_a_theorem_for_is_released(kind, more):
    """Each cell is asked for: floats and integers, with every row, some rows, and rows that have a value."""
    for name, unit, *cells in table_of_releases()[0]:
        if name != kind:
            continue
        by = {"by": "team", "groups": ["a", "b"]} if unit.endswith("group") else {}
        persons = {"privacy_unit": "id", "max_rows": 2} if "persons" in unit else {}
        for relation, cell in zip(("symmetric", "insert_delete", "change_one", "hamming"), cells, strict=True):
            for column in ("x", "n"):
                asked = {"statistics": [ASKED[kind](column)], "relation": relation, **by, **persons, **more}
                assert [released(**asked, **noise) for noise in NOISES] == [cell != "R, R"] * 3, (unit, relation)
