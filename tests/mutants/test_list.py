"""The changes are generated, each has a name of its own, and whatever is argued equivalent is one of them."""

import ast
import tomllib

import pytest
from tests.mutants.__main__ import EQUIVALENT, ROOMS, modules_of
from tests.mutants.exchange import compile_changed, find_changed
from tests.mutants.generate import UNCHANGED, find_mutants, mutated_tree

MODULES = [module for room in ROOMS for module in modules_of(room)]


def test_every_mutant_has_a_name_of_its_own():
    names = [mutant.name for module in MODULES for mutant in find_mutants(module)]
    assert len(names) == len(set(names)) > 2000


def test_every_argument_is_about_a_mutant_and_says_why():
    arguments = tomllib.loads(EQUIVALENT.read_text())
    names = {mutant.name for module in MODULES for mutant in find_mutants(module)}
    assert set(arguments) <= names
    assert all(len(reason) > 20 for reason in arguments.values())


@pytest.mark.parametrize("module", ["methods/checked", "privacy/units"])
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


def test_the_named_ones_are_among_them():
    """What an independent reading found alive: the permutation of checked, a ceil, NumPy's heights, its 25."""
    names = {
        mutant.name
        for module in ("methods/checked", "planner", "methods/numpy_pairwise")
        for mutant in find_mutants(module)
    }
    assert "methods/checked Checked.steps: ('permute',): without permute" in names
    assert "planner Scheme.__post_init__: math.ceil to floor" in names
    assert "methods/numpy_pairwise height: 2 to 1" in names
    assert "methods/numpy_pairwise safe_height: 25 to 24" in names
