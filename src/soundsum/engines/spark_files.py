"""Parquet files as Spark reads them: in the session there is, or in a quiet one on this machine."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from threading import Lock
from typing import Any
from urllib.parse import unquote
from weakref import WeakSet, finalize

from soundsum.engines.engine import import_extra
from soundsum.engines.reading import split_by_name
from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables import files
from soundsum.tables.paths import NO_VALUE, find_files

PLAIN = re.compile(r"(?:[A-Za-z0-9_/.,=@+~ -]|%[0-9A-Fa-f]{2})*")
"""Names that Spark opens and reads as they are meant, but for bytes that it takes for characters."""

PLACE = "soundsum-place"
"""A key of folders of our own, which has the place of a combination of values."""


class SparkFiles:
    """Files, and the frame that they are to Spark; the keys of their folders are text until they are given a type."""

    def __init__(self, path: Any) -> None:
        self.found = find_files(path)
        if self.found.format != "parquet":
            raise RefusedValue(
                "engine",
                Reason.UNSUPPORTED,
                "{path}: `engine='spark'` is for Parquet, and other files are read in memory",
                "leave `engine` out",
                path=printed(str(self.found.given)),
            )
        self._opened = files.dataset(path)  # as memory does, for what it refuses
        names = self._opened.schema.names
        if len({name.lower() for name in names}) < len(names):
            raise RefusedValue(
                "engine",
                Reason.UNSUPPORTED,
                "Spark cannot tell columns apart whose names differ in case alone",
                "leave `engine` out",
            )
        self.keys = self.found.keys
        plain, odd = split_by_name(self.found, PLAIN)
        self._plain = [file for file in plain if all(map(_is_read_as_meant, self.found.spelled(file)))]
        self._odd = [*odd, *sorted(set(plain) - set(self._plain))]
        self._places = {values: i for i, values in enumerate(dict.fromkeys(map(self.found.values, self._odd)))}

    def frame(self) -> Any:
        session = _session()
        links = self._link_odd_files()
        if not self.keys:
            return session.read.parquet(*map(_escape, self._plain), *links)
        own = session.read.parquet(*[*map(_escape, self._plain), *links][:1]).schema
        frames = [self._in_folders(session, own)] if self._plain else []
        if links:
            frames.append(self._in_links(session, own, links))
        return reduce(lambda one, other: one.unionByName(other), frames)

    def _in_folders(self, session: Any, own: Any) -> Any:
        """The files whose keys Spark reads itself, with each key as it is meant: Spark takes a byte for a character."""
        for key in self.keys:
            own = own.add(key, "string")
        frame = session.read.schema(own).option("basePath", self.found.folder).parquet(*map(_escape, self._plain))
        spelled = [self.found.spelled(file) for file in self._plain]
        values = [self.found.values(file) for file in self._plain]
        for place, key in enumerate(self.keys):
            meant = {
                unquote(one[place], encoding="latin-1"): value[place]
                for one, value in zip(spelled, values, strict=True)
                if one[place] != NO_VALUE
            }
            if any(read != value for read, value in meant.items()):
                frame = frame.withColumn(key, _look_up(key, meant, "string"))
        return frame

    def _in_links(self, session: Any, own: Any, links: list[str]) -> Any:
        """The files behind links, with each key looked up by its place in the names of their folders."""
        from pyspark.sql import functions as sql

        at = os.path.dirname(os.path.dirname(links[0]))
        frame = session.read.schema(own.add(PLACE, "integer")).option("basePath", at).parquet(*links)
        for place, key in enumerate(self.keys):
            listed = sql.array(*(sql.lit(values[place]).cast("string") for values in self._places))
            frame = frame.withColumn(key, listed[sql.col(f"`{PLACE}`")])
        return frame.drop(PLACE)

    def _link_odd_files(self) -> list[str]:
        """Plain names for the files whose own Spark would misread or cannot open: links in a temporary folder."""
        if not self._odd:
            return []
        at = tempfile.mkdtemp(prefix="soundsum-")
        finalize(self, shutil.rmtree, at, ignore_errors=True)
        links = []
        for i, file in enumerate(self._odd):
            folder = os.path.join(at, f"{PLACE}={self._places[self.found.values(file)]}")
            os.makedirs(folder, exist_ok=True)
            links.append(os.path.join(folder, f"{i}.parquet"))
            os.symlink(os.path.abspath(file), links[-1])
        return links

    def require_one_type(self, column: str) -> None:
        if column not in self.keys:
            files.require_one_type(self._opened, {column: self._opened.schema.field(column).type})

    def with_key(self, frame: Any, key: str, kind: Any) -> Any:
        """The frame with a key as numbers: each spelling is looked up, so that nothing is parsed by Spark."""
        place = self.keys.index(key)
        values = {self.found.values(file)[place] for file in self.found.files}
        spelled = sorted(value for value in values if value is not None)
        numbers = files.parse_texts(spelled, kind).to_pylist()
        of_type = {"int64": "bigint", "double": "double"}[str(kind)]
        return frame.withColumn(key, _look_up(key, dict(zip(spelled, numbers, strict=True)), of_type))


def _is_read_as_meant(spelled: str) -> bool:
    """Returns whether Spark reads a folder's value as meant, and as missing only what stands for missing."""
    return bool(spelled) and (unquote(spelled) != NO_VALUE or spelled == NO_VALUE)


def _look_up(key: str, values: Mapping[str, Any], kind: str) -> Any:
    """The expression that parses a text of this column."""
    from pyspark.sql import functions as sql

    pairs = [sql.lit(one) for pair in (values or {"": None}).items() for one in pair]
    quoted = "`" + key.replace("`", "``") + "`"
    return sql.create_map(*pairs)[sql.col(quoted)].cast(kind)


def _escape(file: str) -> str:
    """A name that Spark does not read as a pattern."""
    return re.sub(r"([*?{}\[\]\\])", r"\\\1", file)


_STARTING = Lock()
_OWN: WeakSet[Any] = WeakSet()
"""Spark's contexts that were started here."""


def _session() -> Any:
    pyspark, sql = import_extra("pyspark", "spark"), import_extra("pyspark.sql", "spark")
    builder = sql.SparkSession.builder.appName("soundsum")
    with _STARTING:
        context = getattr(pyspark.SparkContext, "_active_spark_context", None)
        if context is not None and context in _OWN and _has_died(context):
            _forget(pyspark.SparkContext, context)
        elif context is not None:  # somebody's own is left as it is
            return builder.getOrCreate()
        with _nothing_on_stderr():
            try:
                session = builder.getOrCreate()
            except Exception:  # of Spark's launcher
                session = None
        if session is not None:
            _OWN.add(session.sparkContext)
    if session is None:
        raise OSError("Spark could not be started; it needs Java 17 or 21: install it, or set JAVA_HOME")
    session.sparkContext.setLogLevel("OFF")
    return session


def _has_died(context: Any) -> bool:
    """Whether the process of Java that was started for this context has ended."""
    process = getattr(context._gateway, "proc", None)
    return process is not None and process.poll() is not None


def _forget(kind: Any, context: Any) -> None:
    """Let another process be started: Spark keeps asking the one it has, even if that has ended."""
    context._jsc = None
    context.stop()
    kind._gateway = kind._jvm = None


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """Start Java with no output: neither its banner nor anything about a record is printed."""
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
