"""A private count keeps all records nearly always."""

import pytest

import soundsum as ss


def test_private_max_size_keeps_all_records_nearly_always():
    limits = [ss.private_max_size([0.0] * 100, epsilon=1, confidence=0.999) for _ in range(300)]
    assert sum(limit < 100 for limit in limits) <= 8  # 0.15 expected; more happens once in 10^13
    assert len(set(limits)) > 1
    assert ss.private_max_size([], epsilon=10) >= 1


def test_wrong_arguments():
    for bad in (0, -1, "nan"):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            ss.private_max_size([1.0], epsilon=bad)
    with pytest.raises(ValueError, match="confidence=1"):
        ss.private_max_size([1.0], epsilon=1, confidence=1)
