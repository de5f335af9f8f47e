"""Every attack fails against ours, alone and through Opacus with our engine; a naive step falls for those it should."""

import pytest
import torch

import soundsum as ss
from soundsum.gradients.attacking import BUILDERS, Outcome, sound_step
from soundsum.gradients.slots import per_example
from tests.gradients.opacus_steps import hooks
from tests.refusing import refused

ALL = [(name, None) for name in BUILDERS] + [(name, "float16") for name in BUILDERS if name != "ghost"]


@pytest.mark.parametrize("name, dtype", ALL)
def test_two_batches_of_an_attack_differ_in_one_example(name, dtype):
    a = ss.gradients.attack(name, dtype)
    assert len(a.left) == len(a.right) + 1
    assert torch.equal(a.left[: len(a.right)], a.right)
    assert a.story


@pytest.mark.parametrize("name", BUILDERS)
def test_ours_does_not_tell_them_apart(name):
    outcome = ss.gradients.attack(name).run(sound_step, runs=16)
    assert not outcome.succeeds, outcome
    assert outcome.distinct == 16
    assert "not told apart" in str(outcome)


def naive_step(model, inputs, reduction, max_norm, noise_multiplier):
    """Clipped, added and noised in the model's own type."""
    (g,) = per_example(model, inputs, torch.zeros(len(inputs)), lambda scores, _: scores.sum())
    factor = (max_norm / (g.flatten(1).norm(dim=1) + 1e-6)).clamp(max=1.0).to(g.dtype)
    summed = torch.einsum("i,i...", factor, g)
    return [summed + torch.randn_like(summed) * max_norm * noise_multiplier]


@pytest.mark.parametrize("name", ["half_precision_batch", "swallowed_noise"])
def test_a_sum_in_bfloat16_is_told_apart(name):
    outcome = ss.gradients.attack(name).run(naive_step)
    assert outcome.succeeds, outcome
    assert outcome.distinct <= 4  # of 60: the noise is gone


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["half_precision_batch", "swallowed_noise", "ghost"])
def test_opacus_with_our_optimizer_does_not_tell_them_apart(name):
    outcome = ss.gradients.attack(name).run(our_optimizer, runs=20)
    assert not outcome.succeeds, outcome
    assert outcome.distinct > 3


@pytest.mark.filterwarnings("ignore")
def test_opacus_clips_per_example_gradients_that_nearly_cancel():
    assert not ss.gradients.attack("ghost").run(hooks, runs=20).succeeds


def our_optimizer(model, inputs, reduction, max_norm, noise_multiplier):
    from opacus import GradSampleModule

    wrapped = GradSampleModule(model, loss_reduction=reduction)
    optimizer = ss.gradients.opacus.DPOptimizer(
        torch.optim.SGD(wrapped.parameters(), lr=1.0), noise_multiplier=noise_multiplier, max_grad_norm=max_norm,
        expected_batch_size=1, loss_reduction="sum",
    )  # fmt: skip
    wrapped(inputs).sum().backward()
    optimizer.clip_and_accumulate()
    noisy = optimizer._sum.release()
    return noisy.floats(torch.float64)


def test_what_counts_as_success():
    assert Outcome("a", 60, 60, 0.6, 2).succeeds
    assert not Outcome("a", 60, 40, 0.6, 60).succeeds
    assert Outcome("a", 10, 0, 0.5, 1).chance == 1


def test_unknown_attacks_and_types():
    with refused("name", "unknown", given="'spooky'", known=", ".join(BUILDERS)):
        ss.gradients.attack("spooky")
    with refused("dtype", "unsupported", given="'bfloat16'"):
        ss.gradients.attack("ghost", "bfloat16")
    with refused("dtype", "unsupported", given="'float64'"):
        ss.gradients.attack("mean_loss", "float64")
