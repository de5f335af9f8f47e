"""The table of `docs/audits.md`, from the results of audits, without new findings on current releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TUMULT = 'Tumult Core\'s documentation, "Known Vulnerabilities": stability imprecision in sums of floats'

OPENDP = (
    "OpenDP's issue 2923: the mean that deviations are taken from is rounded; our pairs need bounds that are "
    "neighbouring floats"
)

PUBLISHED = {
    **{
        (f"opendp.{call}.{order}.symmetric.{dtype}", rule): OPENDP
        for call in ("variance", "sum_of_squared_deviations")
        for order in ("pairwise", "sequential")
        for dtype in ("float64", "float32")
        for rule in ("rounding", "tree_rounding", "path", "repeated_rounding_1", "repeated_rounding_2", "search")
    },
    ("diffprivlib.sum.float64", "rounding"): "the paper, IBM diffprivlib: bounded sum, 64-bit floats",
    ("diffprivlib.sum.dtype.int32", "overflow"): "the paper, IBM diffprivlib: signed 32-bit integers",
    ("tmlt-analytics.sum.change_one.float64", "rounding"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "path"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "tree_rounding"): TUMULT,
    ("tmlt-analytics.sum.change_one.float64", "reordering"): TUMULT,
    ("tmlt-analytics.sum.symmetric.float64", "reordering"): TUMULT,
}
"""Violations that are public, by target and rule, and where; all others are reported before they are shown."""

EXACT = ("VIOLATION_CERTIFIED", "SENSITIVITY_EXCEEDED")

MOST_QUOTED = 120
"""Characters of what a library said, in a cell."""

HEAD = """\
# Audits of other libraries

`make audit-all` writes this page ([the auditor](auditor.md) explains the verdicts). A verdict holds for one version,
on one machine, within the limits in its row: how many families of attacks and pairs of runs, the smallest epsilon
that these could have shown, and from how many records on a family took too much time or memory. NOT_REFUTED means
that the audit found nothing, not that the sum is sound. Two libraries are audited at the same time, on two cores;
limits are CPU time, so neither takes time from the other.

The page shows findings that the paper or the library itself has published. All others are *to be reported* to the
[maintainers first](disclosure.md). The program of every violation was run on its own; a statistical finding that it
did not reproduce is not counted.
"""


@dataclass(frozen=True)
class Tried:
    """The limits of one target's audit: families, pairs of runs, what these could show, and the sizes not reached."""

    families: int
    pairs: int
    epsilon: float | None
    unreached: Mapping[str, int]  # by "time" and "memory", the smallest


@dataclass(frozen=True)
class Row:
    """A target, its verdict and what was seen. Targets with the same verdict and words share a line of the table."""

    target: str
    verdict: str
    words: str
    tried: Tried | None = None


def write_table(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Write the page: these results, and the sections of other libraries as they are."""
    sections = _sections(path.read_text()) if path.exists() else {}
    sections |= {str(result["library"]): "\n".join(_library(result)) for result in results}
    path.write_text("\n".join([HEAD, *(f"{sections[name]}\n" for name in sorted(sections))]))


def _sections(page: str) -> dict[str, str]:
    """The sections of a page, by the names of their libraries."""
    parts = [part.strip() for part in re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]]
    return {part.split()[1]: part for part in parts}


def _library(result: dict[str, Any]) -> Iterator[str]:
    versions = {x["version"] for x in result["findings"]} or {""}
    yield f"## {result['library']} {', '.join(sorted(versions))}".rstrip()
    yield ""
    if not result["targets"]:
        yield result["summary"]
        return
    commands = ", then ".join(f"`{command}`" for command in result["commands"])
    machine = result["platform"]
    made = f"soundsum {result['soundsum']}, Python {machine['python']}"
    made += f", {machine['load']}" if "load" in machine else ""
    count = len(result["targets"])
    yield f"{commands} on {result['date']}, {made}; {count} target{'s' * (count != 1)}."
    yield ""
    yield from lines_of([_row(result, target) for target in result["targets"]])


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """List published violations, then for each other verdict its targets and the limits of their audits."""
    yield "| verdict | targets | seen |"
    yield "|---|---|---|"
    order = sorted(rows, key=lambda row: (not _is_violation(row.verdict), row.verdict))
    for (verdict, words), same in _grouped(order).items():
        limits = _limits([row.tried for row in same if row.tried])
        seen = "; ".join(part for part in (limits, words) if part)
        yield f"| {verdict} | {', '.join(row.target for row in same)} | {_cell(seen)} |"


def _grouped(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.verdict, row.words), []).append(row)
    return found


def _limits(tried: Sequence[Tried]) -> str:
    """State limits such as: 1 to 9 families, 300 to 2,100 pairs, epsilon 1.7 to 2.3; out of time from 2,050 records."""
    if not tried:
        return ""
    families, pairs = [one.families for one in tried], [one.pairs for one in tried]
    parts = [f"{_range(families)} {'family' if max(families) == 1 else 'families'}"]
    parts += [f"{_range(pairs)} pairs"] if any(pairs) else []
    shown = [one.epsilon for one in tried if one.epsilon is not None]
    parts += [f"epsilon {_range(shown)}"] if shown else []
    unreached = [
        f"out of {reason} from {min(sizes):,} record{'s' * (min(sizes) != 1)}"
        for reason in ("time", "memory")
        if (sizes := [one.unreached[reason] for one in tried if reason in one.unreached])
    ]
    return "; ".join([", ".join(parts), *unreached])


def _range(numbers: Sequence[float]) -> str:
    least, most = (f"{x:,}" if isinstance(x, int) else f"{x:.2g}" for x in (min(numbers), max(numbers)))
    return least if least == most else f"{least} to {most}"


def _is_violation(verdict: str) -> bool:
    return str(verdict).startswith("VIOLATION") or verdict in EXACT


def is_violation(finding: dict[str, Any]) -> bool:
    """Tell whether a finding rests on exact sums, or is statistical and reproduced by its program."""
    verdict = str(finding["verdict"])
    return verdict in EXACT or (verdict == "VIOLATION_STATISTICAL" and finding.get("repro_exit") == 1)


def is_new(finding: dict[str, Any]) -> bool:
    """Tell whether a violation is not public yet."""
    return is_violation(finding) and published(finding) is None


def published(finding: dict[str, Any]) -> str | None:
    """Return where a violation, or another rule that its cause showed on the target, is public; None if nowhere."""
    rules = (key(finding)[1], *finding.get("also", ()))
    return next((PUBLISHED[finding["target"], rule] for rule in rules if (finding["target"], rule) in PUBLISHED), None)


def key(finding: dict[str, Any]) -> tuple[str, str]:
    """Return the target, and the rule without our prefix."""
    return finding["target"], finding["rule"].removeprefix("soundsum/")


def _row(result: dict[str, Any], target: dict[str, Any]) -> Row:
    name = target["name"].removeprefix(f"{result['library']}.")
    of = [x for x in result["findings"] if x["target"] == target["name"]]
    violations, shown = [x for x in of if is_violation(x)], [x for x in of if is_violation(x) and not is_new(x)]
    if violations and not shown:
        return Row(name, "to be reported", "")
    if shown:
        said = {f"{key(x)[1]}: {x['headline']}" for x in shown}
        again = "; its program shows it alone" if all(x.get("repro_exit") == 1 for x in shown) else ""
        more = "; more is to be reported" if any(map(is_new, of)) else ""
        words = f"{'; '.join(sorted(said))} ({published(shown[0])}){again}{more}"
        return Row(name, str(shown[0]["verdict"]), words)
    verdict = "NOT_REFUTED" if _is_violation(target["verdict"]) else str(target["verdict"])
    asked = [x for x in of if x["verdict"] not in ("REFUSED", "UNSUPPORTED")]
    if not asked:
        return Row(name, verdict, _short(of[0]["headline"]) if of else "")
    once = ["a statistical finding not reproduced"] if any(_is_violation(x["verdict"]) for x in of) else []
    words = "; ".join([*once, *target.get("unsettled", ())])
    runs = [x["sampled"] for x in asked if x.get("sampled")]
    could = [s["detectable"] for s in runs if s.get("detectable")]
    pairs = sum(s["pairs"] for s in runs)
    tried = Tried(len(asked), pairs, min(could, default=None), _unreached(target["left_out"]))
    return Row(name, verdict, words, tried)


def _unreached(left_out: Sequence[str]) -> dict[str, int]:
    """Find, for each reason, the smallest number of records that an attack did not reach."""
    sizes: dict[str, int] = {}
    for text in left_out:
        if found := re.fullmatch(r"\w+ with (.*) records: (time|memory).*", text):
            size = int(re.sub(r"\D", "", found[1]) or 0)
            sizes[found[2]] = min(size, sizes.get(found[2], size))
    return sizes


def _short(text: str) -> str:
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}..."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
