"""What Opacus's engine with exact sums refuses, each with its remedy, and before the module is changed."""

import math

import pytest
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SubsetRandomSampler
from torch.utils.data.distributed import DistributedSampler

import soundsum as ss
from soundsum.gradients.opacus.unsupported import is_fixed, refuse_module
from tests.gradients.training import PUBLIC, data, model, private, train
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")


def mean_of_others(module):
    return nn.Sequential(module[0], nn.BatchNorm1d(8), module[2])


class Endless(IterableDataset):
    def __iter__(self):
        yield from ()


REFUSED = [
    ({"loss_reduction": "mean", "slots": False}, "loss_reduction", "conflict", {}),
    ({"loss_reduction": "median"}, "loss_reduction", "unknown", {"given": "'median'"}),
    ({"poisson_sampling": False}, "poisson_sampling", "unsound", {}),
    ({"grad_sample_mode": "ew"}, "grad_sample_mode", "unsound", {}),
    ({"grad_sample_mode": "ghost"}, "grad_sample_mode", "unsound", {"given": "'ghost'"}),
    ({"grad_sample_mode": "ghost_fsdp"}, "grad_sample_mode", "unsound", {"given": "'ghost_fsdp'"}),
    ({"clipping": "adaptive"}, "clipping", "unsound", {}),
    ({"clipping": "normalised"}, "clipping", "unsound", {"given": "'normalised'"}),
    ({"noise_generator": torch.Generator()}, "noise_generator", "unsound", {}),
    ({"sample_rate": None}, "sample_rate", "missing", {}),
    ({"expected_batch_size": None}, "expected_batch_size", "missing", {}),
    ({"expected_batch_size": "64"}, "expected_batch_size", "not-a-number", {"given": "'64'"}),
    ({"expected_batch_size": math.nan}, "expected_batch_size", "not-a-number", {"given": "nan"}),
    ({"expected_batch_size": math.inf}, "expected_batch_size", "not-a-number", {"given": "inf"}),
    ({"expected_batch_size": 0}, "expected_batch_size", "too-small", {"given": "0"}),
    ({"max_size": None}, "max_size", "missing", {}),
    ({"max_size": math.nan}, "max_size", "not-whole", {"given": "nan"}),
    ({"max_size": "150"}, "max_size", "not-whole", {"given": "'150'"}),
    ({"max_size": 150.5}, "max_size", "not-whole", {"given": "150.5"}),
    ({"max_size": 0}, "max_size", "too-small", {"given": "0"}),
    ({"max_size": 100}, "max_size", "mismatch", {"given": 100}),
    ({"noise_multiplier": 0.0}, "noise_multiplier", "too-small", {"given": "0.0"}),
    ({"slots": 0}, "slots", "too-small", {"given": "0"}),
    ({"slots": "12"}, "slots", "not-whole", {"given": "'12'"}),
    ({"slots": 2.5}, "slots", "not-whole", {"given": "2.5"}),
    ({"max_grad_norm": [1.0] * 4}, "max_grad_norm", "conflict", {"clipping": "'flat'"}),
    ({"clipping": "per_layer"}, "max_grad_norm", "conflict", {"given": "1.0"}),
    ({"clipping": "per_layer", "max_grad_norm": [1.0] * 3}, "max_grad_norm", "mismatch", {"norms": 3, "parameters": 4}),
    ({"dummy": None, "dataset": [("text", 0)] * 9}, "dummy", "missing", {"given": "a str"}),
]


@pytest.mark.parametrize("settings, option, reason, facts", REFUSED)
def test_what_is_unsound_is_refused_with_a_remedy(settings, option, reason, facts):
    net = model()
    with refused(option, reason, ValueError, **facts) as caught:
        private(net, **settings)
    assert caught.value.remedy
    private(net)  # the module is as it was


def test_a_norm_that_is_not_above_0_is_refused():
    net = model()
    with pytest.raises(ValueError, match="max_norm=0"):
        private(net, max_grad_norm=0.0)
    private(net)


KEEP_EXAMPLES = [
    (lambda: nn.Embedding(3, 2, max_norm=1.0), "unsound", {"type": "Embedding", "given": "1.0"}),
    (lambda: nn.EmbeddingBag(3, 2, max_norm=1.0), "unsound", {"type": "EmbeddingBag", "given": "1.0"}),
    (lambda: torch.ao.quantization.MinMaxObserver(), "unsound", {"type": "MinMaxObserver"}),
    (lambda: torch.ao.quantization.FakeQuantize(), "unsound", {"type": "FakeQuantize"}),
    (lambda: nn.utils.weight_norm(nn.Linear(2, 2)), "unsupported", {"type": "Linear", "hook": "WeightNorm"}),
]


@pytest.mark.parametrize(
    "option, given, reason",
    [
        ("target_epsilon", math.nan, "not-a-number"),
        ("target_epsilon", math.inf, "not-a-number"),
        ("target_epsilon", 0, "too-small"),
        ("target_delta", 1.5, "too-large"),
        ("target_delta", 1, "too-large"),
        ("target_delta", 0, "too-small"),
        ("target_delta", math.nan, "too-small"),
        ("epochs", 0, "too-small"),
        ("epochs", 1.5, "not-whole"),
        ("epochs", math.inf, "not-whole"),
    ],
)
def test_noise_is_not_sought_for_a_target_that_no_noise_or_any_keeps(option, given, reason):
    with refused(option, reason, ValueError, given=repr(given)):
        private(**{"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 2, option: given})


@pytest.mark.parametrize("layer, reason, facts", KEEP_EXAMPLES)
def test_layers_that_keep_something_of_the_examples_are_refused(layer, reason, facts):
    with refused("module", reason, layer="layer 1", **facts):
        private(nn.Sequential(nn.Linear(6, 2), layer()))


def test_sharded_modules_are_refused():
    from torch.distributed.fsdp import FullyShardedDataParallel

    sharded = FullyShardedDataParallel.__new__(FullyShardedDataParallel)  # a whole one needs a process group
    nn.Module.__init__(sharded)
    for module in (sharded, nn.Sequential(sharded)):
        with refused("module", "unsupported"):
            refuse_module(module)


def test_layers_and_data_that_mix_examples_are_refused():
    with refused("module", "unsound", type="BatchNorm1d"):
        private(mean_of_others(model()))
    with refused("module", "unsound", layer="layer 1", type="InstanceNorm1d"):
        private(nn.Sequential(nn.Linear(6, 2), nn.InstanceNorm1d(2, track_running_stats=True)))
    net = model()
    with refused("data_loader", "unsupported"):
        ss.gradients.opacus.PrivacyEngine().make_private(
            module=net, optimizer=torch.optim.SGD(net.parameters(), lr=1), data_loader=DataLoader(Endless()),
            noise_multiplier=1.0, max_grad_norm=1.0, **PUBLIC,
        )  # fmt: skip


def with_norm(**settings):
    torch.manual_seed(5)
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, **settings), nn.ReLU(), nn.Linear(8, 2))
    net(torch.randn(50, 6))  # what it was trained to
    net[:2].requires_grad_(False)
    net[1].eval()
    return net


def test_a_batch_norm_that_is_fixed_is_not_refused_and_stays_so():
    net = with_norm()
    before = {name: value.clone() for name, value in net[1].state_dict().items()}
    _, wrapped, optimizer, loader = private(net)
    assert train(wrapped, optimizer, loader) == 8
    wrapped.train()
    with refused("module", "unsound", type="BatchNorm1d"):
        wrapped(torch.ones(4, 6))
    net[1].eval()
    optimizer.drop()
    assert train(wrapped, optimizer, loader) == 8
    assert all(torch.equal(value, before[name]) for name, value in net[1].state_dict().items())
    net[1].requires_grad_(True)
    with refused("module", "unsound", type="BatchNorm1d"):
        wrapped(torch.ones(4, 6))


class OfItsOwn(nn.BatchNorm1d):
    def forward(self, x):
        return x - x.mean(0)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: net[1].train(),
        lambda net: net[1].requires_grad_(True),
        lambda net: net.__setitem__(1, nn.BatchNorm1d(8, track_running_stats=False).requires_grad_(False).eval()),
        lambda net: net.__setitem__(1, OfItsOwn(8).requires_grad_(False).eval()),
    ],
)
def test_a_batch_norm_that_is_not_fixed_is_refused(change):
    net = with_norm()
    change(net)
    with refused("module", "unsound", layer="layer 1", type=type(net[1]).__name__):
        private(net)


def test_an_instance_norm_that_writes_to_its_statistics_in_eval_mode_is_refused():
    """As torch's do whose track_running_stats is set to False later."""
    norm = nn.InstanceNorm1d(1, track_running_stats=True, momentum=1.0).requires_grad_(False).eval()
    assert is_fixed(norm)
    norm.track_running_stats = False
    norm(torch.tensor([[[1.0, 3.0]], [[5.0, 7.0]]]))
    assert norm.running_mean.item() == 4  # the mean of the examples
    with refused("module", "unsound", type="InstanceNorm1d"):
        refuse_module(nn.Sequential(norm))


class PastTheHooks(nn.Module):
    """Calls forward, where torch's way is to call the layer."""

    def __init__(self, net):
        super().__init__()
        self.first, self.norm, self.last = net[0], net[1], net[3]

    def forward(self, x):
        return self.last(self.norm.forward(self.first(x)).relu())


def test_a_step_is_refused_where_a_batch_norm_is_not_fixed_any_more():
    net = PastTheHooks(with_norm())
    _, wrapped, optimizer, loader = private(net)
    wrapped.train()
    with refused("module", "unsound", layer="layer norm", type="BatchNorm1d"):
        train(wrapped, optimizer, loader)
    optimizer.drop()
    net.norm.eval()
    assert train(wrapped, optimizer, loader) == 8
    net.norm = nn.BatchNorm1d(8).requires_grad_(False)
    with refused("module", "unsound", layer="layer norm", type="BatchNorm1d"):
        train(wrapped, optimizer, loader)


def test_parameters_that_are_unfrozen_later_are_refused_where_the_optimizer_has_not_got_them():
    net = model()
    net[0].requires_grad_(False)
    terms = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC}
    engine = ss.gradients.opacus.PrivacyEngine()
    wrapped, optimizer, loader = engine.make_private(
        module=net, optimizer=torch.optim.SGD(net[2].parameters()), data_loader=DataLoader(data()), **terms
    )
    batches = iter(loader)
    assert train(wrapped, optimizer, [next(batches)]) == 1
    net[0].requires_grad_(True)
    with refused("module", "mismatch"):
        train(wrapped, optimizer, [next(batches)])
    assert len(engine.accountant) == 1
    net[0].requires_grad_(False)
    optimizer.drop()
    assert train(wrapped, optimizer, loader) == 8


def test_parameters_that_another_optimizer_would_train_without_noise_are_refused():
    net = model()
    terms = {"data_loader": DataLoader([(torch.ones(6), 0)]), "noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC}
    optimizer = torch.optim.SGD(net[2].parameters(), lr=1)
    with refused("module", "mismatch"):
        ss.gradients.opacus.PrivacyEngine().make_private(module=net, optimizer=optimizer, **terms)
    net[0].requires_grad_(False)
    ss.gradients.opacus.PrivacyEngine().make_private(module=net, optimizer=optimizer, **terms)


@pytest.mark.parametrize(
    "chosen",
    [
        {"sampler": SubsetRandomSampler([0, 1])},
        {"batch_sampler": [[0, 1]]},
        {"batch_sampler": BatchSampler(SubsetRandomSampler([0, 1]), 2, False)},
    ],
)
def test_a_sampler_that_leaves_records_out_is_not_passed_over(chosen):
    with refused("data_loader", "unsupported"):
        private_on(**chosen)


def test_samplers_of_all_records_are_replaced_by_coins():
    for everybody in ({"shuffle": True}, {"sampler": DistributedSampler(range(9), 2, 0)}):
        _, _, loader = private_on(**everybody)
        private_on(loader)


def private_on(loader=None, **settings):
    net = model()
    return ss.gradients.opacus.PrivacyEngine().make_private(
        module=net, optimizer=torch.optim.SGD(net.parameters(), lr=1), noise_multiplier=1.0, max_grad_norm=1.0,
        data_loader=loader or DataLoader([(torch.ones(6), 0)] * 9, **settings), **PUBLIC,
    )  # fmt: skip


def test_dynamic_loss_scaling_is_refused():
    _, net, optimizer, loader = private()
    scaler = torch.amp.GradScaler("cpu")
    x, y = next(iter(loader))
    scaler.scale(nn.functional.cross_entropy(net(x), y)).backward()
    with refused(None, "unsound"):
        scaler.step(optimizer)
