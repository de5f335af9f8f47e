"""No two modules, and no two classes, of the package have one name, so that a name says which thing is meant.

Docstrings begin with a verb, or with the thing that is described.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import soundsum as ss

PACKAGE = Path(ss.__file__).parent
TWICE = {
    "Attack": "soundsum.gradients offers attacks on training under the name that soundsum has for attacks on sums",
    "Sum": "soundsum.gradients.Sum adds clipped gradients as soundsum.Sum adds records",
    "opacus": "an adapter of the auditor bears its library's name; soundsum.gradients.opacus works inside that library",
}
"""Public names that two rooms share on purpose."""

RIDDLE = re.compile(r"(What|Whatever|The same|Whose|Who|Of)\b")


@cache
def trees():
    return {path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def shared(named):
    """The names of more than one thing, with the places."""
    places = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_class_or_module_has_the_name_of_another():
    read = trees()
    modules = [(path.parent.name if path.stem == "__init__" else path.stem, str(path)) for path in read]
    classes = [
        (node.name, f"{path}:{node.lineno}")
        for path, tree in read.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    assert len(modules) > 200
    assert len(classes) > 200
    twice = shared(modules) | shared(classes)
    assert {name: places for name, places in twice.items() if name not in TWICE} == {}
    assert TWICE.keys() <= twice.keys()  # no exception outlives its reason


def test_docstrings_begin_with_a_verb_or_the_thing():
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = [
        f"{path}: {text}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, described)
        for text in [ast.get_docstring(node)]
        if text is not None and RIDDLE.match(text)
    ]
    assert riddles == []
