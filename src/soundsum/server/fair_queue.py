"""Turns at a table: so many questions at once, the others in a queue in which analysts take turns.

A slot is held for a question's whole pad, so how long others wait depends on who asked when, and on nothing else.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from soundsum.server.wire import Reply


class FairQueue:
    """Slots, and who waits for one; used from one event loop."""

    def __init__(self, slots: int, most_waiting: int, most_each: int) -> None:
        self._free, self._most_waiting, self._most_each = slots, most_waiting, most_each
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn is next comes first
        self._asked: Counter[str] = Counter()

    @asynccontextmanager
    async def take_turn(self, analyst: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it; a Reply if the queue is full, or this analyst has too much in it."""
        if self._asked[analyst] >= self._most_each:
            raise Reply(429, f"you have {self._most_each} requests in progress; nothing was charged: wait for one")
        if self._free == 0 and sum(map(len, self._waiting.values())) >= self._most_waiting:
            raise Reply(429, "too many requests are waiting; nothing was charged: try again later")
        self._asked[analyst] += 1
        try:
            await self._take(analyst)
            try:
                yield
            finally:
                self._give_back()
        finally:
            self._asked[analyst] -= 1
            if not self._asked[analyst]:
                del self._asked[analyst]

    async def _take(self, analyst: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(analyst, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back()
            raise

    def _give_back(self) -> None:
        """Pass the slot on to the analyst whose turn is next."""
        while self._waiting:
            analyst, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[analyst] = turns  # behind the others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
