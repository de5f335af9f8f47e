"""Settings that every test shares, and results that several of them use, computed once."""

import gc
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from . import processes  # noqa: F401 (before a test imports Typer)

# The same examples everywhere and every time: `make test` judges the code, `make explore` looks for new examples. How
# long a machine takes says nothing about the code.
STEADY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
settings.register_profile("soundsum", derandomize=True, **STEADY)
# Explicit, since Hypothesis derandomises its own default profile where it sees a CI.
settings.register_profile("explore", derandomize=False, **STEADY, print_blob=False)
settings.load_profile("soundsum")

# Hypothesis also tries constants that it finds in whatever modules are imported by then: in a worker of pytest-xdist,
# that depends on which tests the worker was given before. Without them, a test's examples depend on the test alone.
providers._get_local_constants = lambda: providers._local_constants


LONG = (
    "tests/server",
    "tests/auditor",
    "tests/neighbours",
    "tests/pages",
    "tests/releases/test_padding.py",
    "tests/test_documents.py",
    "tests/test_explore.py",
    "tests/paper/reproduce",
)
"""Files that take long, though few have many tests. With these first, all workers end at about the same time."""

SHARED = {"all_errata", "all_experiments"}
"""Results that one worker computes for tests of several files."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """All tests of a file run in one worker and share its results; so do those of a group, whatever their files."""
    from xdist.scheduler import LoadGroupScheduling

    config.option.loadscopereorder = False  # the order is that of pytest_collection_modifyitems

    class ByFile(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return super()._split_scope(nodeid).partition("::")[0]

    return ByFile(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Put long files first, and append its group to a test's name.

    The scheduler reads it there; xdist 3.8 does not write it with pytest 9.2.
    """
    if not config.getoption("loadgroup", False):
        return
    for item in items:
        if not SHARED.isdisjoint(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group("paper"))
        for mark in item.iter_markers("xdist_group"):
            if not item.nodeid.endswith(f"@{mark.args[0]}"):
                item._id = item.id.parse(f"{item.nodeid}@{mark.args[0]}")
    counts = Counter(item.nodeid.partition("::")[0] for item in items)
    items.sort(key=lambda item: (not item.nodeid.startswith(LONG), -counts[item.nodeid.partition("::")[0]]))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    """Keep the collector of garbage away from all that was imported and collected, which stays until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    gc.unfreeze()


@contextmanager
def _fix_draws(name: str) -> Iterator[None]:
    """Random bytes of the operating system, and generators without a seed, come from a stream that the name fixes."""
    stream, make = random.Random(name), np.random.default_rng
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "urandom", stream.randbytes)
        patch.setattr(
            np.random, "default_rng", lambda seed=None: make(stream.getrandbits(128) if seed is None else seed)
        )
        yield


@pytest.fixture(scope="session")
def fix_draws():
    """For what is drawn once for several tests: `with fix_draws(name)`."""
    return _fix_draws


@pytest.fixture
def same_draws(request):
    """For tests that hold draws to their distribution, which would fail by chance now and then: the same every time.

    Processes that a test starts draw afresh.
    """
    with _fix_draws(request.node.name):
        yield


@pytest.fixture(scope="session")
def all_errata():
    from soundsum.paper.reproduce.errata import errata

    with _fix_draws("errata"):
        return list(errata())


@pytest.fixture(scope="session")
def all_experiments():
    from soundsum.paper.reproduce.experiments import experiments

    with _fix_draws("experiments"):
        return experiments()
