"""A client for load: HTTP over bare sockets, so that it takes little of the processor from the server it tries."""

from __future__ import annotations

import asyncio
import json


class Caller:
    """One analyst's connection, which is opened again when it is lost."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self._head = port, f"host: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, body: object = None, key: str | None = None) -> tuple[int, bytes]:
        """The status and the body of an answer; OSError or EOFError if the connection is lost."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        own = "" if key is None else f"idempotency-key: {key}\r\n"
        head = (
            f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\n{self._head}{own}content-length: {len(data)}\r\n"
        )
        try:
            writer.write(head.encode() + b"\r\n" + data)
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            (length,) = [int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")]
            return int(lines[0].split()[1]), await reader.readexactly(length)
        except (OSError, EOFError):
            await self.close()
            raise

    async def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
