"""The server's API: who asks is known by a token, and every path, status and body is in the OpenAPI description.

Answers to charged questions come from threads, one for each slot, that call `Private`; it keeps the time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from soundsum._version import __version__
from soundsum.randomness import random_bytes
from soundsum.requests.write_request import describe_requests
from soundsum.server.cores import Cores
from soundsum.server.fair_queue import FairQueue
from soundsum.server.served import Asked, ServedTable, Stored, join_answer, say_briefly
from soundsum.server.tokens import Token, Tokens
from soundsum.server.wire import LARGEST, Reply, digest, read_body, read_key, refusing, unanswered
from soundsum.tables.read_guard import OPERATOR

T = TypeVar("T")
U = TypeVar("U")

LOG = logging.getLogger("soundsum.server")
"""The log of who asked what and when, without results."""

FREE_AT_ONCE = READ_AT_ONCE = LIST_AT_ONCE = 2
ASIDE = 40  # threads for what is done beside the loop, most of which waits for a ledger when there are many
MOST_CALLS = 32  # of each analyst, charged and free
SHORT_REQUEST, MOST_READ = 1 << 11, 1 << 9  # bytes of a request that is kept as it was read, and how many are
PATIENCE = 10.0  # seconds for the body of a request
LONGEST_PATH = 200  # characters in the log
SECRET = re.compile(r"ss_\d*_[A-Za-z0-9_-]+")  # a token where none belongs
OWN = {"relation", "privacy_unit", "table", "engine"}


@dataclass(frozen=True)
class Capacity:
    """How much is done at once."""

    slots: int = 4  # of each table
    waiting: int = 256
    each: int = 8  # of each analyst


class LastRead:
    """The last short requests, as they were read: of an analyst, who alone can tell that theirs is read faster."""

    def __init__(self) -> None:
        self._read: OrderedDict[tuple[str, str, object], tuple[str, Asked]] = OrderedDict()

    def find(self, table: str, analyst: str, given: object) -> tuple[str, Asked] | None:
        """The digest of a request, and what it asks of the table, by the snapshot that never changes."""
        place = (table, analyst, given)
        if not isinstance(given, bytes) or place not in self._read:
            return None
        self._read.move_to_end(place)
        return self._read[place]

    def keep(self, table: str, analyst: str, given: object, read: tuple[str, Asked]) -> None:
        if isinstance(given, bytes) and len(given) <= SHORT_REQUEST:
            self._read[table, analyst, given] = read
            if len(self._read) > MOST_READ:
                self._read.popitem(last=False)


class Desk:
    """The tables that are served, the tokens, and the turns at each table."""

    def __init__(self, tables: Mapping[str, ServedTable], tokens: Tokens, limits: Capacity) -> None:
        self.tables, self.tokens = tables, tokens
        self._queues = {name: FairQueue(limits.slots, limits.waiting, limits.each) for name in tables}
        self._free = FairQueue(FREE_AT_ONCE, limits.waiting, limits.each)
        self._reading = FairQueue(READ_AT_ONCE, 10 * limits.waiting, MOST_CALLS)
        self._listing = FairQueue(LIST_AT_ONCE, 10 * limits.waiting, MOST_CALLS)
        self._last_read, self._cores = LastRead(), Cores()
        self._threads = ThreadPoolExecutor(limits.slots * len(tables), "release")
        self._aside = ThreadPoolExecutor(ASIDE, "aside")
        self._tasks: set[asyncio.Task[Stored]] = set()
        self._calls: Counter[str] = Counter()

    @contextmanager
    def admit(self, who: str) -> Iterator[None]:
        """One call of somebody's, of whatever kind; a Reply if they have very many at once."""
        if self._calls[who] >= MOST_CALLS:
            raise Reply(429, f"you have {MOST_CALLS} calls in progress; nothing was charged: wait for one")
        self._calls[who] += 1
        try:
            yield
        finally:
            self._calls[who] -= 1
            if not self._calls[who]:
                del self._calls[who]

    def visible(self, analyst: str) -> list[ServedTable]:
        """List the tables that an analyst has a share of."""
        return [table for table in self.tables.values() if table.is_shared_with(analyst)]

    async def aside(self, do: Callable[..., T], *given: Any) -> T:
        """Do something that may take a while, beside the loop, which keeps the time of all answers."""
        return await asyncio.get_running_loop().run_in_executor(self._aside, do, *given)

    async def find_table(self, token: Token, name: str) -> ServedTable:
        """Find a table that somebody has a share of; the ledger is asked once."""
        table = self.tables.get(name)
        if table is not None and token.who in table.holders and not token.is_owner:
            return table
        return await self.aside(self.table, token, name)

    def table(self, token: Token, name: str) -> ServedTable:
        table = self.tables.get(name)
        if table is None or token.is_owner or not table.is_shared_with(token.who):
            raise Reply(404, "there is no such table, or no share of it is yours")
        return table

    async def ask_freely(
        self, token: Token, ask: Callable[[Mapping[str, Any]], dict[str, Any]], written: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Plan, or ask made-up rows: few at once, so that nobody keeps the processor from padded answers."""
        async with self._free.take_turn(token.who):
            return await self.aside(ask, written)

    async def read(self, token: Token, read: Callable[[U], dict[str, Any]], given: U) -> dict[str, Any]:
        """Read a request, few at once."""
        async with self._reading.take_turn(token.who):
            return await self.aside(refusing, read, given)

    async def list(self, token: Token, look: Callable[..., T], *given: Any) -> T:
        """Look through somebody's charges, few at once, as these may be many and long."""
        async with self._listing.take_turn(token.who):
            return await self.aside(look, *given)

    async def release(
        self,
        table: ServedTable,
        analyst: str,
        key: str | None,
        read: Callable[[U], dict[str, Any]],
        given: U,
        stored_will_do: bool = False,
    ) -> Stored:
        """Answer a charged question, once for each key; goes on if whoever asked does not wait.

        `read` makes what is asked of what is given, or raises a Reply.
        With `stored_will_do`, an earlier release of this analyst's for the same request is given again.
        """
        looks_back = key is not None or stored_will_do

        def read_at_once() -> tuple[dict[str, Any], str, Asked | None]:
            written = read(given)
            return written, digest(table.name, written), None if looks_back else table.read(written)

        body, asked = self._last_read.find(table.name, analyst, given) or ("", None)
        if asked is None:
            async with self._reading.take_turn(analyst):
                written, body, asked = await self.aside(read_at_once)
        if looks_back:  # what was stored is given even if the table would refuse it today
            found = None if key is None else await self.aside(table.find, analyst, key, body)
            if found is None and stored_will_do:
                found = await self.aside(table.find_same, analyst, body)
            if found is not None:
                return found
        if asked is None:
            async with self._reading.take_turn(analyst):
                asked = await self.aside(table.read, written)
        self._last_read.keep(table.name, analyst, given, (body, asked))
        own = key or f"made here: {random_bytes(16).hex()}"
        table.begin(analyst, own, body)

        async def answer() -> Stored:
            try:
                async with self._queues[table.name].take_turn(analyst):
                    loop = asyncio.get_running_loop()
                    return await loop.run_in_executor(self._threads, self._release, table, analyst, own, body, asked)
            finally:
                table.end(analyst, own)

        task = asyncio.create_task(answer())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    def _release(self, table: ServedTable, *asked: Any) -> Stored:
        if not table.is_small:
            self._cores.use_all()
        return table.release(*asked)

    def keep_to_one_core(self) -> None:
        """Keep all threads on one core while all tables are small."""
        if all(table.is_small for table in self.tables.values()):
            self._cores.keep_to_one()

    async def close(self) -> None:
        """Finish what is in progress."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=True)
        self._aside.shutdown(wait=True)


def make_app(desk: Desk) -> FastAPI:
    """Make the application: the API, and the guard around it."""

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        yield
        await desk.close()

    app = FastAPI(
        title="soundsum", version=__version__, lifespan=live, docs_url=None, redoc_url=None,
        openapi_url="/v1/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    app.state.desk = desk
    app.router.route_class = PlainRoute
    add_api(app, desk)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_fault)
    return app


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request and the names in its path, and reads everything else itself."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            response: Response = await self.endpoint(request=request, **request.path_params)
            return response

        return handle


@asynccontextmanager
async def refusing_in_time(table: ServedTable) -> AsyncIterator[None]:
    """Let a refusal of a charged question take as long as its answer would."""
    due = time.monotonic() + table.pad_seconds
    try:
        yield
    except Reply as reply:
        if reply.status in (413, 422):
            await asyncio.sleep(due - time.monotonic())
        raise


async def read_limited(request: Request) -> bytes:
    """Read a body of limited size in limited time."""

    async def read() -> bytes:
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > LARGEST:
                raise Reply(413, f"a request has at most {LARGEST:,} bytes")
        return bytes(body)

    try:
        return await asyncio.wait_for(read(), PATIENCE)
    except TimeoutError:
        raise Reply(408, "the request did not come in time") from None


async def find_caller(desk: Desk, request: Request) -> Token:
    """Return whose token stands in the header."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    given = given.strip() if scheme.lower() == "bearer" else ""
    token = desk.tokens.find_at_once(given) or await desk.aside(desk.tokens.find, given)
    if token is None:
        raise Reply(
            401,
            "the token is not valid or has ended; ask the owner for a new one, and give it as "
            "`Authorization: Bearer ss_...`",
        )
    return token


async def answer_safely(make: Callable[[], Awaitable[Response]], who: list[str], request: Request) -> Response:
    """Make an answer; whatever goes wrong says nothing but what a Reply says."""
    try:
        response = await make()
    except Reply as reply:
        response = JSONResponse(reply.to_json(), reply.status)
    except Exception:
        OPERATOR.exception("a request could not be answered")
        response = JSONResponse(unanswered().to_json(), 503)
    write_log(who[0], request, response)
    return response


def write_log(who: str, request: Request, response: Response) -> None:
    """Write down who asked what, and with which status; of a release, its number and its charge in words."""
    call = f"{request.method} {SECRET.sub('ss_...', request.url.path)[:LONGEST_PATH]}"
    given: Stored | None = getattr(request.state, "given", None)
    release = {} if given is None else {"release": given.id, "what": say_briefly(given.entry)}
    LOG.info(json.dumps({"who": who, "call": call, "status": response.status_code, **release}))


def add_api(app: FastAPI, desk: Desk) -> None:
    """Add the calls under /v1, that which is charged first."""

    async def call(request: Request, handle: Callable[[Token], Awaitable[Response]]) -> Response:
        who = [""]

        async def make() -> Response:
            token = await find_caller(desk, request)
            who[0] = token.who
            request.scope["held"].enter_context(desk.admit(token.who))  # until the answer is taken
            return await handle(token)

        return await answer_safely(make, who, request)

    async def take(token: Token, request: Request) -> dict[str, Any]:
        return await desk.read(token, read_body, await read_limited(request))

    def take_key(request: Request) -> str | None:
        return refusing(read_key, request.headers.get("idempotency-key"))

    @app.get("/v1/tables", **_describe("List the tables that you have a share of.", LISTED))
    async def list_tables(request: Request) -> Response:
        async def handle(token: Token) -> Response:
            return JSONResponse([t.describe() for t in await desk.aside(desk.visible, token.who)])

        return await call(request, handle)

    @app.get("/v1/tables/{name}", **_describe("Describe a table, by what its owner declared.", OBJECT, 404))
    async def show_table(name: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            return JSONResponse((await desk.find_table(token, name)).describe())

        return await call(request, handle)

    @app.get("/v1/tables/{name}/budget", **_describe("Show the budget, your share and your charges.", OBJECT, 404))
    async def show_budget(name: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            table = await desk.find_table(token, name)
            return JSONResponse(await desk.list(token, table.describe_budget, token.who))

        return await call(request, handle)

    @app.post(
        "/v1/tables/{name}/plan",
        **_describe("Say what the noise would do, at no charge.", OBJECT, *ASKING, body=_with_error()),
    )
    async def plan(name: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            table, written = await desk.find_table(token, name), await take(token, request)
            return JSONResponse(await desk.ask_freely(token, table.plan, written))

        return await call(request, handle)

    @app.post(
        "/v1/tables/{name}/dummy",
        **_describe("Answer from made-up rows, at no charge.", OBJECT, *ASKING, body=REQUEST),
    )
    async def dummy(name: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            table, written = await desk.find_table(token, name), await take(token, request)
            return JSONResponse(await desk.ask_freely(token, table.dummy, written))

        return await call(request, handle)

    @app.post(
        "/v1/tables/{name}/release",
        **_describe("Release, and charge.", OBJECT, *ASKING, body=REQUEST, parameters=[KEY, PREFER]),
    )
    async def release(name: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            table = await desk.find_table(token, name)
            stored_will_do = request.headers.get("prefer", "").strip().lower() == "stored"
            async with refusing_in_time(table):
                given, key = await read_limited(request), take_key(request)
                read = partial(refusing, read_body)
                return _give(request, await desk.release(table, token.who, key, read, given, stored_will_do))

        return await call(request, handle)

    @app.get("/v1/releases", **_describe("List your releases.", LISTED))
    async def list_releases(request: Request) -> Response:
        async def handle(token: Token) -> Response:
            tables = await desk.aside(desk.visible, token.who)
            listed = [one for table in tables for one in await desk.list(token, table.releases, token.who)]
            return JSONResponse(listed)

        return await call(request, handle)

    @app.get("/v1/releases/{id}", **_describe("Give a release of yours again, as it was given.", OBJECT, 404))
    async def show_release(id: str, request: Request) -> Response:
        async def handle(token: Token) -> Response:
            return _give(request, await desk.aside(find_release, desk, token, id))

        return await call(request, handle)


def find_release(desk: Desk, token: Token, id: str) -> Stored:
    """Find a release of this analyst's."""
    name, _, number = id.rpartition("-")
    found = None
    if number.isdecimal() and number.isascii() and len(number) <= 15:
        with suppress(Reply):  # there may be no such table, which is nobody's to know
            found = desk.table(token, name).stored(token.who, int(number))
    if found is None:
        raise Reply(404, "there is no such release of yours")
    return found


def _give(request: Request, stored: Stored) -> Response:
    request.state.given = stored
    return Response(join_answer(stored), media_type="application/json")


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing here", 405: "this method is not for this path"}.get(error.status_code, "refused")
    return JSONResponse(Reply(error.status_code, said).to_json(), error.status_code, error.headers)


async def _answer_fault(_: Request, __: Exception) -> Response:
    return JSONResponse(unanswered().to_json(), 503)


# The OpenAPI description

OBJECT: dict[str, Any] = {"type": "object"}
LISTED: dict[str, Any] = {"type": "array", "items": OBJECT}
NULLABLE: dict[str, Any] = {"type": ["string", "null"]}
ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "option", "reason"],
            "properties": {"message": {"type": "string"}, "option": NULLABLE, "reason": NULLABLE},
        }
    },
}
ASKING = (404, 405, 408, 409, 413, 422)
WHY = {
    401: "No valid token.", 404: "There is no such thing, or it is not yours.", 405: "Another method is meant.",
    408: "The request came too slowly.", 409: "The budget does not allow it, or it is in progress.",
    413: "The request is too large.", 422: "Refused from public facts.", 429: "Too many requests; nothing was charged.",
    400: "The request cannot be understood.", 421: "The server has another name.",
    503: "The one sentence for everything else.",
}  # fmt: skip
KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
    "description": "Asked again with its key, a request gets the release that was stored for it.",
}


PREFER: dict[str, Any] = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "With `stored` alone, your last release for the same request is given again, without a charge.",
}


def _make_request() -> dict[str, Any]:
    """The JSON Schema of a request, without the owner's terms."""
    whole = {name: value for name, value in describe_requests().items() if name != "$schema"}
    return whole | {"properties": {n: said for n, said in whole["properties"].items() if n not in OWN}}


REQUEST = _make_request()


def _with_error() -> dict[str, Any]:
    error = {"type": ["number", "string"], "description": "The epsilon that keeps a sum's error to this is wanted."}
    return REQUEST | {"properties": REQUEST["properties"] | {"error": error}}


def _describe(
    summary: str,
    answer: Mapping[str, Any],
    *statuses: int,
    body: Mapping[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The options of a route: what it takes and answers."""
    errors = {
        status: {"description": WHY[status], "content": {"application/json": {"schema": ERROR}}}
        for status in sorted({400, 401, 421, 429, 503, *statuses})
    }
    given = {200: {"description": "The answer.", "content": {"application/json": {"schema": answer}}}}
    extra: dict[str, Any] = {"security": [{"token": []}]}
    if body is not None:
        extra["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if parameters:
        extra["parameters"] = parameters
    return {
        "summary": summary, "responses": given | errors, "openapi_extra": extra, "response_class": Response,
        "response_model": None,
    }  # fmt: skip
