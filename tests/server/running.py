"""A real server on this machine for tests: uvicorn in a process of its own, a Parquet file, ledgers in SQLite."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from soundsum.budget.history import Asker
from soundsum.server.owner_file import read_owner_file
from soundsum.server.tokens import Tokens
from tests.processes import start

PATIENCE = 60
VISITS = pa.table(
    {
        "patient": [i // 3 for i in range(300)],
        "ward": ["abz"[i % 3] for i in range(300)],
        "cost": [float(i) for i in range(300)],
        "age": [i % 90 for i in range(300)],
    }
)
OWNER = """
[tables.visits]
data = "visits.parquet"
privacy_unit = "patient"
max_rows = 3
max_groups = 2
{pad}
budget = {{epsilon = "{epsilon}", path = "visits.db", max_failures = {max_failures}}}

[tables.visits.schema]
ward = ["a", "b", "c"]
cost = {{type = "float64", lower = 0, upper = 100}}
"""
FOUND = """
[tables.visits]
data = "visits.parquet"
privacy_unit = "patient"
max_rows = 3
max_groups = 3
budget = {epsilon = "1000000", delta = "1/2", path = "visits.db"}
[tables.visits.schema]
cost = {type = "float64", lower = 0, upper = 100}
"""
SUM = {"epsilon": "1/10", "statistics": {"total": {"statistic": "sum", "column": "cost"}}}
COUNT = {"epsilon": "1/10", "statistics": {"rows": {"statistic": "count"}}}


class Server:
    """A server, whose file and table are in a folder."""

    def __init__(
        self, folder: Path, *options: str, pad: str | None = None, epsilon="1000000", max_failures=5, owner=None
    ):
        self.folder, self.options, self.process = folder, options, None
        self.owner, self.ledger = folder / "owner.toml", folder / "visits.db"
        pq.write_table(VISITS, folder / "visits.parquet")
        said = "" if pad is None else f'pad = "{pad}"'
        text = owner or OWNER.format(pad=said, epsilon=epsilon, max_failures=max_failures)
        self.owner.write_text(text)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.tokens, self.owned = Tokens(self.owner), read_owner_file(str(self.owner))

    def add(self, who="alice", epsilon="1000", tables=None, max_failures=1, **more):
        for name in tables or self.owned:
            self.owned[name].open_budget().set_share(Asker(who, name), epsilon, max_failures=max_failures)
        return self.tokens.add(who, **more)

    def client(self, token, **more):
        headers = {"authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False, **more)

    @property
    def budget(self):
        return self.owned["visits"].open_budget()

    def start(self, patience=PATIENCE):
        command = [sys.executable, "-m", "soundsum", "serve", str(self.owner), "--port", str(self.port), *self.options]
        with open(self.folder / "printed", "ab") as printed:
            self.process = start(command, cwd=self.folder, printed=printed)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return self
            except OSError:
                time.sleep(0.05)
        self.kill()
        raise RuntimeError((self.folder / "printed").read_text())

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def children(self):
        """The processes that read the table."""
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in listed.stdout.split()]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def say_nothing_private(response, server):
    """No answer shows a path, a traceback or words of an exception."""
    text = response.text
    for word in (str(server.folder), "visits.parquet", "visits.db", "Traceback", "Error", "sqlite"):
        assert word not in text, text
    return response


def wait_until(true, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
