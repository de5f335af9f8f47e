"""What is saved with a model or an optimizer between steps: nothing of a batch that was not noised."""

import copy
import io
import pickle
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import soundsum as ss
from tests.gradients.test_batch_guard import accounted, backward, parts_of
from tests.gradients.test_leftovers import BOTH
from tests.gradients.training import PUBLIC, data, model, private, train

pytestmark = pytest.mark.filterwarnings("ignore")


class WithoutFunctions(pickle.Pickler):
    """A pickle without those that Opacus makes for functorch, which have no name to be found by."""

    def reducer_override(self, thing):
        return (str, ()) if "<locals>" in getattr(thing, "__qualname__", "") else NotImplemented


def saved(thing):
    """What a file of it holds."""
    file = io.BytesIO()
    torch.save(thing, file, pickle_module=SimpleNamespace(Pickler=WithoutFunctions, __name__="pickle"))
    return file.getvalue()


def of_a_batch(net, x):
    """Bytes of everything that is computed from a batch and not noised."""
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear)]
    seen = [rows for layer in layers for (rows,) in layer.activations] + [x]
    found = [p.grad_sample for p in net.parameters()] + [p.grad for p in net.parameters()]
    return [row.numpy().tobytes() for rows in [*seen, *filter(torch.is_tensor, found)] for row in rows if row.any()]


@BOTH
@pytest.mark.parametrize("mode", ["hooks", "functorch"])
@pytest.mark.parametrize("wrap_model", [True, False])
def test_what_is_saved_after_a_step_holds_nothing_of_the_batch(settings, mode, wrap_model):
    original = model()
    _, net, optimizer, loader = private(original, grad_sample_mode=mode, wrap_model=wrap_model, **settings)
    net = net if wrap_model else original
    x, y = next(iter(loader))
    out = net(x)
    traces = of_a_batch(original, x)
    nn.functional.cross_entropy(out, y).backward()
    traces += of_a_batch(original, x)
    sums = []
    theirs = optimizer.step_hook

    def look(o):
        sums.extend(p.summed_grad.numpy().tobytes() for p in o.params)
        theirs(o)

    optimizer.attach_step_hook(look)
    optimizer.step()
    assert len(traces) > 40
    assert len(sums) == 4
    kept = saved(net) + saved(optimizer.original_optimizer) + saved([net.state_dict(), optimizer.state_dict()])
    assert next(net.parameters()).detach().numpy().tobytes() in kept
    assert not [trace for trace in traces + sums if trace in kept]


def test_between_the_parts_of_a_batch_the_model_holds_nothing_of_them():
    engine, net, optimizer, loader = private()
    parts = iter(parts_of(loader, optimizer))
    traces = []
    for part in parts:
        last = engine.slots.waiting[-1].last
        backward(net, part)
        traces += of_a_batch(net, part[0])
        optimizer.step()
        if not last:
            traces += [total.numpy().tobytes() for total in optimizer._sum.sum() if total.any()]
        assert not [trace for trace in traces if trace in saved(net)]
        if last:
            break
    assert accounted(engine) == 1
    assert len(traces) > 40


def test_an_interrupted_step_leaves_nothing_of_the_batch():
    _, net, optimizer, loader = private()
    batch = next(iter(loader))
    backward(net, batch)
    traces = of_a_batch(net, batch[0])

    def interrupt(o):
        raise KeyboardInterrupt

    optimizer.attach_step_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert not [trace for trace in traces if trace in saved(net)]


def test_a_pass_that_is_only_looked_at_is_not_saved_with_the_model():
    _, net, optimizer, loader = private()
    train(net, optimizer, loader)
    x, _ = data().tensors
    net(x)  # while it is training, with gradients
    assert len(traces := of_a_batch(net, x)) > 200
    for kept in (saved(net), saved(copy.deepcopy(net))):
        assert not [trace for trace in traces if trace in kept]


def test_a_layers_own_attribute_of_the_name_opacus_uses_stays():
    net = model()
    net[0].requires_grad_(False)
    net[0].activations = ["relu"]
    engine = ss.gradients.opacus.PrivacyEngine()
    optimizer = torch.optim.SGD(net[2].parameters(), lr=1)
    net, optimizer, loader = engine.make_private(
        module=net, optimizer=optimizer, data_loader=DataLoader(data()), noise_multiplier=1.0, max_grad_norm=1.0,
        **PUBLIC,
    )  # fmt: skip
    train(net, optimizer, loader)
    assert net._module[0].activations == ["relu"]


def test_which_rows_hold_an_example_is_not_saved():
    engine, net, _, loader = private()
    next(iter(loader))
    copied = copy.deepcopy(net)
    (hook,) = {hook for layer in copied.modules() for hook in layer._forward_hooks.values() if is_tickets(hook)}
    assert engine.slots.waiting
    assert hook.__self__.waiting == []
    assert b"present" not in saved(net)


def is_tickets(hook):
    return isinstance(getattr(hook, "__self__", None), ss.gradients.Slots)
