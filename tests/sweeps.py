"""Sweeps over many values of which a few are quick: `make test` tries those, and `make test-slow` the others."""

import pytest


def sweep(values, quick):
    """All of `values` to parametrize a test with; those that are not in `quick` are marked as slow."""
    assert all(one in values for one in quick)
    return [one if one in quick else pytest.param(one, marks=pytest.mark.slow) for one in values]
