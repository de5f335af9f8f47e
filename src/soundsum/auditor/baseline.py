"""The findings a project knows of: a file that makes an audit fail on new ones, and on ones that vanished."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from soundsum.auditor.finding import Finding
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


def known(path: str | Path) -> dict[str, list[str]]:
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


def compare(findings: Iterable[Finding], baseline: dict[str, list[str]], target: str) -> Compared:
    """Compare one target's findings with its known violations."""
    there = {rule for f in findings if f.verdict.violation for rule in f.rules}
    before = set(baseline.get(target, ()))
    return Compared(tuple(sorted(there - before)), tuple(sorted(before - there)))


def update(path: str | Path, target: str, findings: Iterable[Finding]) -> None:
    """Write a target's violations into the file, and leave the others as they are."""
    violations = known(path)
    violations[target] = sorted({rule for f in findings if f.verdict.violation for rule in f.rules})
    ordered = {name: rules for name, rules in sorted(violations.items()) if rules}
    Path(path).write_text(json.dumps({"violations": ordered}, indent=2) + "\n", encoding="utf-8")
