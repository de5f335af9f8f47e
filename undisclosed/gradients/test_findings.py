"""Every attack succeeds against Opacus as it is installed."""

import math

import pytest
import torch
from opacus import GradSampleModule, PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from undisclosed.gradients.steps import ghost

import soundsum as ss
from tests.gradients.opacus_steps import hooks

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("dtype, spacing", [("bfloat16", 32), ("float16", 4)])
def test_sums_in_half_precision(dtype, spacing):
    a = ss.gradients.attack("half_precision_batch", dtype)
    sums = [hooks(a.model(), batch, "sum", 1.0, 0.0)[0].item() for batch in (a.left, a.right)]
    assert sums[0] - sums[1] == spacing
    assert a.run(hooks, runs=200).succeeds


def test_sums_in_float32():
    """Beyond 2^24 C the sums are 2 C apart, so what one example moves is 0 or at least 2 C."""
    gradient = 1 - 2.0**-19  # so little below C that it is not clipped
    first = 2**24 + 64
    sums = [
        float(hooks(nn.Linear(1, 1, bias=False), torch.full((n, 1), gradient), "sum", 1.0, 0.0)[0]) for n in range(first, first + 5)
    ]
    moves = [after - before for before, after in zip(sums, sums[1:], strict=False)]
    assert max(moves) >= 2


def test_swallowed_noise():
    outcome = ss.gradients.attack("swallowed_noise").run(hooks)
    assert outcome.succeeds
    assert outcome.distinct == 2  # one for each batch


def test_mean_loss():
    a = ss.gradients.attack("mean_loss")
    assert a.run(hooks).succeeds


def test_mean_loss_moves_an_exact_sum_too():
    """The gradients themselves change with the number of examples, so no way to add them helps."""
    a = ss.gradients.attack("mean_loss")

    def exact_sum(batch):
        model = GradSampleModule(a.model(), loss_reduction="mean")
        model(batch).mean().backward()
        total = ss.gradients.Sum(1.0, 1.0)
        total.add([p.grad_sample for p in model.parameters()])
        return float(int(total.sum()[0]) * total.grid.step)

    assert exact_sum(a.left) - exact_sum(a.right) > 8


def test_ghost():
    a = ss.gradients.attack("ghost")
    assert a.run(ghost).succeeds


def test_ghost_end_to_end():
    """At a promised epsilon below 0.1 the update's norm tells whether one person is there."""
    a = ss.gradients.attack("ghost")
    absent = torch.cat([a.right, torch.zeros_like(a.right[:1])])

    def update(x):
        model = a.model()
        engine = PrivacyEngine()
        data = TensorDataset(x, torch.ones(len(x)))
        private, optimizer, criterion, loader = engine.make_private(
            module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            criterion=nn.MSELoss(reduction="mean"), data_loader=DataLoader(data, batch_size=len(x)),
            noise_multiplier=50.0, max_grad_norm=1.0, grad_sample_mode="ghost", poisson_sampling=False,
        )  # fmt: skip
        for inputs, targets in loader:
            optimizer.zero_grad()
            criterion(private(inputs), targets).backward()
            optimizer.step()
        return float(model.layer.weight.norm()), engine.get_epsilon(1e-5)

    with_person, without = [update(a.left) for _ in range(5)], [update(absent) for _ in range(5)]
    assert with_person[0][1] < 0.1
    assert min(norm for norm, _ in with_person) > 100 * max(norm for norm, _ in without)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_not_finite(value):
    a = ss.gradients.attack("swallowed_noise")
    batch = a.right.clone()
    batch[0] = value
    assert math.isnan(hooks(a.model(), batch, "sum", 1.0, 1.0)[0].item())


def test_frozen_batch_norm():
    """What is frozen is not looked at, and in training mode it writes means of the examples into the model, without noise."""
    x = torch.zeros(64, 1)
    net = nn.Sequential(nn.BatchNorm1d(1, momentum=1.0).requires_grad_(False), nn.Linear(1, 1))

    def kept(x):
        net.train()
        private, optimizer, loader = PrivacyEngine().make_private(
            module=net, optimizer=torch.optim.SGD(net[1].parameters(), lr=1.0),
            data_loader=DataLoader(TensorDataset(x), batch_size=len(x)), noise_multiplier=50.0, max_grad_norm=1.0,
            poisson_sampling=False,
        )  # fmt: skip
        for (inputs,) in loader:
            private(inputs).sum().backward()
            optimizer.step()
        private.remove_hooks()
        return net.state_dict()["0.running_mean"].item()

    assert kept(x) == 0
    x[7] = 640.0
    assert kept(x) == 10  # 640/64, exactly
