"""What holds for the targets of every adapter, wherever its library is installed."""

import ast

import soundsum as ss
from soundsum.auditor.repros import needed_lines

MOST_LINES = 8
"""What a program of 20 lines has room for beside the data and the verdict."""


def check_words(targets):
    """Everything that a report says of a target is there, and no two share a name."""
    assert targets
    assert len({target.name for target in targets}) == len(targets)
    for target in targets:
        assert target.version, target.name
        assert target.source, target.name
        assert target.relation_quote, target.name
        assert target.claimed is None or target.claim_quote, target.name
        assert not target.specials or target.specials_quote, target.name
        assert target.noise != "gaussian" or target.delta > 0, target.name
        for roles in ({"noiseless", "claimed"}, {"release"}):
            assert len(needed_lines(target.repro.splitlines(), roles)) <= MOST_LINES, target.name
        defined = {line.name for line in ast.parse(target.repro).body if isinstance(line, ast.FunctionDef)}
        assert defined & {"release", "noiseless"}, target.name


def check_sum(target, value, count, claimed):
    """A sum of equal records within [0, 1], what is claimed of it, and noise that is fresh each time."""
    data = ss.Runs(target.dtype, [(value, count)])
    problem = target.problem(0, 1, count)
    assert target.sum_of(data, problem) == value * count
    assert target.claim(problem, count) == claimed
    outputs = target.outputs(data, problem, count, 10)
    assert len(set(outputs)) > 1
