"""Where integer keys are listed: close together or far apart, missing, at the ends of 64 bits; a dict is the model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import native

LEAST, MOST = -(2**63), 2**63 - 1
numbers = st.integers(LEAST, MOST) | st.integers(-40, 40) | st.sampled_from([LEAST, LEAST + 1, MOST - 1, MOST])


def find(listed, keys, present=None, threads=1):
    validity = None if present is None else np.packbits(np.asarray(present, bool), bitorder="little")
    return native.Places(np.array(listed, np.int64)).find(np.array(keys, np.int64), validity, 0, threads).tolist()


@given(st.lists(numbers, unique=True, max_size=30), st.lists(numbers, max_size=30), st.data())
def test_every_place_is_that_of_a_dict(listed, keys, data):
    keys = keys + listed
    present = data.draw(st.lists(st.booleans(), min_size=len(keys), max_size=len(keys)))
    places = {key: place for place, key in enumerate(listed)}
    expected = [places.get(key, len(listed)) for key in keys]
    assert find(listed, keys) == expected
    assert find(listed, keys, present) == [
        place if there else len(listed) for place, there in zip(expected, present, strict=True)
    ]


@pytest.mark.parametrize("first", [LEAST, -5, 0, 10**12, MOST - 9])
@pytest.mark.parametrize("gap", [1, 2, 4])
def test_a_range_at_any_place_and_what_lies_next_to_it(first, gap):
    listed = [first + gap * i for i in range(10) if first + gap * i <= MOST]
    near = [key for key in range(first - 3, first + 10 * gap + 3) if LEAST <= key <= MOST]
    keys = [*near, LEAST, MOST, 0, -1]
    assert find(listed, keys) == [listed.index(key) if key in listed else len(listed) for key in keys]


def test_many_keys_in_any_order_by_two_threads():
    rng = np.random.default_rng(0)
    for step in (1, 3, 5, 7919):  # in a table of their range, and hashed
        listed = rng.permutation(np.arange(-50_000, 50_000)) * step
        keys = rng.integers(-60_000 * step, 60_000 * step, 200_000)
        place = dict(zip(listed.tolist(), range(len(listed)), strict=True))
        assert find(listed, keys, threads=2) == [place.get(key, len(listed)) for key in keys.tolist()]
