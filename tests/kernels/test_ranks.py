"""The kernel that finds cells equals numpy's searchsorted, wherever the edges are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundsum import native
from soundsum.kernels.grouped import count_rows, find_cells

DOUBLES = st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf])
NEAR = {"doubles": np.float64, "integers": np.int64}


@settings(max_examples=300, deadline=None)
@given(st.lists(DOUBLES, max_size=60), st.lists(DOUBLES, max_size=40))
def test_doubles(edges, numbers):
    points = np.unique(np.array(edges, np.float64) + 0.0)
    values = np.array([*numbers, *points, *np.nextafter(points, -np.inf), np.nan])
    found = find_cells(values, points.tolist())
    assert (found[:-1] == np.searchsorted(points, values[:-1], side="right")).all()
    assert found[-1] == len(points) + 1


@settings(max_examples=300, deadline=None)
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int8, np.uint16])
@given(data=st.data())
def test_integers(kind, data):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    whole = st.integers(int(low), int(high)) | st.sampled_from([int(low), int(high)])
    edges = sorted(set(data.draw(st.lists(whole, max_size=60))))
    values = np.array([*data.draw(st.lists(whole, max_size=40)), *edges], kind)
    assert (find_cells(values, edges) == np.searchsorted(np.array(edges, kind), values, side="right")).all()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spread", ["even", "in pairs", "geometric", "all but one together"])
def test_many_edges(spread, threads):
    edges = {
        "even": np.linspace(-5, 9, 4096),
        "in pairs": np.unique(np.stack([np.linspace(0, 1, 999), np.nextafter(np.linspace(0, 1, 999), 2)])),
        "geometric": 10.0 ** np.linspace(-300, 300, 5000),
        "all but one together": np.array([*np.linspace(1, 1 + 1e-9, 300), 1e300]),
    }[spread]
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.uniform(-6, 10, 20_000), edges, np.nextafter(edges, -1e9), rng.normal(size=9) * 1e200])
    found = find_cells(values, edges.tolist(), threads=threads)
    assert (found == np.searchsorted(edges, values, side="right")).all()


def test_arguments_that_would_write_elsewhere_are_refused():
    into = np.zeros(3, np.int64)
    count_rows(np.array([2, 0, 2], np.int32), into)
    assert into.tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match="within the counts"):
        count_rows(np.array([3], np.int32), into)
    with pytest.raises(ValueError, match="within the counts"):
        count_rows(np.array([-1], np.int32), into)
    with pytest.raises(ValueError, match="edges go up"):
        find_cells(np.array([1.0]), [2.0, 1.0])
    ids = native.PersonIds.integers()
    for codes, cells, rows in (([3], 3, 1), ([-1], 3, 1), ([0], 0, 1), ([0], 3, 0)):
        with pytest.raises(ValueError, match=r"within|limits"):
            native.count_ranks(
                np.zeros(1, np.uint64), np.array(codes, np.int32), cells, 1, rows, 1, ids, np.zeros(3, np.int64)
            )
