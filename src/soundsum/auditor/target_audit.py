"""One target under audit: its measurements, confirmations and samples, joined into a finding for each rule.

A family of attacks whose sums exceed the claim is a candidate; fresh processes confirm and so certify it. Then the
release is sampled, on certified attacks and on those that outputs alone can show.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from soundsum.attacks import Attack, Event
from soundsum.auditor.calling import Failure
from soundsum.auditor.choosing import Allowance, attacks_on
from soundsum.auditor.finding import Finding, Sampled, Verdict
from soundsum.auditor.hints import hint, rule_of
from soundsum.auditor.measuring import Measurement, always_one_sided, measure, measure_all, most_telling
from soundsum.auditor.repros import repro
from soundsum.auditor.rerun import confirm
from soundsum.auditor.sampling import sample
from soundsum.auditor.search import search_pair
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import is_special

MOST_SAMPLED = 1 << 16
"""Releases are sampled on attacks of up to this many records, or larger ones that were certified."""


class Examination:
    """One target's part of an audit."""

    def __init__(
        self,
        target: Target,
        families: list[str] | None,
        own: list[Attack],
        runs: int,
        alpha: float,
        limits: Allowance,
        search: bool,
        progress: Callable[[str], None],
    ) -> None:
        self.target, self.families, self.own, self.runs, self.alpha = target, families, own, runs, alpha
        self.limits, self.search, self.progress = limits, search, progress
        self.measured: dict[str, list[Measurement]] = {}
        self.made: dict[str, Finding] = {}
        self.evidence: float | None = None

    def findings(self) -> list[Finding]:
        if self.target.noiseless is not None and self.target.deterministic:
            self._measure()
            self._certify()
        if self.target.release is not None and self.runs:
            self._sample()
        if not self.made:
            self._add(Finding(target=self.target, rule="none", verdict=Verdict.UNSUPPORTED, note=self._why_nothing()))
        return [self._finish(finding) for finding in self.made.values()]

    def _add(self, finding: Finding) -> None:
        self.made[finding.rule] = finding

    def _finish(self, finding: Finding) -> Finding:
        if not finding.verdict.violation:
            return finding
        finding = replace(finding, hint=hint(finding.rule, self.target))
        return replace(finding, repro=repro(finding))

    def _why_nothing(self) -> str:
        t = self.target
        if t.release is None and not t.deterministic:
            return "its noiseless sum is random, and there is no release to look at; give release="
        if t.noiseless is None and not self.runs:
            return (
                "all there is to look at is its release, and no runs were asked for; give runs (--runs, or "
                "--dp-audit=full in pytest), or noiseless= and claimed="
            )
        return f"no attack fits {t.dtype} records under {t.neighbours} with these bounds"

    # The deterministic tier

    def _measure(self) -> None:
        whole = self.target.release is None or not self.runs
        limits = self.limits if whole else self.limits.share(0.5)
        half = self.limits.seconds - limits.seconds
        seen = [measure(self.target, made) for made in self.own]
        if not self.own or self.families:
            seen += measure_all(self.target, limits, self.families, self.progress)
        for one in seen:
            self.measured.setdefault(rule_of(one.attack), []).append(one)
        if not whole:
            self.limits = Allowance(half + max(0.0, limits.left), limits.memory, left_out=limits.left_out)
        if self.search:
            self.progress("search")
            found = search_pair(self.target, limits)
            if found is not None:
                self.measured["search"] = [found]

    def _certify(self) -> None:
        candidates: dict[str, Measurement] = {}
        errors = [one for seen in self.measured.values() for one in seen if one.one_sided and self._counts(one)]
        certain = next((one for one in errors if always_one_sided(self.target, one)), None)
        if certain is not None:
            candidates["exception"] = certain
        for name, seen in self.measured.items():
            worst = [one for one in seen if one.violates]
            if worst:
                candidates[name] = most_telling(worst)
            elif certain is None or not all(one.one_sided for one in seen):  # which the exception stands for
                self._add(self._unviolated(name, seen))
        if not candidates:
            return
        self.progress("confirming in fresh processes")
        confirmed = confirm(self.target, list(candidates.values()))
        for (name, one), (same, how) in zip(candidates.items(), confirmed, strict=True):
            verdict = Verdict.VIOLATION_CERTIFIED if same else Verdict.NOT_REFUTED
            error = f"{one.failures[0].text}" if name == "exception" else ""
            self._add(
                Finding(
                    target=self.target,
                    rule=name,
                    verdict=verdict,
                    attack=one.attack,
                    sums=one.sums,
                    measured=one.moved,
                    claimed=one.claimed,
                    confirmed=how if same else "",
                    note=error if same else how,
                    tried=len(self.measured.get(name, [one])),
                )
            )

    def _counts(self, one: Measurement) -> bool:
        """Whether an error is a fault: the documentation allows the records, and does not declare the error."""
        return not one.attack.outside or (self.target.specials and one.failures[0].kind != "refused")

    def _unviolated(self, name: str, seen: list[Measurement]) -> Finding:
        """The most that was seen of a family that moved no sum beyond the claim."""
        numbers = [one for one in seen if one.moved is not None]
        failures = [failure for one in seen for failure in one.failures]
        common = {"target": self.target, "rule": name, "tried": len(seen)}
        if not numbers and failures:
            first = failures[0]
            refused = first.kind == "refused"
            verdict = Verdict.REFUSED if refused else Verdict.UNSUPPORTED
            return Finding(**common, verdict=verdict, attack=seen[0].attack, note=first.text)  # type: ignore[arg-type]
        if all(one.sums is not None and all(is_special(x) for x in one.sums) for one in numbers):
            note = f"it returns {numbers[0].sums[0] if numbers[0].sums else 'NaN'} whatever the data"
            return Finding(**common, verdict=Verdict.UNSUPPORTED, attack=numbers[0].attack, note=note)  # type: ignore[arg-type]
        best = max(numbers, key=lambda one: one.strength)
        notes = [f"over the claim by less than 1%: {float(best.over or 0):.3g}"] if best.slightly else []
        if best.claimed is None:
            notes.append("it does not say which sensitivity it uses, so only runs of its release can conclude")
        verdict = Verdict.NOT_REFUTED if best.claimed is not None or self.target.release else Verdict.UNSUPPORTED
        return Finding(
            **common,  # type: ignore[arg-type]
            verdict=verdict,
            attack=best.attack,
            sums=best.sums,
            measured=best.moved,
            claimed=best.claimed,
            note="; ".join(notes),
        )

    # The statistical tier

    def _sample(self) -> None:
        chosen = self._chosen()
        if not chosen:
            return
        self.limits.restart()  # finding the attacks, and confirming what they showed, is not the time of its releases
        pairs = [(made, event) for _, made, event in chosen]
        found, self.evidence = sample(self.target, pairs, self.runs, self.alpha, self.limits, self.progress)
        by_rule: dict[str, list[tuple[Attack, Sampled | Failure]]] = {}
        for (name, made, _), one in zip(chosen, found, strict=True):
            by_rule.setdefault(name, []).append((made, one))
        for name, tried in by_rule.items():
            done = [(made, one) for made, one in tried if isinstance(one, Sampled)]
            before = self.made.get(name)
            if done:
                self._add(self._joined(name, *max(done, key=lambda pair: pair[1].adjusted), before, len(tried)))
            else:
                made, why = tried[0]
                assert isinstance(why, Failure)
                self._add(self._unsampled(name, made, why, before))

    def _unsampled(self, name: str, made: Attack, why: Failure, before: Finding | None) -> Finding:
        """The finding if no run gave an output; the library promises nothing about parameters that it declines."""
        verdict = Verdict.REFUSED if why.kind == "refused" else Verdict.UNSUPPORTED
        if before is None:
            return Finding(target=self.target, rule=name, verdict=verdict, attack=made, note=why.text, tried=1)
        if verdict is Verdict.REFUSED and before.verdict is Verdict.VIOLATION_CERTIFIED:
            return replace(before, verdict=verdict, confirmed="", note=f"its release declines: {why.text}")
        return replace(before, note="; ".join(filter(None, (before.note, f"no output was seen: {why.text}"))))

    def _joined(self, name: str, made: Attack, one: Sampled, before: Finding | None, tried: int) -> Finding:
        shown = one.adjusted >= -math.log(self.alpha)
        if shown and one.event.test == "multiple" and (before is None or not before.verdict.violation):
            name, before = "low_bits", None  # it is the noise that tells, whatever the records
        verdict = Verdict.VIOLATION_STATISTICAL if shown else Verdict.NOT_REFUTED
        if before is None:
            return Finding(target=self.target, rule=name, verdict=verdict, attack=made, sampled=one, tried=tried)
        if before.verdict is Verdict.VIOLATION_CERTIFIED or not shown:
            kept = before.verdict if before.verdict.violation else verdict
            return replace(before, sampled=one, verdict=kept)
        return replace(before, verdict=verdict, attack=made, sampled=one)

    def _chosen(self) -> list[tuple[str, Attack, Event | None]]:
        """Rules with their attacks and first events: one attack for each measured rule, else every small one."""
        if not self.measured:
            every = self.own or attacks_on(self.target, self.families)
            return [(rule_of(made), made, _event(made.totals)) for made in every if made.records <= MOST_SAMPLED]
        chosen: list[tuple[str, Attack, Event | None]] = []
        for name, finding in self.made.items():
            if finding.attack is not None and name != "exception" and finding.verdict not in _UNASKED:
                best = finding.attack
                if finding.verdict is not Verdict.VIOLATION_CERTIFIED:
                    small = [m for m in self.measured.get(name, []) if m.attack.records <= MOST_SAMPLED and m.sums]
                    best = max(small, key=lambda m: m.strength).attack if small else best
                    if best.records > MOST_SAMPLED:
                        continue
                chosen.append((name, best, _event(finding.sums) if best is finding.attack else None))
        return chosen


_UNASKED = (Verdict.REFUSED, Verdict.UNSUPPORTED)


def _event(sums: Any) -> Event | None:
    try:
        return None if sums is None else Event.between(*sums)
    except (ValueError, TypeError):
        return None
