"""The table of `docs/audits.md`, from the results of audits; what is new on a current release is not in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TUMULT = 'Tumult Core\'s documentation, "Known Vulnerabilities": stability imprecision in sums of floats'

PUBLISHED = {
    ("diffprivlib.sum.float64", "rounding"): "the paper, IBM diffprivlib: bounded sum, 64-bit floats",
    ("diffprivlib.sum.dtype.int32", "overflow"): "the paper, IBM diffprivlib: signed 32-bit integers",
    ("tmlt-analytics.sum.change_one.float64", "rounding"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "path"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "tree_rounding"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "reordering"): TUMULT,
    ("tmlt-analytics.sum.symmetric.float64", "reordering"): TUMULT,
}
"""Violations that are public, by target and rule, and where; all others are reported before they are shown."""

MOST_QUOTED = 120
"""Characters of what a library said, in a cell."""

HEAD = """\
# Audits of other libraries

`make audit-all` writes this page from its own findings. It audits each library in its own environment, with the
versions pinned by its adapter (`src/soundsum/auditor/adapters/*.txt`). It tries every family of attacks that fits a
target's type and relation, within the seconds and pairs of runs in the command. A verdict holds for one version, on one
machine, within these limits: NOT_REFUTED means that the audit found nothing, not that the sum is sound.

The page shows findings that the paper or the library itself has published. New findings on a current release are *to be
reported*: their rows stay empty until the maintainers have been told (see [disclosure](disclosure.md)). All quotations
were compared with the audited version, and the program of every violation was run on its own. A statistical finding
that its program did not reproduce is not counted.

If no violation was found, the table gives the families tried, the pairs of runs of the release and the smallest
epsilon that these could have shown. *Not reached* gives the number of records from which a family took too much time or
memory, or the reason why it could not run.
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
    yield "| target | verdict | finding | not reached |"
    yield "|---|---|---|---|"
    for target in result["targets"]:
        findings = [x for x in result["findings"] if x["target"] == target["name"]]
        yield f"| {target['name']} | {_verdict(target, findings)} | {_seen(findings)} | {_left_out(target, findings)} |"


def is_violation(finding: dict[str, Any]) -> bool:
    """Certified, or statistical and seen again by its own program."""
    verdict = str(finding["verdict"])
    return verdict == "VIOLATION_CERTIFIED" or (verdict == "VIOLATION_STATISTICAL" and finding.get("repro_exit") == 1)


def is_new(finding: dict[str, Any]) -> bool:
    """Whether a violation is not public yet."""
    return is_violation(finding) and key(finding) not in PUBLISHED


def key(finding: dict[str, Any]) -> tuple[str, str]:
    """The target, and the rule without our name before it."""
    return finding["target"], finding["rule"].removeprefix("soundsum/")


def _verdict(target: dict[str, Any], findings: Sequence[dict[str, Any]]) -> str:
    violations = [x for x in findings if is_violation(x)]
    if violations and all(map(is_new, violations)):
        return "to be reported"
    if violations:
        return str(next(x for x in violations if not is_new(x))["verdict"])
    return "NOT_REFUTED" if str(target["verdict"]).startswith("VIOLATION") else str(target["verdict"])


def _seen(findings: Sequence[dict[str, Any]]) -> str:
    shown = [x for x in findings if is_violation(x) and not is_new(x)]
    if shown:
        said = {f"{key(x)[1]}: {x['headline']}" for x in shown}
        again = "; its program shows it alone" if all(x.get("repro_exit") == 1 for x in shown) else ""
        more = "; more is to be reported" if any(map(is_new, findings)) else ""
        return _cell(f"{'; '.join(sorted(said))} ({PUBLISHED[key(shown[0])]}){again}{more}")
    if any(map(is_violation, findings)):
        return ""
    asked = [x for x in findings if x["verdict"] not in ("REFUSED", "UNSUPPORTED")]
    refused = [x for x in findings if x["verdict"] == "REFUSED"]
    declined = f"declined: {_short(refused[0]['headline'].removeprefix('Declined: '))}" if refused else ""
    runs = [x["sampled"] for x in asked if x.get("sampled")]
    could = [s["detectable"] for s in runs if s.get("detectable")]
    least = f" (epsilon {min(could):.2g})" if could else ""
    sampled = f", {sum(s['pairs'] for s in runs):,} pairs{least}" if runs else ""
    tried = f"{len(asked)} {'family' if len(asked) == 1 else 'families'}{sampled}" if asked else ""
    once = "a statistical finding not reproduced" if any("VIOLATION" in x["verdict"] for x in findings) else ""
    return _cell("; ".join(part for part in (tried, declined, once) if part))


def _left_out(target: dict[str, Any], findings: Sequence[dict[str, Any]]) -> str:
    """The attacks left out: for each reason the families, each with its smallest size."""
    if any(map(is_new, findings)):
        return ""
    smallest: dict[tuple[str, str], int] = {}
    for text in target["left_out"]:
        found = re.fullmatch(r"(\w+) with (.*) records: (time|memory).*", text)
        if found:
            size = int(re.sub(r"\D", "", found[2]) or 0)
            at = found[3], found[1]
            smallest[at] = min(size, smallest.get(at, size))
    parts = []
    for reason in ("time", "memory"):
        of = [f"{name} {size:,}" for (why, name), size in smallest.items() if why == reason]
        parts += [f"{reason}: {', '.join(of)}"] if of else []
    failed = Counter(x["headline"] for x in findings if x["verdict"] == "UNSUPPORTED")
    by_reason = {said: [key(x)[1] for x in findings if x["headline"] == said] for said in failed}
    parts += [f"{', '.join(rules)}: {_short(said)}" for said, rules in by_reason.items()]
    return _cell("; ".join(parts))


def _short(text: str) -> str:
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}..."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
