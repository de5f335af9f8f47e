"""Times of answers: a naive endpoint's tell neighbours apart. `python -m tests.server.timing` tries ours as well."""

from soundsum.auditor.timing import sign_test

from .timing import LEVEL, NAIVE_PAIRS, time_naive, write_tables


def test_a_naive_endpoint_tells_neighbours_apart_within_fifty_pairs(tmp_path):
    write_tables(tmp_path)
    assert sign_test(time_naive(tmp_path, NAIVE_PAIRS)) < LEVEL
