"""Folders whose names are a record's values, and each of them one that some reader stumbles over."""

import os

import pyarrow as pa
import pyarrow.parquet as pq

import soundsum as ss

NO_NOISE = 10**20
"""An epsilon at which the noise is 0, but for one draw in more than 10^9."""

ODD_VALUES = {
    b"plain": "plain",
    b"a=b": "a=b",
    b"a\nb": "a\nb",
    b"[ab]*": "[ab]*",
    b"*": "*",
    b"{a,b}": "{a,b}",
    b"a#b?c": "a#b?c",
    b"a\\b": "a\\b",
    b"a:b": "a:b",
    b"file:%2F%2Fx": "file://x",
    b"s3:%2F%2Fx": "s3://x",
    b"a;b|c&d": "a;b|c&d",
    b"a'b\"c`d": "a'b\"c`d",
    b"$HOME": "$HOME",
    b"~": "~",
    b"..": "..",
    b" 1 ": " 1 ",
    b"\x01\x7f": "\x01\x7f",
    b"": "",
    b"%": "%",
    b"%zz": "%zz",
    b"%+F": "%+F",
    b"%00": "\x00",
    b"%2525": "%25",
    b"K\xc3\xb6ln": "Köln",
    b"B%C3%B6nn": "Bönn",
    b"B%C3%83%C2%B6nn": "BÃ¶nn",
    "\U0001f600".encode(): "\U0001f600",
    b"%5F_HIVE_DEFAULT_PARTITION__": "__HIVE_DEFAULT_PARTITION__",
    b"__HIVE_DEFAULT_PARTITION__": None,
    b"\xff": None,
    b"%FF": None,
    b"%fc": None,
    b"\xed\xa0\x80": None,
    b"K%C3": None,
}
"""How a value is spelled in the name of a folder, and what it is; None for missing."""


def write_folders(place, values=tuple(ODD_VALUES), key=b"w"):
    """A file in a folder for every value, whose only record is a power of two by its place."""
    for i, spelled in enumerate(values):
        folder = os.path.join(os.fsencode(place), key + b"=" + spelled)
        os.makedirs(folder)
        with open(os.path.join(folder, b"t.parquet"), "wb") as file:
            pq.write_table(pa.table({"x": pa.array([1 << i], pa.int64())}), file)
    return place


def assert_odd_values_are_read(folder, engine):
    """Every value as a group, in conditions and left out, by an engine that reads `write_folders`."""
    named = [value for value in ODD_VALUES.values() if value is not None]
    options = {"column": "x", "engine": engine}
    by_name = ss.sum(folder, 0, 2**40, NO_NOISE, by="w", groups=named, **options)
    wanted = {value: 1 << i for i, value in enumerate(ODD_VALUES.values()) if value is not None}
    assert {name: made.value for name, made in by_name.items()} == wanted
    assert ss.sum(folder, 0, 2**40, NO_NOISE, **options).value == 2 ** len(ODD_VALUES) - 1
    assert (
        ss.sum(folder, 0, 2**40, NO_NOISE, where=("w", "!=", ""), **options).value == sum(wanted.values()) - wanted[""]
    )
    assert ss.count(folder, NO_NOISE, engine=engine, privacy_unit="w", max_rows=1).value == len(named)
