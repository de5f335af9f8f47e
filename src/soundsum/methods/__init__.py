"""Every way to add, by name. Each file holds one, with its theorem, its model and its kernel on one screen."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from soundsum.methods.checked import Checked
from soundsum.methods.grid import OnGrid
from soundsum.methods.iterated import Iterated
from soundsum.methods.kahan import Kahan
from soundsum.methods.method import METHODS, Method, Theorem
from soundsum.methods.modular import Modular
from soundsum.methods.numpy_pairwise import NumpyPairwise
from soundsum.methods.pairwise import Pairwise
from soundsum.methods.ranks import Ranks
from soundsum.methods.saturating import Saturating
from soundsum.methods.shifted import Shifted
from soundsum.methods.split import Split
from soundsum.methods.toward_zero import TowardZero
from soundsum.methods.wide import Wide
from soundsum.numbers.types import number_type
from soundsum.registry import import_all

import_all(__name__, __path__)  # whatever else lies in this folder


def parameters(label: str, method: Method) -> dict[str, Any]:
    """The parameters a method was made with, JSON-ready; empty for those that METHODS has by this label."""
    return {} if METHODS.get(label) == method else _fields(method)


def make_method(label: str, given: dict[str, Any]) -> Method | str:
    """The method of this label, or one made with these parameters."""
    return _make(given) if given else label


def _fields(method: Method) -> dict[str, Any]:
    return {"name": method.name, **{f.name: _plain(getattr(method, f.name)) for f in fields(cast(Any, method))}}


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return _fields(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _make(given: dict[str, Any]) -> Method:
    kinds: dict[str, type[Any]] = {Ranks.name: Ranks} | {method.name: type(method) for method in METHODS.values()}
    made = {name: _make(value) if isinstance(value, dict) else value for name, value in given.items() if name != "name"}
    if made.get("accumulator") is not None:
        made["accumulator"] = number_type(made["accumulator"])
    method: Method = kinds[given["name"]](**made)
    return method


__all__ = [
    "METHODS",
    "Checked",
    "Iterated",
    "Kahan",
    "Method",
    "Modular",
    "NumpyPairwise",
    "OnGrid",
    "Pairwise",
    "Ranks",
    "Saturating",
    "Shifted",
    "Split",
    "Theorem",
    "TowardZero",
    "Wide",
    "make_method",
    "parameters",
]
