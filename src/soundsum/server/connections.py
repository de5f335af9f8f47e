"""Connections that are closed when no request comes, so that half-open ones do not use up what the system lends."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HURRY = 10.0
"""Seconds for the head of a request, from the connection on or from the last answer on."""


SENDING = 60.0
"""Seconds in which an answer is to be taken."""

UNTAKEN = 1 << 17
"""Bytes of an answer that the system keeps until they are taken."""


class HurriedConnection(H11Protocol):
    """A connection of uvicorn's, which waits for a request for a limited time however slowly it trickles in.

    Nor does it wait long for somebody to take an answer, which is kept in memory. It reads with h11, which limits the
    length of a request's head.
    """

    _check: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        held = transport.get_extra_info("socket")
        held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNTAKEN)
        held.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or a body waits 40 ms for its head's receipt
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._stop_sending()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_sending()
        self._sending = self.loop.call_later(SENDING, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_sending()
        super().resume_writing()

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()

    def _wait(self) -> None:
        self._stop()
        self._check = self.loop.call_later(HURRY, self._close_if_idle)

    def _stop(self) -> None:
        if self._check is not None:
            self._check.cancel()

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            (self.transport.abort if self.transport.get_write_buffer_size() else self.transport.close)()


def lend_connections() -> None:
    """Let this process have as many connections and files as the system allows it."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
