"""Dummies and empty batches: of the kind of the examples', with nothing of their values, whatever they are made of."""

from collections import UserDict, defaultdict, namedtuple

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, default_collate

import soundsum as ss
from soundsum.gradients.opacus.blanks import dummy_like, emptied

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
    with pytest.raises(ValueError, match="a str_; give one with dummy="):
        dummy_like(np.str_("as long as the first"))
    with pytest.raises(ValueError, match="a defaultdict; give one with dummy="):
        dummy_like(defaultdict(int, x=3))


def collated(example, collate=default_collate):
    return emptied(collate([example]), collate([example, example]))


def test_what_has_a_row_for_each_example_has_none():
    x, names, number = collated((torch.ones(3), "a", 2.5))
    assert (x.shape, number.shape, number.dtype) == ((0, 3), (0,), torch.float64)
    assert list(names) == []
    assert collated({"names": ("a", "bc")}) == {"names": [(), ()]}
    empty = collated(Example(torch.ones(3), 1))
    assert isinstance(empty, Example)
    assert empty.x.shape == (0, 3)
    boxes, labels = collated((torch.ones(2, 4), "a"), lambda rows: tuple(zip(*rows, strict=True)))
    assert boxes == labels == ()
    assert collated(np.ones(3), lambda rows: np.stack(rows, axis=1)).shape == (3, 0)


@pytest.mark.parametrize("within", [lambda x, n, t: (x, n, t), lambda x, n, t: Encoded(x=x, n=n, t=t)])
def test_what_belongs_to_the_whole_batch_says_nothing_of_an_example_in_tuples_as_in_dicts(within):
    whole = (37, "longest", None, torch.float32, np.float32(3))

    def collate(rows):
        return within(torch.stack(rows), whole, torch.full((2,), 37))

    empty = collated(torch.ones(3), collate)
    assert type(empty) is type(collate([torch.ones(3)]))
    x, kept, t = empty.values() if isinstance(empty, Encoded) else empty
    assert x.shape == (0, 3)
    assert kept == (0, "", None, torch.float32, 0)
    assert t.tolist() == [0, 0]


def test_what_is_not_known_is_refused():
    for batch in (object(), [object()], {"x": {1}}):
        with pytest.raises(ValueError, match="or use slots"):
            emptied(batch, batch)
    with pytest.raises(ValueError, match="or use slots"):
        emptied({"a": 1}, {"b": 1})


class Tokens:
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return Encoded(x=torch.ones(6), y=0)


def encode(rows):
    return Encoded(**default_collate([dict(row) for row in rows]), longest=6)


@pytest.mark.parametrize("settings", [{}, {"slots": False, "loss_reduction": "sum", "sample_rate": "1/40"}])
def test_every_batch_has_the_parts_that_the_one_who_trains_asks_for(settings):
    net = nn.Linear(6, 2)
    terms = {"sample_rate": "1/2", "expected_batch_size": 20, "max_size": 40, **settings}
    net, optimizer, loader = ss.gradients.opacus.PrivacyEngine().make_private(
        module=net, optimizer=torch.optim.SGD(net.parameters(), lr=1.0),
        data_loader=DataLoader(Tokens(), collate_fn=encode), noise_multiplier=1.0, max_grad_norm=1.0, **terms,
    )  # fmt: skip
    sizes = set()
    for batch in loader:
        assert list(batch.data) == ["x", "y", "longest"]
        sizes.add(len(batch["x"]))
        nn.functional.cross_entropy(net(batch["x"]), batch["y"], reduction="sum").backward()
        optimizer.step()
    assert (0 in sizes) == bool(settings)  # with all but certainty, of 40 batches
