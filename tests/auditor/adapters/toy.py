"""An adapter to a library that is not there: every way that a worker's functions can end, for the tests."""

import os
import signal
import time

import numpy as np

FED = []


def feed(data, lower):
    FED.append(data.size)
    return sum(int(chunk.size) for chunk in data.chunks()), float(data.array().sum() - lower)


def drawn(data, epsilon, runs):
    print("a library may print what it likes")
    return [data[1] + draw / epsilon for draw in range(runs)]


def target(name, **more):
    promise = {"dtype": "float64", "relation": "symmetric", "bounds": (0, 1), "specials_quote": "any number"}
    return {"name": name, "version": "1", **promise, **more}


def targets():
    yield target("sum", noiseless=lambda data: data.sum(), claimed=lambda upper: upper)
    yield target("fed", feed=feed, release=drawn, noiseless=lambda data: len(FED))
    yield target("exact", noiseless=lambda data: data[0])
    yield target("integers", noiseless=lambda data: int(data.astype(object).sum()), dtype="int64")
    yield target("written", repro="def noiseless(data): return data.sum() * upper\ndef release(data): return epsilon")
    yield target("declines", noiseless=declines, refuses=(ZeroDivisionError,))
    yield target("divides", noiseless=lambda data: 1 / float(data.sum() > 0), claimed=lambda: 9)
    yield target("raises", noiseless=lambda data: [][1])
    yield target("unable", noiseless=unable)
    yield target("text", noiseless=lambda data: "seven")
    yield target("crashes", noiseless=lambda data: os.kill(os.getpid(), signal.SIGSEGV))
    yield target("exits", noiseless=lambda data: os._exit(7))
    yield target("hangs", noiseless=lambda data: time.sleep(60))
    yield target("eats", noiseless=lambda data: np.ones(1 << 28).sum(), claimed=lambda: 1)
    yield target("starves", noiseless=starves)
    yield target("mutters", noiseless=lambda data: os.write(2, b"std::bad_alloc, but all is well\n"))
    yield target("process", noiseless=lambda data: os.getpid())
    yield target("threads", noiseless=lambda data: int(os.environ["OMP_NUM_THREADS"]))


def declines(data):
    return 1 / 0


def unable(data):
    raise NotImplementedError("too many records")


def starves(data):
    """As Rust ends a process: what failed is not its last line."""
    os.write(2, b"memory allocation of 16777216 bytes failed\nskipping backtrace printing\n")
    os.abort()
