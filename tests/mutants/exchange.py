"""Functions changed in place, in a process that has imported the package and its tests: no import for every mutant.

That is the same as importing the changed module, unless the change is seen while it is imported: where it is outside of
functions, or in one that was called meanwhile. Those mutants are left to be imported (`run`).
"""

from __future__ import annotations

import ast
import gc
import io
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from tests.mutants.generate import SOURCE, UNCHANGED, Mutant, mutated_tree

Where = tuple[str, str, int]
"""A function: its file, its name and its first line."""

Functions = list[tuple[FunctionType, CodeType]]
"""Functions to be changed, with their code."""


class Loaded:
    """The package with some tests, imported: its functions, and which of them were called on the way."""

    def __init__(self, options: Sequence[str], files: Sequence[str]) -> None:
        self.called: set[Where] = set()
        sys.setprofile(self._note)
        try:
            with redirect_stdout(io.StringIO()):
                code = pytest.main([*options, "--collect-only", *(name for name in files if name != "verify")])
            if "verify" in files:
                import soundsum.paper.verify

                assert soundsum.paper.verify
        finally:
            sys.setprofile(None)
        if code:
            raise RuntimeError("the tests cannot be collected: mend that first")
        self.functions: dict[Where, list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename.startswith(str(SOURCE)):
                self.functions[_where(found.__code__)].append(found)
        gc.freeze()

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            self.called.add(_where(frame.f_code))

    def find(self, mutant: Mutant) -> Functions | None:
        """What is to be changed; None where the change has to be imported."""
        if mutant.number == UNCHANGED:
            return []
        old, new = (compile_changed(mutant.module, number) for number in (UNCHANGED, mutant.number))
        found = list(find_changed(old, new))
        if any(_where(code) in self.called for outer, _ in found for code in _inside(outer)):
            return None
        functions = [(function, code) for _, code in found for function in self.functions[_where(code)]]
        fits = all(function.__code__.co_freevars == code.co_freevars for function, code in functions)
        return functions if functions and fits else None


def compile_changed(module: str, number: int) -> CodeType:
    tree: ast.Module = mutated_tree(module, number)
    return compile(tree, str(SOURCE / f"{module}.py"), "exec")


def _where(code: CodeType) -> Where:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def find_changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Functions that differ, and bodies of classes or modules that do so outside of functions, as found in both."""
    if old == new:
        return
    is_function = bool(old.co_flags & 1)  # CO_OPTIMIZED: neither a module nor a class
    inner = [[item for item in code.co_consts if isinstance(item, CodeType)] for code in (old, new)]
    same_outside = _without_inner(old) == _without_inner(new) and len(inner[0]) == len(inner[1])
    if is_function or not same_outside:
        yield old, new
        return
    for before, after in zip(*inner, strict=True):
        yield from find_changed(before, after)


def _without_inner(code: CodeType) -> CodeType:
    return code.replace(co_consts=tuple(None if isinstance(item, CodeType) else item for item in code.co_consts))


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _inside(item)
