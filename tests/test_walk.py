"""What a release by group and person needs is computed once; `python -m benchmarks.walk` counts the modules entered."""

from benchmarks import walk

import soundsum as ss
from soundsum.methods import grid
from soundsum.numbers import grids
from soundsum.privacy.units import Unit
from soundsum.statistics import Sum
from soundsum.statistics.task import make_claim


def test_the_grid_the_parts_and_the_sensitivities_are_computed_once(monkeypatch):
    calls = []

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*arguments, **options):
            calls.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted if not isinstance(original, classmethod) else classmethod(counted))

    grid._grid.cache_clear()
    make_claim.cache_clear()
    monkeypatch.setattr(grid, "power_of_two_grid", lambda *a: calls.append("grid") or grids.power_of_two_grid(*a))
    count(Unit, "norms")
    count(Sum, "parts")
    walk.ask(ss.Budget(epsilon=1))
    assert sorted(calls) == ["grid", "norms", "norms", "parts"]  # norms of the integers, and of the reals for the ratio
