"""The tables of bounds: measured, recomputed, verified; the printed figures that fail are the known ones."""

from soundsum.reproduce import Verdict, bounds


def by_verdict(cells, verdict):
    return [cell.what for cell in cells if cell.verdict == verdict]


def test_lower_bounds_are_measured_and_only_one_condition_is_wrong():
    cells = list(bounds.lower_bounds())
    assert by_verdict(cells, Verdict.DIFFERS) == []
    assert by_verdict(cells, Verdict.ERRATUM) == ["saturation, bounded DP: max(T) - min(T) whenever n U > max(T)"]


def test_upper_bounds_hold_but_for_one_ratio():
    cells = list(bounds.upper_bounds())
    assert by_verdict(cells, Verdict.DIFFERS) == []
    assert by_verdict(cells, Verdict.ERRATUM) == ["toward zero, one sign, public n: min(1 + O(n/2^k), 2)"]


def test_verification_finds_no_violation_and_reaches_the_integer_bounds():
    closest = {c.what.split(":")[0]: (c.found, dict(c.also)["largest true / claimed"]) for c in bounds.verified()}
    assert all(violations == 0 for violations, _ in closest.values())
    assert all(closest[method][1] == 1 for method in ("checked", "modular", "saturating", "split", "grid"))
    assert all(0 < closest[method][1] < 1 for method in ("iterated", "pairwise", "kahan", "toward_zero"))


def test_the_roadmap_s_limit_is_47_million_not_67():
    first, *rest = bounds.roadmap()
    assert first.verdict == Verdict.ERRATUM
    assert 47_000_000 < dict(first.also)["1.5 holds up to n"] < 48_000_000
    assert [cell.verdict for cell in rest] == ["matches"] * 3
