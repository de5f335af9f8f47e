"""The table of `docs/audits.md`, and the reports on what is new, from the results of audits."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PUBLISHED = {
    ("diffprivlib.sum.float64", "rounding"): "paper, IBM diffprivlib: bounded sum, 64-bit floats",
    ("diffprivlib.sum.dtype.int32", "overflow"): "paper, IBM diffprivlib: signed 32-bit integers",
}
"""Violations that are public, by target and rule, and where; all others are reported before they are shown."""

HEAD = """\
# Audits of other libraries

Written by `make audit-all`, from what it really found. Each library was audited in an environment of its own with the
pinned versions of its adapter (`src/soundsum/auditor/adapters/*.txt`), by every family of attacks that fits the type
and the relation of a target, within the time stated. A verdict is about a version, on a machine, within a limit:
NOT_REFUTED says that nothing was found, not that nothing is there.

What the paper published in 2022 is shown as it is. What is new on a current release is *to be reported*: maintainers
hear of it first (see [disclosure](disclosure.md)), and until then the row does not say what was found.
"""


def write_table(results: Sequence[dict[str, Any]], path: Path) -> None:
    lines = [HEAD]
    for result in results:
        lines += [*_library(result), ""]
    path.write_text("\n".join(lines))


def _library(result: dict[str, Any]) -> Iterator[str]:
    versions = {x["version"] for x in result["findings"]} or {""}
    yield f"## {result['library']} {', '.join(sorted(versions))}".rstrip()
    yield ""
    if not result["targets"]:
        yield result["summary"]
        return
    commands = ", then ".join(f"`{command}`" for command in result["commands"])
    yield f"{commands} on {result['date']}, Python {result['platform']['python']}, {len(result['targets'])} targets."
    yield ""
    yield "| target | verdict | what was seen | not reached |"
    yield "|---|---|---|---|"
    for target in result["targets"]:
        findings = [x for x in result["findings"] if x["target"] == target["name"]]
        yield f"| {target['name']} | {_verdict(target, findings)} | {_seen(findings)} | {_left_out(target, findings)} |"


def is_new(finding: dict[str, Any]) -> bool:
    """Whether a violation is not public yet."""
    return _is_violation(finding) and _key(finding) not in PUBLISHED


def _verdict(target: dict[str, Any], findings: Sequence[dict[str, Any]]) -> str:
    violations = [x for x in findings if _is_violation(x)]
    if violations and all(map(is_new, violations)):
        return "to be reported"
    return str(next(x for x in violations if not is_new(x))["verdict"] if violations else target["verdict"])


def _seen(findings: Sequence[dict[str, Any]]) -> str:
    shown = [x for x in findings if _is_violation(x) and not is_new(x)]
    if shown:
        again = "; its program shows it alone" if shown[0].get("repro_exit") == 1 else ""
        more = "; more is to be reported" if any(map(is_new, findings)) else ""
        return _cell(f"{_key(shown[0])[1]}: {shown[0]['headline']} ({PUBLISHED[_key(shown[0])]}){again}{more}")
    if any(map(_is_violation, findings)):
        return ""
    tried = len(findings)
    refused = [x for x in findings if x["verdict"] == "REFUSED"]
    said = f"; declined: {refused[0]['headline']}" if len(refused) == tried and refused else ""
    return _cell(f"nothing, by {tried} {'family' if tried == 1 else 'families'}{said}")


def _left_out(target: dict[str, Any], findings: Sequence[dict[str, Any]]) -> str:
    """What was not tried, and what could not be."""
    if any(map(is_new, findings)):
        return ""
    failed = [x for x in findings if x["verdict"] == "UNSUPPORTED"]
    said = [f"{_key(x)[1]}: {x['headline']}" for x in failed]
    return _cell("; ".join([*target["left_out"], *said]))


def write_reports(results: Sequence[dict[str, Any]], folder: Path) -> None:
    """One folder for each library with something new: what to send, and a program for each violation."""
    for result in results:
        new = [x for x in result["findings"] if is_new(x)]
        place = folder / result["library"]
        shutil.rmtree(place, ignore_errors=True)
        if new:
            (place / "programs").mkdir(parents=True)
            (place / "report.md").write_text("\n".join(_report(result, new)) + "\n")
            for finding in new:
                if finding["repro"]:
                    (place / "programs" / f"{_file(finding)}.py").write_text(finding["repro"])


def _report(result: dict[str, Any], new: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"# {result['library']} {new[0]['version']}: sums that move by more than their sensitivity"
    yield ""
    yield f"Found on {result['date']} with Python {result['platform']['python']}, NumPy {result['platform']['numpy']}. "
    yield "Each program below runs with the library alone and ends with exit code 1 while the violation is there."
    yield ""
    seen: dict[str, list[dict[str, Any]]] = {}
    for finding in new:
        seen.setdefault(finding["target"], []).append(finding)
    for target, findings in seen.items():
        first = findings[0]
        yield f"## {target}"
        yield ""
        yield f"- Records: {first['dtype']}; neighbours: {first['relation']}. {first['relation_quote']}"
        if first["claim_quote"]:
            yield f"- Sensitivity used: {first['claim_quote']}"
        for finding in findings:
            again = {1: "seen again alone", None: "no program"}.get(finding.get("repro_exit"), "not seen again alone")
            yield f"- {finding['verdict']}, {_key(finding)[1]}: {finding['headline']} ({again})"
            if finding["repro"]:
                yield f"  Program: `programs/{_file(finding)}.py`. {finding['hint']}"
        yield ""


def _key(finding: dict[str, Any]) -> tuple[str, str]:
    return finding["target"], finding["rule"].removeprefix("soundsum/")


def _file(finding: dict[str, Any]) -> str:
    target, rule = _key(finding)
    return f"{target.removeprefix(finding['library'] + '.')}.{rule}"


def _is_violation(finding: dict[str, Any]) -> bool:
    return str(finding["verdict"]).startswith("VIOLATION")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
