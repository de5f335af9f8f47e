"""What several tests look at is computed once."""

import pytest
from hypothesis import HealthCheck, settings

# How long a machine takes is no fact about the code.
settings.register_profile("soundsum", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("soundsum")


@pytest.fixture(scope="session")
def all_errata():
    from soundsum.reproduce.errata_elsewhere import errata

    return list(errata())


@pytest.fixture(scope="session")
def all_experiments():
    from soundsum.reproduce.experiments import experiments

    return experiments()
