"""Registries of what other packages can add to soundsum: statistics, noises, methods, attack families, engines.

A registry holds what its own package has (`import_all` finds every file there, so a new one needs no list edited) and
whatever else registers itself. An unknown name is refused with the names that are known.
"""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from importlib import import_module
from typing import TypeVar

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue

T = TypeVar("T")
R = TypeVar("R")


class Registry(Mapping[str, T]):
    """Things by name: in a given order, then as they came.

    >>> registry = Registry[type]("fruit")
    >>> @registry.register
    ... class Apple:
    ...     name = "apple"
    >>> registry.find("pear")
    Traceback (most recent call last):
        ...
    soundsum.refusals.RefusedValue: fruit='pear' is not one of apple; use one of these
    """

    def __init__(
        self,
        what: str,
        key: str = "name",
        first: Sequence[str] = (),
        check: Callable[[T], None] = lambda thing: None,
    ) -> None:
        """`key` is the attribute that names a thing; `first` are names that come before others, where they are there.

        `check` refuses what is not complete.
        """
        self.what, self._key, self._check = what, key, check
        self._places = {name: place for place, name in enumerate(first)}
        self._things: dict[str, T] = {}

    def register(self, thing: R) -> R:
        """Add a thing; also as a decorator. A name stands for one thing."""
        name = getattr(thing, self._key, None)
        if not isinstance(name, str) or not name:
            raise RefusedType(
                self.what,
                Reason.MISSING,
                "{given} has no {key} to be known by",
                "give it one, a string",
                given=quote(thing),
                key=self._key,
            )
        if name in self._things:
            raise RefusedValue(
                self.what,
                Reason.EXISTS,
                "`{option}={given}` is there already, as {thing}",
                "choose another name",
                given=quote(name),
                thing=quote(self._things[name]),
            )
        self._check(thing)  # type: ignore[arg-type]
        things = {**self._things, name: thing}
        self._things = dict(sorted(things.items(), key=lambda item: self._places.get(item[0], len(self._places))))  # type: ignore[arg-type]
        return thing

    def forget(self, name: str) -> None:
        """Take an entry back, as a test does."""
        del self._things[name]

    def find(self, name: object) -> T:
        """The thing of this name; refuses other names, with those there are."""
        if isinstance(name, str) and name in self._things:
            return self._things[name]
        near = difflib.get_close_matches(name, self._things, 1) if isinstance(name, str) else []
        if near:
            raise RefusedValue(
                self.what,
                Reason.UNKNOWN,
                "`{option}={given}` is not one of {names}",
                "did you mean {near}?",
                given=quote(name),
                names=", ".join(self._things),
                near=quote(near[0]),
            )
        raise RefusedValue(
            self.what,
            Reason.UNKNOWN,
            "`{option}={given}` is not one of {names}",
            "use one of these",
            given=quote(name),
            names=", ".join(self._things),
        )

    def __getitem__(self, name: str) -> T:
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)

    def values(self) -> ValuesView[T]:
        return self._things.values()


def import_all(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that each registers its entries."""
    for module in pkgutil.iter_modules(path):
        import_module(f"{package}.{module.name}")
