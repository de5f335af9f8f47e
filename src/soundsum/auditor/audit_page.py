"""An audit as one HTML page that needs nothing but a browser, in the style of the reproduction's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from soundsum._version import __version__
from soundsum.attacks.attack import describe_dataset
from soundsum.auditor.auditing import Audit
from soundsum.auditor.finding import Finding, Verdict, hexadecimal
from soundsum.auditor.rules import rule_for
from soundsum.numbers.event_counts import show_p_value
from soundsum.numbers.formatting import binary, number
from soundsum.numbers.rationals import is_special, nearest_float
from soundsum.pages import TEMPLATES, template
from soundsum.pages.draw import Line, Plot

ZERO, ONE = Fraction(0), Fraction(1)

CLASSES = {
    Verdict.VIOLATION_CERTIFIED: "differs",
    Verdict.VIOLATION_STATISTICAL: "differs",
    Verdict.SENSITIVITY_EXCEEDED: "differs",
    Verdict.INCONCLUSIVE: "checked",
    Verdict.NOT_REFUTED: "matches",
    Verdict.REFUSED: "erratum",
    Verdict.UNSUPPORTED: "erratum",
}
"""How each verdict is coloured: by the style sheet's names."""

MARKS = {"differs": "✗", "matches": "–", "erratum": "·", "checked": "?"}


def page(done: Audit) -> str:
    """The whole page."""
    layout = template("audit.html")
    return layout.render(
        done=done,
        targets=[_target(done, target) for target in done.targets],
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        version=__version__,
        marks=MARKS,
        styles={str(verdict): style for verdict, style in CLASSES.items()},
    )


def _target(done: Audit, target: Any) -> dict[str, Any]:
    findings = done.of(target)
    verdict = done.verdict_of(target)
    promise = f"epsilon = {number(target.epsilon)}" + (f", delta = {number(target.delta)}" if target.delta else "")
    return {
        "name": target.name,
        "id": _identifier(target.name),
        "verdict": str(verdict),
        "style": CLASSES[verdict],
        "about": " ".join(filter(None, (target.library, target.version))),
        "promise": f"{target.dtype.name} records, {target.neighbours} neighbours, {promise}",
        "source": target.source,
        "quotes": [text for text in (target.claim_quote, target.relation_quote) if text],
        "violations": sum(f.verdict.violation for f in findings),
        "rows": [_row(f) for f in sorted(findings, key=_smallest_first)],
        "details": [
            _details(f, f"{_identifier(target.name)}-{f.rule}")
            for f in sorted(findings, key=_smallest_first)
            if f.verdict.violation
        ],
        "timings": [
            {"rule": t.attack.name, "differs": t.differs, "headline": t.headline} for t in done.timings_of(target)
        ],
        "left_out": [str(one) for one in done.left_out.get(target.name, ())],
        "unsettled": done.unsettled.get(target.name, ()) if verdict is Verdict.INCONCLUSIVE else (),
        "environment": dict(target.environment),
    }


def _smallest_first(finding: Finding) -> tuple[int, int]:
    return list(Verdict).index(finding.verdict), finding.attack.records if finding.attack else 0


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": str(finding.verdict),
        "style": CLASSES[finding.verdict],
        "rule": finding.rule,
        "headline": finding.headline,
        "records": "" if finding.attack is None else f"{finding.attack.records:,}",
        "id": f"{_identifier(finding.target.name)}-{finding.rule}" if finding.verdict.violation else "",
    }


def _details(finding: Finding, name: str) -> dict[str, Any]:
    made, rule = finding.attack, rule_for(finding.rule)
    facts: list[tuple[str, str]] = []
    hexes: list[tuple[str, str]] = []
    if made is not None:
        facts += [
            ("left", describe_dataset(made.left)),
            ("right", describe_dataset(made.right)),
            ("neighbours", f"{made.distance} apart under {made.problem.relation}"),
            ("bounds", f"[{binary(made.problem.lower)}, {binary(made.problem.upper)}]"),
        ]
        hexes = [(side, _parts(parts)) for side, parts in hexadecimal(made).items()]
    if finding.sums is not None:
        facts.append(("sums", f"{binary(finding.sums[0])} and {binary(finding.sums[1])}"))
    if finding.claimed is not None:
        facts.append(("claimed sensitivity", binary(finding.claimed)))
    if finding.measured is not None:
        facts.append(("exact difference", "not a number" if is_special(finding.measured) else binary(finding.measured)))
    if finding.also:
        facts.append(("also seen by", ", ".join(finding.also)))
    if finding.confirmed:
        facts.append(("confirmed", finding.confirmed))
    return {
        "id": name,
        "rule": finding.rule_id,
        "verdict": str(finding.verdict),
        "title": rule.title,
        "headline": finding.headline,
        "cause": rule.cause,
        "facts": facts,
        "hexes": hexes,
        "sampled": finding.sampled,
        "p_value": "" if finding.sampled is None else show_p_value(finding.sampled.p_value),
        "likelihood": "" if finding.sampled is None else show_p_value(finding.sampled.likelihood),
        "epsilon_words": "" if finding.sampled is None else finding.epsilon_words,
        "picture": _picture(finding, f"{name}-outputs"),
        "undrawn": _undrawn(finding),
        "hint": finding.hint,
        "repro": finding.repro,
    }


def _parts(parts: Iterable[list[Any]]) -> str:
    return ", ".join(f"{count:,} × {' '.join(pattern)}" for pattern, count in parts)


def _picture(finding: Finding, name: str) -> Any:
    """Outputs on both sides, counted from the sum of the right in units of the sensitivity used, where floats reach."""
    bins = None if finding.sampled is None else finding.sampled.histogram
    if bins is None or not all(map(math.isfinite, bins.edges)):
        return ""
    from soundsum.pages.draw import histograms
    from soundsum.pages.svg import markup

    where, centres = "output", _middles(bins.edges)
    if finding.sums is not None and finding.claimed and not any(is_special(x) for x in finding.sums):
        counted = _middles(bins.edges, Fraction(finding.sums[1]), Fraction(finding.claimed))
        if all(map(math.isfinite, counted)):
            where, centres = "output less the right sum, in sensitivities used", counted
    pair = Line("left", centres, bins.left), Line("right", centres, bins.right)
    plot = Plot(name, "Outputs", where, "runs", pair)
    said = (
        f"Two histograms of outputs, {sum(bins.left):,} runs on the left dataset and {sum(bins.right):,} on the right."
    )
    return markup(histograms(name, "Outputs on left and right", said, plot, pair))


def _undrawn(finding: Finding) -> tuple[str, str]:
    """How many outputs on either side the picture leaves out, in words: infinite ones, NaNs and errors."""
    sampled = finding.sampled
    if sampled is None or sampled.histogram is None:
        return "", ""
    missing = [sampled.pairs - sum(side) for side in (sampled.histogram.left, sampled.histogram.right)]
    left, right = (f" ({n:,} of {sampled.pairs:,} not finite, not drawn)" if n else "" for n in missing)
    return left, right


def _middles(edges: Sequence[float], origin: Fraction = ZERO, unit: Fraction = ONE) -> tuple[float, ...]:
    middles = ((Fraction(low) + Fraction(high)) / 2 for low, high in pairwise(edges))
    return tuple(nearest_float((middle - origin) / unit) for middle in middles)


def _identifier(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name)
