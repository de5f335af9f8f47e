"""A row of a batch is one example's wherever a layer sees it, and every layer that is supported trains on any batch."""

import pytest
import torch
import torch.distributed
from opacus.layers import DPGRU, DPLSTM, DPRNN, DPMultiheadAttention
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, TensorDataset

from soundsum.gradients.opacus import PrivacyEngine
from tests.gradients.test_batch_guard import accounted
from tests.gradients.test_leftovers import AS_THEY_COME, BOTH, Scaled
from tests.gradients.training import PUBLIC, model, private, train
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")
SEQUENCES = TensorDataset(torch.randn(40, 5, 6), torch.arange(40) % 2)


class Packs(nn.Module):
    """A sequence has as many steps as its first number says."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(4, 2)

    def forward(self, x):
        lengths = 1 + (x[:, 0, 0] > 0).long() * 4
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.head(pad_packed_sequence(self.layer(packed)[0], batch_first=True, total_length=5)[0].sum(1))


@BOTH
@pytest.mark.parametrize("kind", [DPLSTM, DPGRU, DPRNN])
def test_a_packed_sequence_is_refused_as_its_rows_are_not_those_of_the_batch(settings, kind):
    engine, net, optimizer, loader = private(Packs(kind(6, 4, batch_first=True)), SEQUENCES, sample_rate=1, **settings)
    with refused(None, "unsound", layer=kind.__name__):
        train(net, optimizer, loader)
    assert accounted(engine) == 0
    with torch.no_grad():
        net(SEQUENCES.tensors[0])  # nothing is learned from it


class Twice(nn.Module):
    """Its layer sees all rows and then some of them again."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)

    def forward(self, x):
        return self.layer(x) + self.layer(x[1:3]).sum()


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 2), nn.Linear(6, 2)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.one(x) + self.two(x[1:3]).sum()


@BOTH
@pytest.mark.parametrize("net", [Twice, Tied])
def test_a_layer_that_sees_some_of_the_rows_is_refused(settings, net):
    """Their gradients would be added to those of the first rows."""
    engine, net, optimizer, loader = private(net(), sample_rate="1/2", **settings)
    with refused(None, "mismatch") as caught:
        train(net, optimizer, loader)
    assert caught.value.facts == {}  # how many rows a batch has is private without slots
    assert accounted(engine) == 0


def test_a_gradient_penalty_is_refused_by_its_name():
    engine, net, optimizer, loader = private()
    x, _ = next(iter(loader))
    x.requires_grad_()
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    with refused(None, "repeated"):
        slope.square().sum().backward()
    with pytest.raises(ValueError, match="not initialized"):
        optimizer.step()
    assert accounted(engine) == 0


class Attends(nn.Module):
    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class First(nn.Module):
    """Of what a recurrent layer gives."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(5, 2, mode="sum")

    def forward(self, x):
        tokens = x.flatten(1).long().abs() % 5
        return self.bag(tokens.flatten(), torch.arange(len(tokens)) * tokens.shape[1])


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 2)

    def forward(self, x):
        return self.embedding(x.long().abs() % 5)


LAYERS = {
    "linear": lambda: nn.Linear(6, 2),
    "parameter_of_its_own": Scaled,
    "conv1d": lambda: nn.Conv1d(4, 2, 3),
    "conv2d": lambda: nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv2d(1, 2, 3)),
    "conv3d": lambda: nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.Conv3d(1, 2, 2)),
    "conv_transpose": lambda: nn.ConvTranspose1d(4, 2, 3),
    "layer_norm": lambda: nn.LayerNorm(6),
    "group_norm": lambda: nn.GroupNorm(2, 4),
    "rms_norm": lambda: nn.RMSNorm(6),
    "instance_norm1d": lambda: nn.InstanceNorm1d(4, affine=True),
    "instance_norm2d": lambda: nn.Sequential(nn.Unflatten(1, (2, 2)), nn.InstanceNorm2d(2, affine=True)),
    "instance_norm3d": lambda: nn.Sequential(nn.Unflatten(1, (1, 2, 2)), nn.InstanceNorm3d(1, affine=True)),
    "embedding": Embeds,
    "embedding_bag": Bags,
    "attention": lambda: Attends(DPMultiheadAttention(6, 2, batch_first=True)),
    "attention_to_zero": lambda: Attends(DPMultiheadAttention(6, 2, batch_first=True, add_zero_attn=True)),
    "lstm": lambda: First(DPLSTM(6, 3, batch_first=True, num_layers=2, bidirectional=True)),
    "gru": lambda: First(DPGRU(6, 3, batch_first=True)),
    "rnn": lambda: First(DPRNN(6, 3, batch_first=True)),
    "weight_norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 2)),
    "prelu": lambda: nn.PReLU(),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("records", [0, 1])
def test_every_layer_trains_on_a_batch_of_nobody_as_on_one_of_somebody(name, records):
    """Otherwise an error tells whether the only record was in the batch."""
    torch.manual_seed(1)
    net = LAYERS[name]()
    dataset = TensorDataset(torch.randn(records, 4, 6), torch.zeros(records))
    engine, net, optimizer, loader = private(
        net, dataset, dummy=(torch.zeros(4, 6), 0.0), sample_rate=1, engine=PrivacyEngine(accountant="rdp"),
        **AS_THEY_COME,
    )  # fmt: skip
    before = [p.detach().clone() for p in net.parameters()]
    for x, _ in loader:
        assert len(x) == 1
        net(x).sum().backward()
        optimizer.step()
    assert accounted(engine) == 1
    assert not any(torch.equal(p, old) for p, old in zip(net.parameters(), before, strict=True) if p.requires_grad)


def test_a_batch_of_nobody_holds_a_dummy_that_counts_as_zero():
    nobody = TensorDataset(torch.zeros(0, 6), torch.zeros(0).long())
    _, net, optimizer, loader = private(dataset=nobody, dummy=(torch.full((6,), 9.0), 1), **AS_THEY_COME)
    x, y = next(iter(loader))
    assert (x.tolist(), y.tolist()) == ([[9.0] * 6], [1])
    nn.functional.cross_entropy(net(x), y, reduction="sum").backward()
    optimizer.clip_and_accumulate()
    assert not any(p.summed_grad.any() for p in net.parameters())


@pytest.mark.parametrize("kind", [torch.optim.LBFGS, torch.optim.SparseAdam])
def test_optimizers_that_cannot_step_on_a_noisy_gradient_are_refused_before_anything_is_accounted(kind):
    net, engine = model(), PrivacyEngine()
    terms = {"data_loader": DataLoader([(torch.ones(6), 0)]), "noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC}
    with refused("optimizer", "unsupported", optimizer=kind.__name__):
        engine.make_private(module=net, optimizer=kind(net.parameters()), **terms)
    engine.make_private(module=net, optimizer=torch.optim.SGD(net.parameters()), **terms)  # as it was


def test_ddp_around_a_private_model_is_refused(free_port):
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{free_port}", rank=0, world_size=1)
    try:
        engine, net, optimizer, loader = private()
        wrapped = DistributedDataParallel(net)
        with refused(None, "unsound"):
            train(wrapped, optimizer, loader)
        assert accounted(engine) == 0
        engine, net, optimizer, loader = private(DistributedDataParallel(model()))
        assert train(net, optimizer, loader) == accounted(engine) == 8
    finally:
        torch.distributed.destroy_process_group()
