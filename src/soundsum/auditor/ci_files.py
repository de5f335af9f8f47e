"""Audits as files for CI systems: SARIF 2.1.0 for code scanning, and JUnit XML, which most systems display.

SARIF has the violations as results, with the rule, the place in the target's source, and a fingerprint. A place is the
target's source file and line if known; else the first line of the baseline file. JUnit XML has a suite for each target
and a case for each attack.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from soundsum._version import __version__
from soundsum.auditor.baseline import BASELINE
from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.hints import rule_for
from soundsum.auditor.summary import Audit
from soundsum.auditor.target import Target

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
PLACE = re.compile(r"(?P<file>.+\.\w+):(?P<line>\d+)")


def sarif(done: Audit) -> dict[str, Any]:
    names = sorted({finding.rule for finding in done.violations})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "soundsum", "version": __version__, "rules": [_rule(n) for n in names]}},
                "results": [_result(finding, names.index(finding.rule)) for finding in done.violations],
                "properties": {"alpha": done.alpha, "seconds": round(done.seconds, 3), **done.platform},
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    rule = rule_for(name)
    return {
        "id": f"soundsum/{name}",
        "name": "".join(part.capitalize() for part in name.split("_")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.cause},
        "help": {"text": f"{rule.fix}."},
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding, place: int) -> dict[str, Any]:
    text = f"{finding.target.name}: {finding.headline}. {finding.hint}"
    return {
        "ruleId": finding.rule_id,
        "ruleIndex": place,
        "level": "error" if finding.verdict.exact else "warning",
        "message": {"text": text},
        "locations": [{"physicalLocation": location(finding.target.source)}],
        "partialFingerprints": {"soundsum/v1": finding.key},
        "properties": {"verdict": str(finding.verdict), "repro": finding.repro},
    }


def location(source: str) -> dict[str, Any]:
    """Where the target lies; a path within the folder one is in is written from there.

    >>> location("src/mine.py:12")["region"], location("somewhere in a library")["region"]
    ({'startLine': 12}, {'startLine': 1})
    """
    found = PLACE.fullmatch(source)
    if found is None:
        return {"artifactLocation": {"uri": BASELINE}, "region": {"startLine": 1}}
    path = Path(found["file"])
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    uri = path.as_uri() if path.is_absolute() else path.as_posix()
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": int(found["line"])}}


def junit(done: Audit) -> str:
    root = Element("testsuites", name="soundsum audit", time=f"{done.seconds:.3f}")
    for target in done.targets:
        _suite(root, done, target)
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(root: Element, done: Audit, target: Target) -> None:
    findings = done.of(target)
    unasked = [f for f in findings if f.verdict in (Verdict.REFUSED, Verdict.UNSUPPORTED)]
    suite = SubElement(
        root,
        "testsuite",
        name=target.name,
        tests=str(len(findings)),
        failures=str(sum(f.verdict.violation for f in findings)),
        errors="0",
        skipped=str(len(unasked)),
    )
    properties = SubElement(suite, "properties")
    described = {"library": target.library, "version": target.version, "alpha": f"{done.alpha:g}", **done.platform}
    for name, value in described.items():
        SubElement(properties, "property", name=name, value=value)
    for finding in findings:
        _case(suite, finding)


def _case(suite: Element, finding: Finding) -> None:
    case = SubElement(suite, "testcase", classname=finding.target.name, name=finding.rule)
    if finding.verdict.violation:
        failure = SubElement(case, "failure", type=str(finding.verdict), message=printable(finding.headline))
        failure.text = printable("\n".join(part for part in (finding.headline, finding.hint, finding.repro) if part))
    elif finding.verdict is not Verdict.NOT_REFUTED:
        SubElement(case, "skipped", message=printable(f"{finding.verdict}: {finding.note}"))
    else:
        SubElement(case, "system-out").text = printable(finding.headline)


def printable(text: str) -> str:
    """Without the control characters that XML cannot hold; a library's own words may have any."""
    return "".join(c if c in "\n\t" or c >= " " else "?" for c in text)
