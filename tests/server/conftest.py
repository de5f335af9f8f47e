import pytest

from .running import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One without a pad, whose answers come at once."""
    with Server(tmp_path_factory.mktemp("server"), "--no-pad") as running:
        yield running


@pytest.fixture(scope="module")
def alice(server):
    with server.client(server.add("alice")) as client:
        yield client


@pytest.fixture(scope="module")
def bob(server):
    with server.client(server.add("bob", epsilon="1/2")) as client:
        yield client
