"""The packages of the extra `soundsum[torch]`, imported when something of them is first used.

So `import soundsum` and the parts of this room that need no torch (the model, its noise) work without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A package that is imported when first asked for an attribute."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._package: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what Python asks of any object is no use of the package
            raise AttributeError(attribute)
        if self._package is None:
            self._package = need(self._name)
        return getattr(self._package, attribute)


def need(name: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{missing.name} is not installed; gradients need it: pip install 'soundsum[torch]'", name=missing.name
        ) from None


torch = LazyModule("torch")
