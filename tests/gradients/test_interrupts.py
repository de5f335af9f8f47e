"""Whatever interrupts a sum, and wherever: no example counts twice, and nobody releases alone what was reduced."""

import pytest
import torch

from soundsum.gradients.clipped_sum import Sum
from tests.refusing import refused

UNCERTAIN = "was interrupted while a batch was added, which may be in it or not"
STATE = ("_totals", "examples", "parts", "_closed", "_reduced")


class Interrupted(Sum):
    """Interrupted after it changed its state so many times."""

    left = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in STATE and self.left is not None:
            self.__dict__["left"] -= 1
            if self.left == 0:
                self.__dict__["left"] = None
                raise KeyboardInterrupt


def begun():
    s = Interrupted(1.0, 1.0)
    s.add([torch.zeros(1, 3)])
    return s


def interrupted(s, after, action):
    """Whether it was."""
    s.__dict__["left"] = after
    try:
        action()
    except KeyboardInterrupt:
        return True
    finally:
        s.__dict__["left"] = None
    return False


@pytest.mark.parametrize("after", range(1, 4))
def test_a_batch_that_is_added_again_after_an_interrupt_counts_once(after):
    s, g = begun(), [torch.tensor([[0.5, 0.0, 0.0]])]
    if interrupted(s, after, lambda: s.add(g)):
        with refused(None, "closed", closed=UNCERTAIN):
            s.add(g)
        with refused(None, "closed", closed=UNCERTAIN):
            s.release()
    else:
        assert after > 2
        assert int(s.sum()[0][0]) == 2**23


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("after", range(1, 6))
def test_a_sum_that_is_merged_again_after_an_interrupt_counts_once(which, after):
    both = begun(), begun()
    one, other = both
    other.add([torch.tensor([[0.5, 0.0, 0.0]])])
    if interrupted(both[which], after, lambda: one.merge(other)):
        with refused(None, "closed", closed="has been merged into another"):
            one.merge(other)
        with refused(None, "closed", closed="has been merged into another"):
            other.release()
    assert int(one.sum()[0][0]) in (0, 2**23)


@pytest.mark.parametrize("after", range(1, 4))
def test_a_rank_that_is_interrupted_in_a_reduction_does_not_release_alone(after, free_port):
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{free_port}", rank=0, world_size=1)
    try:
        s = begun()
        assert interrupted(s, after, s.all_reduce)
        with refused("group", "missing"):
            s.release()
    finally:
        torch.distributed.destroy_process_group()
