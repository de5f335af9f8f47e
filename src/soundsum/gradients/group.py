"""Sums of integers over the ranks of a torch.distributed process group: exact in any order, wrap-around included."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from soundsum.gradients.needs import need, torch


def is_first(group: Any) -> bool:
    return bool(need("torch.distributed").get_rank(group) == 0)


def ranks(group: Any) -> tuple[int, ...]:
    """Of a group that this process is in: torch does nothing, and says nothing, for others."""
    distributed = need("torch.distributed")
    if distributed.get_rank(group) < 0:
        raise ValueError("this process is not in the group, so nothing would be added; give a group that it is in")
    return tuple(distributed.get_process_group_ranks(group))


def add_up(totals: Sequence[Any], group: Any) -> None:
    """Each tensor becomes the sum over all ranks."""
    distributed = need("torch.distributed")
    for total in totals:
        distributed.all_reduce(total, op=distributed.ReduceOp.SUM, group=group)


def total(count: int, group: Any) -> int:
    counted = torch.tensor([count], dtype=torch.int64, device=_device(group))
    add_up([counted], group)
    return int(counted)


def require_same(terms: str, group: Any) -> None:
    """All ranks find out together where one has another sum than the others."""
    distributed = need("torch.distributed")
    digest = int.from_bytes(hashlib.sha256(terms.encode()).digest()[:7])
    both = torch.tensor([digest, -digest], dtype=torch.int64, device=_device(group))
    distributed.all_reduce(both, op=distributed.ReduceOp.MAX, group=group)
    if int(both[0]) != -int(both[1]):
        raise ValueError("the ranks' sums have other norms, noise or parameters; make all of them with the same")


def _device(group: Any) -> Any:
    distributed = need("torch.distributed")
    on_gpu = "nccl" in distributed.get_backend(group)
    return torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
