"""soundsum verify as a person reads it."""

from fractions import Fraction
from io import StringIO

from rich.console import Console
from typer.testing import CliRunner

from soundsum.cli.app import app
from soundsum.cli.commands.method_commands import print_report
from soundsum.methods import METHODS
from soundsum.paper.verify.verification import Result, Verification


def soundsum(*arguments):
    return CliRunner().invoke(app, ["verify", "--quick", *arguments], env={"COLUMNS": "80"})


def test_a_method_has_one_line_unless_more_is_asked_for():
    short, long = soundsum("--only", "wide"), soundsum("--only", "wide", "--all")
    assert short.exit_code == long.exit_code == 0
    assert sum(line.split()[:1] == ["wide"] for line in short.stdout.splitlines()) == 1
    assert "insert_delete" not in short.stdout
    assert "insert_delete" in long.stdout
    assert short.stdout.strip().split("\n\n")[-1].startswith("no violation in ")


def test_every_method_fits_80_columns():
    """With the figures of the method that takes longest in the full run, for each."""
    every = tuple(METHODS)
    results = [
        Result(name, relation, "float(3,4)", 540_192, 331_636_523_352, 0, 0, Fraction(2, 3), None, None)
        for name in every
        for relation in ("symmetric", "insert_delete", "change_one", "hamming", "accuracy")
    ]
    for all_relations in (False, True):
        console = Console(width=80, record=True, file=StringIO())
        print_report(console, Verification(tuple(results), False, 1000.0), all_relations)
        said = console.export_text()
        assert "…" not in said
        assert all(name in said for name in every)


def test_violations_are_counted_last_and_counterexamples_stand_before():
    result = Result("wide", "symmetric", "int3", 1, 1, 0, 1, Fraction(2), None, None)
    console = Console(width=80, record=True, file=StringIO())
    print_report(console, Verification((result,), True, 1.0))
    assert console.export_text().strip().split("\n\n")[-1].startswith("1 VIOLATIONS in 1 cases")
