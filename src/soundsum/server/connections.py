"""Connections that are closed when no request comes, so that half-open ones do not use up what the system lends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

HURRY = 10.0
"""Seconds for the head of a request, from the connection on or from the last answer on."""


class HurriedConnection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection of uvicorn's, which waits for a request for a limited time however slowly it trickles in."""

    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop()
        self._check = self.loop.call_later(HURRY, self._close_if_idle)

    def _stop(self) -> None:
        if self._check is not None:
            self._check.cancel()

    def _close_if_idle(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def lend_connections() -> None:
    """Let this process have as many connections and files as the system allows it."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
