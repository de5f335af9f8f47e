"""Every example in a docstring gives what it says."""

import doctest
import importlib
import pkgutil
from functools import cache

import pytest

import soundsum

MODULES = ["soundsum"] + [
    module.name
    for module in pkgutil.walk_packages(soundsum.__path__, "soundsum.")
    if not module.name.endswith(("._kernels", ".__main__")) and ".gradients.opacus." not in module.name  # needs Opacus
]


@pytest.fixture(scope="module")
def run(fix_draws):
    @cache
    def examine(name):
        for public in soundsum.__all__:  # imported when asked for, and examples do not ask
            getattr(soundsum, public)
        with fix_draws(name):
            return doctest.testmod(importlib.import_module(name))

    return examine


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(run, name):
    assert run(name).failed == 0


def test_there_are_examples(run):
    assert sum(run(name).attempted for name in MODULES) > 0
