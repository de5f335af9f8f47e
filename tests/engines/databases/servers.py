"""Real servers for tests: a PostgreSQL of one's own in a temporary folder, on a free local port, gone afterwards."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa


def find_program(name: str) -> str:
    """A program of PostgreSQL's, on the path or where Debian puts it."""
    placed = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True), *glob.glob(f"/usr/sbin/{name}")]
    found = shutil.which(name) or next(iter(placed), None)
    if found is None:
        raise RuntimeError(f"{name} is not installed; `make engines` installs it")
    return os.path.realpath(found)


class PostgresServer:
    """PostgreSQL 15 or later, with a database `soundsum` that anybody on this machine may write to while it runs."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="soundsum-postgres-")
        self._data = str(Path(self._folder, "data"))
        self._user: dict[str, str] = {}
        if os.geteuid() == 0:  # which PostgreSQL does not run as
            shutil.chown(self._folder, "nobody")
            self._user = {"user": "nobody"}
        order = ["--locale-provider=icu", "--icu-locale=en-US"]  # as dictionaries have it, and not of bytes
        how = ["--username=owner", "--auth=trust", "--encoding=UTF8", "--no-sync", *order]
        self._run("initdb", *how, "--pgdata", self._data)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = str(Path(self._folder, "log"))
        self._run("pg_ctl", "start", "--wait", "--pgdata", self._data, "--log", log, "--options", options)

    def kill(self) -> None:
        """Ends it without waiting for anybody."""
        self._run("pg_ctl", "stop", "--mode=immediate", "--pgdata", self._data)

    def stop(self) -> None:
        subprocess.run(
            [find_program("pg_ctl"), "stop", "--mode=immediate", "--pgdata", self._data],
            capture_output=True,
            cwd="/",
            **self._user,
        )
        shutil.rmtree(self._folder, ignore_errors=True)

    def address(self, user: str = "owner") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def _run(self, program: str, *arguments: str) -> None:
        command = [find_program(program), *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", **self._user)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.decode()}")


class Bouncer:
    """PgBouncer in one of its modes, before a server that it has one connection to."""

    def __init__(self, server: PostgresServer, mode: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="soundsum-pgbouncer-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        settings = Path(self._folder, "pgbouncer.ini")
        settings.write_text(
            f"[databases]\npostgres = host=127.0.0.1 port={server.port} user=owner\n[pgbouncer]\nauth_type = any\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self._port}\nunix_socket_dir =\ndefault_pool_size = 1\n"
            f"pool_mode = {mode}\n"
        )
        user = {}
        if os.geteuid() == 0:  # which PgBouncer does not run as
            shutil.chown(self._folder, "nobody")
            user = {"user": "nobody"}
        self._process = subprocess.Popen([find_program("pgbouncer"), "--quiet", str(settings)], cwd="/", **user)
        self._wait()

    @property
    def address(self) -> str:
        return f"postgresql://owner@127.0.0.1:{self._port}/postgres"

    def _wait(self) -> None:
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
                return
            time.sleep(0.05)
        raise RuntimeError("PgBouncer does not listen")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def load_into_postgres(address: str, name: str, table: pa.Table) -> None:
    """An Arrow table as one of the database's, in place of another of its name and the views on it."""
    import psycopg

    columns = ", ".join(f'"{field.name}" {_postgres_type(field.type)}' for field in table.schema)
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name} CASCADE; CREATE TABLE {name} ({columns})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for batch in table.to_batches(100_000):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)


def _postgres_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    named = {"double": "float8", "float": "float4", "int64": "int8", "int32": "int4", "int16": "int2", "bool": "bool"}
    return {**named, "string": "text", "binary": "bytea", "date32[day]": "date"}[str(kind)]


def find_java() -> str:
    """The home of a Java that Spark runs on: 17 or 21."""
    homes = [home for version in (17, 21) for home in sorted(glob.glob(f"/usr/lib/jvm/*{version}*"))]
    found = [home for home in homes if os.access(Path(home, "bin", "java"), os.X_OK)]
    if not found:
        raise RuntimeError("Java 17 is not installed; `make engines` installs it")
    return found[0]
