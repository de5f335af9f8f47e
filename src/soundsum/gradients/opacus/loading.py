"""Batches for private training: Poisson-sampled with exact coins, in slots or as they come.

With slots a batch has one public shape: random slots hold its examples, the others a dummy. For distributed training
rank 0 draws who is where, and each rank gets its part of the slots.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from soundsum.gradients.batch_guard import BatchGuard, Ticket
from soundsum.gradients.opacus.dummies import dummy_like, form, sent
from soundsum.gradients.slots import EMPTY, Slots, coins, place_in_slots
from soundsum.numbers.quoting import quote, say_type
from soundsum.refusals import Reason, RefusedValue


class PaddedDataset(Dataset):
    """A dataset with a dummy at EMPTY."""

    def __init__(self, dataset: Any, dummy: Any) -> None:
        self.dataset, self.dummy = dataset, dummy

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return copy.deepcopy(self.dummy) if index == EMPTY else self.dataset[index]  # may be changed in place


class PoissonBatches(Sampler[list[int]]):
    """Batches of indices: each record in each batch with probability q. A batch without records holds a dummy.

    `tickets` are those of the batches that the newest iterator drew; each iterator has its own.
    """

    def __init__(self, records: int, q: Fraction, guard: BatchGuard) -> None:
        self.records, self.q, self.guard = records, q, guard
        self.tickets: deque[Ticket] = deque()

    @property
    def steps(self) -> int:
        """The number of steps in an epoch, which is public."""
        return max(1, int(1 / self.q))

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[int]]:
        self.tickets = deque()
        return self._parts(self.tickets)

    def draw(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.flatnonzero(coins(self.q, self.records))

    def _parts(self, tickets: deque[Ticket]) -> Iterator[list[int]]:
        for _ in range(self.steps):
            members = self.draw().tolist() or [EMPTY]  # of no rows many layers make no gradient, but an error
            tickets.append(Ticket(next(self.guard.numbers), 0, True, [i != EMPTY for i in members]))
            yield members


class SlotBatches(PoissonBatches):
    """Poisson-sampled batches in slots, whole or in parts of a physical size."""

    def __init__(self, records: int, q: Fraction, slots: Slots, physical: int | None = None, world: Any = None) -> None:
        super().__init__(records, q, slots)
        self.slots, self.physical, self.world = slots, physical, world

    @property
    def rows(self) -> int:
        """The number of rows of a batch on this rank."""
        return self.slots.size // (1 if self.world is None else torch.distributed.get_world_size(self.world))

    @property
    def widths(self) -> list[int]:
        """The number of rows in each part of a batch."""
        width = self.physical or self.rows
        return [min(width, self.rows - first) for first in range(0, self.rows, width)]

    def __len__(self) -> int:
        return self.steps * len(self.widths)

    def _parts(self, tickets: deque[Ticket]) -> Iterator[list[int]]:
        for _ in range(self.steps):
            rows = self._mine(place_in_slots(self.draw(), self.slots.size))
            number, width = next(self.slots.numbers), self.physical or len(rows)
            for part, first in enumerate(range(0, len(rows), width)):
                placed = rows[first : first + width]
                tickets.append(Ticket(number, part, first + width >= len(rows), [i != EMPTY for i in placed]))
                yield placed

    def _mine(self, placed: list[int]) -> list[int]:
        if self.world is None:
            return placed
        box = [placed]
        torch.distributed.broadcast_object_list(box, src=0, group=self.world)
        width = self.slots.size // torch.distributed.get_world_size(self.world)
        rank = torch.distributed.get_rank(self.world)
        return box[0][rank * width : (rank + 1) * width]


class GuardedLoader(DataLoader):
    """Yields the batches and issues a ticket for each, which the optimizer takes.

    Only the newest iterator works: persistent workers would give an older one the batches of the newest.
    """

    def __iter__(self) -> Iterator[Any]:
        loaded = super().__iter__()
        self.batch_sampler.guard.withdraw()  # of an epoch that was left early
        return self._handed_out(loaded, self.batch_sampler.tickets)

    def require_form(self, batch: Any, ticket: Ticket) -> None:
        """Accepts every batch: without slots their shapes vary."""

    def _handed_out(self, loaded: Iterator[Any], tickets: deque[Ticket]) -> Iterator[Any]:
        batches: PoissonBatches = self.batch_sampler
        handed_out: set[int] = set()
        while True:
            if batches.tickets is not tickets:
                raise RefusedValue(
                    None,
                    Reason.CLOSED,
                    "the data loader was iterated anew, which ends this iterator",
                    "go on with the newest",
                )
            try:
                batch = next(loaded)
            except StopIteration:
                break
            ticket = tickets.popleft()
            self.require_form(batch, ticket)
            batches.guard.hand_out(ticket)
            handed_out.add(ticket.batch)
            del ticket  # which may be as long as the batch
            yield batch
        batches.guard.withdraw(handed_out)  # those that were only looked at


class SlotLoader(GuardedLoader):
    """Loads batches in slots: each has the form of a batch of dummies, which is public.

    `form` is that of a whole batch, found before any example was collated: a collate_fn that later gives dummies
    another form remembers examples.
    """

    form: Any
    expected: dict[int, Any]

    def __iter__(self) -> Iterator[Any]:
        batches: SlotBatches = self.batch_sampler
        if form(self.dummies(batches.rows)) != self.form:
            raise RefusedValue(
                "data_loader",
                Reason.UNSOUND,
                "collate_fn gives dummies another shape than at first, so it remembers examples it saw (the longest?)",
                "bring every example to one public shape",
            )
        self.expected = {rows: self._expect(rows) for rows in set(batches.widths)}
        return super().__iter__()

    def dummies(self, rows: int) -> Any:
        """Collates a batch of dummies alone."""
        return self.collate_fn([self.dataset[EMPTY] for _ in range(rows)])

    def _expect(self, rows: int) -> Any:
        return form(sent(self.dummies(rows)) if self.num_workers else self.dummies(rows))

    def require_form(self, batch: Any, ticket: Ticket) -> None:
        if form(batch) != self.expected[len(ticket.present)]:
            raise RefusedValue(
                "data_loader",
                Reason.UNSOUND,
                "a batch's shape or type depends on its examples (padded to the longest?), so one example can change "
                "the gradients of the others",
                "bring every example to one public shape and type, and the dummy too",
            )


def poisson_loader(loader: Any, q: Fraction, guard: BatchGuard, dummy: Any) -> GuardedLoader:
    """Makes a loader without slots, whose batches vary in size."""
    batches = PoissonBatches(len(loader.dataset), q, guard)
    return GuardedLoader(padded(loader, dummy), batch_sampler=batches, collate_fn=loader.collate_fn, **settings(loader))


def padded(loader: Any, dummy: Any) -> PaddedDataset:
    return PaddedDataset(loader.dataset, dummy_like(loader.dataset[0]) if dummy is None else dummy)


def slot_loader(loader: Any, q: Fraction, slots: Slots, dummy: Any, world: Any) -> SlotLoader:
    batches = SlotBatches(len(loader.dataset), q, slots, world=world)
    private = SlotLoader(padded(loader, dummy), batch_sampler=batches, collate_fn=loader.collate_fn, **settings(loader))
    private.form = form(private.dummies(batches.rows))
    return private


def settings(loader: Any) -> dict[str, Any]:
    """Returns the settings of a loader, except those that choose records."""
    names = (
        "num_workers", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "prefetch_factor",
        "persistent_workers",
    )  # fmt: skip
    return {name: getattr(loader, name) for name in names}


class BatchMemoryManager:
    """Opacus's BatchMemoryManager for batches in slots: splits each into parts of a fixed size, summed as integers."""

    def __init__(self, *, data_loader: Any, max_physical_batch_size: int, optimizer: Any) -> None:
        if not isinstance(data_loader, SlotLoader):
            raise RefusedValue(
                "data_loader",
                Reason.WRONG_TYPE,
                "`data_loader` is {given}, and only batches in slots have parts of one size",
                "give the data loader of `make_private()` with slots",
                given=say_type(data_loader),
            )
        if not isinstance(max_physical_batch_size, int):
            raise RefusedValue(
                "max_physical_batch_size",
                Reason.NOT_WHOLE,
                "`max_physical_batch_size={given}` is not a whole number of rows",
                "give 1 or more",
                given=quote(max_physical_batch_size),
            )
        if max_physical_batch_size < 1:
            raise RefusedValue(
                "max_physical_batch_size",
                Reason.TOO_SMALL,
                "`max_physical_batch_size={given}` leaves no rows in a part",
                "give 1 or more",
                given=quote(max_physical_batch_size),
            )
        self.loader, self.physical, self.optimizer = data_loader, max_physical_batch_size, optimizer

    def __enter__(self) -> SlotLoader:
        whole: SlotBatches = self.loader.batch_sampler
        split = SlotBatches(whole.records, whole.q, whole.slots, self.physical, whole.world)
        parts = SlotLoader(
            self.loader.dataset, batch_sampler=split, collate_fn=self.loader.collate_fn, **settings(self.loader)
        )
        parts.form = self.loader.form
        return parts

    def __exit__(self, *_: object) -> None:
        return None
