"""The server's process: what it listens on, the guard in front of the application, its log, and its end.

It binds to this machine alone unless a certificate is given, or the name under which a proxy in front of it is known.
"""

from __future__ import annotations

import gc
import ipaddress
import json
import logging
import os
import re
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import uvicorn

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.server.connections import HurriedConnection, lend_connections
from soundsum.server.endpoints import LOG, Capacity, Desk, make_app
from soundsum.server.owner_file import open_tables, read_owner_file
from soundsum.server.people_page import add_pages
from soundsum.server.served import ServedTable
from soundsum.server.tokens import Tokens
from soundsum.tables.read_guard import OPERATOR

LOCAL = ("127.0.0.1", "localhost", "::1")

Scope = MutableMapping[str, Any]
Send = Callable[[Scope], Awaitable[None]]
Receive = Callable[[], Awaitable[Scope]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Place:
    """Where the server listens, and under which names it is known."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: str | None = None
    key: str | None = None
    behind_proxy: str | None = None  # the name that browsers know the proxy by

    def __post_init__(self) -> None:
        is_safe = self.certificate is not None or self.behind_proxy is not None
        if not is_safe and not _is_local(self.host):
            raise RefusedValue(
                "host",
                Reason.UNSOUND,
                "`host={given}`: without encryption the server listens on this machine alone",
                "give `certificate` and `key`, or `behind_proxy` with the name of a proxy that encrypts",
                given=self.host,
            )
        if (self.certificate is None) != (self.key is None):
            raise RefusedValue("key", Reason.NEEDS, "`certificate` and `key` go together", "give both")

    @property
    def names(self) -> set[str]:
        named = {*LOCAL, self.host, *([] if self.behind_proxy is None else [self.behind_proxy])}
        return {name.lower() for name in named}

    def listen(self) -> socket.socket:
        """Listen on the port; refuse one that cannot be had."""
        family, said = socket.AF_INET6 if ":" in self.host else socket.AF_INET, ""
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=2048)
        except OSError as error:
            said = error.strerror or str(error)
        raise RefusedValue(
            "port",
            Reason.UNSUPPORTED,
            "`port={given}` of {host} cannot be listened on: {said}",
            "give another one",
            given=self.port,
            host=self.host,
            said=said,
        )

    @property
    def url(self) -> str:
        """The address for a browser."""
        if self.behind_proxy is not None:
            return f"https://{self.behind_proxy}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"

    @property
    def is_encrypted(self) -> bool:
        return self.certificate is not None or self.behind_proxy is not None


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Refuses other names than the server's own, which pages of strangers would come by, and adds headers."""

    def __init__(self, app: App, names: set[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_and_wait(message: Scope) -> None:
            """Send with the headers; after the last piece wait until the other side has taken nearly all of it."""
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                await send({**message, "headers": [*message.get("headers", []), *own]})
            elif message["type"] == "http.response.body" and not message.get("more_body"):
                await send({**message, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
            else:
                await send(message)

        given = [value for name, value in scope["headers"] if name == b"host"]
        name = _host_name(given[0].decode("latin-1")) if len(given) == 1 else ""
        if name in self._names:
            with ExitStack() as scope["held"]:
                await self._app(scope, receive, send_and_wait)
            return
        error = {"message": "this server has another name", "option": None, "reason": None}
        body = json.dumps({"error": error}).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send_and_wait({"type": "http.response.start", "status": 421, "headers": head})
        await send_and_wait({"type": "http.response.body", "body": body})


def _host_name(given: str) -> str:
    """The name in a Host header, without its port."""
    if given.startswith("["):
        return given[1:].partition("]")[0].lower()
    return given.partition(":")[0].lower()


class _Plain(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds")
        return f"{at} {record.getMessage()}"


def write_logs(owner_file: str) -> None:
    """Write who asked what to a file that rotates, and what went wrong to the operator's own."""
    for logger, ending, level in ((LOG, ".log", logging.INFO), (OPERATOR, ".operator.log", logging.INFO)):
        path = Path(owner_file).with_suffix(ending)
        handler = RotatingFileHandler(path, maxBytes=10 << 20, backupCount=10, delay=True)
        handler.setFormatter(_Plain() if logger is LOG else logging.Formatter("%(asctime)s %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(level)
        logger.propagate = False


def find_memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def read_memory(given: str) -> int:
    """Bytes, written as a number of megabytes or gigabytes.

    >>> read_memory("512M"), read_memory("1.5 G")
    (536870912, 1610612736)
    """
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([MG])", given.strip())
    if found is None or not Fraction(found[1]):
        raise RefusedValue(
            "memory",
            Reason.MALFORMED,
            "`memory={given}` is no amount of memory",
            "give one such as 512M or 2G",
            given=quote(given),
        )
    return int(Fraction(found[1]) * (1 << (20 if found[2] == "M" else 30)))


def open_desk(owner_file: str, limits: Capacity, needs_pad: bool = True, memory: int | None = None) -> Desk:
    """Open every table of an owner's file; refuse one without a pad unless that is wanted.

    memory: bytes that each process which reads a table may hold; by default, all of them together three quarters.
    """
    owned = read_owner_file(owner_file)
    for name, table in owned.items():
        if needs_pad and table.pad is None:
            raise RefusedValue(
                "pad",
                Reason.MISSING,
                "[tables.{name}] has no pad, so the time of an answer may depend on a record",
                'give one well above the time of a query, such as pad = "0.5s"; or start with `no_pad`',
                name=name,
            )
    opened = open_tables(owner_file, owned)
    for private in opened.values():
        private.limit_memory(memory or find_memory() * 3 // 4 // (limits.slots * len(opened)))
    served = {name: ServedTable(owned[name], private) for name, private in opened.items()}
    return Desk(served, Tokens(owner_file), limits)


def hold_ledgers(desk: Desk) -> None:
    """Refuse ledgers that another server has, as each hides only its own questions in progress.

    The files that say so stay locked for as long as this process lives, however it ends.
    """
    import fcntl

    for path in sorted({os.path.realpath(str(table.budget.path)) for table in desk.tables.values()}):
        held, is_free = os.open(f"{path}.serving", os.O_CREAT | os.O_RDWR, 0o600), False
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = True
        if not is_free:
            os.close(held)
            raise RefusedValue(
                "owner",
                Reason.CONFLICT,
                "another server has the ledger {path}, and each hides only its own questions in progress",
                "end that one first",
                path=path,
            )


def serve(
    owner_file: str,
    place: Place,
    limits: Capacity,
    needs_pad: bool,
    memory: int | None,
    say: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C, and then finish what is in progress."""
    os.umask(0o077)  # logs and ledgers are for the owner alone
    sys.setswitchinterval(0.001)  # a long request keeps others waiting for so much less
    lend_connections()
    desk = open_desk(owner_file, limits, needs_pad, memory)
    hold_ledgers(desk)
    write_logs(owner_file)
    app = make_app(desk)
    add_pages(app, desk, place.is_encrypted)
    for name, table in desk.tables.items():
        if not table.describe()["schema"]:
            say(f"the schema of {name} declares no columns: analysts must give all bounds and groups")
    listening = place.listen()
    desk.keep_to_one_core()
    gc.collect()
    gc.freeze()  # what is there by now stays, and need not be looked through again and again
    say(f"serving {', '.join(desk.tables)} at {place.url}; Ctrl-C ends it")
    config = uvicorn.Config(
        Guard(app, place.names),
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=10,
        http=HurriedConnection,
        lifespan="on",
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run([listening])
