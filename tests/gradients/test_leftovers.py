"""What is left of one batch never gets into a step on another, and a step releases its own batch once."""

import copy
import os
import pickle

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import soundsum as ss
from soundsum.gradients.opacus.loading import PaddedDataset
from soundsum.gradients.slots import EMPTY
from soundsum.refusals import Refusal
from tests.gradients.test_batch_guard import accounted, backward
from tests.gradients.training import PUBLIC, data, model, private, train
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")
AS_THEY_COME = {"slots": False, "loss_reduction": "sum"}
BOTH = pytest.mark.parametrize("settings", [{}, AS_THEY_COME])


def test_a_parameter_that_is_frozen_before_the_step_stays_as_it_was():
    _, net, optimizer, loader = private()
    backward(net, next(iter(loader)))
    first, *others = net.parameters()
    first.requires_grad_(False)
    before = [p.detach().clone() for p in net.parameters()]
    optimizer.step()
    assert torch.equal(first, before[0])
    assert first.grad is None
    assert not any(torch.equal(p, old) for p, old in zip(others, before[1:], strict=True))


def test_a_step_with_nothing_to_train_is_refused():
    engine, net, optimizer, loader = private()
    backward(net, next(iter(loader)))
    before = [p.detach().clone() for p in net.parameters()]
    net.requires_grad_(False)
    with refused(None, "empty"):
        optimizer.step()
    assert all(map(torch.equal, before, net.parameters()))
    assert accounted(engine) == 0


def test_what_is_trained_cannot_change_between_the_sum_and_its_release():
    _, net, optimizer, loader = private()
    backward(net, next(iter(loader)))
    optimizer.clip_and_accumulate()
    next(net.parameters()).requires_grad_(False)
    with refused(None, "mismatch"):
        optimizer.add_noise()


class Folds(nn.Module):
    """Each example becomes many rows."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x.reshape(-1, 2))


@BOTH
def test_one_record_in_several_rows_is_refused(settings):
    engine, net, optimizer, loader = private(Folds(), sample_rate=1, **settings)
    x, _ = next(iter(loader))
    net(x).sum().backward()
    with refused(None, "mismatch"):
        optimizer.step()
    assert accounted(engine) == 0


@BOTH
def test_a_second_step_on_a_batch_is_refused(settings):
    engine, net, optimizer, loader = private(**settings)
    batch = next(iter(loader))
    backward(net, batch)
    optimizer.step()
    optimizer.zero_grad()
    backward(net, batch)
    with refused(None, "missing"):
        optimizer.step()
    assert accounted(engine) == 1


@BOTH
def test_several_batches_in_one_backward_pass_are_refused(settings):
    _, net, optimizer, loader = private(**settings)
    batches = iter(loader)
    one = net(next(batches)[0]).sum()
    two = net(next(batches)[0]).sum()
    with refused(None, "closed"):
        (one + two).backward()
    with refused(None, "too-many", batches=2):
        optimizer.step()


@BOTH
def test_gradients_of_several_passes_are_refused(settings):
    _, net, optimizer, loader = private(**settings)
    net.allow_grad_accumulation()
    batch = next(iter(loader))
    backward(net, batch)
    backward(net, batch)
    with refused(None, "repeated"):
        optimizer.step()


@BOTH
def test_gradients_of_the_last_batch_are_gone_when_the_next_is_fetched(settings):
    engine, net, optimizer, loader = private(**settings)
    batches = iter(loader)
    batch = next(batches)
    backward(net, batch)
    optimizer.step()
    optimizer.zero_grad()
    backward(net, batch)
    next(batches)
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
    assert accounted(engine) == 1


def persistent(settings):
    net = model()
    data = TensorDataset(1 + torch.rand(128, 6), torch.zeros(128).long())
    loader = DataLoader(data, num_workers=1, persistent_workers=True)
    engine = ss.gradients.opacus.PrivacyEngine()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    public = {"sample_rate": "1/8", "expected_batch_size": 16, "max_size": 150, **settings}
    return engine, *engine.make_private(
        module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0, **public
    )


@BOTH
def test_workers_that_persist_do_not_mix_up_tickets(settings):
    engine, _, optimizer, loader = persistent(settings)
    guard = optimizer.slots
    old = iter(loader)
    next(old)
    new = iter(loader)
    optimizer.drop()
    with refused(None, "closed"):
        next(old)
    for x, _ in new:
        assert x.any(1).tolist() == guard.waiting[-1].present
        optimizer.drop()
    assert accounted(engine) == 0


@BOTH
@pytest.mark.parametrize("net", [model, lambda: nn.Linear(6, 2)])
def test_a_batch_that_was_dropped_does_not_get_into_the_next_step(settings, net):
    engine, net, optimizer, loader = private(net(), **settings)
    batches = iter(loader)
    begun = net(next(batches)[0]).sum()
    optimizer.drop()
    batch = next(batches)
    with refused(None, "closed"):
        (begun + net(batch[0]).sum()).backward()
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
    assert accounted(engine) == 0


@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_an_older_graph_is_refused_in_every_mode(mode):
    _, net, optimizer, loader = private(grad_sample_mode=mode)
    batches = iter(loader)
    begun = net(next(batches)[0]).sum()
    optimizer.drop()
    net(next(batches)[0])
    with refused(None, "closed"):
        begun.backward()
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()


class Scaled(nn.Module):
    """Has a parameter of its own, so Opacus takes the gradients of it and its layer in one go."""

    def __init__(self):
        super().__init__()
        self.scale, self.layer = nn.Parameter(torch.ones(2)), nn.Linear(6, 2)

    def forward(self, x):
        return self.scale * self.layer(x)


@pytest.mark.parametrize("net", [Scaled, lambda: nn.Sequential(nn.Linear(6, 6), Scaled())])
def test_layers_within_others_are_trained(net):
    engine, net, optimizer, loader = private(net())
    assert train(net, optimizer, loader, epochs=2) == accounted(engine) == 16


def test_a_private_model_is_copied_and_kept_as_any_other(tmp_path):
    _, net, optimizer, loader = private()
    train(net, optimizer, loader)
    copied = copy.deepcopy(net)
    torch.save(net, tmp_path / "net.pt")
    loaded = torch.load(tmp_path / "net.pt", weights_only=False)
    x, _ = data().tensors
    for other in (copied, loaded):
        assert torch.equal(other.eval()(x), net(x))
    optimizer.drop()
    train(net, optimizer, loader)


def test_training_goes_on_after_a_drop():
    engine, net, optimizer, loader = private()
    batches = iter(loader)
    net(next(batches)[0])
    optimizer.drop()
    backward(net, next(batches))
    optimizer.drop()
    backward(net, next(batches))
    optimizer.step()
    assert accounted(engine) == 1
    assert train(net, optimizer, loader) == 8


def test_a_forked_process_does_not_step_on_the_same_batch():
    _, net, optimizer, loader = private()
    backward(net, next(iter(loader)))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            optimizer.step()
        except Refusal as error:
            os.write(writing, error.reason.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 1000) == b"closed"
    optimizer.step()


@BOTH
def test_the_optimizer_within_does_not_step_without_noise(settings):
    net = model()
    within = torch.optim.SGD(net.parameters(), lr=0.5)
    terms = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC, **settings}
    engine = ss.gradients.opacus.PrivacyEngine()
    net, optimizer, loader = engine.make_private(module=net, optimizer=within, data_loader=DataLoader(data()), **terms)
    weight = next(net.parameters()).clone()
    for after in ("a backward pass", "a step"):
        batch = next(iter(loader))
        backward(net, batch)
        with refused(None, "unsound", optimizer="SGD"):
            within.step()
        assert torch.equal(next(net.parameters()), weight), after
        backward(net, next(iter(loader)))
        optimizer.step()
        weight = next(net.parameters()).clone()
    assert accounted(engine) == 2


def test_a_second_optimizer_on_one_model_is_refused():
    net = model()
    engine = ss.gradients.opacus.PrivacyEngine()
    terms = {"data_loader": DataLoader(TensorDataset(torch.ones(9, 6), torch.zeros(9).long())), "sample_rate": "1/8",
             "noise_multiplier": 1.0, "max_grad_norm": 1.0, "expected_batch_size": 16, "max_size": 150}  # fmt: skip
    one, two = (torch.optim.SGD(net.parameters(), lr=1) for _ in range(2))
    wrapped, private_one, _ = engine.make_private(module=net, optimizer=one, **terms)
    with refused("module", "closed"):
        engine.make_private(module=wrapped, optimizer=two, **terms)
    del private_one
    engine.make_private(module=wrapped, optimizer=two, **terms)


def test_an_interrupted_step_is_accounted_for_before_its_release_can_be_seen():
    engine, net, optimizer, loader = private()
    backward(net, next(iter(loader)))
    counted, theirs = [], optimizer.step_hook

    def interrupt(o):
        counted.append([p.grad for p in o.params])
        theirs(o)
        raise KeyboardInterrupt

    optimizer.attach_step_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert accounted(engine) == 1
    assert counted == [[None] * 4]
    assert all(p.grad is None for p in net.parameters())


def test_an_optimizer_is_not_copied():
    _, net, optimizer, loader = private()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with refused(None, "unsupported", TypeError):
            copied(optimizer)
    train(net, optimizer, loader)


def test_running_statistics_of_a_layer_whose_flag_was_changed_are_refused():
    layer = nn.InstanceNorm1d(2, track_running_stats=True)
    layer.track_running_stats = False
    with refused("module", "unsound", layer="layer 1", type="InstanceNorm1d"):
        private(nn.Sequential(nn.Linear(6, 2), layer))
    private(nn.Sequential(nn.Linear(6, 2), nn.InstanceNorm1d(2, track_running_stats=False)))


def test_a_frozen_layer_may_be_followed_by_an_activation_in_place():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(inplace=True), nn.Linear(8, 2))
    net[2].requires_grad_(False)
    records = TensorDataset(torch.randn(20, 4), torch.zeros(20, dtype=torch.long))
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    net, optimizer, loader = ss.gradients.opacus.PrivacyEngine().make_private(
        module=net,
        optimizer=optimizer,
        data_loader=DataLoader(records, batch_size=5),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        sample_rate="1/4",
        expected_batch_size=5,
        max_size=20,
    )
    before = [p.detach().clone() for p in net.parameters()]
    for x, y in loader:
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    moved = [not torch.equal(p, old) for p, old in zip(net.parameters(), before, strict=True)]
    assert moved == [True, True, False, False, True, True]


def test_every_dummy_is_a_new_one():
    records = PaddedDataset([], {"x": torch.zeros(3)})
    records[EMPTY].pop("x").add_(1)
    assert records[EMPTY]["x"].tolist() == [0, 0, 0]


class Checkpointed(nn.Module):
    """Its layers are called again in the backward pass, if the checkpoint is within the model or around it."""

    def __init__(self, reentrant):
        super().__init__()
        self.first, self.last, self.reentrant = nn.Linear(6, 6), model(), reentrant

    def forward(self, x):
        return checkpoint(self.last, self.first(x), use_reentrant=self.reentrant)


@BOTH
@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_a_model_that_is_called_within_a_backward_pass_is_refused(settings, reentrant, mode):
    engine, net, optimizer, loader = private(Checkpointed(reentrant), grad_sample_mode=mode, **settings)
    with refused(None, "unsupported"):
        backward(net, next(iter(loader)))
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
    assert accounted(engine) == 0


def test_a_loss_that_is_kept_through_a_checkpoint_is_not_stepped_on_as_another_batch():
    _, net, optimizer, loader = private()
    batches = iter(loader)
    x, y = next(batches)
    kept = nn.functional.cross_entropy(checkpoint(net, x.requires_grad_(), use_reentrant=True), y)
    optimizer.drop()
    next(batches)
    with refused(None, "unsupported"):
        kept.backward()
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
