"""A private count keeps all records nearly always."""

import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused


def test_private_max_size_keeps_all_records_nearly_always():
    limits = [ss.private_max_size([0.0] * 100, epsilon=1, confidence=0.999) for _ in range(300)]
    assert sum(limit < 100 for limit in limits) <= 8  # 0.15 expected; more happens once in 10^13
    assert len(set(limits)) > 1
    assert ss.private_max_size([], epsilon=10) >= 1


def test_wrong_arguments():
    for bad in (0, -1, "nan"):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            ss.private_max_size([1.0], epsilon=bad)
    with refused("confidence", Reason.TOO_LARGE, ValueError):
        ss.private_max_size([1.0], epsilon=1, confidence=1)


def test_the_limit_is_where_a_float_sum_is_cut():
    """A noisy count chooses n_max, the sum is bounded by it, and the two cost their epsilons together."""
    data, budget = [1.0] * 1000, ss.Budget(epsilon=1)
    limit = ss.private_max_size(data, epsilon="1/4", confidence=1 - 1e-9, budget=budget)
    assert 1000 < limit < 1300
    release = ss.sum(data, 0, 1, "3/4", max_size=limit, method="iterated", budget=budget)
    assert release.plan.problem.max_size == limit
    assert release.plan.steps == ("permute", "truncate", "iterated")
    assert budget.spent.epsilon == 1
