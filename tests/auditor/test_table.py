"""The table of audits shows what is public and keeps what is new apart, with its report."""

import tomllib
from pathlib import Path

from audits.table import PUBLISHED, write_reports, write_table

ROOT = Path(__file__).parents[2]


def finding(target, rule, verdict="VIOLATION_CERTIFIED", **more):
    words = {"headline": f"words about {rule}", "library": "diffprivlib", "version": "0.6.6", "dtype": "float64"}
    quotes = {"relation": "hamming", "relation_quote": "", "claim_quote": "", "hint": "", "repro": "print(1)\n"}
    return {
        "target": target,
        "rule": f"soundsum/{rule}",
        "verdict": verdict,
        "repro_exit": 1,
        **words,
        **quotes,
        **more,
    }


def result(*findings):
    names = dict.fromkeys(x["target"] for x in findings)
    targets = [{"name": name, "verdict": "NOT_REFUTED", "left_out": ["big ones: time (--time)"]} for name in names]
    machine = {"python": "3.11", "numpy": "2"}
    said = {
        "library": "diffprivlib",
        "date": "2026-01-01",
        "commands": ["make audit-all"],
        "platform": machine,
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
    assert "| diffprivlib.mean.float64 | to be reported |  |  |" in page
    assert "secret" not in page
    assert "hidden" not in page
    assert "| nothing, by 1 family | big ones: time (--time) |" in page


def test_a_report_has_a_program_for_each_new_violation_and_no_other(tmp_path):
    known = next(iter(PUBLISHED))
    new = finding("diffprivlib.mean.float64", "hidden", repro_exit=0)
    write_reports([result(finding(*known), new)], tmp_path)
    report = (tmp_path / "diffprivlib" / "report.md").read_text()
    assert "words about hidden (not seen again alone)" in report
    assert [path.name for path in tmp_path.rglob("*.py")] == ["mean.float64.hidden.py"]


def test_archives_and_pages_leave_reports_out():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]
    assert "undisclosed" in settings["sdist"]["exclude"]
    assert settings["wheel"]["packages"] == ["src/soundsum"]
    assert not [page for page in (ROOT / "docs").rglob("*.md") if "](../undisclosed" in page.read_text()]
