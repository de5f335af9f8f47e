"""The optimizer that was given to make_private never steps on gradients without noise, wherever it is interrupted."""

import copy
import gc
import sys
from functools import partial
from itertools import count
from pathlib import Path

import opacus
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import soundsum.gradients as ours
from soundsum.gradients.opacus import PrivacyEngine
from tests.gradients.test_batch_guard import accounted, backward
from tests.gradients.training import PUBLIC, data, model
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")
WITHOUT_NOISE = (None, "unsound", ValueError)
TRACED = tuple(str(Path(package.__file__).parent) for package in (ours, opacus))


def given(net=None, records=None, **settings):
    """(engine, model, private optimizer, loader, the optimizer that was given)"""
    net = net or model()
    within = torch.optim.SGD(net.parameters(), lr=0.5)
    terms = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC, **settings}
    engine, loader = PrivacyEngine(), DataLoader(records or data())
    return engine, *engine.make_private(module=net, optimizer=within, data_loader=loader, **terms), within


def weights(net):
    return [p.detach().clone() for p in net.parameters()]


def test_the_given_optimizer_is_guarded_when_nobody_keeps_the_private_one():
    engine, net, optimizer, loader, within = given()
    del optimizer
    gc.collect()
    before = weights(net)
    for batch in loader:
        within.zero_grad()
        backward(net, batch)
        with refused(*WITHOUT_NOISE, optimizer="SGD"):
            within.step()
    assert all(map(torch.equal, before, net.parameters()))
    assert accounted(engine) == 0


OTHERS = {
    "a copy": lambda net, within: copy.copy(within),
    "made later": lambda net, within: torch.optim.Adam(net.parameters()),
    "of some parameters": lambda net, within: torch.optim.SGD([next(net.parameters())], lr=0.5),
}


@pytest.mark.parametrize("made", OTHERS)
def test_no_other_optimizer_steps_on_a_private_batch(made):
    engine, net, optimizer, loader, within = given()
    other = OTHERS[made](net, within)
    del optimizer
    before = weights(net)
    for batch in loader:
        other.zero_grad()
        backward(net, batch)
        with refused(*WITHOUT_NOISE, optimizer=type(other).__name__):
            other.step()
    assert all(map(torch.equal, before, net.parameters()))
    assert accounted(engine) == 0


def test_other_models_and_other_data_are_trained_as_ever():
    """An optimizer of other parameters is not looked at, nor one that steps on public data between two batches."""
    engine, net, optimizer, loader, _ = given()
    public, x = torch.optim.SGD(net.parameters(), lr=0.5), torch.ones(3, 6)
    elsewhere = model()
    for batch in loader:
        elsewhere(x).sum().backward()
        torch.optim.SGD(elsewhere.parameters(), lr=0.5).step()
        backward(net, batch)
        optimizer.step()
        optimizer.zero_grad()
        net.disable_hooks()
        net(x).sum().backward()
        net.enable_hooks()
        before = weights(net)
        public.step()
        assert not any(map(torch.equal, before, net.parameters()))
        optimizer.zero_grad()
    assert accounted(engine) == len(loader)


def test_a_model_is_made_private_again_with_the_optimizer_that_was_given():
    engine, net, optimizer, loader, within = given()
    del optimizer, loader
    gc.collect()
    terms = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC}
    net, optimizer, loader = engine.make_private(module=net, optimizer=within, data_loader=DataLoader(data()), **terms)
    backward(net, next(iter(loader)))
    with refused(*WITHOUT_NOISE, optimizer="SGD"):
        within.step()
    optimizer.step()
    assert accounted(engine) == 1


@pytest.mark.parametrize("cleared", [None, False, True])
def test_a_backward_pass_after_the_noise_is_not_stepped_on(cleared):
    _, net, optimizer, loader, within = given()
    batch = next(iter(loader))
    backward(net, batch)
    optimizer.pre_step()
    if cleared is not None:
        optimizer.zero_grad(set_to_none=cleared)
    before = weights(net)
    backward(net, batch)
    with refused(*WITHOUT_NOISE, optimizer="SGD"):
        within.step()
    assert all(map(torch.equal, before, net.parameters()))


def test_noised_gradients_are_stepped_on_by_the_given_optimizer():
    engine, net, optimizer, loader, within = given()
    backward(net, next(iter(loader)))
    optimizer.pre_step()
    before = weights(net)
    within.step()
    assert not any(map(torch.equal, before, net.parameters()))
    assert accounted(engine) == 1


@pytest.mark.parametrize("how", [lambda step, f: step(f), lambda step, f: step(closure=f)])
def test_a_closure_is_not_evaluated_behind_the_guard(how):
    _, net, optimizer, loader, within = given()
    batch = next(iter(loader))
    backward(net, batch)
    optimizer.pre_step()
    before = weights(net)

    def closure():
        within.zero_grad()
        backward(net, batch)

    with refused(*WITHOUT_NOISE, optimizer="SGD"):
        how(within.step, closure)
    assert all(map(torch.equal, before, net.parameters()))


def test_gradients_without_noise_are_not_scaled_into_noised_ones():
    _, net, optimizer, loader, within = given()
    backward(net, next(iter(loader)))
    with refused(None, "empty"):
        optimizer.scale_grad()
    with refused(*WITHOUT_NOISE, optimizer="SGD"):
        within.step()


# Interrupted at every line


class Interrupt:
    """Raises KeyboardInterrupt at the line of this number, of those that run in soundsum.gradients and Opacus."""

    def __init__(self, line):
        self.left = line

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(TRACED):
            return None
        if event == "line":
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                print(frame.f_code.co_filename, frame.f_lineno)  # shown where the test fails
                raise KeyboardInterrupt
        return self


def interrupted(line, action):
    """Whether it was."""
    trace = sys.gettrace()
    sys.settrace(Interrupt(line))
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(trace)
    return False


def held(net):
    """Whether the model or a parameter holds anything of the examples' gradients."""
    names = ("grad_sample", "_current_grad_sample", "summed_grad")
    return any(getattr(p, name, None) is not None for p in net.parameters() for name in names) or any(
        getattr(layer, "activations", None) for layer in net.modules()
    )


def test_a_step_that_is_interrupted_anywhere_is_not_made_without_noise_and_leaves_no_gradients():
    """One training goes on through all interrupts, so that what one of them leaves behind meets the next.

    All records are in every batch and none is clipped, so that each step runs through the same lines.
    """
    x, y = torch.full((3, 6), 0.01), torch.zeros(3).long()
    engine, net, optimizer, loader, within = given(nn.Linear(6, 2), TensorDataset(x, y), sample_rate=1, max_size=3)
    guard, raw, theirs = optimizer.slots, [], optimizer.step_hook

    def look(o):
        assert next(net.parameters()).summed_grad[0].max() < 0  # of this batch, whose numbers are above 0
        theirs(o)

    def train_once(batches=None):
        backward(net, next(batches or iter(loader)))
        raw[:] = [p.grad.clone() for p in net.parameters()]
        optimizer.step()

    train_once()  # what is computed once
    optimizer.attach_step_hook(look)
    for line in count():
        optimizer.drop()
        optimizer.zero_grad(set_to_none=True)
        batches = iter(loader)
        backward(net, (-x, y))  # before the batch is fetched
        for p in net.parameters():
            p.grad = None
        raw.clear()
        known = accounted(engine)
        done = not interrupted(line, partial(train_once, batches))
        steps = accounted(engine)
        assert steps - known in ((1,) if done else (0, 1)), line
        assert guard.waiting or not raw or not held(net), line  # the step had not begun, or it leaves nothing
        before = weights(net)
        try:
            within.step()
        except ValueError:
            assert all(map(torch.equal, before, net.parameters())), line
        else:
            grads = [p.grad for p in net.parameters()]
            assert steps > known or all(g is None for g in grads), line
            assert not any(g is not None and torch.equal(g, r) for g, r in zip(grads, raw, strict=False)), line
        before = weights(net)
        try:
            optimizer.step()  # on this batch, if it was fetched and its gradients are whole
        except ValueError:
            assert all(map(torch.equal, before, net.parameters())), line
            assert accounted(engine) == steps, line
        else:
            assert accounted(engine) == steps + 1 == known + 1, line
        if done:
            break
    assert line > 500


def test_noise_that_is_added_by_hand_is_accounted_for_as_it_is():
    engine, net, optimizer, loader, _ = given()
    backward(net, next(iter(loader)))
    optimizer.clip_and_accumulate()
    theirs = optimizer.step_hook

    def pretend(o):
        o.noise_multiplier = 100.0
        theirs(o)
        o.noise_multiplier = 1.0

    optimizer.attach_step_hook(pretend)
    optimizer.add_noise()
    assert engine.accountant.history == [(1.0, 0.125, 1)]


def test_a_step_in_inference_mode_is_refused_before_it_is_accounted_for():
    engine, net, optimizer, loader, _ = given()
    backward(net, next(iter(loader)))
    with torch.inference_mode(), refused(None, "unsupported"):
        optimizer.step()
    assert accounted(engine) == 0
