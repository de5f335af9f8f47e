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


@cache
def run(name):
    for public in soundsum.__all__:  # imported when asked for, and examples do not ask
        getattr(soundsum, public)
    return doctest.testmod(importlib.import_module(name))


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    assert run(name).failed == 0


def test_there_are_examples():
    assert sum(run(name).attempted for name in MODULES) > 0
