"""Sum: what it promises, that it is released once, merged, saved and reduced exactly, and what it refuses."""

import copy
import io
import math
import os
import pickle
import resource
import shutil
import signal
import stat
import sys
import threading
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.multiprocessing as processes

import soundsum as ss
from soundsum.gradients.clipped_sum import Sum
from soundsum.refusals import Refusal
from tests.refusing import refused

ROOT = Path(__file__).parents[2]


def batch(n=5, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(n, 3, 4), torch.randn(n, 7)]


def flat(tensors):
    return torch.cat([x.flatten() for x in tensors])


def test_what_it_promises():
    s = ss.gradients.Sum(max_norm=0.1, noise_multiplier=1.1)
    assert isinstance(s.sensitivity, Fraction)
    assert Fraction(0.1) * (1 - Fraction(1, 2**24)) < s.sensitivity <= Fraction(0.1)
    assert 2**24 <= s.grid.limit < 2**25
    assert s.sigma >= Fraction(1.1) * s.grid.limit
    assert (ROOT / s.theorem.reference).exists()
    assert s.theorem.name == "gradients"
    assert "Gaussian mechanism" in s.explain()
    assert "docs/theorems/gradients.md" in s.explain()


@pytest.mark.parametrize("norms", [[math.sqrt(2)] * 2, [1.0] * 4, [0.1] * 100, [math.nextafter(2.0, 0)], [1e-6, 1.0]])
def test_several_norms_have_one_limit_of_at_most_two_to_the_25(norms):
    s = Sum(norms, 1.0)
    squares = sum(k * k for k in s.layers)
    assert (s.grid.limit - 1) ** 2 < squares <= s.grid.limit**2
    assert s.grid.limit <= 2**25
    assert max(s.layers) < 2**25
    assert (s.grid.limit == 2**25) == (norms == [math.sqrt(2)] * 2)


def test_the_sum_is_that_of_the_clipped_integers():
    s = Sum(1.0, 1.0)
    s.add(batch())
    assert torch.equal(flat(s.sum()), flat(x.sum(0) for x in ss.gradients.clip(batch(), 1.0)))


def test_a_release_works_once_and_hides_the_sum():
    s = Sum(1.0, 1.0)
    s.add(batch())
    exact = flat(s.sum())
    noisy = s.release()
    assert not torch.equal(flat(noisy.integers), exact)
    assert torch.equal(flat(noisy.floats(torch.float64)), flat(noisy.integers).double() * 2.0**-24)
    assert [x.dtype for x in noisy.floats(torch.bfloat16)] == [torch.bfloat16] * 2
    for again in (s.release, lambda: s.add(batch()), lambda: s.merge(Sum(1.0, 1.0)), lambda: s.save("no")):
        with refused(None, "closed", closed="has been released"):
            again()


def at_once(*actions):
    """What each action gave, or its error, all of them begun at the same moment in threads of their own."""
    ready, found = threading.Barrier(len(actions)), []

    def act(action):
        ready.wait()
        try:
            found.append(action())
        except ValueError as error:
            found.append(error)

    threads = [threading.Thread(target=act, args=(action,), daemon=True) for action in actions]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive()
    finally:
        sys.setswitchinterval(before)
    return found


def test_threads_that_release_one_sum_get_it_once(tmp_path):
    for i in range(40):
        s, other = Sum(1.0, 1.0), Sum(1.0, 1.0)
        s.add(batch())
        found = at_once(s.release, s.release, partial(other.merge, s), partial(s.save, tmp_path / f"{i}"))
        errors = [x for x in found if isinstance(x, Refusal)]
        assert len(errors) == 3
        assert len({x.facts["closed"] for x in errors if x.reason == "closed"}) == 1


def test_threads_that_add_to_one_sum_lose_nothing():
    for _ in range(40):
        s, g = Sum(1.0, 1.0), batch()
        s.add(g)
        once = flat(s.sum())
        at_once(*[partial(s.add, g)] * 4)
        assert s.examples == 25
        assert torch.equal(flat(s.sum()), 5 * once)


def test_threads_that_merge_crosswise_do_not_wait_for_each_other():
    for _ in range(300):
        s, t = Sum(1.0, 1.0), Sum(1.0, 1.0)
        s.add(batch())
        t.add(batch())
        found = at_once(partial(s.merge, t), partial(t.merge, s))
        assert sum(x is None for x in found) == 1
        assert sorted((s.examples, t.examples)) == [5, 10]


def test_what_was_read_of_a_running_sum_stays_as_it_was():
    s, t = Sum(1.0, 1.0), Sum(1.0, 1.0)
    s.add(batch())
    t.add(batch(seed=1))
    running, before = s.running(), s.sum()
    s.merge(t)
    assert torch.equal(flat(running), flat(before))
    assert not torch.equal(flat(s.sum()), flat(before))


def test_a_copy_cannot_be_released_too():
    s = Sum(1.0, 1.0)
    s.add(batch())
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with refused(None, "unsupported", TypeError):
            copied(s)


def test_norms_for_each_tensor():
    s = Sum([0.5, 0.25], 2)
    s.add([x * 100 for x in batch(1)])
    for found, norm in zip(s.sum(), (0.5, 0.25), strict=True):
        length = math.sqrt(int((found**2).sum())) * float(s.grid.step)
        assert norm * 0.9999 < length <= norm
    assert s.sensitivity**2 >= Fraction(0.5) ** 2 + Fraction(0.25) ** 2 - Fraction(1, 2**40)
    assert s.sigma >= 2 * s.grid.limit
    with refused("gradients", "mismatch", tensors=3, norms=2):
        Sum([1, 1], 1).add([torch.ones(1, 2)] * 3)


def test_two_pass_clipping_with_norms_from_anywhere():
    """Whatever the first pass says, nobody's part is longer than its limit, and the limits fit the whole."""
    s, g = Sum(1.0, 1.0), [x * 10 for x in batch(6)]
    norms = torch.stack([x.flatten(1).norm(dim=1) for x in g], 1)
    norms[1], norms[2], norms[3, 0] = math.nan, math.inf, -1.0
    norms[4] = 0
    limits = s.limits(norms)
    assert bool(((limits**2).sum(1) <= s.grid.limit**2).all())
    s.add(g, limits=limits)
    one = Sum(1.0, 1.0)
    one.add([x[:1] for x in g], limits=limits[:1])
    length = math.sqrt(sum(int((x**2).sum()) for x in one.sum()))
    assert 0.999 * s.grid.limit < length <= s.grid.limit
    for row in (1, 4):
        alone = Sum(1.0, 1.0)
        alone.add([x[row : row + 1] for x in g], limits=limits[row : row + 1])
        assert not flat(alone.sum()).any()


def test_limits_of_an_example_are_the_same_alone_and_among_others():
    """The large part of each gets a third of 2^24 - 1 steps, or one less where the norm was rounded otherwise."""
    s = Sum(1.0, 1.0)
    rows = torch.rand(64, 1, dtype=torch.float64) * torch.tensor([3.0] + [1.0] * 72, dtype=torch.float64)
    for norms in (rows, rows.T.contiguous().T):
        alone = torch.cat([s.limits(norms[i : i + 1]) for i in range(64)])
        assert torch.equal(s.limits(norms), alone)
    assert torch.equal(s.limits(rows * 2.0**900), s.limits(rows))


def test_limits_that_are_too_much_leave_nothing_of_their_example():
    s = Sum(1.0, 1.0)
    K = s.grid.limit
    s.add(batch(3), limits=torch.tensor([[K, K], [-1, 0], [K, 0]]))
    alone = Sum(1.0, 1.0)
    alone.add([x[2:] for x in batch(3)], limits=torch.tensor([[K, 0]]))
    assert torch.equal(flat(s.sum()), flat(alone.sum()))
    with refused("limits", "wrong-type", TypeError):
        Sum(1.0, 1.0).add(batch(1), limits=torch.ones(1, 2))
    with refused("limits", "wrong-type", TypeError):
        Sum(1.0, 1.0).add(batch(1), limits=torch.ones(1, 2, dtype=torch.bool))
    with refused("limits", "mismatch"):
        Sum(1.0, 1.0).add(batch(1), limits=torch.ones(2, 2, dtype=torch.int64))


def test_saved_sums_are_merged_once(tmp_path):
    whole = Sum(1.0, "11/10")
    whole.add(batch(9))
    merged = Sum(1.0, "11/10")
    for i in range(3):
        part = Sum(1.0, "11/10")
        part.add([x[3 * i : 3 * i + 3] for x in batch(9)])
        part.save(tmp_path / f"{i}.pt")
        shutil.copy(tmp_path / f"{i}.pt", tmp_path / f"copy{i}.pt")
        with refused(None, "closed", closed="has been saved, for another to merge"):
            part.release()
        merged.merge(Sum.load(tmp_path / f"{i}.pt"))
    assert torch.equal(flat(merged.sum()), flat(whole.sum()))
    assert merged.examples == 9
    with refused("other", "repeated"):
        merged.merge(Sum.load(tmp_path / "copy1.pt"))
    other = Sum(1.0, 1)
    other.add(batch(1))
    with refused("other", "mismatch"):
        merged.merge(other)
    assert torch.equal(flat(merged.sum()), flat(whole.sum()))
    merged.release()


def test_a_file_is_loaded_once_as_two_sums_could_be_released_twice(tmp_path):
    s, saved = Sum(1.0, 1.0), tmp_path / "s.pt"
    s.add(batch())
    s.save(saved)
    assert Sum.load(saved).examples == 5
    with pytest.raises(FileNotFoundError, match="can be loaded once"):
        Sum.load(saved)
    assert list(tmp_path.iterdir()) == []


def saved_by_torch(path):
    torch.save(torch.nn.Linear(2, 2).state_dict(), path)


def half_a_sum(path):
    s = Sum(1.0, 1.0)
    s.add(batch())
    s.save(path)
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize("make", [Path.touch, saved_by_torch, half_a_sum, lambda path: path.write_text("notes")])
def test_a_file_that_is_no_sum_stays_as_it_is(tmp_path, make):
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    with refused("path", "unreadable", ValueError, path=str(path)):
        Sum.load(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def test_a_saved_sum_has_no_noise_and_is_for_its_owner_alone(tmp_path):
    s = Sum(1.0, 1.0)
    s.add([torch.ones(3, 2)])
    exact = s.sum()[0]
    before = os.umask(0)
    try:
        s.save(tmp_path / "s.pt")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s.pt").stat().st_mode) == 0o600
    assert torch.equal(Sum.load(tmp_path / "s.pt").sum()[0], exact)


def test_a_sum_is_saved_in_a_new_file_or_not_at_all(tmp_path):
    s, path = Sum(1.0, 1.0), tmp_path / "s"
    s.add(batch())
    path.write_text("notes")
    with pytest.raises(FileExistsError, match="give another"):
        s.save(path)
    assert path.read_text() == "notes"
    for wrong, given in ((io.BytesIO(), "a _io BytesIO"), (3, "3"), (None, "None")):
        with refused("path", "wrong-type", TypeError, given=given):
            s.save(wrong)
        with refused("path", "wrong-type", TypeError, given=given):
            Sum.load(wrong)
    s.release()


def test_a_sum_whose_saving_failed_is_not_released_as_well(tmp_path):
    s = Sum(1.0, 1.0)
    s.add(batch())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # as if the disk were full
    try:
        with pytest.raises((OSError, RuntimeError)):
            s.save(tmp_path / "s")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with refused(None, "closed", closed="has been saved, for another to merge"):
        s.release()


def released_in_a_fork(s):
    """What a child process gets of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, str(s.release()).encode())
        except ValueError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return found


def test_a_forked_process_cannot_release_it_too():
    s = Sum(1.0, 1.0)
    s.add(batch())
    assert "was forked from" in released_in_a_fork(s)
    with s._turn():  # where the parent is in the middle of a method the child does not wait for it
        assert "was forked from" in released_in_a_fork(s)
    s.release()


def test_a_signal_handler_cannot_use_a_sum_in_the_middle_of_a_method(tmp_path):
    released, errors = [], []
    s = Sum(1.0, 1.0)
    s.add(batch())

    def handler(*_):
        try:
            released.append(s.release())
        except Refusal as error:
            errors.append(error)

    class Interrupting:
        """A list of rows' presence; asking how long it is comes in the middle of `add`."""

        def __len__(self):
            signal.raise_signal(signal.SIGUSR1)
            return 5

        def __iter__(self):
            return iter([True] * 5)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        s.add(batch(), present=Interrupting())
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert released == []
    assert [(error.option, error.reason, error.__context__) for error in errors] == [(None, "closed", None)]
    assert s.examples == 10
    s.release()


BAD = [
    ([torch.ones(2, 3, dtype=torch.int32)], TypeError, "unsupported", {"place": 0, "dtype": "int32"}),
    ([torch.ones(2, 3, dtype=torch.complex64)], TypeError, "unsupported", {"place": 0, "dtype": "complex64"}),
    ([torch.ones(2, 3, dtype=torch.bool)], TypeError, "unsupported", {"place": 0, "dtype": "bool"}),
    ([torch.ones(2, 3), [1.0, 2.0]], TypeError, "wrong-type", {"place": 1, "given": "a list"}),
    ([torch.tensor(1.0)], ValueError, "mismatch", {"place": 0}),
    ([torch.ones(2, 3), torch.ones(3, 7)], ValueError, "mismatch", {}),
    ([torch.ones(2, 4)], ValueError, "mismatch", {"given": "[(4,)]", "expected": "[(3,)]"}),
    ([torch.ones(2, 3, device="meta")], ValueError, "unsupported", {"place": 0}),
    ([torch.ones(2, 3).to_sparse()], TypeError, "unsupported", {"place": 0}),
    ([], ValueError, "empty", {}),
]


@pytest.mark.parametrize("gradients, error, reason, facts", BAD)
def test_bad_gradients_are_refused_and_leave_the_sum_as_it_was(gradients, error, reason, facts):
    s = Sum(1.0, 1.0)
    s.add([torch.ones(2, 3)])
    before, examples = s.sum()[0], s.examples
    with refused("gradients", reason, error, **facts):
        s.add(gradients)
    assert torch.equal(s.sum()[0], before)
    assert s.examples == examples


@pytest.mark.parametrize("norm", [0, -1, math.nan, math.inf, 2.0**-101, 2.0**80, "0"])
def test_bad_norms_are_refused(norm):
    with pytest.raises(ValueError, match="max_norm="):
        Sum(norm, 1.0)


@pytest.mark.parametrize(
    "multiplier, reason",
    [
        (0, "too-small"),
        (-1, "too-small"),
        (math.nan, "not-a-number"),
        (math.inf, "not-a-number"),
        (2.0**32, "too-large"),
    ],
)
def test_bad_multipliers_are_refused(multiplier, reason):
    with refused("noise_multiplier", reason, given=repr(multiplier)):
        Sum(1.0, multiplier)


def test_no_norms_are_refused():
    with refused("max_norm", "empty"):
        Sum([], 1.0)


def test_a_sum_that_would_leave_its_integers_is_refused():
    s = Sum(1.0, 1.0)
    s.add([torch.ones(2, 3)])
    s.examples = 2**38 - 1
    before = s.sum()[0]
    with refused(None, "too-many"):
        s.add([torch.ones(2, 3)])
    assert torch.equal(s.sum()[0], before)
    s.add([torch.ones(1, 3)])
    with refused(None, "too-many"):
        s.add([torch.ones(1, 3)])


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_limit_there_is_fits_the_kernels_integers(sign):
    s = Sum([Fraction(math.isqrt(2**49), 2**24)] * 2, 1.0)
    assert s.grid.limit == 2**25
    whole = torch.tensor([[2**25, 0]]).expand(100, 2)  # all of it for the first tensor
    s.add([torch.full((100, 1), sign * 2.0), torch.zeros(100, 1)], limits=whole)
    assert s.sum()[0].tolist() == [sign * 100 * 2**25]


def test_nothing_is_released_before_the_shapes_are_known():
    with refused(None, "empty"):
        Sum(1.0, 1.0).release()
    s = Sum(1.0, 1.0)
    s.add([torch.ones(0, 3)])  # an empty batch has noise too
    assert s.release().integers[0].any()


# Two processes


def reduced(rank, port, folder):
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    world = torch.distributed.group.WORLD
    mine = [x[rank::2] for x in batch(11)]
    s = Sum(1.0, 1.0)
    s.add(mine)
    s.all_reduce()
    errors = []
    for wrong in (s.release, s.all_reduce, partial(s.add, mine)):
        try:
            wrong()
        except Refusal as error:
            errors.append((error.option, error.reason.value))
    alone = [torch.distributed.new_group([i]) for i in range(2)]
    for group in (alone[rank], alone[1 - rank]):
        try:
            s.release(group)
        except Refusal as error:
            errors.append((error.option, error.reason.value))
    total = s.sum()
    after = s.release(world)  # noise on the whole sum
    t = Sum(1.0, 1.0)
    t.add(mine)
    before = t.release(world)  # noise on rank 0's part
    other = Sum(1.0 + rank, 1.0)
    other.add(mine)
    try:
        other.release(world)
    except Refusal as error:
        errors.append((error.option, error.reason.value))
    torch.save((total, after.integers, before.integers, errors), folder / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_two_processes_reduce_integers_and_release_the_same_ones(tmp_path, free_port):
    processes.spawn(reduced, (free_port, tmp_path), nprocs=2)
    found = [torch.load(tmp_path / f"{rank}.pt") for rank in range(2)]
    alone = Sum(1.0, 1.0)
    alone.add(batch(11))
    exact = flat(alone.sum())
    for total, after, before, errors in found:
        assert torch.equal(flat(total), exact)
        assert torch.equal(flat(after), flat(found[0][1]))
        assert torch.equal(flat(before), flat(found[0][2]))
        for noisy in (after, before):
            assert not torch.equal(flat(noisy), exact)
            assert float((flat(noisy) - exact).double().abs().max()) < 10 * 2**24  # one draw of noise, not two
        assert errors == [
            ("group", "missing"), (None, "closed"), (None, "closed"),  # release, all_reduce, add
            ("group", "mismatch"), ("group", "mismatch"), (None, "mismatch"),  # of this rank alone, of others; of terms
        ]  # fmt: skip
