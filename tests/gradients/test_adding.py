"""A batch is added whole or not at all, wherever it lies."""

import pytest
import torch
from tests.gradients.test_sums import batch, flat

from soundsum.gradients import processor
from soundsum.gradients.sums import Sum


def test_a_failure_between_two_tensors_leaves_the_sum_as_it_was(monkeypatch):
    s, g = Sum([1.0, 1.0], 1.0), batch()
    s.add(g)
    before, add, calls = s.sum(), processor.add, []

    def fails_the_second_time(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise MemoryError
        add(*arguments)

    monkeypatch.setattr(processor, "add", fails_the_second_time)
    with pytest.raises(MemoryError):
        s.add(g)
    assert torch.equal(flat(s.sum()), flat(before))
    assert s.examples == 5
    s.add(g)
    assert torch.equal(flat(s.sum()), 2 * flat(before))
    assert s.examples == 10


def test_a_first_batch_that_fails_leaves_no_shape(monkeypatch):
    s = Sum(1.0, 1.0)
    monkeypatch.setattr(processor, "add", None)
    with pytest.raises(TypeError):
        s.add(batch())
    monkeypatch.undo()
    s.add([torch.ones(2, 3)])
    assert s.examples == 2


def test_a_view_that_negates_is_added_as_what_it_shows():
    s, t = Sum(1.0, 1.0), Sum(1.0, 1.0)
    s.add(torch._neg_view(batch()[1]))
    t.add(-batch()[1])
    assert torch.equal(flat(s.sum()), flat(t.sum()))
