"""The table of audits shows what is public and keeps what is new apart, with its report."""

import json
import tomllib
from argparse import Namespace
from pathlib import Path

from audits.__main__ import audit_all, by_library
from audits.library_audit import RESULTS
from audits.quotes import wrong_quotes
from audits.reports import write_reports
from audits.table import PUBLISHED, Row, Tried, is_new, is_violation, lines_of, write_table

ROOT = Path(__file__).parents[2]


def finding(target, rule, verdict="VIOLATION_CERTIFIED", **more):
    words = {"headline": f"words about {rule}", "library": "diffprivlib", "version": "0.6.6", "dtype": "float64"}
    quotes = {"relation_quote": "one changes", "claim_quote": "U - L", "specials_quote": ""}
    shown = {"relation": "hamming", "hint": "Mend it.", "repro": "print(1)\n", "attack": None}
    return {
        "target": target,
        "rule": f"soundsum/{rule}",
        "verdict": verdict,
        "repro_exit": 1,
        **words,
        **quotes,
        **shown,
        **more,
    }


def result(*findings):
    names = dict.fromkeys(x["target"] for x in findings)
    targets = [
        {"name": name, "verdict": "NOT_REFUTED", "left_out": ["rounding with 66 records: time (--time)"] * 2}
        for name in names
    ]
    machine = {"python": "3.11", "numpy": "2"}
    said = {
        "library": "diffprivlib",
        "date": "2026-01-01",
        "commands": ["make audit-all"],
        "platform": machine,
        "soundsum": "1.0",
        "summary": "",
    }
    return {**said, "targets": targets, "findings": [*findings]}


def test_what_the_paper_published_is_shown_and_what_is_new_is_not(tmp_path):
    known = next(iter(PUBLISHED))
    found = result(
        finding(*known),
        finding(known[0], "secret"),
        finding("diffprivlib.mean.float64", "hidden"),
        finding("diffprivlib.var.float64", "path", "NOT_REFUTED"),
    )
    write_table([found], tmp_path / "audits.md")
    page = (tmp_path / "audits.md").read_text()
    assert f"words about {known[1]}" in page
    assert "more is to be reported" in page
    assert "| to be reported | mean.float64 |  |" in page
    assert "secret" not in page
    assert "hidden" not in page
    assert "| NOT_REFUTED | var.float64 | 1 family; out of time from 66 records |" in page


def test_a_statistical_finding_that_is_not_seen_again_is_not_counted(tmp_path):
    again, once = (
        finding("diffprivlib.var.float32", "low_bits", "VIOLATION_STATISTICAL", repro_exit=x) for x in (1, 0)
    )
    assert (is_new(again), is_new(once)) == (True, False)
    write_table([result(once)], tmp_path / "audits.md")
    page = (tmp_path / "audits.md").read_text()
    limits = "1 family; out of time from 66 records"
    assert f"| NOT_REFUTED | var.float32 | {limits}; a statistical finding not reproduced |" in page
    write_reports([result(once)], tmp_path)
    assert not (tmp_path / "diffprivlib").exists()


def test_a_violation_is_public_if_another_rule_that_its_cause_showed_is(tmp_path):
    target, rule = next(iter(PUBLISHED))
    joined = finding(target, "another", also=["secret", rule])
    assert (is_new(joined), is_new(finding(target, "another", also=["secret"]))) == (False, True)
    assert not is_violation(finding(target, rule, "NOT_REFUTED"))
    found = result({**joined, "library": target.partition(".")[0]}) | {"library": target.partition(".")[0]}
    write_table([found], tmp_path / "audits.md")
    assert f"another: words about another ({PUBLISHED[target, rule]})" in (tmp_path / "audits.md").read_text()


def test_what_would_settle_a_target_is_said_and_targets_that_share_it_share_a_line(tmp_path):
    found = result(*(finding(f"diffprivlib.{name}", "path", "NOT_REFUTED") for name in "abc"))
    for target, more in zip(found["targets"], (7, 9, 7), strict=True):
        target |= {"verdict": "INCONCLUSIVE", "left_out": [], "unsettled": [f"--time {more} can"]}
    write_table([found], tmp_path / "audits.md")
    page = (tmp_path / "audits.md").read_text()
    assert "| INCONCLUSIVE | a, c | 1 family; --time 7 can |\n| INCONCLUSIVE | b | 1 family; --time 9 can |" in page


def test_parts_of_a_library_follow_it_and_a_failure_ends_no_other_audit(tmp_path, monkeypatch):
    assert by_library(["python-dp", "opendp", "python-dp.sum.float64"]) == {
        "python-dp": ["python-dp", "python-dp.sum.float64"],
        "opendp": ["opendp"],
    }
    monkeypatch.chdir(tmp_path)
    RESULTS.mkdir(parents=True)
    given = Namespace(names=["no/folder", "nonesuch"], time=0.1, runs=0, memory=1, jobs=2)
    (failed,) = audit_all(given)
    assert failed.startswith("no/folder (FileNotFoundError: ")
    assert "not reached" in json.loads((RESULTS / "nonesuch.json").read_text())["summary"]


def test_a_page_keeps_the_sections_of_libraries_that_were_not_audited_again(tmp_path):
    page = tmp_path / "audits.md"
    page.write_text("# Old\n\n## zoo 1.0\n\nwords\n\n## diffprivlib 0.1\n\nold\n")
    write_table([result(finding("diffprivlib.var.float64", "path", "NOT_REFUTED"))], page)
    text = page.read_text()
    assert text.endswith("## zoo 1.0\n\nwords\n")
    assert "## diffprivlib 0.6.6" in text
    assert "\n\nold\n" not in text
    assert "soundsum 1.0, Python 3.11" in text
    write_table([], page)
    assert page.read_text() == text


def test_sums_beyond_the_sensitivity_are_violations_of_their_own(tmp_path):
    write_reports([result(finding("diffprivlib.mean.float64", "path", "SENSITIVITY_EXCEEDED"))], tmp_path)
    assert "(epsilon, delta) is not shown broken" in (tmp_path / "diffprivlib" / "report.md").read_text()


def test_targets_with_one_verdict_share_a_line_with_the_widest_limits():
    tried = [
        Tried(1, 0, None, {}),
        Tried(9, 2_100, 1.7, {"time": 300, "memory": 5}),
        Tried(3, 9, 2.25, {"time": 2_050}),
    ]
    rows = [Row(name, "NOT_REFUTED", "", one) for name, one in zip("abc", tried, strict=True)]
    *_, line = lines_of([*rows, Row("d", "VIOLATION_CERTIFIED", "it moves")])
    limits = "1 to 9 families, 0 to 2,100 pairs, epsilon 1.7 to 2.2; out of time from 300 records"
    assert line == f"| NOT_REFUTED | a, b, c | {limits}; out of memory from 5 records |"


def test_quotations_are_looked_up(tmp_path):
    source = tmp_path / "lib" / "folder" / "sums.py"
    source.parent.mkdir(parents=True)
    source.write_text('"""First line.\n\nThe sensitivity is\nthe largest (record).\n"""\nscale = 1\n')
    right = [
        'the docs: "The sensitivity is the largest" (folder/sums.py:3)',
        '"scale = 1" (sums.py:6) and so on',
        "none",
    ]
    assert wrong_quotes(right, tmp_path) == []
    assert wrong_quotes(['"The [...] (record)" (folder/sums.py:3)'], tmp_path) == []
    for wrong in ('"scale = 1" (sums.py:5)', '"scale = 2" (sums.py:6)', '"scale = 1" (other.py:6)'):
        assert wrong_quotes([wrong], tmp_path) == [wrong]


def test_a_report_has_a_program_for_each_new_violation_and_no_other(tmp_path):
    known = next(iter(PUBLISHED))
    new = finding("diffprivlib.mean.float64", "hidden")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diffprivlib.md").write_text("What else there is to say.\n")
    write_reports([result(finding(*known), new)], tmp_path)
    report = (tmp_path / "diffprivlib" / "report.md").read_text()
    assert "words about hidden (certified) | `programs/mean.float64.hidden.py`" in report
    for said in ("What else there is to say.", "neighbours: one changes", "sensitivity used: U - L", "Mend it."):
        assert said in report
    assert f"words about {known[1]}" not in report
    assert [path.name for path in tmp_path.rglob("*.py")] == ["mean.float64.hidden.py"]


def test_archives_and_pages_leave_reports_out():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert "undisclosed" in settings["sdist"]["exclude"]
    assert settings["wheel"]["packages"] == ["src/soundsum"]
    assert not [page for page in (ROOT / "docs").rglob("*.md") if "](../undisclosed" in page.read_text()]
