"""The integers of a sum: one vector for each parameter, all on one device in one piece of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from soundsum.gradients.needs import torch

Shape = tuple[int, ...]


class Totals:
    """`pieces` are what noise is added to and what is reduced; `vectors` are the parameters' parts of them."""

    def __init__(self, pieces: Sequence[Any], shapes: Sequence[Shape]) -> None:
        self.pieces, self.shapes = list(pieces), [tuple(shape) for shape in shapes]
        self.vectors: list[Any] = []
        which, at = 0, 0
        for shape in self.shapes:
            if at == self.pieces[which].numel() and which + 1 < len(self.pieces):
                which, at = which + 1, 0
            size = math.prod(shape)
            self.vectors.append(self.pieces[which][at : at + size])
            at += size

    @classmethod
    def zeros(cls, shapes: Sequence[Shape], devices: Sequence[Any]) -> Totals:
        """One piece for each stretch of parameters on the same device."""
        pieces = []
        for device, stretch in groupby(zip(shapes, devices, strict=True), key=lambda pair: pair[1]):
            size = sum(math.prod(shape) for shape, _ in stretch)
            pieces.append(torch.zeros(size, dtype=torch.int64, device=device))
        return cls(pieces, shapes)

    @property
    def devices(self) -> list[Any]:
        return [vector.device for vector in self.vectors]

    def clone(self) -> Totals:
        return Totals([piece.clone() for piece in self.pieces], self.shapes)

    def emptied(self) -> Totals:
        return Totals([torch.zeros_like(piece) for piece in self.pieces], self.shapes)

    def cpu(self) -> Totals:
        return Totals([piece.cpu() for piece in self.pieces], self.shapes)

    def add(self, other: Totals) -> None:
        for mine, theirs in zip(self.vectors, other.vectors, strict=True):
            mine += theirs.to(mine.device)

    def plus(self, other: Totals) -> Totals:
        """Both together, on the devices of this one."""
        both = self.clone()
        both.add(other)
        return both

    def shaped(self) -> list[Any]:
        return [vector.view(shape) for vector, shape in zip(self.vectors, self.shapes, strict=True)]
