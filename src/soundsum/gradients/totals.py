"""The integers of a clipped sum: the terms they are released under, their noise, and their sum over ranks.

The integers are one vector for each parameter, and those of one device share one piece of memory. The terms are the
theorem, the norms as steps of a grid, the noise multiplier, and the room that 64 bits leave.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np

from soundsum import native
from soundsum.gradients import cuda
from soundsum.gradients.lazy_import import need, torch
from soundsum.gradients.normal import draw, kernel_table
from soundsum.methods.method import Theorem
from soundsum.numbers.clipping import BITS, Grid
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.refusals import Reason, RefusedValue

Shape = tuple[int, ...]

THEOREM = Theorem(
    "gradients",
    "docs/theorems/gradients.md",
    "adding or removing an example moves the sum of clipped gradients by at most K steps in L2; with round(sigma G), "
    "sigma >= z K, added to it, it is a post-processing of the Gaussian mechanism with noise multiplier z",
)
MOST_SIGMA = 1 << 56

MOST_EXAMPLES = 1 << 38
"""Each adds at most 2^25 to a coordinate, in magnitude. Of all sums up to 2^63 only 2^63 itself wraps around."""


def require_room(examples: int) -> None:
    if examples > MOST_EXAMPLES:
        raise RefusedValue(
            None,
            Reason.TOO_MANY,
            "the sum of more than 2^38 examples might leave its 64-bit integers",
            "release it before that",
        )


def layered(norms: Sequence[Any]) -> tuple[Grid, tuple[int, ...]]:
    """Turns norms of each tensor into limits in steps of one grid, whose own limit bounds the whole gradient."""
    squares = sum((Fraction(Grid.of(norm).sensitivity) ** 2 for norm in norms), Fraction(0))
    if not squares:
        raise RefusedValue(
            "max_norm",
            Reason.EMPTY,
            "`max_norm=[]` has no norms",
            "give one for each tensor, or one for the whole gradient",
        )
    exponent = floor_log2(squares) // 2 - BITS
    limits = tuple(math.floor(Fraction(exact(norm)) / power_of_two(exponent)) for norm in norms)
    return Grid(exponent, math.isqrt(sum(k * k for k in limits) - 1) + 1), limits


def exact_multiplier(noise_multiplier: Any) -> Fraction:
    multiplier = exact(noise_multiplier, "noise_multiplier")
    if is_special(multiplier):
        raise RefusedValue(
            "noise_multiplier",
            Reason.NOT_A_NUMBER,
            "`noise_multiplier={given}` is not a finite number",
            "give one above 0",
            given=quote(noise_multiplier),
        )
    if multiplier <= 0:
        raise RefusedValue(
            "noise_multiplier",
            Reason.TOO_SMALL,
            "`noise_multiplier={given}` is not above 0, and a private sum needs noise",
            "give more; `Sum.sum()` returns the integers without any",
            given=quote(noise_multiplier),
        )
    return Fraction(multiplier)


class Totals:
    """The integers of a sum. Noise and reductions work on `pieces`; `vectors` are the parameters' parts of them."""

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
        """Makes one piece for each stretch of parameters on the same device."""
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
        """Returns the sum of both, on the devices of this one."""
        both = self.clone()
        both.add(other)
        return both

    def shaped(self) -> list[Any]:
        return [vector.view(shape) for vector, shape in zip(self.vectors, self.shapes, strict=True)]


def add_noise(totals: Sequence[Any], sigma: int, key: bytes) -> None:
    """Adds round(sigma G) to every integer, modulo 2^64.

    Coordinates are numbered through all tensors, so the noise under a key is the same on every device and however the
    coordinates are divided among threads. Draws that a kernel leaves undecided are made exactly (normal.py).
    """
    first = 0
    for total in totals:
        if total.device.type == "cuda" and cuda.available():
            undecided = cuda.add_noise(total, key, kernel_table(), sigma, first)
            finish(total, undecided, key, sigma, first)
        else:
            here = total if total.device.type == "cpu" else torch.zeros(total.shape, dtype=torch.int64)
            undecided = native.add_rounded_normal(
                key, np.array(kernel_table(), np.uint64), sigma, first, here.numpy(), torch.get_num_threads()
            )
            finish(here, undecided, key, sigma, first)
            if here is not total:
                total += here.to(total.device)
        first += total.numel()


def finish(total: Any, undecided: Sequence[int], key: bytes, sigma: int, first: int) -> None:
    """Adds the draws that a kernel left undecided."""
    for coordinate in undecided:
        value = draw(key, coordinate, sigma) % (1 << 64)
        total[coordinate - first] += value - (1 << 64) if value >> 63 else value


def is_first_rank(group: Any) -> bool:
    return bool(need("torch.distributed").get_rank(group) == 0)


def ranks_of(group: Any) -> tuple[int, ...]:
    """Lists the ranks of a group this process is in: for any other group torch silently does nothing."""
    distributed = need("torch.distributed")
    if distributed.get_rank(group) < 0:
        raise RefusedValue(
            "group",
            Reason.MISMATCH,
            "this process is not in the group, so nothing would be added",
            "give a group that it is in",
        )
    return tuple(distributed.get_process_group_ranks(group))


def add_over_ranks(totals: Sequence[Any], group: Any) -> None:
    """Replaces each tensor by its sum over all ranks: exact in any order, wrap-around included."""
    distributed = need("torch.distributed")
    for total in totals:
        distributed.all_reduce(total, op=distributed.ReduceOp.SUM, group=group)


def count_over_ranks(count: int, group: Any) -> int:
    counted = torch.tensor([count], dtype=torch.int64, device=_group_device(group))
    add_over_ranks([counted], group)
    return int(counted)


def require_same_terms(terms: str, group: Any) -> None:
    """Raises on every rank if any rank's sum has other terms."""
    distributed = need("torch.distributed")
    digest = int.from_bytes(hashlib.sha256(terms.encode()).digest()[:7])
    both = torch.tensor([digest, -digest], dtype=torch.int64, device=_group_device(group))
    distributed.all_reduce(both, op=distributed.ReduceOp.MAX, group=group)
    if int(both[0]) != -int(both[1]):
        raise RefusedValue(
            None,
            Reason.MISMATCH,
            "the ranks' sums have different norms, noise or parameters",
            "make all of them with the same",
        )


def _group_device(group: Any) -> Any:
    distributed = need("torch.distributed")
    on_gpu = "nccl" in distributed.get_backend(group)
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
