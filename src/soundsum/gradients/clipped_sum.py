"""A private sum of gradients: clipped and added as integers, released once with the rounded Gaussian.

docs/theorems/gradients.md has the proof. The integers are the same in any order and with any microbatches, shards and
devices; the release is a post-processing of the Gaussian mechanism with the noise multiplier asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from soundsum import randomness
from soundsum.gradients.adding import PLAIN, add_batch, copies_of, limits_of, matrices, tensors_of, work_out
from soundsum.gradients.exclusive import Exclusive, exclusively, new_file, read_once
from soundsum.gradients.lazy_import import torch
from soundsum.gradients.normal import fresh_key
from soundsum.gradients.totals import (
    MOST_SIGMA,
    THEOREM,
    Shape,
    Totals,
    add_noise,
    add_over_ranks,
    count_over_ranks,
    exact_multiplier,
    is_first_rank,
    layered,
    ranks_of,
    require_room,
    require_same_terms,
)
from soundsum.numbers.clipping import Grid
from soundsum.numbers.formatting import number
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue

if TYPE_CHECKING:
    from soundsum.methods.method import Theorem

SAVED = {"terms", "examples", "parts", "pieces", "shapes"}
"""The keys in the file of a sum."""


@dataclass(frozen=True)
class Noisy:
    """A released sum: integers with noise, in steps of the grid. Anything computed from them is equally private."""

    totals: Totals
    step: Fraction
    sigma: int

    @property
    def integers(self) -> list[Any]:
        """One int64 tensor for each parameter."""
        return self.totals.shaped()

    def floats(self, dtype: Any = None) -> list[Any]:
        """Returns the sum in the gradients' units, as float32 or another float type (16-bit: by way of float32)."""
        dtype = dtype or torch.float32
        working = dtype if dtype == torch.float64 else torch.float32
        pieces = [piece.to(working).mul_(float(self.step)).to(dtype) for piece in self.totals.pieces]
        return Totals(pieces, self.totals.shapes).shaped()


class Sum(Exclusive):
    """The sum of per-example gradients, each clipped to an L2 norm. Threads that share one take turns.

    max_norm: the norm each example's whole gradient is clipped to; a list clips each tensor to a norm of its own.
    noise_multiplier: the noise's standard deviation over the sensitivity, as accountants of the Gaussian mechanism take
        it.
    """

    def __init__(self, max_norm: Any, noise_multiplier: Any) -> None:
        super().__init__()
        self.layers: tuple[int, ...] | None = None
        if isinstance(max_norm, Sequence) and not isinstance(max_norm, str):
            self.grid, self.layers = layered(max_norm)
        else:
            self.grid = Grid.of(max_norm)
        self.noise_multiplier = exact_multiplier(noise_multiplier)
        self.sigma = math.ceil(self.noise_multiplier * self.grid.limit)
        if self.sigma >= MOST_SIGMA:
            raise RefusedValue(
                "noise_multiplier",
                Reason.TOO_LARGE,
                "`noise_multiplier={given}` is more noise than 64 bits hold",
                "give less than 2^31",
                given=quote(noise_multiplier),
            )
        self.examples = 0
        self.parts = {randomness.random_bytes(16).hex()}
        self._totals: Totals | None = None
        self._closed = ""
        self._reduced: tuple[int, ...] = ()  # the ranks whose examples are in it, after all_reduce

    @property
    def sensitivity(self) -> Fraction:
        """The most one example can move the sum, in L2."""
        return self.grid.sensitivity

    @property
    def theorem(self) -> Theorem:
        return THEOREM

    def add(self, gradients: Any, limits: Any = None, present: Sequence[bool] | None = None) -> None:
        """Adds a batch, or a microbatch of one: for each parameter a tensor with one row for each example.

        limits: for each example and tensor, how many steps that part may have (an integer tensor; see `limits`), which
        must depend on that example alone. Without it the whole gradient is clipped, or each tensor to its norm.
        present: which rows hold an example (see `Slots`); the others hold a dummy and count as zero.

        The tensors are copied first: a gradient that changed after it was measured would not be clipped.
        """
        self.consume(copies_of(gradients), limits, present)

    @exclusively
    def consume(self, gradients: Any, limits: Any = None, present: Sequence[bool] | None = None) -> None:
        """Adds a batch without copying it: the tensors are read twice, so nobody else may change them meanwhile."""
        self._require_open()
        if self._reduced:
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "after `all_reduce()` an example that one rank adds would not be in the others' sums",
                "add every example before it",
            )
        tensors = tensors_of(gradients)
        shapes = [tuple(g.shape[1:]) for g in tensors]
        if self._totals is not None and shapes != self._totals.shapes:
            raise RefusedValue(
                "gradients",
                Reason.MISMATCH,
                "gradients of shapes {given} do not fit the sum's {expected}",
                "add those of the same parameters",
                given=str(shapes),
                expected=str(self._totals.shapes),
            )
        if self.layers is not None and len(self.layers) != len(tensors):
            raise RefusedValue(
                "gradients",
                Reason.MISMATCH,
                "{tensors} tensors do not fit the {norms} norms of the sum",
                "give one norm for each tensor",
                tensors=len(tensors),
                norms=len(self.layers),
            )
        examples = len(tensors[0])
        present = None if present is None else list(present)
        require_room(self.examples + examples)
        if present is not None and len(present) != examples:
            raise RefusedValue(
                "present",
                Reason.MISMATCH,
                "`present` does not have one entry for each row",
                "give as many as the batch has rows",
            )
        if limits is not None:
            blocks, chosen = _apart(tensors), limits_of(limits, examples, len(tensors), self.grid.limit)
        elif self.layers is not None:
            blocks, chosen = _apart(tensors), [[limit] * examples for limit in self.layers]
        else:
            blocks, chosen = [list(range(len(tensors)))], [[self.grid.limit] * examples]
        if present is not None:
            chosen = [[k if here else 0 for k, here in zip(row, present, strict=True)] for row in chosen]
        found = self._scratch(shapes, [g.device for g in tensors])
        if examples:
            add_batch(matrices(tensors), blocks, chosen, self.grid, found.vectors)
        if self._totals is not None and found.devices != self._totals.devices:
            found = self._totals.plus(found)
        try:  # whatever failed before this changed nothing
            self._totals, self.examples = found, self.examples + examples
        except BaseException:
            self._closed = "was interrupted while a batch was added, which may be in it or not"
            raise

    def limits(self, norms: Any) -> Any:
        """Turns float norms of each example's parts, however computed, into limits for `add`: their shares of K."""
        share = norms.double().nan_to_num(0.0, 0.0, 0.0).clamp(min=0)
        share = share / share.amax(1, keepdim=True).clamp(min=torch.finfo(torch.float64).tiny)
        squares = torch.zeros_like(share[:, 0])
        for part in share.unbind(1):  # in one order: torch's own sum takes another where there is one row
            squares = squares + part * part
        whole = squares.sqrt().clamp(min=torch.finfo(torch.float64).tiny)[:, None]
        steps = (share / whole * (self.grid.limit * (1 - 2.0**-24))).floor().to(torch.int64)
        fits = (steps * steps).sum(1, keepdim=True) <= self.grid.limit**2
        return torch.where(fits, steps, 0)

    def sum(self) -> list[Any]:
        """Returns the integers without noise, in steps of the grid. Not private: for tests and the data's owner."""
        return self._known().clone().shaped()

    def running(self) -> list[Any]:
        """Returns the integers without noise or copy, for reading only; later batches do not show in them."""
        return self._known().shaped()

    @exclusively
    def release(self, group: Any = None) -> Noisy:
        """Releases the sum with noise. It works once: a second draw of noise on the same sum would weaken the first.

        group: a torch.distributed process group, all of whose ranks call this with their part of the sum. Rank 0 draws
        the noise before the integers are reduced, and all ranks get the same ones.
        """
        self._require_open()
        if self._reduced and group is None:
            raise RefusedValue(
                "group",
                Reason.MISSING,
                "after `all_reduce()` each rank holds the whole sum, and would draw noise of its own",
                "call `release(group)` on every rank",
            )
        totals = self._known()
        if group is not None:
            ranks = ranks_of(group)
            if self._reduced and ranks != self._reduced:
                raise RefusedValue(
                    "group",
                    Reason.MISMATCH,
                    "the sum was reduced over the ranks {reduced} and this group has {given}, so it would be released "
                    "more than once",
                    "give the group of `all_reduce()`",
                    reduced=str(list(self._reduced)),
                    given=str(list(ranks)),
                )
            require_same_terms(self._digest(), group)
            require_room(self.examples if self._reduced else count_over_ranks(self.examples, group))
        self._closed = "has been released"
        first = group is None or is_first_rank(group)
        noisy = totals.clone() if first or not self._reduced else totals.emptied()
        if first:
            add_noise(noisy.pieces, self.sigma, fresh_key())
        if group is not None:
            add_over_ranks(noisy.pieces, group)
        return Noisy(noisy, self.grid.step, self.sigma)

    @exclusively
    def merge(self, other: Sum) -> None:
        """Adds a sum over other examples to this one; the other can no longer be used."""
        self._require_open()
        other._require_open()
        if self._reduced or other._reduced:
            raise RefusedValue(
                None, Reason.CLOSED, "after `all_reduce()` a sum holds other ranks' examples too", "merge before it"
            )
        if self.parts & other.parts:
            raise RefusedValue(
                "other",
                Reason.REPEATED,
                "the two sums have examples in common, which would count twice",
                "merge each sum once",
            )
        theirs = other._known()
        if self._totals is not None and theirs.shapes != self._totals.shapes:
            raise RefusedValue(
                "other",
                Reason.MISMATCH,
                "sums of shapes {given} and {expected} are of different parameters",
                "merge sums of the same",
                given=str(theirs.shapes),
                expected=str(self._totals.shapes),
            )
        if self._terms() != other._terms():
            raise RefusedValue(
                "other", Reason.MISMATCH, "the two sums have different norms or noise", "make both with the same"
            )
        require_room(self.examples + other.examples)
        both = theirs.clone() if self._totals is None else self._totals.plus(theirs)
        other._closed = "has been merged into another"  # first: an interrupt may lose examples, and counts none twice
        self.parts, self.examples, self._totals = self.parts | other.parts, self.examples + other.examples, both

    @exclusively
    def all_reduce(self, group: Any = None) -> None:
        """Adds the integers of all ranks of a group (None: all ranks there are): each then has the whole sum."""
        self._require_open()
        if self._reduced:
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "`all_reduce()` was called before, and a second call would count every example once per rank",
                "call it once",
            )
        whole, ranks = self._known().clone(), ranks_of(group)
        require_same_terms(self._digest(), group)
        examples = count_over_ranks(self.examples, group)
        require_room(examples)
        add_over_ranks(whole.pieces, group)
        self._reduced, self.examples, self._totals = ranks, examples, whole  # no rank releases it alone from here on

    @exclusively
    def save(self, path: Any) -> None:
        """Writes the integers, without noise, to a new file, for `Sum.load` and `merge` elsewhere.

        Only its owner can read the file. This sum can no longer be used.
        """
        self._require_open()
        if self._reduced:
            raise RefusedValue(
                None, Reason.CLOSED, "after `all_reduce()` a sum holds other ranks' examples too", "save before it"
            )
        totals = self._known().cpu()
        state = {"terms": self._terms(), "examples": self.examples, "parts": sorted(self.parts),
                 "pieces": totals.pieces, "shapes": totals.shapes}  # fmt: skip
        with new_file(path) as file:
            self._closed = "has been saved, for another to merge"  # whatever happens while it is written
            torch.save(state, file)

    @classmethod
    def load(cls, path: Any) -> Sum:
        """Loads a saved sum and deletes the file, from which a second sum could be loaded and released too."""
        state = read_once(path, SAVED)
        exponent, limit, layers, multiplier = state["terms"]
        loaded = cls(1, multiplier)
        loaded.grid, loaded.layers = Grid(exponent, limit), None if layers is None else tuple(layers)
        loaded.sigma = math.ceil(loaded.noise_multiplier * limit)
        loaded.examples, loaded.parts = state["examples"], set(state["parts"])
        loaded._totals = Totals(state["pieces"], state["shapes"])
        return loaded

    def explain(self) -> str:
        """Explains the guarantee in words."""
        parts = "its gradient" if self.layers is None else f"each of its {len(self.layers)} tensors' gradients"
        return (
            f"One example moves this sum by at most {number(self.sensitivity)} in L2 ({self.grid.limit:,} steps of "
            f"{number(self.grid.step)}): {parts} becomes integers that are clipped exactly, and the integers are added "
            f"exactly. The release adds round(sigma G) to each, with sigma = {self.sigma:,} steps and G standard "
            f"normal, so it is a post-processing of the Gaussian mechanism with noise multiplier "
            f"{number(self.noise_multiplier)}, and any accountant's number for that holds. The noise is made by "
            "ChaCha20 from 256 bits of the operating system's randomness, fresh for each release. Condition: each "
            "example's gradient depends on that example, on public state and on independent randomness alone "
            "(Slots sees to it). Proof: docs/theorems/gradients.md."
        )

    def __reduce__(self) -> NoReturn:
        raise RefusedType(
            None,
            Reason.UNSUPPORTED,
            "a Sum is not copied or pickled, as the copy could be released too",
            "use `save()`, `load()` and `merge()`",
        )

    def __repr__(self) -> str:
        state = f", {self._closed}" if self._closed else ""
        return f"Sum(max_norm={float(self.sensitivity):g}, noise_multiplier={float(self.noise_multiplier):g}{state})"

    def _scratch(self, shapes: list[Shape], devices: list[Any]) -> Totals:
        """Makes the totals a batch is added to: a copy of those so far, or zeros if its devices have none."""
        if self._totals is not None and devices == self._totals.devices:
            return self._totals.clone()
        return Totals.zeros(shapes, devices)

    def _terms(self) -> tuple[int, int, tuple[int, ...] | None, str]:
        return self.grid.exponent, self.grid.limit, self.layers, str(self.noise_multiplier)

    def _digest(self) -> str:
        return str((self._terms(), self._known().shapes, self._reduced))

    def _known(self) -> Totals:
        if self._totals is None:
            raise RefusedValue(
                None, Reason.EMPTY, "the sum has no shape yet", "add a batch first (one of no examples will do)"
            )
        return self._totals

    def _require_open(self) -> None:
        if self._closed:
            raise RefusedValue(
                None, Reason.CLOSED, "this sum {closed}", "make a new Sum for the next batch", closed=self._closed
            )


def clip(gradients: Any, max_norm: Any) -> Any:
    """Computes each example's integers, in steps of `Grid.of(max_norm)`, as `Sum` would add them; for inspection.

    gradients: a tensor, or one for each parameter; the result has the same structure, as int64.
    """
    grid, tensors = Grid.of(max_norm), copies_of(gradients)
    rows = matrices(tensors)
    used = [i for i, g in enumerate(rows) if g.numel()]
    if not used:
        found = [torch.zeros(g.shape, dtype=torch.int64, device=g.device) for g in tensors]
    else:
        (factors,) = work_out(rows, [used], [[grid.limit] * len(rows[0])], grid, PLAIN)
        found = [PLAIN.integers(g, factors).view(t.shape) for g, t in zip(rows, tensors, strict=True)]
    return found[0] if isinstance(gradients, torch.Tensor) else found


def _apart(tensors: Sequence[Any]) -> list[list[int]]:
    return [[i] for i in range(len(tensors))]
