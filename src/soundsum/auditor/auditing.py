"""An audit: every attack that fits, on every target, and a verdict for each family of attacks.

First comes the deterministic tier, if a target gives its noiseless sum and its claim; fresh processes confirm its
violations. Then come runs of the release: on certified attacks, to fill their tables, and on attacks that outputs alone
can show. A target that cannot be run ends its own part of the audit, and no other's. The
`Audit` has all findings and verdicts, and the settings behind them.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from soundsum._version import __version__
from soundsum.attacks import FAMILIES, Attack
from soundsum.auditor.finding import Finding, Verdict
from soundsum.auditor.limits import LOADED, LeftOut, Limits, load
from soundsum.auditor.plain_pairs import STATEMENTS
from soundsum.auditor.resolve import open_targets
from soundsum.auditor.target import Target
from soundsum.auditor.target_attacks import FURTHER
from soundsum.auditor.target_audit import Examination
from soundsum.auditor.timing import Timing, time_pairs
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue


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
        """The targets without a violation that were observed too little to conclude anything."""
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


RUNS, ALPHA, SECONDS, MEMORY = 10_000, 1e-6, 60.0, 8 << 30

TIMED = 0.25
"""The share of the time limit that goes into times, on top of it, if they are asked for."""

Watch = Callable[[str, int, int, str], None]
"""A callback that gets the target, the number done, their total, and the current step."""


def audit(
    target: Target | str | Iterable[Target],
    attacks: str | Sequence[str | Attack] = "all",
    runs: int = RUNS,
    alpha: float = ALPHA,
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    search: bool = True,
    sampling: bool = True,
    timing: bool = False,
    install: bool = False,
    spec: str | None = None,
    watch: Watch = lambda target, done, total, doing: None,
) -> Audit:
    """Attack a target, or all targets of a library, and return the findings.

    target: a Target, several, or the name of a library or of its function: "numpy", "diffprivlib", "diffprivlib.mean".
    attacks: "all", or names of families, or attacks of your own.
    runs: the most pairs of releases per attack. sampling=False draws none.
    alpha: the false alarm rate per target of statistical verdicts.
    seconds, memory: the limits for each target, and for each call of a library that runs in its own process.
        Seconds are CPU time, children included; three times as much wall-clock time may pass.
    search: search for neighbours outside the families, if these show no violation of the noiseless sum.
    timing: also time calls on neighbours beside identical copies, for a quarter of `seconds`; this is evidence in
        `Audit.timings`, and no verdict.
    install, spec: install the library in its own environment; a spec replaces the pinned version.

    >>> import numpy as np
    >>> t = Target(noiseless=np.sum, claimed=2**-10, dtype="float32", relation="hamming", bounds=(1, 1 + 2**-10))
    >>> {str(f.verdict) for f in audit(t, ["path"]).findings}
    {'VIOLATION_CERTIFIED'}
    """
    _check(runs, alpha, seconds, memory)
    families, own = _wanted(attacks)
    began = time.monotonic()
    targets = _targets(target, install, spec, Limits(seconds, int(memory)))
    findings: list[Finding] = []
    evidence: dict[str, float] = {}
    left_out: dict[str, tuple[LeftOut, ...]] = {}
    unsettled: dict[str, tuple[str, ...]] = {}
    timings: list[Timing] = []
    busiest = load()
    for done, one in enumerate(targets):
        limits = Limits(seconds, memory)

        def progress(doing: str, one: Target = one, done: int = done) -> None:
            watch(one.name, done, len(targets), doing)

        progress("the first attack")
        examined = Examination(one, families, own, runs if sampling else 0, alpha, limits, search, progress)
        findings += examined.findings()
        if why := examined.unsettled():
            unsettled[one.name] = why
        if timing:
            timings += time_pairs(one, seconds * TIMED, progress)
        busiest = max(busiest, load() - 1 / (os.cpu_count() or 1))
        if examined.evidence is not None:
            evidence[one.name] = examined.evidence
        if limits.left_out:
            left_out[one.name] = tuple(dict.fromkeys(limits.left_out))
    return Audit(
        findings=tuple(findings),
        alpha=alpha,
        runs=runs,
        seconds=time.monotonic() - began,
        evidence=evidence,
        left_out=left_out,
        unsettled=unsettled,
        timings=tuple(timings),
        platform=about_machine(busiest),
    )


def _targets(target: Target | str | Iterable[Target], install: bool, spec: str | None, limits: Limits) -> list[Target]:
    if isinstance(target, str):
        return open_targets(target, install, spec, limits)
    if isinstance(target, Target):
        return [target]
    several = list(target) if isinstance(target, Iterable) else [target]
    for one in several:
        if not isinstance(one, Target):
            name = getattr(one, "__name__", "f") if callable(one) else "f"
            raise RefusedType(
                "target",
                Reason.WRONG_TYPE,
                "`target={given}` does not say what it promises",
                "give `ss.Target(release={function}, dtype='float64', relation='change_one', epsilon=1)`, with the "
                "type, relation and epsilon it claims",
                given=quote(one),
                function=name,
            )
    return _named_apart(several)


def _named_apart(targets: list[Target]) -> list[Target]:
    """Give targets distinct names: the second of a name becomes name (2)."""
    seen: Counter[str] = Counter()
    apart = []
    for one in targets:
        seen[one.name] += 1
        apart.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name} ({seen[one.name]})"))
    return apart


def _wanted(attacks: str | Sequence[str | Attack]) -> tuple[list[str] | None, list[Attack]]:
    if isinstance(attacks, str):
        attacks = [attacks]
    names = [one for one in attacks if isinstance(one, str)]
    own = [one for one in attacks if isinstance(one, Attack)]
    for name in names:
        if name != "all" and name not in {**STATEMENTS, **FURTHER, **FAMILIES}:
            raise RefusedValue(
                "attacks",
                Reason.UNKNOWN,
                "`attacks={given}` is not an attack",
                "use all, or some of {known}",
                given=quote(name),
                known=", ".join([*STATEMENTS, *FURTHER, *FAMILIES]),
            )
    return (None if "all" in names else names), own


def _check(runs: int, alpha: float, seconds: float, memory: int) -> None:
    if runs < 0:
        raise RefusedValue(
            "runs",
            Reason.TOO_SMALL,
            "`runs={given}` is below 0",
            "give a number of pairs of runs, 0 or more",
            given=quote(runs),
        )
    if alpha <= 0:
        raise RefusedValue(
            "alpha",
            Reason.TOO_SMALL,
            "`alpha={given}`: the rate of false alarms lies between 0 and 1",
            "give one such as 1e-6",
            given=quote(alpha),
        )
    if not alpha < 1:
        raise RefusedValue(
            "alpha",
            Reason.TOO_LARGE,
            "`alpha={given}`: the rate of false alarms lies between 0 and 1",
            "give one such as 1e-6",
            given=quote(alpha),
        )
    for name, limit in (("seconds", seconds), ("memory", memory)):
        if not limit > 0:
            raise RefusedValue(
                name, Reason.TOO_SMALL, "`{option}={given}` is not above 0", "give a higher limit", given=quote(limit)
            )
