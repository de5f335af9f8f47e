"""A package that is not installed is missed when it is used, and not when Python looks at what stands for it."""

import inspect

import pytest

from soundsum.gradients.lazy_import import LazyModule

NOWHERE = LazyModule("soundsum_knows_no_such_package")


def test_python_may_ask_anything_of_it():
    assert inspect.unwrap(NOWHERE) is NOWHERE
    assert not hasattr(NOWHERE, "__wrapped__")


def test_its_use_says_how_to_get_it():
    with pytest.raises(
        ModuleNotFoundError, match=r"is not installed, and gradients need it; .*pip install '\.\[torch\]'"
    ):
        NOWHERE.Tensor  # noqa: B018
