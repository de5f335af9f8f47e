"""Opacus end to end with our engine: the same epsilon and hooks, exact sums, and batches in slots."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import opacus
import pytest
import torch
import torch.multiprocessing as processes
from opacus.schedulers import ExponentialNoise, StepGradClip
from opacus.utils.batch_memory_manager import BatchMemoryManager as TheirManager
from scipy.stats import norm
from torch import nn
from torch.utils.data import TensorDataset

import soundsum as ss
from soundsum.gradients.slots import EMPTY
from tests.gradients.training import data, model, private, train
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("accountant", ["prv", "rdp"])
def test_epsilon_is_opacuss_own_and_hooks_are_called(accountant):
    engine, net, optimizer, loader = private(engine=ss.gradients.opacus.PrivacyEngine(accountant=accountant))
    called, theirs = [], optimizer.step_hook
    optimizer.attach_step_hook(lambda o: (called.append(o), theirs(o)))
    steps = train(net, optimizer, loader, epochs=2)
    assert steps == len(called) == 16
    peer = opacus.accountants.create_accountant(accountant)
    for _ in range(steps):
        peer.step(noise_multiplier=1.0, sample_rate=1 / 8)
    assert engine.get_epsilon(1e-5) == pytest.approx(peer.get_epsilon(1e-5), rel=1e-6)
    assert engine.get_epsilon(1e-5) >= peer.get_epsilon(1e-5)  # what cut batches take is counted


def at_least(sigma, q, delta):
    """An epsilon that one step spends for certain: by telling results above a threshold with the record and without."""
    above = 1 / sigma + np.linspace(-9, 9, 1801)  # in standard deviations
    without = norm.logsf(above)
    present = np.logaddexp(np.log(q) + norm.logsf(above - 1 / sigma), np.log1p(-min(q, 1 - 1e-16)) + without)
    likely = present > np.log(delta)
    return np.max((present + np.log1p(-delta / np.exp(present)) - without)[likely], initial=0)


@pytest.mark.parametrize("accountant", ["prv", "rdp"])
@pytest.mark.parametrize("q", [1.0, 1e-4])
@pytest.mark.parametrize("sigma", [0.026, 0.03, 0.1, 1.0])
def test_epsilon_is_never_below_what_is_spent_for_certain(sigma, q, accountant):
    """Where prv would say less, as its floats end, it is refused."""
    engine = ss.gradients.opacus.PrivacyEngine(accountant=accountant)
    engine.accountant.history = [(sigma, q, 1)]
    least = at_least(sigma, q, 1e-5)
    if accountant == "prv" and least > 590:
        with refused(None, "unsound", most=600):
            engine.get_epsilon(1e-5)
    else:
        assert engine.get_epsilon(1e-5) >= least


def test_prv_saturates_and_is_refused():
    engine = ss.gradients.opacus.PrivacyEngine()
    engine.accountant.history = [(0.01, 1 / 8, 1)]
    assert engine.accountant.get_epsilon(1e-5) < 710 < 5300 < at_least(0.01, 1 / 8, 1e-5)
    with refused(None, "unsound", epsilon="707.7"):
        engine.get_epsilon(1e-5)
    with refused("target_epsilon", "unsound", epsilon="1000"):
        private(target_epsilon=1000.0, target_delta=1e-5, epochs=2)


def test_nothing_is_spent_before_the_first_step():
    engine, _, _, _ = private()
    assert engine.get_epsilon(1e-5) == 0


def test_an_accountant_whose_epsilon_is_no_bound_is_refused():
    with refused("accountant", "unsound"):
        ss.gradients.opacus.PrivacyEngine(accountant="gdp")


def test_functorchs_gradients_of_each_example_work_too():
    engine, net, optimizer, loader = private(grad_sample_mode="functorch")
    x, y = next(iter(loader))
    nn.functional.cross_entropy(net(x), y).backward()
    present = torch.tensor(engine.slots.waiting[-1].present)
    rows = [p.grad_sample[present].clone() for p in net.parameters()]
    optimizer.step()
    _, peer, _, _ = private()
    nn.functional.cross_entropy(peer(x), y).backward()
    for ours, theirs in zip(rows, peer.parameters(), strict=True):
        assert torch.allclose(ours, theirs.grad_sample[present], atol=1e-6)
    assert sum(entry[-1] for entry in engine.accountant.history) == 1


def test_a_private_model_learns():
    _, net, optimizer, loader = private(noise_multiplier=0.7)
    train(net, optimizer, loader, epochs=12)
    x, y = data().tensors
    assert float((net(x).argmax(1) == y).float().mean()) > 0.8


def test_the_sum_is_that_of_the_examples_in_their_slots():
    engine, net, optimizer, loader = private()
    x, y = next(iter(loader))
    present = torch.tensor(engine.slots.waiting[-1].present)
    assert len(x) == engine.slots.size == len(present)
    assert not x[~present].any()
    nn.functional.cross_entropy(net(x), y).backward()
    rows = [p.grad_sample[present] for p in net.parameters()]
    optimizer.clip_and_accumulate()
    alone = ss.gradients.Sum(1.0, 1.0)
    alone.add(rows)
    for p, total in zip(net.parameters(), alone.sum(), strict=True):
        assert p.summed_grad.dtype == torch.int64
        assert torch.equal(p.summed_grad, total)
    exact = [p.summed_grad.double() * float(alone.grid.step) for p in net.parameters()]
    optimizer.add_noise()
    optimizer.scale_grad()
    noise = torch.cat([(p.grad.double() * 16 - e).flatten() for p, e in zip(net.parameters(), exact, strict=True)])
    assert 0.5 < float(noise.std()) < 1.6


def test_all_batches_have_one_shape_and_members_by_the_rate():
    engine, _, _, loader = private()
    sizes = []
    for x, _ in loader:
        assert tuple(x.shape) == (engine.slots.size, 6)
        sizes.append(sum(engine.slots.waiting[-1].present))
    assert len(loader) == len(sizes) == 8
    assert len(set(sizes)) > 1


def test_infinite_and_nan_examples_leave_the_gradients_finite():
    dataset = data(bad=[(i, value) for i in range(0, 60, 3) for value in (math.inf,)])
    dataset.tensors[0][5] = math.nan
    _, net, optimizer, loader = private(dataset=dataset)
    train(net, optimizer, loader)
    assert all(torch.isfinite(p).all() for p in net.parameters())


def test_without_slots_the_result_says_what_is_assumed():
    engine, net, optimizer, loader = private(slots=False, loss_reduction="sum")
    train(net, optimizer, loader, loss=lambda a, b: nn.functional.cross_entropy(a, b, reduction="sum"))
    assert engine.assumptions == ("gradients assumed independent of the other rows",)
    assert "gradients assumed independent of the other rows" in engine.explain()
    assert engine.overflow == 0


def test_an_empty_batch_is_a_step_of_noise_alone():
    _, net, optimizer, loader = private(slots=False, loss_reduction="sum", sample_rate="1/1000000")
    before = [p.clone() for p in net.parameters()]
    for x, y in loader:
        assert optimizer.slots.waiting[-1].present == [False]
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y, reduction="sum").backward()
        optimizer.step()
        break
    assert all(not torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))


def manager(loader, optimizer, size=10):
    return ss.gradients.opacus.BatchMemoryManager(data_loader=loader, max_physical_batch_size=size, optimizer=optimizer)


def test_memory_is_managed_in_parts_of_one_size():
    engine, net, optimizer, loader = private()
    with manager(loader, optimizer) as parts:
        steps = train(net, optimizer, parts)
        assert steps == len(parts) == 8 * -(-engine.slots.size // 10)
    assert sum(entry[-1] for entry in engine.accountant.history) == 8


def test_opacuss_own_memory_manager_is_refused():
    _, net, optimizer, loader = private()
    with (
        TheirManager(data_loader=loader, max_physical_batch_size=10, optimizer=optimizer) as parts,
        refused("do_skip", "unsound"),
    ):
        train(net, optimizer, parts)
    _, _, optimizer, loader = private(slots=False, loss_reduction="sum")
    with refused("data_loader", "wrong-type", given="a soundsum GuardedLoader"):
        manager(loader, optimizer)


def test_a_batch_is_stepped_on_once():
    _, net, optimizer, loader = private()
    x, y = next(iter(loader))
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    with refused(None, "missing"):
        optimizer.step()


def test_schedulers_are_followed():
    engine, net, optimizer, loader = private()
    noise, norm = ExponentialNoise(optimizer, gamma=0.5), StepGradClip(optimizer, step_size=1, gamma=0.5)
    for _ in range(2):
        train(net, optimizer, loader)
        noise.step()
        norm.step()
    assert [entry[0] for entry in engine.accountant.history] == [1.0, 0.5]
    assert optimizer.max_grad_norm == 0.25
    with manager(loader, optimizer) as parts:
        batches = iter(parts)
        for _ in range(2):
            x, y = next(batches)
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            if optimizer.max_grad_norm == 0.25:
                optimizer.step()
                optimizer.max_grad_norm = 0.125
    assert optimizer._sum.sensitivity == 0.25
    with refused(None, "mismatch"):
        optimizer.step()


def test_norms_for_each_layer():
    _, net, optimizer, loader = private(clipping="per_layer", max_grad_norm=[0.5, 0.5, 0.5, 0.5])
    train(net, optimizer, loader)
    x, y = next(iter(loader))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.clip_and_accumulate()
    assert optimizer._sum.layers is not None
    assert optimizer._sum.sensitivity == 1


def test_a_target_epsilon():
    engine, net, optimizer, loader = private(target_epsilon=3.0, target_delta=1e-5, epochs=2)
    train(net, optimizer, loader, epochs=2)
    assert 2.5 < engine.get_epsilon(1e-5) <= 3.0
    with refused(None, "closed"):
        private(engine=engine, target_epsilon=3.0, target_delta=1e-5, epochs=2)


def test_too_few_slots_for_delta_are_refused_where_it_is_counted():
    engine, net, optimizer, loader = private(slots=24)
    assert engine.overflow > 0
    train(net, optimizer, loader)
    with refused("delta", "too-small"):
        engine.get_epsilon(1e-5)


def test_a_checkpoint_keeps_what_cut_batches_take(tmp_path):
    engine, net, optimizer, loader = private(slots=40)
    assert engine.overflow > 0
    train(net, optimizer, loader)
    engine.save_checkpoint(path=tmp_path / "c.pt", module=net, optimizer=optimizer)
    again = ss.gradients.opacus.PrivacyEngine()
    again.load_checkpoint(path=tmp_path / "c.pt", module=net, optimizer=optimizer)
    assert again.overflow == engine.overflow
    assert again.get_epsilon(1e-2) == engine.get_epsilon(1e-2)
    opacus.PrivacyEngine.save_checkpoint(engine, path=tmp_path / "theirs.pt", module=net)
    with refused("path", "unreadable"):
        ss.gradients.opacus.PrivacyEngine().load_checkpoint(path=tmp_path / "theirs.pt", module=net)


def test_a_checkpoint_does_not_make_the_accountant_forget_steps(tmp_path):
    engine, net, optimizer, loader = private()
    train(net, optimizer, loader)
    engine.save_checkpoint(path=tmp_path / "c.pt", module=net, optimizer=optimizer)
    train(net, optimizer, loader)
    spent, weight = engine.get_epsilon(1e-5), next(net.parameters()).clone()
    with refused(None, "closed", steps=16):
        engine.load_checkpoint(path=tmp_path / "c.pt", module=net, optimizer=optimizer)
    assert engine.get_epsilon(1e-5) == spent
    assert torch.equal(next(net.parameters()), weight)


def test_a_dummy_is_made_of_zeros_or_given():
    from soundsum.gradients.opacus.dummies import dummy_like
    from soundsum.gradients.opacus.loading import PaddedDataset

    assert dummy_like((torch.ones(2), {"a": 3, "b": [1.5]})) == (pytest.approx(torch.zeros(2)), {"a": 0, "b": [0.0]})
    with refused("dummy", "missing", given="a str"):
        dummy_like("text")
    assert PaddedDataset([1, 2], "d")[EMPTY] == "d"


def test_whether_a_batch_is_empty_is_not_logged(caplog):
    _, _, _, loader = private(slots=False, loss_reduction="sum", sample_rate="1/1000000")
    x, y = next(iter(loader))
    assert (x.tolist(), y.tolist(), y.dtype) == ([[0.0] * 6], [0], torch.int64)
    assert caplog.records == []


@pytest.mark.parametrize("text, multiplier", [("1.5", 1.5), ("3/2", 1.5), ("1.1", 1.1)])
def test_a_noise_multiplier_in_words_is_the_accountants_too(text, multiplier):
    engine, net, optimizer, loader = private(noise_multiplier=text)
    train(net, optimizer, loader)
    assert engine.accountant.history == [(multiplier, 0.125, 8)]
    assert f"noise multiplier {multiplier}," in engine.explain()


def test_a_model_that_is_not_wrapped_is_trained_and_checked():
    net = model()
    engine, _, optimizer, loader = private(net, wrap_model=False)
    train(net, optimizer, loader)
    x, y = next(iter(loader))
    assert engine.slots.check(x, y, nn.functional.cross_entropy).independent


def test_the_noise_is_at_least_what_the_accountant_was_told():
    """1.1 as a float is above 11/10, and 5/4 is a norm of which 11/10 are whole steps."""
    engine, net, optimizer, loader = private(max_grad_norm=1.25, noise_multiplier=1.1)
    x, y = next(iter(loader))
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.clip_and_accumulate()
    told = Fraction(optimizer.noise_multiplier)
    assert told > Fraction(11, 10)
    assert optimizer._sum.sigma >= told * optimizer._sum.grid.limit
    optimizer.step_hook(optimizer)
    assert Fraction(engine.accountant.history[0][0]) == told


def test_a_step_that_the_accountant_does_not_hear_of_is_refused():
    engine, net, optimizer, loader = private()
    before = [p.detach().clone() for p in net.parameters()]
    optimizer.attach_step_hook(lambda o: None)
    with refused(None, "unsound"):
        train(net, optimizer, loader)
    assert all(map(torch.equal, before, net.parameters()))
    assert all(p.grad is None for p in net.parameters())
    assert engine.accountant.history == []


@pytest.mark.parametrize("settings", [{}, {"slots": False, "loss_reduction": "sum"}])
def test_data_without_records_is_trained_on_where_it_is_said_what_they_look_like(settings):
    """Otherwise an error would tell whether the only record is there."""
    nobody = TensorDataset(torch.zeros(0, 6), torch.zeros(0).long())
    with refused("dummy", "missing"):
        private(dataset=nobody, **settings)
    engine, net, optimizer, loader = private(dataset=nobody, dummy=(torch.zeros(6), 0), **settings)
    assert train(net, optimizer, loader) == 8
    assert engine.get_epsilon(1e-5) > 0


def test_a_summed_loss_is_not_divided():
    _, net, optimizer, loader = private(loss_reduction="sum", expected_batch_size=10**6)
    x, y = next(iter(loader))
    nn.functional.cross_entropy(net(x), y, reduction="sum").backward()
    optimizer.step()
    assert float(torch.cat([p.grad.flatten() for p in net.parameters()]).norm()) > 1  # the noise's is about 9


def test_without_opacus_the_error_says_how_to_get_it():
    code = """
import sys
sys.modules["opacus"] = None
import soundsum as ss
try:
    ss.gradients.opacus.PrivacyEngine
except ModuleNotFoundError as missing:
    assert "opacus is not installed" in str(missing), missing
    assert "pip install '.[torch]'" in str(missing)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Two processes


def trained(rank, port, folder):
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    net = opacus.distributed.DifferentiallyPrivateDistributedDataParallel(model())
    engine, net, optimizer, loader = private(net)
    assert isinstance(optimizer, ss.gradients.opacus.DistributedDPOptimizer)
    rows, sums = [], []
    theirs = optimizer.step_hook
    optimizer.attach_step_hook(lambda o: (sums.append([p.summed_grad.clone() for p in o.params]), theirs(o)))
    for x, y in loader:
        rows.append(sum(engine.slots.waiting[-1].present))
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert 2 * len(x) == engine.slots.size
    torch.save(([p.detach().clone() for p in net.parameters()], rows), folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_train_the_same_model(tmp_path, free_port):
    processes.spawn(trained, (free_port, tmp_path), nprocs=2)
    (one, rows), (two, others) = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    assert all(map(torch.equal, one, two))
    assert all(not torch.equal(a, b) for a, b in zip(one, model().parameters(), strict=True))
    assert sum(rows) > 0
    assert sum(others) > 0
