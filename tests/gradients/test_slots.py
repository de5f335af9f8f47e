"""Slots and coins: places are uniform, cut batches are bounded, and rows that see each other are found out."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

import soundsum as ss
from soundsum import randomness
from soundsum.gradients import slots as room
from soundsum.gradients.slots import EMPTY, coins, enough_slots, overflow, place_in_slots, rate_from_above, read_rate
from tests.refusing import refused


def test_coins_are_decided_by_further_digits_where_64_bits_are_a_tie(monkeypatch):
    q = Fraction(1, 3)
    tie = int(q * 2**64)
    monkeypatch.setattr(room, "random_words", lambda n: np.array([tie - 1, tie, tie, tie + 1], np.uint64))
    asked = []
    monkeypatch.setattr(room, "bernoulli", lambda p: asked.append(p) or len(asked) == 1)
    assert coins(q, 4).tolist() == [True, True, False, False]
    assert asked == [q * 2**64 - tie] * 2  # the rest of q's digits
    assert coins(Fraction(1), 3).all()


def test_coins_are_heads_as_often_as_they_should():
    heads = int(coins(Fraction(1, 10), 10**6).sum())
    assert abs(heads - 10**5) < 6 * math.sqrt(10**6 * 0.09)


def test_places_are_uniform_and_too_many_members_are_cut_at_random():
    seen = Counter(tuple(place_in_slots(np.array([5, 9]), 3)) for _ in range(6000))
    assert len(seen) == 6  # two members in three slots
    assert all(abs(count - 1000) < 6 * math.sqrt(1000) for count in seen.values())
    kept = Counter(frozenset(place_in_slots(np.arange(4), 2)) for _ in range(6000))
    assert len(kept) == 6
    assert all(abs(count - 1000) < 6 * math.sqrt(1000) for count in kept.values())
    assert place_in_slots(np.arange(0), 2) == [EMPTY, EMPTY]


def test_the_bound_on_cut_batches_is_above_the_exact_probability():
    n, q = 60, Fraction(1, 4)
    for slots in range(15, 60, 3):
        exact = sum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(slots + 1, n + 1))
        assert exact <= overflow(n * q, slots) <= 1


def test_powers_are_rounded_up_and_by_little():
    for n in (0, 1, 2, 77, 4097):
        for x in (Fraction(1, 3), Fraction(4096, 4097), room.EULER):
            assert 0 <= room.power_from_above(x, n) / x**n - 1 < Fraction(1, 2**100)


def test_enough_slots_are_enough_and_not_many_more():
    for mean, most in ((Fraction(64), 10**6), (Fraction(5000), 10**6), (Fraction(10), 30), (Fraction(1, 2), 100)):
        slots = enough_slots(mean, most)
        assert slots == most or overflow(mean, slots) <= room.RARELY
        assert slots <= most
        assert slots == most or overflow(mean, slots - 2) > room.RARELY
    assert enough_slots(Fraction(64), 10**6, multiple=8) % 8 == 0


def test_rates():
    assert read_rate("1/3") == Fraction(1, 3)
    assert rate_from_above(Fraction(1, 10)) >= Fraction(1, 10)
    for wrong, reason in ((0, "too-small"), (-1, "too-small"), (2, "too-large"), (math.nan, "not-a-number")):
        with refused("sample_rate", reason, given=repr(wrong)):
            read_rate(wrong)
    with refused("sample_rate", "missing"):
        read_rate(None)


def test_fill_and_the_dummies_count_as_zero(monkeypatch):
    slots = ss.gradients.Slots(None, 8)
    rows, present = slots.fill(["a", "b", "c"], "dummy")
    assert sorted(row for row, here in zip(rows, present, strict=True) if here) == ["a", "b", "c"]
    assert rows.count("dummy") == present.count(False) == 5
    g = torch.randn(8, 4)
    with_dummies, alone = ss.gradients.Sum(1.0, 1.0), ss.gradients.Sum(1.0, 1.0)
    with_dummies.add([g], present=present)
    alone.add([g[torch.tensor(present)]])
    assert torch.equal(with_dummies.sum()[0], alone.sum()[0])
    with refused("present", "mismatch"):
        alone.add([g], present=[True])
    assert randomness.random_bytes(1)


def test_a_rows_bits_change_with_the_number_of_rows_and_not_with_the_other_rows_values():
    """Why there are slots: matrix products of many sizes are computed in another order where the batch is larger."""
    torch.manual_seed(0)
    changed = []
    for width, out in product((10, 33, 64, 300, 784), (10, 64, 256)):
        x, weight = torch.randn(65, width), torch.randn(width, out)
        whole, zeros = x @ weight, torch.zeros_like(x)
        for n in (1, 2, 7, 64):
            changed.append(not torch.equal(x[:n] @ weight, whole[:n]))
            assert torch.equal((torch.cat([x[:n], zeros[n:]]) @ weight)[:n], whole[:n])
    assert sum(changed) > 5  # of 60


class SeesOthers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x - x.mean(0, keepdim=True)).squeeze(1)


class Alone(SeesOthers):
    def forward(self, x):
        return self.layer(x).squeeze(1)


def squares(out, target):
    return ((out - target) ** 2).sum()


def wrapped(model):
    from opacus import GradSampleModule

    return GradSampleModule(model, loss_reduction="sum")


@pytest.mark.filterwarnings("ignore")
def test_check_sees_rows_that_see_each_other():
    x, y = torch.randn(6, 3), torch.zeros(6)
    for made in (wrapped(Alone()), Alone()):
        found = ss.gradients.Slots(made, 6).check(x, y, squares)
        assert found.independent
        assert "did not see each other" in str(found)
    for made in (wrapped(SeesOthers()), SeesOthers()):
        found = ss.gradients.Slots(made, 6).check(x, y, squares)
        assert not found.independent
        assert found.changed == found.trials
        assert "the theorem does not apply" in str(found)
    with refused("targets", "wrong-type", given="an int"):
        ss.gradients.Slots(Alone(), 6).check(x, 0, squares)
    for wrong in (torch.tensor(0), torch.zeros(5, 2)):
        with refused("targets", "mismatch", given=str(tuple(wrong.shape)), size=6):
            ss.gradients.Slots(Alone(), 6).check(x, wrong, squares)
    with refused("inputs", "mismatch", rows=6, size=7):
        ss.gradients.Slots(Alone(), 7).check(x, y, squares)


@pytest.mark.filterwarnings("ignore")
def test_check_does_not_take_dropout_for_rows_that_see_each_other():
    x, y = torch.randn(6, 3), torch.zeros(6, 1)
    slots = ss.gradients.Slots(nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1)), 6)
    before = torch.get_rng_state()
    assert slots.check(x, y, squares).independent
    assert torch.equal(torch.get_rng_state(), before)
    sees = ss.gradients.Slots(nn.Sequential(SeesOthers(), nn.Dropout(0.5)), 6)
    assert not sees.check(x, y[:, 0], squares).independent


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"weight": torch.tensor([1.0, 1000.0])}, {"ignore_index": 1}])
def test_check_sees_a_mean_that_divides_by_what_the_targets_are(settings):
    x, y = torch.randn(6, 3), torch.tensor([0, 1, 0, 0, 1, 0])
    for made in (nn.Linear(3, 2), wrapped(nn.Linear(3, 2))):
        slots = ss.gradients.Slots(made, 6)
        assert not slots.check(x, y, lambda a, b: nn.functional.cross_entropy(a, b, **settings)).independent
        summed = slots.check(x, y, lambda a, b: nn.functional.cross_entropy(a, b, reduction="sum", **settings))
        assert summed.independent


def neighbours(out, target):
    """A loss that pulls each row to the next."""
    return ((out - out.roll(1, 0)) ** 2).sum()


@pytest.mark.filterwarnings("ignore")
def test_check_sees_rows_that_are_mixed_outside_the_model():
    x, y = torch.randn(6, 3), torch.zeros(6)
    for made in (wrapped(Alone()), Alone()):
        slots = ss.gradients.Slots(made, 6)
        assert not slots.check(x, y, neighbours).independent
        assert not slots.check(x, y, squares, forward=lambda m, x: m(x) + m(x.roll(1, 0))).independent
        assert slots.check(x, y, squares, forward=lambda m, x: m(x) + m(2 * x)).independent


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by", range(1, 16))
def test_check_sees_rows_that_are_any_distance_apart(by):
    x, y = torch.randn(16, 3), torch.zeros(16)
    found = ss.gradients.Slots(Alone(), 16).check(x, y, squares, forward=lambda m, x: m(x) + m(x.roll(by, 0)))
    assert not found.independent


class Keeps(nn.Module):
    """Remembers the largest value it saw; what it gives is not changed by that."""

    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.largest = torch.maximum(self.largest, x.detach().max())
        self.calls += 1
        return x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wrap", [lambda model: model, wrapped])
def test_check_sees_what_a_model_remembers_and_leaves_it_as_it_was(wrap):
    keeps = Keeps()
    made = wrap(nn.Sequential(keeps, Alone()))
    found = ss.gradients.Slots(made, 6).check(torch.rand(6, 3), torch.zeros(6), squares)
    assert found.remembered == ("0.largest",)
    assert not found.independent
    assert "0.largest, which is saved with it and gets no noise" in str(found)
    assert (float(keeps.largest), float(keeps.calls)) == (0, 0)


@pytest.mark.filterwarnings("ignore")
def test_a_loss_that_fails_in_a_check_leaves_nothing_of_the_batch():
    made = wrapped(Alone())
    with pytest.raises(ZeroDivisionError):
        ss.gradients.Slots(made, 6).check(torch.rand(6, 3), torch.zeros(6), lambda out, y: 1 / 0)
    assert not made._module.layer.activations


class Repeats(nn.Module):
    """Minds whether a token other than 0, which stands for none, is there twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Embedding(9, 1)

    def forward(self, x):
        there = x[x > 0]
        return self.layer(x)[:, 0] * (1 + len(there) - len(there.unique()))


@pytest.mark.filterwarnings("ignore")
def test_check_tries_other_tokens_than_zero():
    found = ss.gradients.Slots(Repeats(), 8).check(torch.arange(8), torch.zeros(8), squares)
    assert not found.independent


@pytest.mark.parametrize("size, reason", [(0, "too-small"), (-1, "too-small"), (2.5, "not-whole"), (True, "not-whole")])
def test_a_number_of_slots_is_a_number(size, reason):
    with refused("size", reason, ValueError, given=repr(size)):
        ss.gradients.Slots(None, size)
