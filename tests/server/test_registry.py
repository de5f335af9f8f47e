"""An entry for the registry of deployments has the fields and types that its schema asks for, and true numbers."""

import json
from datetime import date
from fractions import Fraction

import pytest

from soundsum.server.deployment_entry import FIELDS, round_up
from tests.processes import COMMAND, run

from .running import SUM, Server


def require_fields(entry, fields, place="entry"):
    assert entry.keys() <= fields.keys(), place
    for name, kind in fields.items():
        where = f"{place}.{name}"
        if name not in entry:
            assert place.endswith("privacy_parameters"), where
        elif isinstance(kind, dict):
            require_fields(entry[name], kind, where)
        elif isinstance(kind, tuple):
            assert entry[name] in kind, where
        else:
            assert isinstance(entry[name], kind), where
            assert entry[name], where
    return entry


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("registry"), pad="2s", epsilon="1/3") as server:
        with server.client(server.add(epsilon="1/3")) as client:
            answer = client.post("/v1/tables/visits/release", json=SUM).json()
        (server.folder / "release.json").write_text(json.dumps(answer["releases"]))
        yield server


def write(server, *options, file="release.json"):
    words = [COMMAND, "registry", server.folder / file, "--budget", server.ledger, *options]
    return run(words, text=True)


def test_an_entry_has_every_field_and_the_exact_budget(released):
    ran = write(released, "--owner", released.owner)
    assert ran.returncode == 0, ran.stderr
    entry = require_fields(json.loads(ran.stdout), FIELDS)
    assert entry["status"] == "Draft"
    deployment = entry["deployment"]
    assert date.fromisoformat(deployment["basic"]["publication_date"])
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    loss = deployment["privacy_loss"]
    assert Fraction(loss["privacy_parameters"]["epsilon"]) >= Fraction(1, 3)
    assert "epsilon = 1/3" in loss["privacy_parameters_details"]
    assert "patient" in loss["privacy_unit_details"]
    mechanisms = deployment["implementation"]["mechanisms"]
    assert all(
        word in mechanisms for word in ("Timing: every answer takes 2s", "Floating point", "soundsum 0.1.0", "laplace")
    )
    assert deployment["deployment_model"]["access_type"] == "Interactive"


def test_without_a_server_it_is_not_interactive(released):
    entry = require_fields(json.loads(write(released).stdout), FIELDS)
    assert entry["deployment"]["deployment_model"]["access_type"] == "Non-interactive"


def test_releases_that_the_ledger_contradicts_are_refused(released):
    (release,) = json.loads((released.folder / "release.json").read_text())
    forged = {**release, "ledger": {**release["ledger"], "entry": 99}}
    (released.folder / "forged.json").write_text(json.dumps([forged]))
    ran = write(released, file="forged.json")
    assert (ran.returncode, "no charge on line 99" in ran.stderr) == (2, True)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1, 10), Fraction(2**60 + 1), Fraction(1, 7**30)])
def test_amounts_are_rounded_up(x):
    assert x <= Fraction(round_up(x)) <= x * (1 + Fraction(1, 2**51))
