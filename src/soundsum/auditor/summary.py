"""An Audit: the findings and verdicts of all targets, and the settings behind them."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soundsum._version import __version__
from soundsum.auditor.choosing import LeftOut
from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.stopwatch import LOADED
from soundsum.auditor.target import Target
from soundsum.auditor.timing import Timing


def about_machine(load: float) -> dict[str, str]:
    """Versions and the machine; how loaded it was, if it was."""
    about = {
        "soundsum": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.platform(),
    }
    return about | ({"load": f"{load:.1f} processes for each core: a loaded machine"} if load > LOADED else {})


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All findings, and the settings they were made with.

    `alpha` is the probability, for each target, of a statistical verdict against one that keeps its promise.
    """

    findings: tuple[Finding, ...]
    alpha: float
    runs: int
    seconds: float
    evidence: Mapping[str, float] = field(default_factory=dict)  # ln of each target's average e-value
    left_out: Mapping[str, tuple[LeftOut, ...]] = field(default_factory=dict)
    unsettled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # why a target is INCONCLUSIVE
    timings: tuple[Timing, ...] = ()  # evidence only: they change no verdict
    platform: Mapping[str, str] = field(default_factory=lambda: about_machine(0.0))

    def __repr__(self) -> str:
        """The verdict on each target, with the findings behind it."""
        lines = [f"<audit of {len(self.targets)} target{'s' * (len(self.targets) != 1)} in {self.seconds:.0f} s"]
        for target in self.targets:
            lines.append(f"  {target.name}: {self.verdict_of(target)}")
            lines += [f"    {one.rule}: {one.headline}" for one in self.of(target) if one.verdict.violation]
        return "\n".join(lines) + ">"

    @property
    def violations(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict.violation)

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple({id(f.target): f.target for f in self.findings}.values())

    def of(self, target: Target) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.target is target)

    def verdict_of(self, target: Target) -> Verdict:
        """Return the most serious of a target's verdicts; refused or unsupported only if there is no other."""
        seen = {f.verdict for f in self.of(target)}
        first = next((verdict for verdict in Verdict if verdict in seen), Verdict.UNSUPPORTED)
        unsettled = first is Verdict.NOT_REFUTED and self.unsettled.get(target.name)
        return Verdict.INCONCLUSIVE if unsettled else first

    def timings_of(self, target: Target) -> tuple[Timing, ...]:
        """The times of a target, those that differ first."""
        return tuple(sorted((t for t in self.timings if t.target is target), key=lambda t: (not t.differs, t.p_value)))

    @property
    def inconclusive(self) -> tuple[Target, ...]:
        """The targets without a violation of which too little was seen."""
        return tuple(target for target in self.targets if self.verdict_of(target) is Verdict.INCONCLUSIVE)

    @property
    def tally(self) -> dict[str, int]:
        """The number of targets with each verdict."""
        every = [self.verdict_of(target) for target in self.targets]
        return {str(verdict): every.count(verdict) for verdict in Verdict}

    @property
    def unasked(self) -> tuple[Target, ...]:
        """The targets that could not be audited."""
        return tuple(target for target in self.targets if self.verdict_of(target) is Verdict.UNSUPPORTED)

    @property
    def exit_code(self) -> int:
        """1 for a violation; 2 if no target could be audited, which is no success; else 0, INCONCLUSIVE included."""
        return 1 if self.violations else 2 if len(self.unasked) == len(self.targets) else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "soundsum": __version__,
            "alpha": self.alpha,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "platform": dict(self.platform),
            "targets": [
                {
                    "name": t.name,
                    "verdict": str(self.verdict_of(t)),
                    "environment": dict(t.environment),
                    "log10_e_average": self.evidence[t.name] / math.log(10) if t.name in self.evidence else None,
                    "left_out": list(map(str, self.left_out.get(t.name, ()))),
                    "unsettled": list(self.unsettled.get(t.name, ())),
                }
                for t in self.targets
            ],
            "findings": [finding.to_json() for finding in self.findings],
            "timings": [timing.to_json() for timing in self.timings],
        }
