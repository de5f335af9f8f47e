"""A small model and data to train it on."""

import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import soundsum as ss

PUBLIC = {"sample_rate": "1/8", "expected_batch_size": 16, "max_size": 150}


def data(n=128, bad=()):
    torch.manual_seed(7)
    x = torch.randn(n, 6)
    y = (x[:, 0] > 0).long()
    for i, value in bad:
        x[i] = value
    return TensorDataset(x, y)


def model():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))


def private(net=None, dataset=None, engine=None, **settings):
    """(engine, model, optimizer, loader), private by our engine."""
    net = net or model()
    engine = engine or ss.gradients.opacus.PrivacyEngine()
    loader = DataLoader(data() if dataset is None else dataset, batch_size=16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    terms = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC, **settings}
    make = engine.make_private
    if "target_epsilon" in terms:
        del terms["noise_multiplier"]
        make = engine.make_private_with_epsilon
    return engine, *make(module=net, optimizer=optimizer, data_loader=loader, **terms)


def train(net, optimizer, loader, epochs=1, loss=nn.functional.cross_entropy):
    steps = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, on hooks
        for _ in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                loss(net(x), y).backward()
                optimizer.step()
                steps += 1
    return steps
