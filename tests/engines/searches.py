"""One more person among those whose keys are found, and sums over groups that were found."""

import numpy as np
import pyarrow as pa

import soundsum as ss


def crowd(with_one_more=False):
    """Persons and their keys; one more has keys before, between and after all others."""
    random = np.random.default_rng(7)
    rows = [
        (int(i), "abcdefgh"[k]) for i, k in zip(random.integers(0, 40, 300), random.integers(0, 8, 300), strict=True)
    ]
    more = [(99, key) for key in ("0", "a", "zz", "h", "h", "c5")] if with_one_more else []
    ids, keys = zip(*more, *rows, strict=True)
    return pa.table({"id": ids, "key": keys})


def add_one_more(find, g):
    """The change in the number of persons of every key, as `find` counts them, because of one more person."""
    before, after = (find(crowd(with_one_more), g) for with_one_more in (False, True))
    return {key: n - before.get(key, 0) for key, n in after.items() if n != before.get(key, 0)}


def sum_found(data, by, **options):
    """The sum over every group that is found, at an epsilon at which noise changes nothing."""
    made = ss.sum(data, 0, 1000, 10**12, column="h", by=by, groups=ss.Found(delta="1/2"), **options)
    assert ss.check(made) == []
    return {name: round(release.value, 3) for name, release in made.items()}


SUMS_FOUND = {
    "text": ("word", {}),
    "persons": ("word", {"privacy_unit": "who", "max_rows": 3, "max_groups": 2}),
    "several": (["word", "flag"], {"privacy_unit": "name", "max_rows": 2, "max_groups": 3}),
    "months": (ss.month("at"), {"where": [("s", ">=", 0)]}),
    "days in a zone": (ss.day("when", zone="Europe/Vienna"), {"privacy_unit": "who", "max_groups": 3}),
    "a day and an integer": (["day", "s"], {}),
}
