"""Noise that can be looked at: none at all, or the scales it was to be drawn with."""

import pytest

from soundsum.privacy import samplers


@pytest.fixture
def silent(monkeypatch):
    """Noise of zero, so that what is released is the sum itself."""
    monkeypatch.setattr(samplers, "discrete_laplace_many", lambda scale, count: [0] * count)
    monkeypatch.setattr(samplers, "discrete_gaussian_many", lambda sigma2, count: [0] * count)


@pytest.fixture
def recorded(monkeypatch):
    """The scales noise is drawn with."""
    drawn = []
    monkeypatch.setattr(samplers, "discrete_laplace_many", lambda scale, count: drawn.append(scale) or [0] * count)
    return drawn
