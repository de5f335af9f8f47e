"""The server's page for people: forms in plain HTML, so that it works without scripts and from the keyboard.

With scripts, the expected error follows what is chosen. It calls what the API calls. Whoever is logged in has a cookie;
every form that changes something carries the session's second secret.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from soundsum.budget import Cost
from soundsum.budget.ledger import read as read_ledger
from soundsum.numbers.quoting import printed
from soundsum.pages import TEMPLATES, template
from soundsum.randomness import random_bytes
from soundsum.refusals import Refusal
from soundsum.releases.stored import read_releases
from soundsum.server.endpoints import Desk, find_release, read_limited, refusing_in_time, write_log
from soundsum.server.made_up import MADE_UP
from soundsum.server.served import ServedTable, Stored, join_answer, say_briefly
from soundsum.server.server_pictures import draw_panel, draw_spending
from soundsum.server.tokens import Session, Sessions, Token
from soundsum.server.wire import Reply, read_body, read_key, refusing, unanswered
from soundsum.tables.read_guard import OPERATOR

FIELDS = (
    "statistic",
    "column",
    "lower",
    "upper",
    "quantile",
    "bins",
    "by",
    "grouping",
    "groups",
    "where",
    "epsilon",
    "delta",
)
LATEST = 100
STATISTICS = ("sum", "mean", "median", "quantile", "count", "histogram", "groups", "variance", "std")
NOTHING_YET = dict.fromkeys(("plan", "dummy", "after", "python", "unplanned"))

Handle = Callable[[Token, Session, Mapping[str, str]], Awaitable[Response]]


def add_pages(app: FastAPI, desk: Desk, is_encrypted: bool) -> None:
    """Add the pages' routes, and a page for people who go astray."""
    pages, sessions = APIRouter(include_in_schema=False), Sessions()
    page = template("server.html")
    style = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("page.css", "server.css"))
    script = (TEMPLATES / "server.js").read_text(encoding="utf-8")
    cookie_name = "__Host-soundsum" if is_encrypted else "soundsum"  # which no other name below this domain can set

    def show(name: str, status: int = 200, **facts: Any) -> Response:
        told = {"who": "", "csrf": "", "message": "", "title": "soundsum", **facts}
        return HTMLResponse(page.render(page=name, **told), status)

    def find_url(request: Request) -> str:
        """The address that this page was asked by."""
        return f"{'https' if is_encrypted else 'http'}://{request.headers['host']}"

    async def handle(request: Request, act: Handle) -> Response:
        """Act for whoever is logged in; show the form to log in to anybody else."""
        who = ""
        try:
            session = sessions.find(request.cookies.get(cookie_name, ""))
            token = None if session is None else await desk.aside(desk.tokens.find_number, session.number)
            if session is None or token is None:
                return show("login", 401 if request.method == "POST" else 200, title="Log in")
            who, given = token.who, {}
            if request.method == "POST":
                given = await _read_form(request)
                if not session.has_form(given.get("csrf", "")):
                    raise Reply(403, "this form is not from this page; load it again")
            request.scope["held"].enter_context(desk.admit(token.who))
            response = await act(token, session, given)
        except Reply as reply:
            response = show("message", reply.status, title="That did not work", message=reply.message)
        except Exception:
            OPERATOR.exception("a page could not be made")
            response = show("message", 503, title="That did not work", message=unanswered().message)
        write_log(who, request, response)
        return response

    def facts(token: Token, session: Session) -> dict[str, Any]:
        return {"who": token.who, "csrf": session.csrf}

    @pages.get("/page.css")
    async def show_style() -> Response:
        return Response(style, media_type="text/css")

    @pages.get("/page.js")
    async def show_script() -> Response:
        return Response(script, media_type="text/javascript")

    @pages.get("/")
    async def show_home(request: Request) -> Response:
        async def act(token: Token, session: Session, _: Mapping[str, str]) -> Response:
            if token.is_owner:
                return show("owner", title="What was spent", **facts(token, session), **await desk.aside(_owner, desk))
            return show("home", title="Tables", **facts(token, session), **await desk.list(token, _home, desk, token))

        return await handle(request, act)

    @pages.post("/login")
    async def log_in(request: Request) -> Response:
        try:
            if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                raise Reply(403, "this form is not from this page")
            given = await _read_form(request)
            token = await desk.aside(desk.tokens.find, given.get("token", "").strip())
            if token is None:
                return show("login", 401, title="Log in", message="This token is not valid, or has ended.")
        except Reply as reply:
            return show("login", reply.status, title="Log in", message=reply.message)
        except Exception:
            OPERATOR.exception("nobody could log in")
            return show("login", 503, title="Log in", message=unanswered().message)
        response = RedirectResponse("/", 303)
        cookie = sessions.begin(token.number)
        response.set_cookie(cookie_name, cookie, httponly=True, samesite="strict", secure=is_encrypted, path="/")
        return response

    @pages.post("/logout")
    async def log_out(request: Request) -> Response:
        async def act(*_: Any) -> Response:
            sessions.end(request.cookies.get(cookie_name, ""))
            response = RedirectResponse("/", 303)
            response.delete_cookie(cookie_name, httponly=True, samesite="strict", secure=is_encrypted, path="/")
            return response

        return await handle(request, act)

    @pages.get("/tables/{name}")
    async def show_table(name: str, request: Request) -> Response:
        async def act(token: Token, session: Session, _: Mapping[str, str]) -> Response:
            table = await desk.find_table(token, name)
            left = await desk.aside(_say_left, table, token.who)
            told: dict[str, Any] = {
                "form": dict.fromkeys(FIELDS, "") | {"epsilon": "1/10"},
                "key": random_bytes(16).hex(),
            }
            told |= {"table": table.describe(), "left": left, "statistics": STATISTICS, **NOTHING_YET}
            return show("table", title=table.name, **facts(token, session), **told)

        return await handle(request, act)

    @pages.post("/tables/{name}")
    async def ask_table(name: str, request: Request) -> Response:
        async def act(token: Token, session: Session, given: Mapping[str, str]) -> Response:
            table = await desk.find_table(token, name)
            form = {field: given.get(field, "").strip() for field in FIELDS}
            told: dict[str, Any] = {**NOTHING_YET, "message": ""}
            status = 200
            try:
                if given.get("action") == "release":
                    async with refusing_in_time(table):
                        key = refusing(read_key, given.get("key") or None)
                        read = partial(refusing, _read_asked)
                        request.state.given = stored = await desk.release(table, token.who, key, read, form)
                    return RedirectResponse(f"/releases/{stored.id}", 303)
                asked = await desk.read(token, _read_asked, form)
                told["python"] = write_python(find_url(request), table.name, asked)
                if given.get("action") == "dummy":
                    told |= _show_dummy(await desk.ask_freely(token, table.dummy, asked))
                else:
                    plan = await desk.ask_freely(token, table.plan, asked)
                    told["plan"] = [(one["name"], _say_error(one)) for one in plan["statistics"]]
                    told["after"] = await desk.aside(_say_after, table, token.who, Cost(**plan["cost"]))
            except Reply as reply:
                status, where = reply.status, "unplanned" if given.get("action") == "plan" else "message"
                told[where] = reply.message
            left = await desk.aside(_say_left, table, token.who)
            told |= {"table": table.describe(), "left": left, "statistics": STATISTICS, "dummy_rows": MADE_UP}
            key = random_bytes(16).hex()
            return show("table", status, title=table.name, **facts(token, session), form=form, key=key, **told)

        return await handle(request, act)

    async def find(request: Request, id: str, write: Callable[[Stored, Token, Session], Response]) -> Response:
        async def act(token: Token, session: Session, _: Mapping[str, str]) -> Response:
            request.state.given = stored = await desk.aside(find_release, desk, token, id)
            return await desk.aside(write, stored, token, session)

        return await handle(request, act)

    @pages.get("/releases/{id}")
    async def show_release(id: str, request: Request) -> Response:
        def write(stored: Stored, token: Token, session: Session) -> Response:
            made = read_releases(stored.answer)
            rows = [{name: _say(cell) for name, cell in row.items()} for row in made.to_arrow().to_pylist()]
            pictures = [
                draw_panel(panel, f"panel-{place}") for place, panel in enumerate(made.panels()) if panel.values
            ]
            python = f"ss.connect({find_url(request)!r}, token=...).release({stored.id!r})"
            entry, said = stored.entry, say_briefly(stored.entry)
            assert entry.asker is not None
            told: dict[str, Any] = {"id": stored.id, "rows": rows, "pictures": pictures, "python": python}
            told |= {"heading": printed(said.partition(": ")[2] or said), "table": entry.asker.source}
            told |= {"at": f"{entry.at:%Y-%m-%d %H:%M}", "cost_paid": str(entry.cost)}
            return show("release", title=stored.id, **facts(token, session), **told)

        return await find(request, id, write)

    @pages.get("/releases/{id}/json")
    async def give_json(id: str, request: Request) -> Response:
        return await find(request, id, lambda stored, *_: Response(join_answer(stored), media_type="application/json"))

    @pages.get("/releases/{id}/csv")
    async def give_csv(id: str, request: Request) -> Response:
        def write(stored: Stored, *_: Any) -> Response:
            return Response(read_releases(stored.answer).to_csv(), media_type="text/csv; charset=utf-8")

        return await find(request, id, write)

    app.include_router(pages)
    answer_program = app.exception_handlers[HTTPException]

    async def answer(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 404)
        if status != 404 or request.url.path.startswith("/v1") or "html" not in request.headers.get("accept", ""):
            return await answer_program(request, error)  # type: ignore[no-any-return, misc]
        return show("message", status, title="There is nothing here", message="this address leads nowhere")

    app.add_exception_handler(HTTPException, answer)


def _read_asked(form: Mapping[str, str]) -> dict[str, Any]:
    """Read a form as a request is read."""
    return read_body(json.dumps(write_asked(form)).encode())


def write_asked(form: Mapping[str, str]) -> dict[str, Any]:
    """Write what a form asks as a request."""
    name = form["statistic"] or "sum"
    statistic: dict[str, Any] = {"statistic": "quantile" if name == "median" else name}
    if statistic["statistic"] == "quantile":
        statistic["quantile"] = (form["quantile"] if name == "quantile" else "") or "1/2"
    if form["column"] and name != "groups":
        statistic["column"] = form["column"]
    if form["lower"] or form["upper"]:
        statistic["bounds"] = [form["lower"] or None, form["upper"] or None]
    if form["bins"]:
        statistic["bins"] = int(form["bins"]) if form["bins"].isdecimal() and len(form["bins"]) < 10 else form["bins"]
    asked: dict[str, Any] = {"epsilon": form["epsilon"], "statistics": {name: statistic}}
    if form["by"]:
        asked["by"] = form["by"]
    if form["grouping"] == "found" or name == "groups":
        asked["groups"] = "found"
    elif form["groups"]:
        asked["groups"] = [one.strip() for one in form["groups"].split(",")]
    if form["where"]:
        asked["where"] = [line.strip() for line in form["where"].splitlines() if line.strip()]
    if form["delta"]:
        asked["delta"] = form["delta"]
    return asked


def write_python(url: str, table: str, asked: Mapping[str, Any]) -> str:
    """Write the call of the client that asks the same."""
    ((name, statistic),) = asked["statistics"].items()
    given = {key: one for key, one in statistic.items() if key not in ("statistic", "bounds", "column", "quantile")}
    first = [asked["by"]] if name == "groups" and "by" in asked else []
    if "column" in statistic and name != "count":
        first.append(statistic["column"])
    if name == "quantile":
        first.append(statistic["quantile"])
    if "bounds" in statistic:
        given["lower"], given["upper"] = statistic["bounds"]
    if name == "count" and "column" in statistic:
        given["column"] = statistic["column"]
    given |= {key: asked[key] for key in ("epsilon", "delta", "by", "groups", "where") if key in asked}
    if name == "groups":
        given = {key: one for key, one in given.items() if key not in ("by", "groups")}
    arguments = [*map(repr, first), *[f"{key}={value!r}" for key, value in given.items()]]
    call = f"ss.connect({url!r}, token=...).table({table!r}).{name}({', '.join(arguments)})"
    if asked.get("groups") == "found" and name != "groups":  # the delta is the search's
        found = f"groups=ss.Found({asked.get('delta')!r})"
        call = call.replace("groups='found'", found).replace(f"delta={asked.get('delta')!r}, ", "")
    return call


async def _read_form(request: Request) -> dict[str, str]:
    body = await read_limited(request)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        pass
    raise Reply(400, "this form cannot be read")


def _home(desk: Desk, token: Token) -> dict[str, Any]:
    tables, releases = [], []
    for table in desk.visible(token.who):
        told = table.describe()
        tables.append({"name": table.name, "columns": len(told["schema"]), **_say_left(table, token.who)})
        releases += table.releases(token.who)
    releases.sort(key=lambda one: one["at"], reverse=True)
    shown = [
        one | {"at": one["at"][:16].replace("T", " "), "cost": str(Cost(**one["cost"])), "what": _say_what(one["what"])}
        for one in releases[:LATEST]
    ]
    return {"tables": tables, "releases": shown}


def _say_left(table: ServedTable, analyst: str) -> dict[str, str]:
    share, budget = table.share(analyst), table.budget
    assert share is not None
    return {
        "share_left": _say_rest(share.left),
        "share_total": str(share.limit),
        "table_left": _say_rest(budget.left),
        "table_total": str(Cost(budget.epsilon, budget.delta, budget.rho)),
    }


def _say_after(table: ServedTable, analyst: str, cost: Cost) -> str | None:
    """Say what a share would have left; None if it does not allow this."""
    share = table.share(analyst)
    assert share is not None
    with suppress(Refusal):
        return None if share.is_closed else _say_rest(share.limit.left(share.limit.after(share.spent, cost, "a plan")))
    return None


def _say_what(brief: str) -> str:
    """Say what was asked, without a name that only repeats it."""
    name, _, title = brief.partition(": ")
    return printed(title if title.startswith(name) else brief)


def _say_rest(left: Cost) -> str:
    """Say what is left in the measure of the budget; where it counts epsilon, nobody may ask in rho."""
    return str(left if left.epsilon is None else Cost(left.epsilon, left.delta))


def _say_error(told: Mapping[str, Any]) -> str:
    """Say what the noise would do, in 95% of cases."""
    said = "depends on the data"
    if told["error"] is not None:
        said = f"at most ± {told['error']:,.6g}"
    if told.get("rank_error") is not None:
        said = f"at most {told['rank_error']:,} rows or persons from its rank"
    if told.get("threshold") is not None:
        said += f"; groups of about {told['threshold']:,} persons are found"
    return said


def _show_dummy(told: Mapping[str, Any]) -> dict[str, Any]:
    rows = [{name.removeprefix("dummy_"): _say(cell) for name, cell in row.items()} for row in told["releases"]]
    return {"dummy": rows}


def _say(cell: Any) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.6g}" if isinstance(cell, float) else printed(str(cell))


def _owner(desk: Desk) -> dict[str, Any]:
    """Everything that the owner's page shows, ledger by ledger."""
    tables: dict[str, list[str]] = {}
    for name, table in desk.tables.items():
        tables.setdefault(str(table.budget.path), []).append(name)
    ledgers = []
    for place, (path, names) in enumerate(tables.items()):
        found = read_ledger(path)
        limit, shares = found.terms.limit, sorted(found.shares.items(), key=lambda one: (one[0].analyst, one[0].source))
        ledgers.append(
            {
                "tables": ", ".join(names),
                "left": str(limit.left(found.spent)),
                "total": str(limit),
                "count": f"{len(found.entries):,}",
                "failures": found.failures,
                "most": found.terms.max_failures,
                "picture": draw_spending(found.entries, limit.rho is not None, f"spent-{place}"),
                "shares": [
                    {"who": asker.analyst, "table": asker.source, "spent": str(share.spent), "total": str(share.limit),
                     "state": "closed" if share.is_closed else ""}
                    for asker, share in shares
                ],
                "charges": [
                    {"number": one.number, "at": f"{one.at:%Y-%m-%d %H:%M}", "what": _say_what(say_briefly(one)),
                     "who": "the owner" if one.asker is None else one.asker.analyst, "cost": str(one.cost),
                     "state": "" if one.state == "released" else one.state}
                    for one in reversed(found.entries[-LATEST:])
                ],
            }
        )  # fmt: skip
    return {"ledgers": ledgers}
