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

pytestmark = pytest.mark.filterwarnings("ignore")


def mean_of_others(module):
    return nn.Sequential(module[0], nn.BatchNorm1d(8), module[2])


class Endless(IterableDataset):
    def __iter__(self):
        yield from ()


REFUSED = [
    ({"loss_reduction": "mean", "slots": False}, "use loss_reduction='sum', or slots"),
    ({"poisson_sampling": False}, "leave it True"),
    ({"grad_sample_mode": "ew"}, "use grad_sample_mode='hooks' or 'functorch'"),
    ({"grad_sample_mode": "ghost"}, "use grad_sample_mode='hooks'"),
    ({"grad_sample_mode": "ghost_fsdp"}, "use grad_sample_mode='hooks'"),
    ({"clipping": "adaptive"}, "use clipping='flat' or 'per_layer'"),
    ({"clipping": "normalised"}, "use 'flat' or 'per_layer'"),
    ({"noise_generator": torch.Generator()}, "always comes from the operating system"),
    ({"sample_rate": None}, "sample_rate='1/256'"),
    ({"expected_batch_size": None}, "expected_batch_size=None"),
    ({"max_size": None}, "max_size=None"),
    ({"max_size": 100}, "more than max_size=100"),
    ({"noise_multiplier": 0.0}, "noise_multiplier=0"),
    ({"max_grad_norm": 0.0}, "max_norm=0"),
    ({"slots": 0}, "number of slots"),
    ({"max_grad_norm": [1.0] * 4}, "takes one norm"),
    ({"clipping": "per_layer"}, "a list of norms"),
    ({"clipping": "per_layer", "max_grad_norm": [1.0] * 3}, "3 norms for 4 parameters"),
    ({"expected_batch_size": "64"}, "expected_batch_size='64': give the public number"),
    ({"expected_batch_size": math.nan}, "expected_batch_size=nan: give the public number"),
    ({"slots": "12"}, "slots='12': the number of slots is a whole number"),
    ({"slots": 2.5}, "slots=2.5: the number of slots is a whole number"),
    ({"max_size": math.nan}, "max_size=nan: give the most records"),
    ({"max_size": "150"}, "max_size='150': give the most records"),
    ({"dummy": None, "dataset": [("text", 0)] * 9}, "give one with dummy="),
]


@pytest.mark.parametrize("settings, remedy", REFUSED)
def test_what_is_unsound_is_refused_with_a_remedy(settings, remedy):
    net = model()
    with pytest.raises(ValueError, match=remedy.replace("(", "\\(")):
        private(net, **settings)
    private(net)  # the module is as it was


KEEP_EXAMPLES = [
    (lambda: nn.Embedding(3, 2, max_norm=1.0), "leave max_norm out"),
    (lambda: nn.EmbeddingBag(3, 2, max_norm=1.0), "leave max_norm out"),
    (lambda: torch.ao.quantization.MinMaxObserver(), "after it is trained"),
    (lambda: torch.ao.quantization.FakeQuantize(), "after it is trained"),
    (lambda: nn.utils.weight_norm(nn.Linear(2, 2)), "use that of torch.nn.utils.parametrizations"),
]


@pytest.mark.parametrize(
    "target, said",
    [
        ({"target_epsilon": math.nan}, "target_epsilon=nan"),
        ({"target_epsilon": math.inf}, "target_epsilon=inf"),
        ({"target_delta": 1.5}, "target_delta=1.5"),
        ({"target_delta": 0}, "target_delta=0"),
        ({"epochs": 0}, "epochs=0"),
        ({"epochs": 1.5}, "epochs=1.5"),
    ],
)
def test_noise_is_not_sought_for_a_target_that_no_noise_or_any_keeps(target, said):
    with pytest.raises(ValueError, match=said):
        private(**{"target_epsilon": 3.0, "target_delta": 1e-5, "epochs": 2, **target})


@pytest.mark.parametrize("layer, remedy", KEEP_EXAMPLES)
def test_layers_that_keep_something_of_the_examples_are_refused(layer, remedy):
    with pytest.raises(ValueError, match=remedy):
        private(nn.Sequential(nn.Linear(6, 2), layer()))


def test_sharded_modules_are_refused():
    from torch.distributed.fsdp import FullyShardedDataParallel

    sharded = FullyShardedDataParallel.__new__(FullyShardedDataParallel)  # a whole one needs a process group
    nn.Module.__init__(sharded)
    for module in (sharded, nn.Sequential(sharded)):
        with pytest.raises(ValueError, match="use DPDDP"):
            refuse_module(module)


def test_layers_and_data_that_mix_examples_are_refused():
    with pytest.raises(ValueError, match="use GroupNorm"):
        private(mean_of_others(model()))
    with pytest.raises(ValueError, match="track_running_stats=False"):
        private(nn.Sequential(nn.Linear(6, 2), nn.InstanceNorm1d(2, track_running_stats=True)))
    net = model()
    with pytest.raises(ValueError, match="IterableDataset"):
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
    with pytest.raises(ValueError, match="call eval\\(\\) on it after each train\\(\\)"):
        wrapped(torch.ones(4, 6))
    net[1].eval()
    optimizer.drop()
    assert train(wrapped, optimizer, loader) == 8
    assert all(torch.equal(value, before[name]) for name, value in net[1].state_dict().items())
    net[1].requires_grad_(True)
    with pytest.raises(ValueError, match="leave it frozen"):
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
    with pytest.raises(ValueError, match="use GroupNorm"):
        private(net)


def test_an_instance_norm_that_writes_to_its_statistics_in_eval_mode_is_refused():
    """As torch's do whose track_running_stats is set to False later."""
    norm = nn.InstanceNorm1d(1, track_running_stats=True, momentum=1.0).requires_grad_(False).eval()
    assert is_fixed(norm)
    norm.track_running_stats = False
    norm(torch.tensor([[[1.0, 3.0]], [[5.0, 7.0]]]))
    assert norm.running_mean.item() == 4  # the mean of the examples
    with pytest.raises(ValueError, match="keeps running statistics"):
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
    with pytest.raises(ValueError, match="norm is a BatchNorm1d"):
        train(wrapped, optimizer, loader)
    optimizer.drop()
    net.norm.eval()
    assert train(wrapped, optimizer, loader) == 8
    net.norm = nn.BatchNorm1d(8).requires_grad_(False)
    with pytest.raises(ValueError, match="norm is a BatchNorm1d"):
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
    with pytest.raises(ValueError, match="parameters that the optimizer has not"):
        train(wrapped, optimizer, [next(batches)])
    assert len(engine.accountant) == 1
    net[0].requires_grad_(False)
    optimizer.drop()
    assert train(wrapped, optimizer, loader) == 8


def test_parameters_that_another_optimizer_would_train_without_noise_are_refused():
    net = model()
    terms = {"data_loader": DataLoader([(torch.ones(6), 0)]), "noise_multiplier": 1.0, "max_grad_norm": 1.0, **PUBLIC}
    optimizer = torch.optim.SGD(net[2].parameters(), lr=1)
    with pytest.raises(ValueError, match="give all to one optimizer, or freeze the others"):
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
    with pytest.raises(ValueError, match="give a loader of the records to train on"):
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
    with pytest.raises(ValueError, match="without a GradScaler"):
        scaler.step(optimizer)
