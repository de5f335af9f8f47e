"""Dummies: of the kind of the examples, with nothing of their values, whatever they are made of."""

from collections import UserDict, defaultdict, namedtuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, default_collate

import soundsum as ss
from soundsum.gradients.opacus.dummies import dummy_like
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")
Example = namedtuple("Example", "x y")


class Encoded(UserDict):
    pass


def test_records_keep_their_kind():
    assert dummy_like(Example(3, [1.5])) == Example(0, [0.0])
    assert type(dummy_like(Encoded(x=3))) is Encoded
    for number in (np.float32(3), np.int64(3), np.bool_(True)):
        assert type(dummy_like(number)) is type(number)
        assert dummy_like(number) == 0
    with refused("dummy", "missing", given="a numpy str_"):
        dummy_like(np.str_("as long as the first"))
    with refused("dummy", "missing", given="a collections defaultdict"):
        dummy_like(defaultdict(int, x=3))


class Tokens:
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return Encoded(x=torch.ones(6), y=0)


def encode(rows):
    return Encoded(**default_collate([dict(row) for row in rows]), longest=6)


@pytest.mark.parametrize("settings", [{}, {"slots": False, "loss_reduction": "sum", "sample_rate": "1/100"}])
def test_every_batch_has_the_parts_that_the_one_who_trains_asks_for(settings):
    net = nn.Linear(6, 2)
    terms = {"sample_rate": "1/2", "expected_batch_size": 20, "max_size": 40, **settings}
    net, optimizer, loader = ss.gradients.opacus.PrivacyEngine().make_private(
        module=net, optimizer=torch.optim.SGD(net.parameters(), lr=1.0),
        data_loader=DataLoader(Tokens(), collate_fn=encode), noise_multiplier=1.0, max_grad_norm=1.0, **terms,
    )  # fmt: skip
    empty = 0
    for batch in loader:
        assert list(batch.data) == ["x", "y", "longest"]
        empty += not any(optimizer.slots.waiting[-1].present)
        nn.functional.cross_entropy(net(batch["x"]), batch["y"], reduction="sum").backward()
        optimizer.step()
    assert bool(empty) == bool(settings)  # otherwise with a probability below 1e-9
