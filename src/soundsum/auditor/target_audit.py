"""One target under audit: its measurements, confirmations and samples, joined into a finding for each rule.

A family of attacks whose sums exceed the claim is a candidate; fresh processes confirm and so certify it. Then the
release is sampled, on certified attacks and on those that outputs alone can show.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.attacks import Attack, Event
from soundsum.auditor.calling import Failure
from soundsum.auditor.choosing import WALKS, attacks_on
from soundsum.auditor.evidence import detectable
from soundsum.auditor.finding import Finding, Sampled, Verdict
from soundsum.auditor.further_pairs import further_attacks, screen
from soundsum.auditor.hints import hint, rule_for, rule_of
from soundsum.auditor.limits import Limits
from soundsum.auditor.measuring import SLIGHT, Measurement, always_one_sided, measure, measure_all, most_telling
from soundsum.auditor.plain_pairs import STATEMENTS, choose_few, plain_pairs
from soundsum.auditor.repros import repro
from soundsum.auditor.rerun import confirm
from soundsum.auditor.sampling import sample
from soundsum.auditor.search import search_pair
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import Promise
from soundsum.numbers.rationals import is_special

MOST_SAMPLED = 1 << 16
"""Releases are sampled on attacks of up to this many records, or larger ones that were certified."""

SCREENED = 0.15
"""The share of the time for releases that goes into choosing further pairs by a few runs on each."""

CODED = ("coded_value", "missing_records")
"""Further neighbours that need few records."""

PLAIN_SAMPLED = 12
"""Releases are sampled on this many plain pairs."""

MOST_NEEDED = 10**8
"""More pairs of runs than this are not asked for."""


class Examination:
    """One target's part of an audit."""

    def __init__(
        self,
        target: Target,
        families: list[str] | None,
        own: list[Attack],
        runs: int,
        alpha: float,
        limits: Limits,
        search: bool,
        progress: Callable[[str], None],
    ) -> None:
        self.target, self.families, self.own, self.runs, self.alpha = target, families, own, runs, alpha
        self.limits, self.search, self.progress = limits, search, progress
        self.seconds = limits.seconds
        self.plain = [] if own and not families else plain_pairs(target, families)
        self.shown: list[Sampled] = []  # on plain neighbours
        self.attacks_sampled = 0
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
        return [self._finish(finding) for finding in self._by_cause()]

    def unsettled(self) -> tuple[str, ...]:
        """List the reasons a target without violations is not NOT_REFUTED, and what would settle each."""
        reasons = []
        if self.families is not None or self.own:
            reasons.append("only some attacks were asked for; ask for all")
        cut = {one.attack for one in self.limits.left_out} & set(STATEMENTS)
        if cut:
            reasons.append(f"{', '.join(sorted(cut))}: not every pair was summed; {self._longer(2.0)} would allow more")
        if self.target.release is not None and self.runs and not (self.families is not None or self.own):
            reasons += self._undetected()
        return tuple(reasons)

    def _undetected(self) -> list[str]:
        """Whether runs on every plain pair could have shown twice the promised epsilon; if not, how many would."""
        if not self.shown:
            more = f"; {self._longer(2.0)} may allow it" if self.limits.left <= 0 else ""
            return [f"its release was not sampled on plain neighbours{more}"]
        promise, wanted = Promise.at(self.target.epsilon, self.target.delta, 1), 2 * float(self.target.epsilon)
        pairs = min(one.pairs for one in self.shown)
        enough = math.log(max(1, self.attacks_sampled) / self.alpha)
        if max(one.detectable for one in self.shown) <= wanted:
            return []
        needed = pairs
        while detectable(needed, promise, enough) > wanted and needed < MOST_NEEDED:
            needed *= 2
        if needed >= MOST_NEEDED:
            return [f"no number of runs within reach can show epsilon {wanted:g}"]
        more = f"--runs {needed:,}" if pairs >= self.runs else self._longer(needed / pairs)
        return [
            f"{pairs:,} pairs of runs on plain neighbours cannot show epsilon {wanted:g}, twice the promised one; "
            f"about {needed:,} can: {more}"
        ]

    def _longer(self, times: float) -> str:
        return f"--time {max(1.0, self.seconds * times):.0f}"

    def _by_cause(self) -> list[Finding]:
        """The findings, with violations of one cause joined: the smallest exact one, and the names of the others.

        Where plain neighbours move the sum as far as those of another family, that family's arithmetic adds nothing.
        """
        joined: dict[str, Finding] = {}
        for finding in sorted(self.made.values(), key=_smallest_first):
            if finding.verdict.violation:
                group = rule_for(finding.rule).group
                plain = joined.get("plain")
                group = "plain" if plain is not None and _move_alike(plain, finding) else group
                first = joined.get(group)
                joined[group] = finding if first is None else replace(first, also=(*first.also, finding.rule))
            else:
                joined[f"not {finding.rule}"] = finding
        kept = {finding.rule: finding for finding in joined.values()}
        return [kept[name] for name in self.made if name in kept]

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
        first = limits.share(0.5)
        seen += measure_all(self.target, self.plain, first, self.progress)
        limits = Limits(limits.seconds / 2 + max(0.0, first.left), limits.memory, left_out=limits.left_out)
        if not self.own or self.families:
            own = attacks_on(self.target, self.families), further_attacks(self.target, self.families)
            every = heapq.merge(*own, key=lambda made: made.records)
            seen += measure_all(self.target, every, limits, self.progress)
        for one in seen:
            self.measured.setdefault(rule_of(one.attack), []).append(one)
        if self.search and self.families is None and not self.own and not any(one.violates for one in seen):
            self.progress("search")
            found = search_pair(self.target, limits)
            if found is not None:
                self.measured["search"] = [found]
        if not whole:
            self.limits = Limits(half + max(0.0, limits.left), limits.memory, left_out=limits.left_out)

    def _certify(self) -> None:
        candidates: dict[str, Measurement] = {}
        errors = [one for one in self._all() if one.one_sided and self._counts(one)] if self._sums_records() else []
        certain = next((one for one in errors if always_one_sided(self.target, one)), None)
        if certain is not None:
            candidates["exception"] = certain
        for name, seen in self.measured.items():
            worst = [one for one in seen if one.violates]
            if worst:
                breaking = [one for one in worst if self._exact(name, one).breaks_promise]
                candidates[name] = most_telling(breaking or worst)
            elif certain is None or not all(one.one_sided for one in seen):  # which the exception stands for
                self._add(self._unviolated(name, seen))
        if not candidates:
            return
        self.progress("confirming in fresh processes")
        confirmed = confirm(self.target, list(candidates.values()))
        for (name, one), (same, how) in zip(candidates.items(), confirmed, strict=True):
            found = self._exact(name, one)
            exact = Verdict.VIOLATION_CERTIFIED if found.breaks_promise else Verdict.SENSITIVITY_EXCEEDED
            error = f"{one.failures[0].text}" if name == "exception" else ""
            self._add(
                replace(
                    found,
                    verdict=exact if same else Verdict.NOT_REFUTED,
                    confirmed=how if same else "",
                    note=error if same else how,
                )
            )

    def _all(self) -> list[Measurement]:
        return [one for seen in self.measured.values() for one in seen]

    def _sums_records(self) -> bool:
        """Whether any dataset with a record has a sum: what fails on all of them tells nothing by failing."""
        return any(
            side.size and not isinstance(answer, Failure)
            for one in self._all()
            for side, answer in zip((one.attack.left, one.attack.right), one.answers, strict=True)
        )

    def _exact(self, name: str, one: Measurement) -> Finding:
        """The finding of exact sums, before they are confirmed."""
        return Finding(
            target=self.target,
            rule=name,
            verdict=Verdict.NOT_REFUTED,
            attack=one.attack,
            sums=one.sums,
            measured=one.moved,
            claimed=one.claimed,
            tried=len(self.measured.get(name, [one])),
        )

    def _counts(self, one: Measurement) -> bool:
        """Whether an error is a fault: the documentation allows the records, and does not declare the error."""
        return not one.attack.outside or (self.target.documents(one.attack) and one.failures[0].kind != "refused")

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
        chosen += self._screened({id(made) for _, made, _ in chosen})
        pairs = [(made, event) for _, made, event in chosen]
        plain = [name in STATEMENTS for name, _, _ in chosen]
        weight = max(1.0, (len(plain) - sum(plain)) / max(1, sum(plain)))  # half of the time for plain neighbours
        weights = [weight if one else 1.0 for one in plain]
        found, self.evidence = sample(self.target, pairs, self.runs, self.alpha, self.limits, self.progress, weights)
        self.attacks_sampled = len(chosen)
        self.shown = [one for one, is_plain in zip(found, plain, strict=True) if is_plain and isinstance(one, Sampled)]
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

    def _screened(self, chosen: set[int]) -> list[tuple[str, Attack, Event | None]]:
        """The further pairs on which a few runs tell most, unless a violation is certain already."""
        if self.families is not None or self.own or any(finding.verdict.violation for finding in self.made.values()):
            return []
        self.progress("a few runs on many pairs")
        few_records = (made for made in further_attacks(self.target, CODED) if made.records <= MOST_SAMPLED)
        pairs = [made for made in [*self.plain, *few_records] if id(made) not in chosen]
        pairs.sort(key=lambda made: made.name not in WALKS)
        found = screen(self.target, pairs, self.limits.left * SCREENED)
        return [(made.name, made, None) for made in found]

    def _unsampled(self, name: str, made: Attack, why: Failure, before: Finding | None) -> Finding:
        """The finding if no run gave an output; the library promises nothing about parameters that it declines."""
        verdict = Verdict.REFUSED if why.kind == "refused" else Verdict.UNSUPPORTED
        if before is None:
            return Finding(target=self.target, rule=name, verdict=verdict, attack=made, note=why.text, tried=1)
        if verdict is Verdict.REFUSED and before.verdict.exact:
            return replace(before, verdict=verdict, confirmed="", note=f"its release declines: {why.text}")
        return replace(before, note="; ".join(filter(None, (before.note, f"no output was seen: {why.text}"))))

    def _joined(self, name: str, made: Attack, one: Sampled, before: Finding | None, tried: int) -> Finding:
        shown = one.adjusted >= -math.log(self.alpha)
        if shown and one.event.test == "multiple" and (before is None or not before.verdict.violation):
            name, before = "low_bits", None  # it is the noise that tells, whatever the records
        verdict = Verdict.VIOLATION_STATISTICAL if shown else Verdict.NOT_REFUTED
        if before is None:
            return Finding(target=self.target, rule=name, verdict=verdict, attack=made, sampled=one, tried=tried)
        if before.verdict is Verdict.VIOLATION_CERTIFIED or (before.verdict.violation and not shown):
            return replace(before, sampled=one)
        if made is before.attack or name == "low_bits":
            return replace(before, verdict=verdict, attack=made, sampled=one)
        sums = next((m for m in self.measured.get(name, []) if m.attack is made), None)
        again = before if sums is None else self._exact(name, sums)
        return replace(again, verdict=verdict, attack=made, sampled=one, note=before.note)

    def _chosen(self) -> list[tuple[str, Attack, Event | None]]:
        """Rules with their attacks and first events: plain pairs, and one attack for each measured rule.

        Without sums to choose by, every small attack is sampled.
        """
        failed = {id(one.attack) for seen in self.measured.values() for one in seen if one.failures}
        plain = [made for made in choose_few(self.plain, PLAIN_SAMPLED) if id(made) not in failed]
        certified = {name for name, finding in self.made.items() if finding.verdict.violation}
        chosen = [(made.name, made, _event(made.totals)) for made in plain if made.name not in certified]
        if not self.measured:
            every = self.own if self.own and not self.families else [*self.own, *attacks_on(self.target, self.families)]
            more = [(rule_of(made), made, _event(made.totals)) for made in every if made.records <= MOST_SAMPLED]
            return chosen + more
        sampled = {name for name, _, _ in chosen}
        for name, finding in self.made.items():
            if name in sampled or name == "exception" or finding.attack is None or finding.verdict in _UNASKED:
                continue
            best = finding.attack
            if not finding.verdict.violation:
                small = [m for m in self.measured.get(name, []) if m.attack.records <= MOST_SAMPLED and m.sums]
                best = max(small, key=lambda m: m.strength).attack if small else best
                if best.records > MOST_SAMPLED:
                    continue
            chosen.append((name, best, _event(finding.sums) if best is finding.attack else None))
        return chosen


def _smallest_first(finding: Finding) -> tuple[int, bool, int]:
    """The order of violations of one cause: the verdict, records within the bounds, and the number of records."""
    made = finding.attack
    return list(Verdict).index(finding.verdict), bool(made and made.outside), made.records if made else 0


def _move_alike(one: Finding, other: Finding) -> bool:
    """Whether both are exact, and move their sums by the same multiple of the claim, within 1%."""
    known = [x.ratio for x in (one, other) if x.verdict.exact and x.ratio and not is_special(x.ratio)]
    ratios = [Fraction(x) for x in known]
    return len(ratios) == 2 and abs(ratios[0] - ratios[1]) <= SLIGHT * ratios[0]


_UNASKED = (Verdict.REFUSED, Verdict.UNSUPPORTED)


def _event(sums: Any) -> Event | None:
    try:
        return None if sums is None else Event.between(*sums)
    except (ValueError, TypeError):
        return None
