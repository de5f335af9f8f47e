"""Audits as files for CI systems: SARIF 2.1.0, JUnit XML, and the baseline of violations that a project knows.

SARIF, for code scanning, has the violations as results, with the rule, the place in the target's source, and a
fingerprint. A place is the target's source file and line if known; else the first line of the baseline file. JUnit XML,
which most systems display, has a suite for each target and a case for each attack. With a baseline, an audit fails on
new violations, and on known ones that have vanished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from soundsum._version import __version__
from soundsum.auditor.auditing import Audit
from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.rules import rule_for
from soundsum.auditor.target import Target
from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue

BASELINE = "dp-audit-baseline.json"
"""The usual name of a baseline file, at the root of a repository."""


@dataclass(frozen=True)
class Compared:
    """Violations missing from the baseline, and listed ones that have disappeared."""

    new: tuple[str, ...]
    vanished: tuple[str, ...]

    @property
    def same(self) -> bool:
        return not self.new and not self.vanished

    def __str__(self) -> str:
        parts = []
        if self.new:
            parts.append(f"new: {'; '.join(self.new)}")
        if self.vanished:
            parts.append(f"vanished (take them out of the baseline): {'; '.join(self.vanished)}")
        return "; ".join(parts) or "as in the baseline"


def read_baseline(path: str | Path) -> dict[str, list[str]]:
    """The violations of a baseline file, by target; empty without a file."""
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
        violations = read["violations"]
        return {str(target): sorted(map(str, rules)) for target, rules in violations.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} is not a baseline",
        "write it anew with `--dp-audit-update`",
        path=printed(str(path)),
    )


def compare_with_baseline(findings: Iterable[Finding], baseline: dict[str, list[str]], target: str) -> Compared:
    """Compare one target's findings with its known violations."""
    there = {rule for f in findings if f.verdict.violation for rule in f.rules}
    before = set(baseline.get(target, ()))
    return Compared(tuple(sorted(there - before)), tuple(sorted(before - there)))


def update_baseline(path: str | Path, target: str, findings: Iterable[Finding]) -> None:
    """Write a target's violations into the file, and leave the others as they are."""
    violations = read_baseline(path)
    violations[target] = sorted({rule for f in findings if f.verdict.violation for rule in f.rules})
    ordered = {name: rules for name, rules in sorted(violations.items()) if rules}
    Path(path).write_text(json.dumps({"violations": ordered}, indent=2) + "\n", encoding="utf-8")


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
    """The place of the target's source; a path in the current folder is written relative to it.

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
