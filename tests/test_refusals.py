"""Refusals are objects: codes for programs, templates for each reader, and no data or other errors behind them."""

import ast
import pickle

import pytest

from soundsum.cli.refusal_text import CommandLine
from soundsum.refusals import Clause, Python, Reason, RefusedType, RefusedValue, join_clauses
from tests.refusing import ROOT, SNAPSHOT, every_refusal

SWAPPED = RefusedValue(
    "lower",
    Reason.SWAPPED,
    "`lower={lower}` is above `upper={upper}`",
    "swap `lower` and `upper`",
    lower="2",
    upper="`1`",
)


class Flags(Python):
    def option(self, name, value):
        return f"--{name}" if value is None else f"--{name} {value}"

    def sentences(self, refusal):
        is_swapped = refusal.reason == Reason.SWAPPED
        return refusal.problem, "turn `lower` and `upper` around" if is_swapped else refusal.remedy


def test_each_reader_has_a_spelling():
    assert str(SWAPPED) == "lower=2 is above upper=`1`; swap lower= and upper="
    assert SWAPPED.say(Flags()) == "--lower 2 is above --upper `1`; turn --lower and --upper around"


@pytest.mark.parametrize("option", ["epsilon", "rho"])
def test_a_template_can_name_whatever_option_is_refused(option):
    refusal = RefusedValue(
        option, Reason.TOO_SMALL, "`{option}={given}` is too small", "give `{option}=1`", given="{option}"
    )
    assert str(refusal) == f"{option}={{option}} is too small; give {option}=1"
    assert refusal.say(Flags()) == f"--{option} {{option}} is too small; give --{option} 1"


def test_a_fact_with_code_of_its_own_is_spelled_as_each_reader_writes_it():
    clause = Clause("give `max_size`, as {{n}} is private")
    reasons = join_clauses([clause, "`a` {b}"])
    assert (clause, reasons) == ("give max_size=, as {n} is private", "give max_size=, as {n} is private; 'a' {b}")
    refusal = RefusedValue("method", Reason.UNSOUND, "it does not apply: {reasons}", reasons=reasons)
    flags = CommandLine({"max_size": "--max-size"})
    assert refusal.say(flags) == "it does not apply: give --max-size, as {n} is private; 'a' {b}"
    assert pickle.loads(pickle.dumps(refusal)).say(flags) == refusal.say(flags)


def test_a_place_comes_first():
    assert str(SWAPPED.within("[total]").within("a.toml")).startswith("a.toml: [total]: lower=2 is above")


def test_a_refusal_is_the_same_in_another_process():
    copied = pickle.loads(pickle.dumps(SWAPPED.within("here")))
    assert str(copied) == str(SWAPPED.within("here"))
    assert (type(copied), copied.option, copied.reason, copied.facts) == (
        RefusedValue,
        "lower",
        "swapped",
        SWAPPED.facts,
    )


@pytest.mark.parametrize("given", [None, 0.5, [1], {"a": 1}, True])
def test_facts_are_text_or_whole_numbers(given):
    with pytest.raises(AssertionError, match="facts"):
        RefusedType("data", Reason.WRONG_TYPE, "{given}", given=given)


def test_the_words_are_those_in_one_file():
    """After a change of words: python -m tests.refusing."""
    assert list(every_refusal()) == SNAPSHOT.read_text().splitlines()


def test_no_refusal_is_raised_where_another_error_is_handled():
    """Python would keep that error, and what its frames hold, as the refusal's context."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for handler in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ExceptHandler)):
            for node in ast.walk(handler):
                if isinstance(node, ast.Raise) and node.exc is not None and "Reason." in ast.unparse(node.exc):
                    found.append(f"{path.name}:{node.lineno}")
    assert found == []
