"""Reports for the maintainers of a library: its new findings, by rule, and a program for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from audits.table import is_new, key
from soundsum.auditor.rules import rule_for
from soundsum.numbers.formatting import binary

OPENING = """\
Dear maintainers,

we audited {library} {version} with soundsum, which looks for neighbouring datasets whose sums are further apart than
the noise was made for. On {date}, with Python {python} and the versions pinned in `adapters/{pins}.txt`, it found the
datasets below. We thank you for the library, publish nothing of this before a date that we agree on with you (we
suggest 30 days from now), and are glad to audit a fix, or to hear where we misread your documentation.

**What this means, and what not.** A certified finding says: the library's own sum before noise, on two neighbouring
datasets, differs by more than the sensitivity that its noise is scaled to. It is exact arithmetic, the same in three
fresh processes with one and two threads. The datasets are made for the purpose, within the documented parameters as we
read them: whoever chooses or knows all records but one can learn about that one. Ordinary data rarely looks like them;
a guarantee for every dataset covers them all the same. We did not look for anything that is not arithmetic.

Findings are grouped by the family of datasets that showed them; what is rounded in a given function may be another
step than the one the family was made for. Of a mean or a variance, "the sum" stands for what gets the noise. Each
program runs with {library} and NumPy alone, and ends with exit code 1 while the finding is there."""


def write_reports(results: Sequence[dict[str, Any]], folder: Path) -> None:
    """Write a folder for each library with new findings: a report, and a program for each violation.

    `notes` holds further remarks on a library, by its name.
    """
    for result in results:
        new = [x for x in result["findings"] if is_new(x)]
        place = folder / result["library"]
        shutil.rmtree(place, ignore_errors=True)
        if new:
            (place / "programs").mkdir(parents=True)
            notes = folder / "notes" / f"{result['library']}.md"
            more = notes.read_text() if notes.exists() else ""
            (place / "report.md").write_text("\n".join(_report(result, new, more)) + "\n")
            for finding in new:
                if finding["repro"]:
                    (place / "programs" / f"{_file(finding)}.py").write_text(finding["repro"])


def _report(result: dict[str, Any], new: Sequence[dict[str, Any]], notes: str) -> Iterator[str]:
    library, pins = result["library"], result["library"].replace("-", "_")
    about = {"version": new[0]["version"], "date": result["date"], "python": result["platform"]["python"]}
    yield f"# {library} {about['version']}: sums that move by more than their sensitivity"
    yield ""
    yield OPENING.format(library=library, pins=pins, **about)
    if notes:
        yield ""
        yield notes.strip()
    for rule in dict.fromkeys(key(x)[1] for x in new):
        yield from _rule(rule, [x for x in new if key(x)[1] == rule])
    yield from _promises(new)


def _rule(name: str, findings: Sequence[dict[str, Any]]) -> Iterator[str]:
    rule = rule_for(name)
    yield ""
    yield f"## {rule.title} ({name})"
    yield ""
    yield f"{rule.cause} {findings[0]['hint']}"
    yield ""
    yield "| function | records | what was seen | program |"
    yield "|---|---|---|---|"
    for x in findings:
        again = {1: "", None: " (did not end)"}.get(x.get("repro_exit"), " (did not show it again)")
        program = f"`programs/{_file(x)}.py`{again}" if x["repro"] else "none"
        yield f"| `{_function(x)}` | {_records(x)} | {_headline(x)} | {program} |"


def _promises(new: Sequence[dict[str, Any]]) -> Iterator[str]:
    """List what each function promises and uses, as quoted, once for each wording."""
    yield ""
    yield "## What is promised, and the sensitivity that is used"
    texts = ("relation_quote", "claim_quote", "specials_quote")
    words = dict.fromkeys(tuple(x[text] for text in texts) for x in new)
    for relation, claim, specials in words:
        of = [_function(x) for x in new if tuple(x[text] for text in texts) == (relation, claim, specials)]
        yield ""
        yield f"{', '.join(f'`{name}`' for name in dict.fromkeys(of))}:"
        yield ""
        yield f"- neighbours: {relation}"
        if claim:
            yield f"- sensitivity used: {claim}"
        if specials:
            yield f"- NaN and infinities: {specials}"


def _headline(x: dict[str, Any]) -> str:
    kinds = {"VIOLATION_CERTIFIED": "certified", "SENSITIVITY_EXCEEDED": "exact; (epsilon, delta) is not shown broken"}
    return f"{x['headline']} ({kinds.get(x['verdict'], 'statistical')})".replace("|", "\\|")


def _records(x: dict[str, Any]) -> str:
    made = x["attack"]
    if made is None:
        return ""
    lower, upper = (_bound(Fraction(made[bound]), x["dtype"]) for bound in ("lower", "upper"))
    return f"{made['records']:,} of {x['dtype']} in [{lower}, {upper}], {x['relation']}"


def _bound(x: Fraction, dtype: str) -> str:
    """Write a bound exactly: integers as powers of two where they are long, floats in hexadecimal."""
    short = binary(x)
    if not short.startswith("about"):
        return short
    return str(x) if "int" in dtype else float(x).hex()


def _function(x: dict[str, Any]) -> str:
    return str(x["target"]).removeprefix(f"{x['library']}.")


def _file(x: dict[str, Any]) -> str:
    return f"{_function(x)}.{key(x)[1]}"
