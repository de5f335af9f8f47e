"""An audit as JUnit XML, which CI systems display: a suite for each target, a case for each attack."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.summary import Audit
from soundsum.auditor.target import Target


def document(done: Audit) -> str:
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
