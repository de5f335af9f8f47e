"""Which batch a step is on: each is stepped on once and in turn, and parts of two never add up in one step."""

from weakref import ref

import pytest
import torch
from torch import nn

import soundsum as ss
from tests.gradients.training import private, train
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")


def backward(net, batch):
    x, y = batch
    nn.functional.cross_entropy(net(x), y).backward()


def parts_of(loader, optimizer, size=10):
    return ss.gradients.opacus.BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=size, optimizer=optimizer
    ).__enter__()


def accounted(engine):
    return sum(entry[-1] for entry in engine.accountant.history)


def test_fetching_ahead_is_refused_as_another_batchs_dummies_would_be_taken():
    engine, net, optimizer, loader = private()
    batches = iter(loader)
    backward(net, next(batches))
    next(batches)
    with refused(None, "too-many", batches=2):
        optimizer.step()
    assert accounted(engine) == 0
    optimizer.drop()
    backward(net, next(batches))
    optimizer.step()
    assert accounted(engine) == 1


def test_two_iterators_at_once_are_refused():
    _, _, _, loader = private()
    with refused(None, "closed"):
        next(zip(loader, loader, strict=True))


@pytest.mark.parametrize("workers", [0, 2])
def test_tickets_are_of_the_batch_they_come_with(workers):
    engine, _, _, loader = private()
    loader.num_workers, loader.prefetch_factor = workers, 2
    for x, _ in loader:
        assert x.any(1).tolist() == engine.slots.waiting[-1].present


def test_an_epoch_that_was_only_looked_at_leaves_nothing_behind():
    engine, net, optimizer, loader = private()
    assert len(list(loader)) == train(net, optimizer, loader) == accounted(engine) == 8


@pytest.mark.parametrize("settings", [{}, {"slots": False, "loss_reduction": "sum"}])
def test_an_epoch_that_was_left_early_leaves_nothing_behind(settings):
    engine, net, optimizer, loader = private(**settings)
    for step, batch in enumerate(loader):
        backward(net, batch)
        if step == 2:
            break
        optimizer.step()
    assert accounted(engine) == 2
    batches = iter(loader)
    with refused(None, "missing"):
        optimizer.step()
    later = next(batches)
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
    backward(net, later)
    optimizer.step()
    assert accounted(engine) == 3
    next(iter(parts_of(loader, optimizer)) if engine.slots else batches)  # to look at
    assert train(net, optimizer, loader) == 8
    assert accounted(engine) == 11


def test_a_ticket_is_not_kept_after_its_step():
    engine, net, optimizer, loader = private()
    seen = []
    for batch in loader:
        assert [kept() for kept in seen] == [None] * len(seen)
        seen.append(ref(engine.slots.waiting[-1]))
        backward(net, batch)
        optimizer.step()
    assert len(seen) == 8


def test_a_batch_left_in_the_middle_does_not_add_up_with_the_next():
    engine, net, optimizer, loader = private()
    backward(net, next(iter(parts_of(loader, optimizer))))
    optimizer.step()
    optimizer.zero_grad()
    backward(net, next(iter(parts_of(loader, optimizer))))
    with refused(None, "mismatch"):
        optimizer.step()
    optimizer.drop()
    train(net, optimizer, parts_of(loader, optimizer))
    assert accounted(engine) == 8


def test_a_part_that_is_passed_over_is_noticed():
    engine, net, optimizer, loader = private()
    parts = iter(parts_of(loader, optimizer))
    next(parts)
    backward(net, next(parts))
    with refused(None, "too-many", batches=2):
        optimizer.step()
    optimizer.drop()
    backward(net, next(parts))
    with refused(None, "mismatch"):
        optimizer.step()
    assert accounted(engine) == 0


@pytest.mark.parametrize("settings", [{}, {"slots": False, "loss_reduction": "sum"}])
def test_several_batches_in_one_step_are_refused(settings):
    _, net, optimizer, loader = private(**settings)
    with refused("do_skip", "unsound"):
        optimizer.signal_skip_step()
    batches = iter(loader)
    backward(net, next(batches))
    optimizer.clip_and_accumulate()
    for p in net.parameters():
        p.grad_sample = None
    backward(net, next(batches))
    with refused(None, "mismatch"):
        optimizer.clip_and_accumulate()


def test_the_parts_of_a_batch_add_up_to_it():
    engine, net, optimizer, loader = private()
    whole = ss.gradients.Sum(1.0, 1.0)
    for x, y in parts_of(loader, optimizer):
        ticket = engine.slots.waiting[-1]
        optimizer.zero_grad()
        backward(net, (x, y))
        whole.add([p.grad_sample for p in net.parameters()], present=ticket.present)
        if ticket.last:
            optimizer.clip_and_accumulate()
            break
        optimizer.step()
    assert all(torch.equal(p.summed_grad, total) for p, total in zip(net.parameters(), whole.sum(), strict=True))


@pytest.mark.parametrize("size, reason", [(0, "too-small"), (-1, "too-small"), (2.5, "not-whole")])
def test_the_size_of_parts_is_a_number(size, reason):
    _, _, optimizer, loader = private()
    with refused("max_physical_batch_size", reason, ValueError, given=str(size)):
        parts_of(loader, optimizer, size)
