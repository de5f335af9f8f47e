"""Gradients on a GPU: the kernels against plain torch, bit for bit, and their speed against Opacus's, in one run.

    python -m benchmarks.gradients_gpu            # needs a GPU, nvcc and, for the training step, Opacus

Prints one line per figure, a ratio of medians measured in turns. `make bench` leaves it out, because CI has no GPU.
"""

from __future__ import annotations

import math
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from soundsum.gradients import adding, cuda
from soundsum.gradients.adding import PLAIN
from soundsum.gradients.clipped_sum import Sum
from soundsum.gradients.normal import draw
from soundsum.gradients.totals import add_noise
from soundsum.numbers.clipping import Grid

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
VIT = [768 * 768 * 3] + [768, 768, 768 * 2304, 2304, 768 * 768, 768, 768, 768, 768 * 3072, 3072, 3072 * 768, 768] * 12
VIT += [768, 768, 1000 * 768, 1000]


def say(*words: object) -> None:
    print(*words, flush=True)


def awkward(dtype: torch.dtype, d: int, norm: float) -> torch.Tensor:
    """Make rows with subnormals, the largest values, infinities, NaN, ties, and everything between."""
    info = torch.finfo(dtype)
    least = info.smallest_normal * info.eps
    values = [0.0, -0.0, least, -least, info.tiny, info.max, -info.max, 1.0, norm, -norm, norm / math.sqrt(d),
              norm * 2**-25, norm * 2**-26, 1.5 * norm * 2**-24, norm * (1 + 2**-20)]  # fmt: skip
    rows = [[x] * d for x in values] + [[x] + [least] * (d - 1) for x in values]
    rows += [[x] + [1.0] * (d - 1) for x in (math.inf, -math.inf, math.nan)]
    drawn = torch.randn(64, d, dtype=torch.float64) * torch.exp2(torch.randint(-140, 128, (64, 1)).double())
    near = torch.randn(64, d, dtype=torch.float64) * torch.exp2(torch.randint(-30, 12, (64, 1)).double()) * norm
    return torch.cat([torch.tensor(rows, dtype=torch.float64), drawn, near]).to(dtype)


def clipped(tensors: Sequence[Any], grid: Grid, kernel: Any, apart: bool = False, limits: Any = None) -> list[Any]:
    n = len(tensors[0])
    into = [torch.zeros(g.shape[1], dtype=torch.int64, device=g.device) for g in tensors]
    blocks = [[i] for i in range(len(tensors))] if apart else [list(range(len(tensors)))]
    chosen = limits or [[grid.limit if not apart else grid.limit // len(tensors)] * n for _ in blocks]
    adding.add_batch(tensors, blocks, chosen, grid, into, kernel)
    return [total.cpu() for total in into]


def check() -> None:
    """Compare CUDA with plain torch on the CPU, which the tests compare with the model."""
    rows = 0
    for dtype in FLOATS:
        for norm in (1.0, 0.1, 3.7, 2.0**-20, 1000.0, 2.0**-100, 2.0**79):
            for d in (1, 2, 3, 7, 64, 257, 9000):
                g = awkward(dtype, d, norm)
                grid = Grid.of(norm)
                assert torch.equal(clipped([g.cuda()], grid, cuda)[0], clipped([g], grid, PLAIN)[0]), (dtype, norm, d)
                cut = d // 2
                if cut:
                    parts = [g[:, :cut].contiguous(), g[:, cut:].contiguous()]
                    for apart in (False, True):
                        ours = clipped([x.cuda() for x in parts], grid, cuda, apart)
                        assert all(map(torch.equal, ours, clipped(parts, grid, PLAIN, apart))), (dtype, norm, d, apart)
                    some = [[(i * 7919) % (grid.limit // 2) for i in range(len(g))], [i % 3 for i in range(len(g))]]
                    ours = clipped([x.cuda() for x in parts], grid, cuda, True, some)
                    assert all(map(torch.equal, ours, clipped(parts, grid, PLAIN, True, some))), (dtype, norm, d)
                rows += len(g)
    many = [torch.randn(5, 1 + i % 37).to(FLOATS[i % 3]) for i in range(400)]
    assert all(
        map(
            torch.equal,
            clipped([g.cuda() for g in many], Grid.of(1.0), cuda),
            clipped(many, Grid.of(1.0), PLAIN),
        )
    )
    tall = torch.randn(70_000, 3)
    assert torch.equal(clipped([tall.cuda()], Grid.of(1.0), cuda)[0], clipped([tall], Grid.of(1.0), PLAIN)[0])
    for dtype in FLOATS:
        for n, d in ((3, 100_003), (300, 40_000), (65, 1 << 20)):
            g = (torch.randn(n, d, device="cuda") * torch.exp2(torch.randint(-20, 9, (n, 1), device="cuda"))).to(dtype)
            g[0, -1] = math.nan
            whole = clipped([g], Grid.of(1.0), cuda)[0]
            assert torch.equal(whole, clipped([g], Grid.of(1.0), PLAIN)[0]), (dtype, n, d)
            turned = g[torch.randperm(n, device="cuda")].contiguous()
            assert torch.equal(clipped([turned], Grid.of(1.0), cuda)[0], whole)
            shards = sum(clipped([x.contiguous()], Grid.of(1.0), cuda)[0] for x in g.split(max(1, n // 3)))
            assert torch.equal(shards, whole)
    say(f"CUDA = plain torch on {rows:,} awkward rows and on long, many and tall tensors, in any order and sharding")


def check_devices() -> None:
    """Check that batches on different devices add up on the device of the first."""
    here = [torch.randn(8, 5), torch.randn(8, 3, 2)]
    there = [g.cuda() for g in here]
    for first, second in ((here, there), (there, here), (here, [here[0], there[1]])):
        mixed, once = Sum(1.0, 1.0), Sum(1.0, 1.0)
        mixed.add(first)
        mixed.add(second)
        once.add(here)
        assert [x.device for x in mixed.sum()] == [x.device for x in first]
        assert all(torch.equal(x.cpu(), 2 * y) for x, y in zip(mixed.sum(), once.sum(), strict=True))
    say("batches on CPU and GPU add up to the same integers in one sum")


def check_noise() -> None:
    key = bytes(range(32))
    for sigma in (3, 18_454_938, 1 << 55):
        noisy = torch.zeros(3000, dtype=torch.int64, device="cuda")
        add_noise([noisy], sigma, key)
        assert noisy.tolist() == [draw(key, j, sigma) for j in range(3000)], sigma
    noisy = torch.zeros(20_000_000, dtype=torch.int64, device="cuda")
    add_noise([noisy], 3, key)
    n, chi = noisy.numel(), 0.0
    for v in range(-13, 14):
        p = 0.5 * (math.erfc((v - 0.5) / 3 / math.sqrt(2)) - math.erfc((v + 0.5) / 3 / math.sqrt(2)))
        chi += (int((noisy == v).sum()) - n * p) ** 2 / (n * p)
    say(f"noise = the model's, coordinate by coordinate; chi-square {chi:.1f} in 27 cells over {n:,} draws, sigma 3")


def milliseconds(run: Callable[[], Any], times: int = 15, warm: int = 3) -> float:
    for _ in range(warm):
        run()
    found = []
    for _ in range(times):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end))
    return statistics.median(found)


def opacus_sum(gradients: Sequence[Any], norm: float = 1.0) -> list[Any]:
    """Clip with norms and einsum, as Opacus's DPOptimizer does."""
    norms = torch.stack([g.norm(2, dim=-1) for g in gradients], dim=1).norm(2, dim=1)
    factor = (norm / (norms + 1e-6)).clamp(max=1.0)
    return [torch.einsum("i,i...", factor.to(g.dtype), g) for g in gradients]


def copy_bandwidth() -> float:
    """Measure how fast the GPU copies memory: GB/s, read and written."""
    a = torch.empty(1 << 30, dtype=torch.float32, device="cuda").normal_()
    b = torch.empty_like(a)
    return 2 * a.nbytes / milliseconds(lambda: b.copy_(a)) / 1e6


def time_matrix(dtype: torch.dtype, copy: float, n: int = 256, d: int = 10**7) -> None:
    grid = Grid.of(1.0)
    g = torch.empty(n, d, dtype=dtype, device="cuda")
    for i in range(n):
        g[i] = torch.randn(d, device="cuda") * (10 ** (2 * i / n - 1) / d**0.5)
    into = [torch.zeros(d, dtype=torch.int64, device="cuda")]
    ours = milliseconds(lambda: adding.add_batch([g], [[0]], [[grid.limit] * n], grid, into))
    peer = milliseconds(lambda: opacus_sum([g]))
    speed = 2 * g.nbytes / ours / 1e6
    line = f"{str(dtype)[6:]} (256, 10^7): ours {ours:.2f} ms, Opacus {peer:.2f} ms: {peer / ours:.2f}x; "
    line += f"reads {speed:,.0f} GB/s, {speed / copy:.0%} of copy"
    if dtype == torch.bfloat16:
        mixed = milliseconds(lambda: opacus_sum([g.float()]), 5, 1)
        line += f"; with float32 parameters {mixed / ours:.2f}x"
    say(line)


def time_vit(dtype: torch.dtype) -> None:
    grid = Grid.of(1.0)
    gs = [torch.randn(64, s, device="cuda").to(dtype) * 1e-4 for s in VIT]
    into = [torch.zeros(s, dtype=torch.int64, device="cuda") for s in VIT]
    blocks, limits = [list(range(len(gs)))], [[grid.limit] * 64]
    ours = milliseconds(lambda: adding.add_batch(gs, blocks, limits, grid, into))
    peer = milliseconds(lambda: opacus_sum(gs))
    name = str(dtype)[6:]
    say(f"ViT-B, {len(VIT)} tensors, {name}: ours {ours:.2f} ms, Opacus {peer:.2f} ms: {peer / ours:.2f}x")


def time_sums() -> None:
    copy = copy_bandwidth()
    say(f"copy: {copy:,.0f} GB/s read and written")
    for dtype in FLOATS:
        time_matrix(dtype, copy)
    for dtype in FLOATS[:2]:
        time_vit(dtype)
    total = torch.zeros(10**8, dtype=torch.int64, device="cuda")
    took = milliseconds(lambda: add_noise([total], 18_454_938, bytes(range(32))))
    say(f"exact noise, 10^8 coordinates: {took:.2f} ms")


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        nn = torch.nn
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, w = x.shape
        q, k, v = self.qkv(self.before(x)).view(n, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, w)
        x = x + self.out(seen)
        return x + self.down(torch.nn.functional.gelu(self.up(self.after(x))))


class Transformer(torch.nn.Module):
    """ViT-B's sizes, from patches on."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = torch.nn.Linear(768, 768)
        self.blocks = torch.nn.Sequential(*(Block(768, 12) for _ in range(12)))
        self.norm, self.head = torch.nn.LayerNorm(768), torch.nn.Linear(768, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.blocks(self.patches(x))).mean(1))


def time_training(rows: int = 32) -> None:
    warnings.simplefilter("ignore")
    import opacus.optimizers
    from opacus import GradSampleModule

    from soundsum.gradients.opacus import DPOptimizer

    took = {}
    x, y = torch.randn(rows, 196, 768, device="cuda"), torch.randint(0, 1000, (rows,), device="cuda")
    for name, kind in (("Opacus", opacus.optimizers.DPOptimizer), ("ours", DPOptimizer)) * 2:
        torch.manual_seed(0)
        model = GradSampleModule(Transformer().cuda(), loss_reduction="sum")
        optimizer = kind(
            torch.optim.SGD(model.parameters(), lr=0.01), noise_multiplier=1.0, max_grad_norm=1.0,
            expected_batch_size=rows, loss_reduction="sum",
        )  # fmt: skip

        def step(model: Any = model, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y, reduction="sum").backward()
            optimizer.step()

        took[name] = min(took.get(name, math.inf), milliseconds(step, 8, 3))
        del model, optimizer, step
        torch.cuda.empty_cache()
    ratio = took["ours"] / took["Opacus"]
    say(
        f"a training step of ViT-B's sizes, {rows} examples, float32, hooks: ours {took['ours']:.1f} ms, "
        f"Opacus {took['Opacus']:.1f} ms: {ratio:.3f} times Opacus's"
    )


def main() -> int:
    if not cuda.available():
        say("no GPU, or no nvcc to build the kernels with")
        return 2
    torch.manual_seed(1)
    say(torch.cuda.get_device_name(), "torch", torch.__version__)
    check()
    check_devices()
    check_noise()
    Sum(1.0, 1.1).add([torch.randn(4, 3, device="cuda", dtype=torch.float64)])  # in plain torch, on the GPU
    time_sums()
    time_training()
    return 0


if __name__ == "__main__":
    sys.exit(main())
