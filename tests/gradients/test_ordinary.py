"""Training code as users of Opacus write it: none of it is refused, and every step is accounted for."""

import pytest
import torch
from opacus.layers import DPLSTM, DPMultiheadAttention
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import soundsum as ss
from tests.gradients.test_batch_guard import accounted
from tests.gradients.training import PUBLIC

pytestmark = pytest.mark.filterwarnings("ignore")


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.lstm, self.head = nn.Embedding(20, 4), DPLSTM(4, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.lstm(self.tokens(x))[0][:, -1])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.head = nn.Embedding(20, 4), nn.Embedding(7, 4), nn.Linear(4, 2)
        self.attention, self.norm = DPMultiheadAttention(4, 2, batch_first=True), nn.LayerNorm(4)

    def forward(self, x):
        h = self.tokens(x) + self.positions(torch.arange(7).expand(len(x), -1))
        return self.head(self.norm(h + self.attention(h, h, h, need_weights=False)[0]).mean(1))


class Adapted(nn.Module):
    """A frozen layer and a correction of low rank."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(36, 2).requires_grad_(False)
        self.down, self.up = nn.Linear(36, 2, bias=False), nn.Linear(2, 2, bias=False)

    def forward(self, x):
        x = x.flatten(1)
        return self.frozen(x) + self.up(self.down(x))


def convolutional():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))


def with_a_frozen_backbone():
    net = convolutional()
    net[:4].requires_grad_(False)
    return net


IMAGES, TOKENS = torch.rand(100, 1, 6, 6), torch.arange(700).reshape(100, 7) % 20
ORDINARY = [
    (lambda: nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Dropout(0.1), nn.ReLU(), nn.Linear(8, 2)), IMAGES),
    (convolutional, IMAGES),
    (Recurrent, TOKENS),
    (Attention, TOKENS),
    (with_a_frozen_backbone, IMAGES),
    (Adapted, IMAGES),
]


@pytest.mark.parametrize("net, x", ORDINARY)
def test_ordinary_training_is_not_refused(net, x):
    net, data = net(), TensorDataset(x, torch.arange(100) % 2)
    engine = ss.gradients.opacus.PrivacyEngine(accountant="rdp")
    net, optimizer, loader = engine.make_private(
        module=net,
        optimizer=torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.01),
        data_loader=DataLoader(data, batch_size=16, shuffle=True, drop_last=True),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        **PUBLIC,
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=40)
    next(iter(loader))  # to look at
    for step, (inputs, targets) in enumerate(loader):
        if step == 4:
            break
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(inputs), targets).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    net.eval()
    with torch.no_grad():
        net(x)
    net.train()
    with ss.gradients.opacus.BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=30, optimizer=optimizer
    ) as parts:
        for inputs, targets in parts:
            with torch.autocast("cpu", torch.bfloat16):
                loss = nn.functional.cross_entropy(net(inputs), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    assert accounted(engine) == 4 + 8
