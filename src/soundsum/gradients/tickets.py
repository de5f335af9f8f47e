"""Which batch a step is on: the data loader hands out a ticket with each batch, and the optimizer takes it once.

What a model still holds of an earlier batch (gradients of its examples, activations, graphs) must not get into a step
on a later one, which is accounted for as a step on that one alone. So it is forgotten with every new ticket.
"""

from __future__ import annotations

import os
from collections.abc import Set
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NoReturn

from soundsum.gradients.needs import torch


class Activations(list[Any]):
    """What a layer was called on: rows of examples, which are not written to a file with the model, nor copied."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Activations, ()


@dataclass(frozen=True)
class Ticket:
    """What one part of a batch is: `batch` numbers the draws of coins, `present` says which rows hold an example."""

    batch: int
    part: int
    last: bool
    present: list[bool]


class Tickets:
    """Those of one model, in the process that made them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.numbers = count()
        self.waiting: list[Ticket] = []  # of batches that were fetched and not trained on
        self._process = os.getpid()
        self._moment = 0  # how often it changed what is waiting

    def __getstate__(self) -> dict[str, Any]:
        """A model that is saved has these in its hooks; which rows hold an example is not for a file."""
        return {**self.__dict__, "waiting": []}

    def watch(self, model: Any) -> None:
        """From now on a backward pass through what the model computed before the newest batch is an error."""
        self.model = model
        forget(model)
        for layer in _layers(model):
            layer.register_forward_hook(self._remember)
            if hasattr(model, "hooks_enabled") and layer._backward_hooks:  # those whose gradients Opacus takes
                layer.register_full_backward_pre_hook(self._require_activations)

    def hand_out(self, ticket: Ticket) -> None:
        """A loader says what it gives next."""
        self.waiting.append(ticket)
        self._forget()

    def withdraw(self, batches: Set[int] | None = None) -> None:
        """The batches of these numbers, or all that were fetched, will not be trained on any more."""
        self.waiting = [] if batches is None else [ticket for ticket in self.waiting if ticket.batch not in batches]
        self._forget()

    def require_one(self) -> None:
        """It must be known which batch is being trained on."""
        if os.getpid() != self._process:
            raise ValueError(
                "this process was forked after make_private, and both would step on the same batches; call "
                "make_private in the process that trains"
            )
        if not self.waiting:
            raise ValueError(
                "it is not known which batch this is and which rows are dummies: take each batch from the data loader "
                "that make_private gave, one step for each (soundsum.gradients.opacus.BatchMemoryManager splits them)"
            )
        if len(self.waiting) > 1:
            raise ValueError(
                f"{len(self.waiting)} batches were fetched and not stepped on, so it is not known whose gradients "
                "these are: step on each before the next is fetched; optimizer.drop() gives up those fetched so far"
            )

    def take(self, rows: int) -> Ticket:
        """What the batch is that was just trained on; each is asked for once."""
        self.require_one()
        ticket = self.waiting.pop()
        if len(ticket.present) != rows:
            raise ValueError(
                f"{rows} rows of gradients for a batch of {len(ticket.present)}: train on whole batches, with a model "
                "that keeps one row for each example"
            )
        return ticket

    def _forget(self) -> None:
        self._moment += 1
        if self.model is not None:
            forget(self.model)

    def _remember(self, layer: Any, inputs: Any, outputs: Any) -> None:
        if torch._C._current_graph_task_id() != -1:
            self._forget()
            raise ValueError(
                "the model was called within a backward pass (torch.utils.checkpoint?), where it is not known which "
                "batch it is called on; leave checkpointing out, and use soundsum.gradients.opacus.BatchMemoryManager "
                "where memory is short"
            )
        require = partial(self._require_newest, self._moment)
        for x in outputs if isinstance(outputs, tuple) else (outputs,):
            if isinstance(x, torch.Tensor) and x.requires_grad:
                x.register_hook(require)

    def _require_newest(self, moment: int, gradient: Any) -> None:
        if moment != self._moment:
            self._refuse()

    def _require_activations(self, layer: Any, gradients: Any) -> None:
        """Opacus pairs passes by their number alone: where there are too many, some were paired with another's."""
        if self.model.hooks_enabled and not layer.activations:
            self._refuse()

    def _refuse(self) -> NoReturn:
        self._forget()
        raise ValueError(
            "this backward pass goes through what the model computed for an earlier batch (or while it was not "
            "training), which would get into the step on another; call the model anew on each batch that is fetched"
        )


def module_of(model: Any) -> Any:
    """The module in Opacus's wrapper, which need not be one itself; any other as it is."""
    return getattr(model, "_module", model)


def forget(model: Any) -> None:
    """What earlier passes left with the hooks: gradients, and activations that no backward pass has used."""
    for p in module_of(model).parameters():
        forget_gradients(p)
    for layer in _layers(model):
        layer.__dict__.pop("max_batch_len", None)
        if layer._backward_hooks:  # others have none, and may have something else of that name
            layer.activations = Activations()


def forget_gradients(p: Any) -> None:
    """Those of each example with respect to a parameter, whole or not."""
    p.grad_sample, p._forward_counter = None, 0
    p.__dict__.pop("_current_grad_sample", None)


def _layers(model: Any) -> list[Any]:
    """Those with parameters of their own."""
    return [m for m in module_of(model).modules() if next(m.parameters(recurse=False), None) is not None]
