"""soundsum reproduce as a person uses it."""

import json

import pytest
from typer.testing import CliRunner

from soundsum.cli.app import app
from soundsum.paper.reproduce import SECTIONS, Cell, Draft, Section, reproduce
from soundsum.refusals import Reason
from tests.refusing import refused

pytestmark = pytest.mark.usefixtures("same_draws")


def soundsum(*arguments, columns=140):
    return CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": str(columns)})


def test_the_verdict_comes_last_and_all_is_well(all_errata):
    done = soundsum("--only", "roadmap", "--only", "errata")
    assert done.exit_code == 0
    last = [line for line in done.stdout.splitlines() if line.strip()][-1]
    assert last.startswith("reproduced: of ")
    assert "0 differ" in last
    assert f"{len(all_errata)} are errata" in last  # one of the roadmap is among them, and counts once
    assert "47,453,133" in done.stdout


@pytest.fixture
def quick_sections(monkeypatch, all_errata):
    """Three sections that are computed at once: one that matches, the errata, and what a test adds."""
    right = Section("roadmap", "The roadmap", cells=(Cell("the limit", "sec:roadmap", 67, 67),))
    made = {"roadmap": right, "errata": Section("errata", "Errata", errata=tuple(all_errata))}
    drafts = {name: Draft(one.title, lambda full, one=one: one) for name, one in made.items()}
    monkeypatch.setattr("soundsum.paper.reproduce.SECTIONS", drafts)
    return drafts


def test_by_default_errata_are_short_and_what_matches_is_left_out(quick_sections, all_errata):
    done = soundsum(columns=80)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in done.stdout
    assert all(any(line.startswith(f"{e.label}: ") for line in lines) for e in all_errata)
    assert len(lines) < 4 * len(all_errata)
    assert "The roadmap" not in done.stdout
    assert "The roadmap" in soundsum("--all", columns=80).stdout


def test_what_differs_is_shown_by_default(quick_sections):
    wrong = Section("roadmap", "The roadmap", cells=(Cell("the limit", "sec:roadmap", 67, 47),))
    quick_sections["roadmap"] = Draft("The roadmap", lambda full: wrong)
    done = soundsum(columns=80)
    assert done.exit_code == 1
    assert "Differs in: The roadmap" in done.stdout
    assert "the limit" in done.stdout
    assert done.stdout.strip().split("\n\n")[-1].startswith("1 DIFFER")


@pytest.mark.parametrize("section", ["lower", "roadmap", "matrix", "underestimates", "errata:kahan"])
def test_no_cell_is_cut_at_80_columns(section):
    done = soundsum("--only", section, columns=80)
    assert done.exit_code == 0
    assert "…" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_goes_to_the_screen_or_a_file(tmp_path):
    on_screen = json.loads(soundsum("--only", "roadmap", "--json", "-").stdout)
    path = tmp_path / "out.json"
    assert soundsum("--only", "roadmap", "--json", str(path)).exit_code == 0
    in_file = json.loads(path.read_text())
    assert on_screen["sections"][0]["cells"] == in_file["sections"][0]["cells"]
    assert on_screen["tally"] == {"matches": 3, "erratum": 1, "differs": 0, "checked": 0}


def test_a_cell_that_differs_is_exit_code_1(monkeypatch):
    wrong = Section("roadmap", "", cells=(Cell("the limit", "sec:roadmap", 67, 47),))
    monkeypatch.setitem(SECTIONS, "roadmap", Draft("wrong", lambda full: wrong))
    done = soundsum("--only", "roadmap")
    assert done.exit_code == 1
    assert "1 DIFFER" in done.stdout


def test_what_the_paper_did_not_count_is_not_called_a_match():
    done = soundsum("--only", "libraries")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert any(SECTIONS["libraries"].title in line for line in lines)
    assert sum(line.strip().startswith("not printed") for line in lines) == 2 * 3


@pytest.mark.parametrize(
    "section", [name for name in SECTIONS if name not in ("verified", "plots", "ours", "libraries", "errata")]
)
def test_every_section_prints(section):
    done = soundsum("--only", section)
    assert done.exit_code == 0
    assert SECTIONS[section].title in done.stdout


def test_one_erratum_is_shown_by_its_command(all_errata, monkeypatch):
    found = next(e for e in all_errata if e.label == "kahan")
    once = Section("errata", "", errata=tuple(all_errata))
    monkeypatch.setitem(SECTIONS, "errata", Draft("Errata", lambda full: once))
    done = soundsum(*found.command.split()[2:])
    assert done.exit_code == 0
    assert "2.219, not <= 2" in done.stdout
    assert found.command in done.stdout
    plain = json.loads(soundsum("--only", "errata:pinq", "--json", "-").stdout)
    (one,) = plain["sections"][0]["errata"]
    assert (one["label"], one["command"]) == ("pinq", "soundsum reproduce --only errata:pinq")
    assert "there is no erratum 'nothing'; the labels are kahan" in str(soundsum("--only", "errata:nothing").exception)


def test_an_unknown_section_is_wrong_usage():
    done = soundsum("--only", "nothing")
    assert "there is no section 'nothing'" in str(done.exception)


def test_an_unknown_section_is_refused_with_the_known_ones():
    with refused("only", Reason.UNKNOWN, ValueError, given="'tabels'"):
        reproduce(only=["tabels"])
