"""A batch is added whole or not at all, wherever it lies and whatever becomes of it meanwhile."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from soundsum.gradients import adding
from soundsum.gradients.clipped_sum import Sum
from tests.gradients.test_sums import batch, flat

ROOM = str(Path(adding.__file__).parent)


def test_a_failure_between_two_tensors_leaves_the_sum_as_it_was(monkeypatch):
    s, g = Sum([1.0, 1.0], 1.0), batch()
    s.add(g)
    before, add, calls = s.sum(), adding.CPU.add, []

    def fails_the_second_time(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise MemoryError
        add(*arguments)

    monkeypatch.setattr(adding.CPU, "add", fails_the_second_time)
    with pytest.raises(MemoryError):
        s.add(g)
    assert torch.equal(flat(s.sum()), flat(before))
    assert s.examples == 5
    s.add(g)
    assert torch.equal(flat(s.sum()), 2 * flat(before))
    assert s.examples == 10


def test_a_first_batch_that_fails_leaves_no_shape(monkeypatch):
    s = Sum(1.0, 1.0)
    monkeypatch.setattr(adding.CPU, "add", None)
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


def longest(add):
    """The largest sum of squares of one gradient's integers, where it grows at any line while it is added."""
    found, line, done = [], 0, False
    while not done:
        values = np.full((1, 4), 1e-3, np.float32)
        s, left = Sum(1.0, 1.0), line

        def grow(frame, event, _, values=values):
            nonlocal left
            if not frame.f_code.co_filename.startswith(ROOM):
                return None
            left -= event == "line"
            if left < 0:
                values[:] = 100
            return grow

        trace = sys.gettrace()
        sys.settrace(grow)
        try:
            add(s, torch.from_numpy(values))
        finally:
            sys.settrace(trace)
        found.append(sum(q * q for q in s.sum()[0].tolist()))
        line, done = line + 1, left >= 0
    return max(found)


def test_a_gradient_that_changes_while_it_is_added_is_clipped():
    assert longest(Sum.add) <= Sum(1.0, 1.0).grid.limit ** 2
    assert longest(Sum.consume) > Sum(1.0, 1.0).grid.limit ** 2  # reads it twice, as its caller must know
