"""What several tests look at is computed once."""

import pytest

from soundsum.reproduce.errata_elsewhere import errata
from soundsum.reproduce.experiments import experiments


@pytest.fixture(scope="session")
def all_errata():
    return list(errata())


@pytest.fixture(scope="session")
def all_experiments():
    return experiments()
