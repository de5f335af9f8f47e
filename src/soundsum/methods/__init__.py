"""Every way to add, by name. Each file holds one, with its theorem, its model and its kernel on one screen."""

from __future__ import annotations

from soundsum.methods.checked import Checked
from soundsum.methods.grid import OnGrid
from soundsum.methods.iterated import Iterated
from soundsum.methods.kahan import Kahan
from soundsum.methods.method import Method, Theorem
from soundsum.methods.modular import Modular
from soundsum.methods.numpy_pairwise import NumpyPairwise
from soundsum.methods.pairwise import Pairwise
from soundsum.methods.saturating import Saturating
from soundsum.methods.shifted import Shifted
from soundsum.methods.split import Split
from soundsum.methods.toward_zero import TowardZero
from soundsum.methods.wide import Wide

METHODS: dict[str, Method] = {
    method.label: method
    for method in (
        Wide(),
        OnGrid(),
        OnGrid(rounding="randomised"),
        Checked(),
        Modular(),
        Saturating(),
        Split(),
        Split("modular"),
        Split("checked"),
        Iterated(),
        Iterated(split=True),
        Pairwise(),
        Pairwise(split=True),
        NumpyPairwise(),
        NumpyPairwise(split=True),
        Kahan(),
        Kahan(split=True),
        TowardZero(),
        Shifted(),
        Shifted(Pairwise()),
        Shifted(NumpyPairwise()),
        Shifted(Kahan()),
        Shifted(TowardZero()),
    )
}
"""The methods a plan chooses from; others can be made with parameters of their own."""

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
    "Saturating",
    "Shifted",
    "Split",
    "Theorem",
    "TowardZero",
    "Wide",
]
