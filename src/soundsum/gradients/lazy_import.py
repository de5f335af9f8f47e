"""Lazy imports of the packages of the extra `torch`.

`import soundsum` and the parts of this room that need no torch (such as the model of the noise) work without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from soundsum.refusals import say_install


class LazyModule:
    """A package that is imported when first asked for an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._package: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # Python asks these of any object; they do not use the package
            raise AttributeError(attribute)
        if self._package is None:
            self._package = need(self._name)
        return getattr(self._package, attribute)


def need(name: str) -> Any:
    """Imports a package, or raises an error that says how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{missing.name} is not installed, and gradients need it; " + say_install("torch"),
            name=missing.name,
        ) from None


torch = LazyModule("torch")
