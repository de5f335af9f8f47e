"""Plain torch and the kernels give the model's integers, bit for bit, whatever the rows, order, shards and threads."""

import math
from fractions import Fraction

import pytest
import torch

from soundsum.gradients import adding
from soundsum.gradients.adding import CPU, PLAIN
from soundsum.gradients.clipped_sum import Sum, clip
from soundsum.numbers import clipping
from soundsum.numbers.clipping import Grid
from tests.gradients.rows import DTYPES, NORMS, adversarial

KERNELS = [PLAIN, CPU]


def total(tensors, grid, kernel, blocks=None, limits=None):
    into = [torch.zeros(g.shape[1], dtype=torch.int64) for g in tensors]
    blocks = blocks or [list(range(len(tensors)))]
    adding.add_batch(tensors, blocks, limits or [[grid.limit] * len(tensors[0])] * len(blocks), grid, into, kernel)
    return torch.cat(into).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", NORMS)
def test_every_kernel_gives_the_models_integers(dtype, norm):
    grid = Grid.of(norm)
    for d in (1, 2, 3, 7, 64, 2049 if norm == 1.0 else 65):
        g = adversarial(dtype, d, norm)
        rows = [clipping.clip(row, grid) for row in g.double().tolist()]
        assert all(sum(q * q for q in row) <= grid.limit**2 for row in rows)
        assert clip(g, norm).tolist() == rows
        want = [sum(column) for column in zip(*rows, strict=True)]
        for kernel in KERNELS:
            assert total([g], grid, kernel) == want, (type(kernel).__name__, d)
            if d > 1:
                assert total([g[:, :1].contiguous(), g[:, 1:].contiguous()], grid, kernel) == want


@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_with_limits_of_their_own_for_each_example(kernel):
    grid = Grid.of(1.0)
    g = torch.cat([adversarial(torch.float32, 5, 1.0), torch.randn(40, 5)])
    n, K = len(g), grid.limit
    limits = [[(0, 1, K // 3, K // 2, K)[i % 5] for i in range(n)], [(0, K // 2, 7)[i % 3] for i in range(n)]]
    limits[1] = [b if a * a + b * b <= K * K else 0 for a, b in zip(*limits, strict=True)]
    rows = [
        clipping.clip_blocks([row[:2], row[2:]], grid, (a, b))
        for row, a, b in zip(g.double().tolist(), *limits, strict=True)
    ]
    want = [sum(column) for column in zip(*(first + last for first, last in rows), strict=True)]
    parts = [g[:, :2].contiguous(), g[:, 2:].contiguous()]
    assert total(parts, grid, kernel, [[0], [1]], limits) == want


def test_types_can_be_mixed_and_a_huge_double_coarsens_only_its_example():
    parts = [torch.randn(6, 3), torch.randn(6, 2).bfloat16(), torch.randn(6, 4).double()]
    parts[2][1, 0] = 1e300
    grid = Grid.of(1.0)
    want = clipping.total(torch.cat([g.double() for g in parts], 1).tolist(), grid)
    assert total(parts, grid, PLAIN) == total(parts, grid, CPU) == want


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", [*range(1, 20), 31, 32, 33, 45])
def test_any_number_of_rows_of_each_kind_is_added_as_plain_torch_adds_it(dtype, rows):
    """The kernel adds several rows at once, apart by whether they are large and whether they are clipped."""
    grid = Grid.of(1.0)
    g = torch.randn(rows, 7) * torch.exp2(torch.arange(rows) % 11 - 8)[:, None]
    assert total([g.to(dtype)], grid, CPU) == total([g.to(dtype)], grid, PLAIN)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_more_columns_than_the_kernel_adds_in_one_go(dtype):
    grid = Grid.of(1.0)
    g = (torch.randn(45, 40_000) * torch.exp2(torch.arange(45) % 11 - 15)[:, None]).to(dtype)
    assert total([g], grid, CPU) == total([g], grid, PLAIN)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_shards_microbatches_and_order_change_nothing(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        g = [torch.randn(97, 5000) * torch.exp2(torch.randint(-9, 9, (97, 1))), torch.randn(97, 3, 4)]
        g[0][3, 7] = math.nan

        def added(batches):
            s = Sum(1.0, 1.0)
            for batch in batches:
                s.add(batch)
            return torch.cat([x.flatten() for x in s.sum()])

        whole = added([g])
        order = torch.randperm(97)
        assert torch.equal(added([[x[order] for x in g]]), whole)
        for size in (1, 10, 64):
            assert torch.equal(added(list(zip(*(x.split(size) for x in g), strict=True))), whole)
        one, two = Sum(1.0, 1.0), Sum(1.0, 1.0)
        one.add([x[:50] for x in g])
        two.add([x[50:] for x in g])
        one.merge(two)
        assert torch.equal(torch.cat([x.flatten() for x in one.sum()]), whole)
    finally:
        torch.set_num_threads(before)


def test_infinite_and_nan_examples_change_nothing_but_their_own_row():
    g = torch.randn(8, 100)
    kept = clip(g, 1.0)
    for bad in (math.inf, -math.inf, math.nan):
        h = g.clone()
        h[3, 50] = bad
        found = clip(h, 1.0)
        assert not found[3].any()
        kept[3] = 0
        assert torch.equal(found, kept)


def test_the_error_is_within_the_pages_bound():
    """|q - ideal| < 3/2 + (sqrt(d)/2 + 2)/K |ideal|, in steps; 1/2 where nothing is clipped."""
    for norm in (1.0, 3.7):
        grid = Grid.of(norm)
        g = torch.randn(60, 64, dtype=torch.float64) * torch.exp2(torch.randint(-8, 8, (60, 1)).double())
        for row, q in zip(g.tolist(), clip(g, norm).tolist(), strict=True):
            square = sum(Fraction(x) ** 2 for x in row)
            shrink = min(Fraction(1), Fraction(norm) / Fraction(math.sqrt(square)))
            for x, y in zip(row, q, strict=True):
                ideal = Fraction(x) * shrink / grid.step
                slack = abs(ideal) / 10**12  # of the square root above
                bound = Fraction(3, 2) + (Fraction(8, 2) + 2) / grid.limit * abs(ideal) + slack
                assert abs(y - ideal) <= (Fraction(1, 2) if shrink == 1 else bound)


def test_flushed_subnormals_change_nothing():
    g = adversarial(torch.float32, 7, 2.0**-100)
    want = total([g], Grid.of(2.0**-100), CPU)
    if torch.set_flush_denormal(True):
        try:
            assert total([g], Grid.of(2.0**-100), PLAIN) == want
            assert total([g], Grid.of(2.0**-100), CPU) == want
        finally:
            torch.set_flush_denormal(False)
