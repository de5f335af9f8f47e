"""Tables whose reading takes for ever, one way or another; a child process imports them from here."""

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

ROWS = pa.table({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]})


def sleep():
    while True:
        time.sleep(3600)


def hold_everything():
    """Let no other thread run: for longer than the world is old, in one call into C."""
    re.fullmatch("(a+)+b", "a" * 200)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def fail():
    raise OSError("HIV positive")


def fail_at_length():
    raise OSError("y" * 10_000_000)


class Panic(BaseException):
    """What some readers raise; it is no Exception."""


def panic():
    raise Panic("HIV positive")


@dataclass
class Odd:
    """Three rows; something is done before the stream is there, or before the first batch comes.

    It is done only while a file of this name exists.
    """

    flag: Path
    while_opening: object = None
    while_reading: object = None

    @property
    def columns(self):
        return ROWS.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        if self.while_opening and self.flag.exists():
            self.while_opening()

        def read():
            if self.while_reading and self.flag.exists():
                self.while_reading()
            yield from ROWS.to_batches()

        return pa.RecordBatchReader.from_batches(ROWS.schema, read()).__arrow_c_stream__()
