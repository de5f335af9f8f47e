"""Parquet files as Spark reads them: in the session there is, or in a quiet one on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from threading import Lock
from typing import Any
from urllib.parse import unquote

from soundsum.data import files
from soundsum.data.paths import Files, find_files
from soundsum.engines.engine import import_extra

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is named for a key without a value."""


class SparkFiles:
    """Files, and the frame that they are to Spark; the keys of their folders are text until they are given a type."""

    def __init__(self, path: Any) -> None:
        self.found = find_files(path)
        if self.found.format != "parquet":
            raise ValueError(
                f"{self.found.given}: engine='spark' is for Parquet; other files are read in memory, so leave it out"
            )
        self._opened = files.dataset(path)  # as memory does, for what it refuses
        names = self._opened.schema.names
        if len({name.lower() for name in names}) < len(names):
            raise ValueError("Spark cannot tell columns apart whose names differ in case alone; leave engine out")
        self.keys = self.found.keys
        self._combinations = _combinations(self.found) if self.keys else {}

    def frame(self) -> Any:
        session = _session()
        if not self.keys:
            return session.read.parquet(*map(_escape, self.found.files))
        own = session.read.parquet(_escape(self.found.files[0])).schema
        frames = [self._in_folders(session, own)] if any(map(all, self._combinations)) else []
        for values, files_of_it in self._combinations.items():
            if not all(values):  # an empty text, which Spark does not take for a key
                frame = session.read.schema(own).parquet(*map(_escape, files_of_it))
                for key, value in zip(self.keys, values, strict=True):
                    frame = frame.withColumn(key, _literal(unquote(value)))
                frames.append(frame)
        return reduce(lambda one, other: one.unionByName(other), frames)

    def _in_folders(self, session: Any, own: Any) -> Any:
        """The files whose keys Spark reads itself, with each key as it is meant: Spark takes a byte for a character."""
        for key in self.keys:
            own = own.add(key, "string")
        files_of_it = [file for values, some in self._combinations.items() if all(values) for file in some]
        frame = session.read.schema(own).option("basePath", self.found.folder).parquet(*map(_escape, files_of_it))
        for place, key in enumerate(self.keys):
            spelled = {values[place] for values in self._combinations if all(values)}
            meant = {unquote(value, encoding="latin-1"): unquote(value) for value in spelled}
            if len(meant) < len({unquote(value) for value in spelled}):
                raise ValueError(f"{self.found.given}: Spark cannot tell two values of {key!r} apart; leave engine out")
            if any(read != value for read, value in meant.items()):
                frame = frame.withColumn(key, _look_up(key, meant, "string"))
        return frame

    def require_one_type(self, column: str) -> None:
        if column not in self.keys:
            files.require_one_type(self._opened, {column: self._opened.schema.field(column).type})

    def with_key(self, frame: Any, key: str, kind: Any) -> Any:
        """The frame with a key as numbers: each spelling is looked up, so that nothing is parsed by Spark."""
        place = self.keys.index(key)
        spelled = sorted({unquote(values[place]) for values in self._combinations})
        numbers = files.parse_texts(spelled, kind).to_pylist()
        of_type = {"int64": "bigint", "double": "double"}[str(kind)]
        return frame.withColumn(key, _look_up(key, dict(zip(spelled, numbers, strict=True)), of_type))


def _literal(value: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.lit(None if value == NO_VALUE else value).cast("string")


def _look_up(key: str, values: Mapping[str, Any], kind: str) -> Any:
    """What a text in this column stands for."""
    from pyspark.sql import functions as sql

    pairs = [sql.lit(one) for pair in values.items() for one in pair]
    quoted = "`" + key.replace("`", "``") + "`"
    return sql.create_map(*pairs)[sql.col(quoted)].cast(kind)


def _combinations(found: Files) -> dict[tuple[str, ...], list[str]]:
    """The files of each combination of keys, as the names of folders spell them."""
    assert found.folder is not None
    combinations: dict[tuple[str, ...], list[str]] = {}
    for file in found.files:
        parts = os.path.relpath(file, found.folder).split(os.sep)[:-1]
        values = tuple(part.partition("=")[2] for part in parts if "=" in part)
        combinations.setdefault(values, []).append(file)
    return combinations


def _escape(file: str) -> str:
    """A name that Spark does not read as a pattern."""
    return re.sub(r"([*?{}\[\]\\])", r"\\\1", file)


_STARTING = Lock()


def _session() -> Any:
    pyspark, sql = import_extra("pyspark", "spark"), import_extra("pyspark.sql", "spark")
    builder = sql.SparkSession.builder.appName("soundsum")
    with _STARTING:
        if getattr(pyspark.SparkContext, "_active_spark_context", None) is not None:  # somebody's own, left as it is
            return builder.getOrCreate()
        with _nothing_on_stderr():
            try:
                session = builder.getOrCreate()
            except Exception:  # of Spark's launcher
                session = None
    if session is None:
        raise OSError("Spark could not be started; it needs Java 17 or 21: install it, or set JAVA_HOME")
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """What is started here, Java and what it starts, has nowhere to write: not to greet, and not of a record."""
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        before = os.dup(2)
    except OSError:  # it is closed already
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)
