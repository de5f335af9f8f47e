"""The results of an audit: a Finding for each family of attacks on each target; verdicts follow from the numbers.

No verdict says "private": a target that withstood all attacks is NOT_REFUTED.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from soundsum.attacks import Attack, Event
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import Counts
from soundsum.numbers.formatting import binary, number, times
from soundsum.numbers.rationals import Value, is_special
from soundsum.privacy.distributions import normal_delta

DOWN = Context(prec=2, rounding=ROUND_FLOOR)
"""Two digits of a lower bound."""

UNLIKELY = Decimal("0.01")
"""Outputs that keep the promise look as different as those shown with at most this probability."""


class Verdict(enum.StrEnum):
    """Members equal their names as strings; the first three are violations. Only targets are INCONCLUSIVE."""

    VIOLATION_CERTIFIED = "VIOLATION_CERTIFIED"
    VIOLATION_STATISTICAL = "VIOLATION_STATISTICAL"
    SENSITIVITY_EXCEEDED = "SENSITIVITY_EXCEEDED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_REFUTED = "NOT_REFUTED"
    REFUSED = "REFUSED"
    UNSUPPORTED = "UNSUPPORTED"

    @property
    def violation(self) -> bool:
        return self.exact or self is Verdict.VIOLATION_STATISTICAL

    @property
    def exact(self) -> bool:
        """Whether it rests on exact sums, without statistics."""
        return self in (Verdict.VIOLATION_CERTIFIED, Verdict.SENSITIVITY_EXCEEDED)


@dataclass(frozen=True)
class Bins:
    """Where outputs fell on both sides: the edges of the bins, and how many in each."""

    edges: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class Sampled:
    """Statistics of runs of a release on one attack.

    `pairs` were drawn; `log_e` is the evidence of the e-process after `pairs_used`. The fixed-sample figures are of the
    runs that `event` was not chosen on. `detectable` is the least epsilon that this many pairs were expected to show on
    these two datasets.
    """

    event: Event
    pairs: int
    pairs_used: int
    log_e: float
    adjusted: float  # after e-Holm over the target's attacks
    table: Counts
    likelihood: Decimal
    p_value: Decimal
    epsilon_lower: float  # Clopper and Pearson
    epsilon_anytime: float  # of the e-processes
    detectable: float
    histogram: Bins | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The outcome of one family of attacks on one target: its strongest attack, with measurements and statistics."""

    target: Target
    rule: str
    verdict: Verdict
    attack: Attack | None = None
    sums: tuple[Value, Value] | None = None
    measured: Fraction | float | None = None
    claimed: Fraction | None = None
    confirmed: str = ""
    also: tuple[str, ...] = ()  # further rules that the same cause showed on this target
    sampled: Sampled | None = None
    note: str = ""
    tried: int = 0
    repro: str = ""
    hint: str = ""

    def __repr__(self) -> str:
        return f"<{self.verdict} {self.rule} on {self.target.name}: {self.headline}>"

    @property
    def rules(self) -> tuple[str, ...]:
        """Its own rule, and those that the same cause showed besides."""
        return self.rule, *self.also

    @property
    def rule_id(self) -> str:
        return f"soundsum/{self.rule}"

    @property
    def key(self) -> str:
        """The key that identifies a finding from one audit to the next."""
        return f"{self.target.name}: {self.rule}"

    @property
    def allowed(self) -> Fraction | None:
        """How far apart the claimed sensitivity allows the two sums to be."""
        if self.claimed is None or self.attack is None:
            return None
        return self.claimed * max(1, int(self.attack.distance))

    @property
    def ratio(self) -> Fraction | float | None:
        """How far the sum moves, divided by the sensitivity used; infinite if a sum is not a number."""
        if self.measured is None or self.claimed is None:
            return None
        if is_special(self.measured):
            return math.inf
        if not self.claimed:
            return math.inf if self.measured else Fraction(0)
        return Fraction(self.measured) / self.claimed

    @property
    def delta_shown(self) -> Fraction | None:
        """For Gaussian noise of a known size: a lower bound, in rationals, of the delta that sums so far apart have at
        the promised epsilon; None where the size is not known, or the sums are not numbers.
        """
        multiplier, ratio = self.target.noise_multiplier, self.ratio
        if self.target.noise != "gaussian" or not multiplier or not ratio or is_special(ratio):
            return None
        return normal_delta(multiplier**2, Fraction(ratio), self.target.epsilon)

    @property
    def breaks_promise(self) -> bool:
        """Whether sums this far apart break (epsilon, delta), with noise that is made for the sensitivity used.

        Laplace noise at R times its sensitivity has delta 1 - e^-y, which is at least y/(1 + y), for
        y = (R - 1) epsilon / 2; noise that is not named is judged as if it were Laplace noise.
        """
        if self.rule == "exception" or not self.claimed or is_special(self.measured or 0):
            return True
        if self.target.noise == "gaussian":
            return self.breaks_delta
        over = (Fraction(self.ratio or 0) - 1) * self.target.epsilon / 2
        return bool(over > 0 and over / (1 + over) > self.target.delta)

    @property
    def breaks_delta(self) -> bool:
        """Whether the sums alone, with the Gaussian noise that is used, show that (epsilon, delta) is broken."""
        return self.delta_shown is not None and self.delta_shown > self.target.delta

    @property
    def table(self) -> Counts | None:
        return None if self.sampled is None else self.sampled.table

    @property
    def p_value(self) -> Decimal | None:
        return None if self.sampled is None else self.sampled.p_value

    @property
    def epsilon_lower(self) -> float | None:
        """The larger of the two lower bounds on epsilon, each at the audit's confidence."""
        return None if self.sampled is None else max(self.sampled.epsilon_lower, self.sampled.epsilon_anytime)

    @property
    def headline(self) -> str:
        """The finding in one sentence."""
        match self.verdict:
            case Verdict.VIOLATION_CERTIFIED if self.rule == "exception":
                return f"an error on one of two neighbours tells them apart: {self.note}"
            case Verdict.VIOLATION_CERTIFIED | Verdict.SENSITIVITY_EXCEEDED:
                return self._moves()
            case Verdict.VIOLATION_STATISTICAL:
                assert self.sampled is not None
                t, s = self.sampled.table, self.sampled
                return (
                    f"{s.event.description} in {t.left:,} of {t.left_runs:,} runs on the left and {t.right:,} of "
                    f"{t.right_runs:,} on the right: {self.epsilon_words}"
                )
            case Verdict.NOT_REFUTED:
                parts = []
                if self.measured is not None and self.claimed:
                    parts.append(f"the sum moves by at most {times(self.ratio or Fraction(0))} the sensitivity used")
                if self.sampled is not None:
                    s = self.sampled
                    could = (
                        f"could have shown epsilon {s.detectable:.2f}"
                        if math.isfinite(s.detectable)
                        else "show nothing"
                    )
                    parts.append(f"{s.pairs:,} pairs of runs on these two datasets {could}")
                return "; ".join([*parts, *([self.note] if self.note else [])]) or "nothing was seen"
            case _:
                return self.note

    @property
    def epsilon_words(self) -> str:
        """The lower bound on epsilon beside the promise, in enough digits to tell them apart."""
        promised, least = self.target.epsilon, Fraction(self.epsilon_lower or 0)
        at = f" at delta {float(self.target.delta):.2g}" if self.target.delta else ""
        if least <= promised:  # the process that refuted the promise bounds epsilon by no more
            return f"epsilon is above {number(promised)}{at}, which is promised"
        digits = 2
        while digits < 12 and Fraction(int(least * 10**digits), 10**digits) <= promised:
            digits += 1
        shown = Decimal(int(least * 10**digits)).scaleb(-digits)
        return f"epsilon is at least {shown}{at}, and {number(promised)} is promised"

    def _moves(self) -> str:
        assert self.sums is not None
        if is_special(self.measured):
            left, right = (binary(x) for x in self.sums)
            return f"the sum before noise is {left} on the left and {right} on the right{self._outputs()}"
        reordered = ", for a mere reordering" if self.attack and not self.attack.distance else ""
        if self.claimed == 0:
            return f"the sum moves by {binary(self.measured)}{reordered}, and the sensitivity used is 0"
        moves = f"the sum moves by {times(self.ratio or Fraction(0))} the sensitivity used{reordered}"
        return moves if self.delta_shown is None else f"{moves}; {self._of_delta(self.delta_shown)}"

    def _outputs(self) -> str:
        """How outputs of a sum that is not a number differ, if runs show it; noise may have ends that hide it."""
        if self.sampled is None or self.sampled.p_value > UNLIKELY:
            return ""
        t, event = self.sampled.table, self.sampled.event
        return (
            f"; {event.description} in {t.left:,} of {t.left_runs:,} runs on the left and {t.right:,} of "
            f"{t.right_runs:,} on the right"
        )

    def _of_delta(self, shown: Fraction) -> str:
        """Whether a certified difference breaks (epsilon, delta) itself, given Gaussian noise."""
        promise = f"({number(self.target.epsilon)}, {float(self.target.delta):.2g})"
        if self.breaks_delta:
            least = DOWN.divide(Decimal(shown.numerator), Decimal(shown.denominator))
            return f"with the Gaussian noise used, delta is then at least {least:g}: {promise} does not hold"
        return (
            f"that alone does not show {promise} broken, as the Gaussian noise used has delta {float(shown):.2g} there"
        )

    def to_json(self) -> dict[str, Any]:
        """A plain dict, exact numbers as strings."""
        made, t = self.attack, self.target
        return {
            "target": t.name,
            "rule": self.rule_id,
            "verdict": str(self.verdict),
            "headline": self.headline,
            "library": t.library,
            "version": t.version,
            "source": t.source,
            "statistic": t.statistic,
            "dtype": t.dtype.name,
            "relation": str(t.neighbours),
            "epsilon": str(t.epsilon),
            "delta": str(t.delta),
            "claim_quote": t.claim_quote,
            "relation_quote": t.relation_quote,
            "specials_quote": t.specials_quote,
            "attack": None if made is None else {**made.to_json(), "hex": hexadecimal(made)},
            "sums": None if self.sums is None else [str(x) for x in self.sums],
            "measured": None if self.measured is None else str(self.measured),
            "claimed": None if self.claimed is None else str(self.claimed),
            "ratio": None if self.ratio is None else str(self.ratio),
            "delta_shown": None if self.delta_shown is None else float(self.delta_shown),
            "breaks_delta": self.breaks_delta,
            "confirmed": self.confirmed,
            "also": list(self.also),
            "sampled": None if self.sampled is None else _sampled_json(self.sampled),
            "tried": self.tried,
            "note": self.note,
            "hint": self.hint,
            "repro": self.repro,
        }


def hexadecimal(made: Attack) -> dict[str, list[list[Any]]]:
    """The datasets with floats in hexadecimal, which every language reads exactly."""

    def text(x: Value) -> str:
        return str(x) if made.problem.dtype.is_integer else float(x).hex()

    sides = {"left": made.left, "right": made.right}
    return {
        side: [[[text(x) for x in pattern], count] for pattern, count in runs.parts] for side, runs in sides.items()
    }


def _sampled_json(s: Sampled) -> dict[str, Any]:
    return {
        "event": s.event.to_json(),
        "pairs": s.pairs,
        "pairs_used": s.pairs_used,
        "log10_e": s.log_e / math.log(10),
        "log10_e_adjusted": s.adjusted / math.log(10),
        "table": s.table.to_json(),
        "likelihood": f"{s.likelihood:.6e}",
        "p_value": f"{s.p_value:.6e}",
        "epsilon_lower": s.epsilon_lower,
        "epsilon_lower_anytime": s.epsilon_anytime,
        "detectable": s.detectable if math.isfinite(s.detectable) else None,
        "histogram": None
        if s.histogram is None
        else {"edges": s.histogram.edges, "left": s.histogram.left, "right": s.histogram.right},
    }
