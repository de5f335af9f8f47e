"""Train on scikit-learn's digits, with Opacus and with soundsum: same epsilon, same accuracy up to the noise.

Then attack sums in half precision: a plain sum reveals one example more or less, ours does not.
Needs torch, Opacus and scikit-learn: pip install '.[torch]' scikit-learn, in a clone
"""

import sys
import warnings

import opacus
import torch
from rich.console import Console
from rich.progress import Progress
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import soundsum as ss
from soundsum.gradients.attacking import sound_step

warnings.simplefilter("ignore")  # Opacus's, that its generator is not secure, and torch's, on hooks
EPOCHS, NOISE, NORM, DELTA = 10, 1.0, 1.0, 1e-5
RATE, DIVISOR, MOST = "1/16", 90, 1500  # public: not taken from the data's size


def digits():
    torch.manual_seed(0)
    pixels, labels = (torch.tensor(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(pixels))
    x, y = (pixels / 16).float()[order], labels[order]
    return TensorDataset(x[:1437], y[:1437]), (x[1437:], y[1437:])


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))


def train(name, engine, bar, **terms):
    """Train privately; return the accuracy on unseen digits, and the epsilon."""
    data, (x, y) = digits()
    model = network()
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(data, batch_size=90), noise_multiplier=NOISE, max_grad_norm=NORM, **terms,
    )  # fmt: skip
    task = bar.add_task(name, total=EPOCHS * len(loader))
    for _ in range(EPOCHS):
        for inputs, targets in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            bar.advance(task)
    return float((model(x).argmax(1) == y).float().mean()), engine.get_epsilon(DELTA)


def plain_step(model, inputs, reduction, max_norm, noise_multiplier):
    """Clip, sum and add noise in bfloat16, the obvious way; each example is its own gradient here."""
    factor = (max_norm / (inputs.norm(dim=1) + 1e-6)).clamp(max=1.0).to(inputs.dtype)
    summed = torch.einsum("i,ij->j", factor, inputs)
    return [summed + torch.randn_like(summed) * max_norm * noise_multiplier]


def tell_apart(step):
    """Test whether a step reveals one example more or less, more often than its noise allows."""
    return ss.gradients.attack("half_precision_batch").run(step, runs=40)


if __name__ == "__main__":
    with Progress(console=Console(file=sys.stderr)) as bar:
        theirs = train("Opacus", opacus.PrivacyEngine(accountant="rdp"), bar)
        engine = ss.gradients.opacus.PrivacyEngine(accountant="rdp")
        ours = train("soundsum", engine, bar, sample_rate=RATE, expected_batch_size=DIVISOR, max_size=MOST)
    for name, (accuracy, epsilon) in (("Opacus", theirs), ("soundsum", ours)):
        print(f"{name:>8}: {accuracy:.1%} of digits recognised, epsilon {epsilon:.2f} at delta {DELTA}")
    print(engine.explain())
    print("a plain sum in bfloat16:", tell_apart(plain_step))
    print("                   ours:", tell_apart(sound_step))
