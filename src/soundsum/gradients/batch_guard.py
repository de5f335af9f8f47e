"""A guard that ties each step to one batch: the data loader issues a ticket with each batch, the optimizer takes it.

A step is accounted for as a step on one batch alone. So nothing that a model still holds of an earlier batch (gradients
of its examples, activations, graphs) may get into it, and the guard clears all of that with every new ticket.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NoReturn

from soundsum.gradients.lazy_import import need, torch
from soundsum.refusals import Reason, RefusedValue


class Activations(list[Any]):
    """The inputs of a layer: rows of examples, which are neither saved with the model nor copied."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Activations, ()


@dataclass(frozen=True)
class Ticket:
    """The identity of one part of a batch: `batch` counts the batches drawn, `present` marks rows with an example."""

    batch: int
    part: int
    last: bool
    present: list[bool]


class BatchGuard:
    """The tickets of one model, valid in the process that made them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.numbers = count()
        self.waiting: list[Ticket] = []  # of batches that were fetched and not trained on
        self._process = os.getpid()
        self._moment = 0  # how often it changed what is waiting
        self._passes: dict[int, int] = {}  # since then, the backward pass that reached a layer last
        self._rows = (-1, 0)  # the newest backward pass, and how many rows its layers were called on

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out which rows hold an example: a saved model has its guard in its hooks."""
        return {**self.__dict__, "waiting": [], "_passes": {}}

    def watch(self, model: Any) -> None:
        """From now on, refuses a backward pass through anything the model computed before the newest batch."""
        self.model = model
        forget(model)
        ddp = need("torch.nn.parallel").DistributedDataParallel
        modules = list(module_of(model).modules())
        for module in modules:
            module.register_forward_pre_hook(_refuse_packed, with_kwargs=True)
            if not any(isinstance(m, ddp) for m in modules):
                module.register_forward_pre_hook(_refuse_ddp)
        for layer in _layers(model):
            layer.register_forward_hook(self._remember)
            if hasattr(model, "hooks_enabled") and layer._backward_hooks:  # those whose gradients Opacus takes
                layer.register_full_backward_pre_hook(self._require_activations)

    def hand_out(self, ticket: Ticket) -> None:
        """Registers the batch that a loader gives next."""
        self._forget()  # first: an interrupt would leave an earlier batch's gradients with this one's ticket
        self.waiting.append(ticket)

    def withdraw(self, batches: Set[int] | None = None) -> None:
        """Gives up the batches of these numbers, or all that were fetched: they will not be trained on."""
        self.waiting = [] if batches is None else [ticket for ticket in self.waiting if ticket.batch not in batches]
        self._forget()

    def require_one(self) -> None:
        """Requires that exactly one batch is waiting, so that it is known which one is trained on."""
        if os.getpid() != self._process:
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "this process was forked after `make_private()`, and both would step on the same batches",
                "call `make_private()` in the process that trains",
            )
        if not self.waiting:
            raise RefusedValue(
                None,
                Reason.MISSING,
                "it is not known which batch this is and which rows are dummies",
                "take each batch from the data loader that `make_private()` gave, one step for each "
                "(`soundsum.gradients.opacus.BatchMemoryManager` splits them)",
            )
        if len(self.waiting) > 1:
            raise RefusedValue(
                None,
                Reason.TOO_MANY,
                "{batches} batches were fetched and not stepped on, so it is not known whose gradients these are",
                "step on each before the next is fetched, or give up those fetched so far with `optimizer.drop()`",
                batches=len(self.waiting),
            )

    def take(self, rows: int) -> Ticket:
        """Takes the ticket of the batch that was just trained on; each can be taken once."""
        self.require_one()
        ticket = self.waiting.pop()
        if len(ticket.present) != rows:
            raise RefusedValue(
                None,
                Reason.MISMATCH,
                "the gradients do not have one row for each row of the batch",
                "train on whole batches, with a model that keeps one row for each example",
            )
        return ticket

    def _forget(self) -> None:
        self._moment += 1
        self._passes = {}
        if self.model is not None:
            forget(self.model)

    def _remember(self, layer: Any, inputs: Any, outputs: Any) -> None:
        if torch._C._current_graph_task_id() != -1:
            self._forget()
            raise RefusedValue(
                None,
                Reason.UNSUPPORTED,
                "the model was called within a backward pass (`torch.utils.checkpoint`?), where it is not known which "
                "batch it is called on",
                "leave checkpointing out, and use `soundsum.gradients.opacus.BatchMemoryManager` where memory is short",
            )
        require = partial(self._require_newest, self._moment)
        for x in outputs if isinstance(outputs, tuple) else (outputs,):
            if isinstance(x, torch.Tensor) and x.requires_grad:
                x.register_hook(require)

    def _require_newest(self, moment: int, gradient: Any) -> None:
        if moment != self._moment:
            self._refuse_earlier()

    def _require_activations(self, layer: Any, gradients: Any) -> None:
        """Requires the activations of this pass: Opacus pairs passes by their number alone, so extra ones pair wrongly.

        Opacus also takes the rows that a layer was called on, however few, for the first ones of the batch.
        """
        if not self.model.hooks_enabled:
            return
        this = torch._C._current_graph_task_id()
        if not layer.activations:
            if self._passes.get(id(layer), this) == this:
                self._refuse_earlier()
            self._forget()
            raise RefusedValue(
                None,
                Reason.REPEATED,
                "this is a second backward pass on one batch (a gradient penalty, retain_graph, a loss that was "
                "kept?), and each example's gradients are known only for the first",
                "leave it out",
            )
        self._passes[id(layer)] = this
        seen = [inputs[-1].shape[self._axis(layer)] for inputs in layer.activations]
        if self._rows[0] != this:
            self._rows = this, seen[0]
        if set(seen) != {self._rows[1]}:
            self._forget()
            raise RefusedValue(
                None,
                Reason.MISMATCH,
                "layers were called on different numbers of rows in one pass, and it is not known which examples they "
                "are",
                "use a model that keeps one row for each example in every layer",
            )

    def _axis(self, layer: Any) -> int:
        """The axis along which Opacus looks for the rows of a layer's inputs."""
        return 0 if self.model.batch_first or type(layer) is need("opacus.layers.dp_rnn").RNNLinear else 1

    def _refuse_earlier(self) -> NoReturn:
        """Clears everything that could be stepped on, and refuses."""
        self._forget()
        raise RefusedValue(
            None,
            Reason.CLOSED,
            "this backward pass goes through what the model computed for an earlier batch (or while it was not "
            "training), which would get into the step on another batch",
            "call the model anew on each batch that is fetched",
        )


def _refuse_packed(layer: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Refuses a PackedSequence: its rows are sorted by length, and Opacus takes them in the order of the batch."""
    if _has_packed((inputs, named)) and _learns(layer):
        raise RefusedValue(
            None,
            Reason.UNSOUND,
            "a PackedSequence reaches a layer ({layer}): its rows are sorted by their length, so one example's "
            "gradient would be taken for another's",
            "give the layer padded sequences of one public length",
            layer=type(layer).__name__,
        )


def _has_packed(value: Any) -> bool:
    if isinstance(value, need("torch.nn.utils.rnn").PackedSequence):
        return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else ()
    return any(map(_has_packed, parts))


def _refuse_ddp(layer: Any, inputs: Any) -> None:
    if need("torch.nn.parallel").DistributedDataParallel._active_ddp_module is not None and _learns(layer):
        raise RefusedValue(
            None,
            Reason.UNSOUND,
            "the model is called within a DistributedDataParallel that was put around it after `make_private()`, so "
            "each rank would draw its own batches and noise",
            "wrap the module before `make_private()`, in "
            "`opacus.distributed.DifferentiallyPrivateDistributedDataParallel`",
        )


def _learns(layer: Any) -> bool:
    """Says whether a call of the layer now would lead to gradients of its parameters."""
    return bool(layer.training and torch.is_grad_enabled() and any(p.requires_grad for p in layer.parameters()))


def module_of(model: Any) -> Any:
    """Unwraps Opacus's wrapper, which need not be a module itself; returns any other model as it is."""
    return getattr(model, "_module", model)


def forget(model: Any) -> None:
    """Clears what earlier passes left with the hooks: gradients, and activations that no backward pass has used."""
    for p in module_of(model).parameters():
        forget_gradients(p)
    for layer in _layers(model):
        layer.__dict__.pop("max_batch_len", None)
        if layer._backward_hooks:  # others have none, and may have something else of that name
            layer.activations = Activations()


def forget_gradients(p: Any) -> None:
    """Clears the per-example gradients of a parameter, complete or not."""
    p.grad_sample, p._forward_counter = None, 0
    p.__dict__.pop("_current_grad_sample", None)


def _layers(model: Any) -> list[Any]:
    """Lists the layers with parameters of their own."""
    return [m for m in module_of(model).modules() if next(m.parameters(recurse=False), None) is not None]
