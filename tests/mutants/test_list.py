"""The changes are generated, each has a name of its own, and whatever is argued equivalent is one of them."""

import ast
import tomllib

import pytest

from tests.mutants import cpp
from tests.mutants.__main__ import EQUIVALENT, ROOMS, choose_sample, modules_of
from tests.mutants.exchange import compile_changed, find_changed
from tests.mutants.generate import UNCHANGED, find_mutants, mutated_tree

MODULES = [module for room in ROOMS for module in modules_of(room)]
FILES = sorted(path.name for path in cpp.KERNELS.iterdir() if path.suffix in (".cpp", ".hpp"))


@pytest.fixture(scope="module")
def names():
    python = [mutant.name for module in MODULES for mutant in find_mutants(module)]
    return python + [mutant.name for file in FILES for mutant in cpp.find_mutants(file)]


def test_every_mutant_has_a_name_of_its_own(names):
    assert len(names) == len(set(names)) > 10_000


def test_every_room_that_privacy_rests_on_is_changed():
    rooms = {"requests", "releases", "engines", "tables", "kernels", "methods", "privacy", "budget", "statistics"}
    assert rooms | {"auditor", "paper", "gradients"} == ROOMS.keys()
    assert len(FILES) > 20


def test_a_sample_is_the_same_everywhere_and_part_of_a_larger_one():
    mutants = find_mutants("methods/checked")
    some, more = choose_sample(mutants, 5), choose_sample(mutants[::-1], 9)
    assert (len(some), some) == (5, more[:5])
    assert choose_sample(mutants, None) == mutants


def test_every_argument_is_about_a_mutant_and_says_why(names):
    arguments = tomllib.loads(EQUIVALENT.read_text())
    assert set(arguments) <= set(names)
    assert all(len(reason) > 20 for reason in arguments.values())


@pytest.mark.parametrize("module", ["methods/checked", "privacy/units", "engines/dialect"])
def test_a_mutant_differs_in_one_place(module):
    original = ast.unparse(mutated_tree(module, UNCHANGED))
    for mutant in find_mutants(module):
        changed = ast.unparse(mutated_tree(module, mutant.number))
        compile(changed, module, "exec")
        differing = [a for a, b in zip(original.splitlines(), changed.splitlines(), strict=True) if a != b]
        assert len(differing) == 1, mutant.name


@pytest.mark.parametrize("module", ["methods/checked", "privacy/units"])
def test_a_change_is_found_in_the_one_function_that_has_it(module):
    """Which is exchanged as a whole, with what is defined inside; outside of functions, the class or the module is."""
    original = compile_changed(module, UNCHANGED)
    for mutant in find_mutants(module):
        ((old, new),) = find_changed(original, compile_changed(module, mutant.number))
        assert old.co_qualname == new.co_qualname
        inside = f"{old.co_qualname}.".replace("<module>.", "").replace("<locals>.", "")
        assert f"{mutant.place}.".startswith(inside) or mutant.place == "(module)", mutant.name
    assert not list(find_changed(original, compile_changed(module, UNCHANGED)))


@pytest.mark.parametrize("file", ["lots.cpp", "shards.hpp"])
def test_a_line_of_cpp_differs_in_its_code(file):
    for mutant in cpp.find_mutants(file):
        assert mutant.line != mutant.text
        assert mutant.line.partition("//")[2] in ("", mutant.text.partition("//")[2])


def test_the_named_ones_are_among_them(names):
    """What independent readings found alive."""
    assert "methods/checked Checked.steps: ('permute',): without permute" in names
    assert "privacy/planner Plan.__post_init__: math.ceil to floor" in names
    assert "methods/numpy_pairwise height: 2 to 1" in names
    assert "methods/numpy_pairwise safe_height: 25 to 24" in names
    noise = "any((part.l1 for parts in norms for part in parts))"
    assert f"releases/pipeline _divide: {noise}: any to all" in names
    again = "same and all(map(_same, again, expected))"
    assert f"auditor/measuring confirm: {again}: without same" in names
    assert "paper/verify/check RunningResult.certify: bound > claimed: 2 * claimed" in names
    assert any("engines/select" in name and name.endswith("DESC to ASC") for name in names)
    assert any("engines/select Selection._condition: SQL" in name and "AND NOT" in name for name in names)
