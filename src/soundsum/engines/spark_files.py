"""Parquet files as Spark reads them: in the session there is, or in a quiet one on this machine."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from soundsum.data import files
from soundsum.data.paths import Files, find_files
from soundsum.engines.engine import import_extra


class SparkFiles:
    """Files, and the frame that they are to Spark; the keys of their folders are text until they are given a type."""

    def __init__(self, path: Any) -> None:
        self.found = find_files(path)
        if self.found.format != "parquet":
            raise ValueError(
                f"{self.found.given}: engine='spark' is for Parquet; other files are read in memory, so leave it out"
            )
        self._opened = files.dataset(path)  # as memory does, for what it refuses
        self.keys = self.found.keys

    def frame(self) -> Any:
        names = [re.sub(r"([*?{}\[\]\\])", r"\\\1", file) for file in self.found.files]  # or they would be patterns
        session = _session()
        if not self.keys:
            return session.read.parquet(*names)
        own = session.read.parquet(names[0]).schema
        for key in self.keys:
            own = own.add(key, "string")
        return session.read.schema(own).option("basePath", self.found.folder).parquet(*names)

    def require_one_type(self, column: str) -> None:
        if column not in self.keys:
            files.require_one_type(self._opened, {column: self._opened.schema.field(column).type})

    def with_key(self, frame: Any, key: str, kind: Any) -> Any:
        """The frame with a key as numbers: each spelling is looked up, so that nothing is parsed by Spark."""
        from pyspark.sql import functions as sql

        spelled = sorted(_values(self.found, key))
        numbers = files.parse_texts(spelled, kind).to_pylist()
        of_type = {"int64": "bigint", "double": "double"}[str(kind)]
        pairs = [sql.lit(one) for pair in zip(spelled, numbers, strict=True) for one in pair]
        quoted = "`" + key.replace("`", "``") + "`"
        return frame.withColumn(key, sql.create_map(*pairs)[sql.col(quoted)].cast(of_type))


def _values(found: Files, key: str) -> set[str]:
    """What the folders say a key is, as Spark will."""
    assert found.folder is not None
    parts = {part for file in found.files for part in os.path.relpath(file, found.folder).split(os.sep)[:-1]}
    return {unquote(value) for name, _, value in (part.partition("=") for part in parts) if name == key}


def _session() -> Any:
    pyspark, sql = import_extra("pyspark", "spark"), import_extra("pyspark.sql", "spark")
    builder = sql.SparkSession.builder.appName("soundsum")
    if getattr(pyspark.SparkContext, "_active_spark_context", None) is not None:  # somebody's own, left as it is
        return builder.getOrCreate()
    try:
        with _nothing_on_stderr():
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            return session
    except Exception:  # of Spark's launcher
        raise OSError("Spark could not be started; it needs Java 17 or 21: install it, or set JAVA_HOME") from None


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """What is started here, Java and what it starts, has nowhere to write: not to greet, and not of a record."""
    sys.stderr.flush()
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)
