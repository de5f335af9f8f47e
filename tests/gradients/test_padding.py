"""Batches whose shape or type says something of their examples are refused, whatever they are made of and by."""

from collections import UserDict, deque
from dataclasses import dataclass
from itertools import chain, repeat
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import soundsum as ss
from soundsum.gradients.opacus.dummies import form
from tests.refusing import refused

pytestmark = pytest.mark.filterwarnings("ignore")


class Sentences:
    """Examples of different lengths."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return torch.ones(2 + i % 5), 0


def private_loader(collate, dataset=None):
    net = nn.Linear(6, 2)
    _, optimizer, loader = ss.gradients.opacus.PrivacyEngine().make_private(
        module=net, optimizer=torch.optim.SGD(net.parameters(), lr=1.0),
        data_loader=DataLoader(dataset or Sentences(), collate_fn=collate), noise_multiplier=1.0, max_grad_norm=1.0,
        sample_rate="1/2", expected_batch_size=20, max_size=40,
    )  # fmt: skip
    return optimizer, loader


def padded(examples, length=None):
    rows = nn.utils.rnn.pad_sequence([x for x, _ in examples], batch_first=True)
    return rows if length is None else nn.functional.pad(rows, (0, length - rows.shape[1]))


@dataclass
class Record:
    x: torch.Tensor


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Table(dict):
    pass


class Column(torch.Tensor):
    pass


class Rows(list):
    pass


class Pair(tuple):
    pass


def with_attribute(batch, x):
    batch.padded = x
    return batch


FORMS = [
    lambda x: with_attribute(Table(y=torch.zeros(3)), x),
    lambda x: with_attribute(Rows([0]), x),
    lambda x: with_attribute(Pair((0, 0)), x),
    lambda x: with_attribute(torch.zeros(3).as_subclass(Column), x),
    lambda x: with_attribute(torch.zeros(3), x),
    lambda x: (x, 0),
    lambda x: {"x": x},
    lambda x: Record(x),
    lambda x: Slotted(x),
    lambda x: SimpleNamespace(inner=[SimpleNamespace(x=x)]),
    lambda x: x.numpy(),
    lambda x: np.array([x.numpy(), None], dtype=object),
    lambda x: nn.utils.rnn.pack_sequence(list(x)),
    lambda x: torch.nested.nested_tensor(list(x)),
]


@pytest.mark.parametrize("within", FORMS)
def test_padding_to_the_longest_is_refused_wherever_the_tensor_is(within):
    _, loader = private_loader(lambda examples: within(padded(examples)))
    with refused("data_loader", "unsound"):
        list(loader)
    _, loader = private_loader(lambda examples: within(padded(examples, 8)))
    assert len(list(loader)) == 2


class ToTheLongest:
    """An object with an attribute, as tokenizers' collators are."""

    padding = "longest"

    def __call__(self, examples):
        return padded(examples)


class ToTheLongestSoFar:
    """Remembers what it saw, so that only the first batches have shapes of their own."""

    def __init__(self):
        self.longest = 0

    def __call__(self, examples):
        self.longest = max(self.longest, *(len(x) for x, _ in examples))
        return padded(examples, self.longest)


def test_an_object_that_pads_is_refused_as_a_function_is():
    _, loader = private_loader(ToTheLongest())
    with refused("data_loader", "unsound"):
        list(loader)


def test_an_object_that_remembers_the_longest_is_refused_from_the_first_batch_on():
    optimizer, loader = private_loader(ToTheLongestSoFar())
    with refused("data_loader", "unsound"):
        next(iter(loader))
    for later in (loader, _parts(loader, optimizer)):
        with refused("data_loader", "unsound"):
            iter(later)


def _parts(loader, optimizer):
    manager = ss.gradients.opacus.BatchMemoryManager
    return manager(data_loader=loader, max_physical_batch_size=7, optimizer=optimizer).__enter__()


def test_parts_of_a_batch_have_the_form_of_dummies_too():
    optimizer, loader = private_loader(lambda examples: padded(examples, 8))
    rows = [len(x) for x in _parts(loader, optimizer)]
    assert rows == 2 * [7, 7, 7, 7, 7, 5]
    optimizer, loader = private_loader(padded)
    with refused("data_loader", "unsound"):
        list(_parts(loader, optimizer))


class Mixed:
    """One number among integers makes the batch one of floats."""

    def __len__(self):
        return 40

    def __getitem__(self, i):
        return 1.5 if i == 7 else 1


def test_a_type_that_one_example_decides_is_refused():
    _, loader = private_loader(torch.tensor, Mixed())
    with refused("data_loader", "unsound"):
        list(chain.from_iterable(repeat(loader, 64)))  # 128 batches, each of which may have it


def test_how_many_numbers_of_a_sparse_batch_are_stored_is_seen():
    _, loader = private_loader(lambda examples: padded(examples, 8).to_sparse())
    with refused("data_loader", "unsound"):
        list(loader)


def test_what_cannot_be_looked_into_is_refused():
    for opaque in (object(), iter([1])):
        with refused("data_loader", "unsupported"):
            private_loader(lambda examples, opaque=opaque: (padded(examples, 8), opaque))


class Sent(UserDict):
    """As tokenizers give batches: a dict of tensors, and objects of their own beside it."""

    def __init__(self, tensors, own=None):
        super().__init__(tensors)
        self.own = own


@pytest.mark.parametrize("own", [object(), [iter([1])], SimpleNamespace(tokenizer=deque([1])), len])
def test_what_is_beside_the_parts_of_a_container_need_not_be_looked_into(own):
    _, loader = private_loader(lambda examples: Sent({"x": padded(examples, 8)}, own))
    assert len(list(loader)) == 2
    _, loader = private_loader(lambda examples: Sent({"x": padded(examples)}, own))
    with refused("data_loader", "unsound"):
        list(loader)
    _, loader = private_loader(lambda examples: Sent({"x": padded(examples, 8)}, [own, padded(examples)]))
    with refused("data_loader", "unsound"):
        list(loader)


class Queue(deque):
    pass


class Hidden:
    __slots__ = ("__x",)

    def __init__(self, x):
        self.__x = x


def test_contents_are_not_hidden_by_an_object_without_visible_attributes():
    with refused("data_loader", "unsupported", given="a tests Queue"):
        private_loader(lambda examples: Queue(padded(examples)))
    _, loader = private_loader(lambda examples: Hidden(padded(examples)))
    with refused("data_loader", "unsound"):
        list(loader)


def named(examples, length=8):
    return with_attribute(padded(examples, 8), padded(examples, length))


def in_a_table(examples, length=8):
    return with_attribute(Table(x=padded(examples, 8)), padded(examples, length))


@pytest.mark.parametrize("collate", [named, in_a_table])
def test_attributes_that_are_lost_on_the_way_from_a_worker_are_not_missed(collate):
    _, loader = private_loader(collate)
    assert len(list(loader)) == 2
    loader.num_workers, loader.prefetch_factor = 1, 2
    assert len(list(loader)) == 2


def test_attributes_that_come_with_a_worker_are_looked_into():
    _, loader = private_loader(lambda examples: in_a_table(examples, None))
    loader.num_workers, loader.prefetch_factor = 1, 2
    with refused("data_loader", "unsound"):
        list(loader)


def test_forms_of_what_points_to_itself():
    one = SimpleNamespace(x=torch.zeros(2))
    one.itself = one
    other = SimpleNamespace(x=torch.zeros(3))
    other.itself = other
    assert form(one) == form(one)
    assert form(one) != form(other)
