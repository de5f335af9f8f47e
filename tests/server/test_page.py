"""The page for people, in a real browser at a desk's and a phone's width: plain forms, no script, from the keyboard."""

import html
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import soundsum as ss
from soundsum.budget.history import Asker
from soundsum.server.tokens import MOST_SESSIONS, Sessions
from tests.pages.browser import chromium

from .running import FOUND, Server, say_nothing_private, wait_until

WIDTHS = {"desk": 1280, "phone": 390}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("page"), "--no-pad") as running:
        yield running


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


def visit(tab, url):
    tab.events.clear()
    tab.call("Page.navigate", url=url)
    tab.wait("Page.loadEventFired")


def press(tab, key, code):
    for kind in ("keyDown", "keyUp"):
        more = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
        tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)


def log_in(tab, shop, token):
    tab.call("Network.clearBrowserCookies")
    visit(tab, shop.url)
    tab.events.clear()
    tab.evaluate("document.getElementById('token').focus()")
    tab.call("Input.insertText", text=token)
    press(tab, "Enter", 13)
    tab.wait("Page.loadEventFired")


def submit(tab, **fields):
    """Fill the form in and press one of its buttons."""
    action = fields.pop("action")
    for name, value in fields.items():
        tab.evaluate(f"document.getElementById({name!r}).value = {value!r}")
    tab.events.clear()
    tab.evaluate(f"document.querySelector('button[value={action}]').click()")
    tab.wait("Page.loadEventFired")


def text(tab):
    return tab.evaluate("document.body.innerText")


def fits(tab):
    return tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("where", WIDTHS)
def test_an_analyst_asks_from_a_plan_to_a_release(tab, shop, where):
    folder = Path(tempfile.gettempdir(), "soundsum-pages")
    folder.mkdir(exist_ok=True)
    tab.look(WIDTHS[where])
    log_in(tab, shop, shop.add(f"alice-{where}", epsilon="1"))
    assert "visits" in text(tab)
    assert fits(tab)
    tab.screenshot(folder / f"{where}-home.png")
    visit(tab, f"{shop.url}/tables/visits")
    assert fits(tab)
    submit(tab, statistic="sum", column="cost", by="ward", epsilon="1/4", action="plan")
    assert "epsilon = 0.75 of your share. Nothing was charged" in text(tab)
    assert float(re.search(r"at most ± ([\d,.]+)", text(tab))[1].replace(",", "")) > 0
    assert fits(tab)
    tab.screenshot(folder / f"{where}-plan.png")
    submit(tab, action="dummy")
    assert "made up from the table’s schema" in text(tab)
    assert fits(tab)
    tab.screenshot(folder / f"{where}-dummy.png")
    assert re.search(r"epsilon = 1\s+left of your epsilon = 1\b", text(tab))
    submit(tab, action="release")
    assert "for epsilon = 0.25" in text(tab)
    assert fits(tab)
    assert tab.evaluate("document.querySelectorAll('svg .value-dot').length") == 3
    assert tab.evaluate("document.querySelectorAll('tbody tr').length") == 3
    tab.screenshot(folder / f"{where}-release.png")
    assert tab.complaints() == []
    assert all(url.startswith((shop.url, "data:")) for url in tab.requests())
    visit(tab, shop.url)
    assert "epsilon = 0.75" in text(tab)


def type_in(tab, name, value):
    """Choose as a person does, with the events that this has."""
    field = f"document.getElementById({name!r})"
    tab.evaluate(f"{field}.value = {value!r}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")


def test_the_error_and_what_would_be_left_follow_what_is_chosen(tab, shop):
    log_in(tab, shop, shop.add("live", epsilon="1"))
    visit(tab, f"{shop.url}/tables/visits")
    before = "document.getElementById('before').innerText"
    assert "is shown here" in tab.evaluate(before)
    type_in(tab, "column", "cost")
    for epsilon, left in (("1/4", "0.75"), ("1/2", "0.5")):
        type_in(tab, "epsilon", epsilon)
        wait_until(lambda left=left: f"It would leave epsilon = {left} of your share" in tab.evaluate(before))
    type_in(tab, "epsilon", "2")
    wait_until(lambda: "Your share does not allow it" in tab.evaluate(before))
    type_in(tab, "statistic", "median")
    wait_until(lambda: "from its rank" in tab.evaluate(before))
    type_in(tab, "column", "salary")
    wait_until(lambda: "'salary' is not in the table" in tab.evaluate(before))
    assert tab.evaluate("document.activeElement === document.body || document.activeElement.id !== 'before'")
    assert shop.budget.share(Asker("live", "visits")).spent.epsilon == 0
    assert [one for one in tab.complaints() if "422" not in str(one)] == []
    assert all(url.startswith((shop.url, "data:")) for url in tab.requests())


def test_without_scripts_the_same_can_be_asked(tab, shop):
    log_in(tab, shop, shop.add("plain", epsilon="1"))
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        visit(tab, f"{shop.url}/tables/visits")
        submit(tab, statistic="sum", column="cost", by="ward", epsilon="1/4", action="plan")
        assert "It would leave epsilon = 0.75 of your share" in text(tab)
        submit(tab, action="dummy")
        assert "made up from the table’s schema" in text(tab)
        submit(tab, action="release")
        assert "for epsilon = 0.25" in text(tab)
    finally:
        tab.call("Emulation.setScriptExecutionDisabled", value=False)


def test_a_refusal_keeps_the_form(tab, shop):
    log_in(tab, shop, shop.add("bob", epsilon="1"))
    visit(tab, f"{shop.url}/tables/visits")
    submit(tab, statistic="mean", column="salary", epsilon="1/4", action="release")
    assert "'salary' is not in the table" in text(tab)
    assert tab.evaluate("document.getElementById('column').value") == "salary"
    submit(tab, statistic="sum", column="cost", epsilon="7", action="release")
    assert "The budget is exceeded" in text(tab)
    assert shop.budget.share(Asker("bob", "visits")).spent.epsilon == 0


def test_every_field_has_a_label_and_the_keyboard_reaches_each(tab, shop):
    log_in(tab, shop, shop.add("keys"))
    visit(tab, f"{shop.url}/tables/visits")
    unlabelled = (
        "[...document.querySelectorAll('input:not([type=hidden]),select,textarea')].filter(e => !e.labels.length)"
    )
    assert tab.evaluate(f"{unlabelled}.length") == 0
    reached = set()
    for _ in range(40):
        press(tab, "Tab", 9)
        reached.add(tab.evaluate("document.activeElement.id || document.activeElement.value || ''"))
    assert {"statistic", "column", "by", "where", "epsilon", "plan", "dummy", "release"} <= reached


def test_the_owner_sees_who_spent_what_and_only_looks(tab, shop):
    spender = shop.add("spender", epsilon="10")
    with shop.client(spender) as client:
        for _ in range(3):
            request = {"epsilon": 1, "statistics": {"n": {"statistic": "count"}}}
            assert client.post("/v1/tables/visits/release", json=request).status_code == 200
    log_in(tab, shop, shop.tokens.add("boss", is_owner=True))
    shown = text(tab)
    assert "What was spent" in shown
    assert "spender" in shown
    assert tab.evaluate("document.querySelectorAll('form').length") == 1  # to log out
    for where, width in WIDTHS.items():
        tab.look(width)
        assert fits(tab)
        tab.screenshot(Path(tempfile.gettempdir(), "soundsum-pages", f"{where}-owner.png"))
    with httpx.Client(base_url=shop.url, trust_env=False) as client:
        assert "What was spent" not in client.get("/").text


def web(shop, who, **more):
    client = httpx.Client(base_url=shop.url, trust_env=False, timeout=60)
    answer = client.post("/login", data={"token": shop.add(who, **more)})
    assert answer.status_code == 303
    return client, answer


def csrf_of(client, path="/tables/visits"):
    return re.search(r'name="csrf" value="(\w+)"', client.get(path).text)[1]


def form(csrf, **more):
    return {"csrf": csrf, "statistic": "count", "epsilon": "1/10", "action": "release", **more}


def test_a_session_is_a_cookie_that_scripts_and_strangers_do_not_get(shop):
    client, answer = web(shop, "cookie")
    cookie = answer.headers["set-cookie"].lower()
    assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
    assert client.get("/").status_code == 200
    assert "Log out" in client.get("/").text
    client.post("/logout", data={"csrf": csrf_of(client)})
    assert "Your token" in client.get("/").text
    client.close()


def test_behind_a_proxy_the_cookie_is_for_encrypted_connections_to_this_very_name(tmp_path):
    with Server(tmp_path, "--no-pad", "--behind-proxy", "data.example.org") as shop:
        answer = httpx.post(f"{shop.url}/login", data={"token": shop.add()}, headers={"host": "data.example.org"},
                            trust_env=False)  # fmt: skip
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-soundsum=")
        assert "; Secure" in cookie
        assert "domain" not in cookie.lower()
        page = httpx.get(shop.url, headers={"host": "data.example.org", "cookie": cookie}, trust_env=False)
        assert "Log out" in page.text


def test_many_sessions_of_one_token_end_its_own_and_no_other():
    sessions = Sessions()
    other, first = sessions.begin(2), sessions.begin(1)
    last = [sessions.begin(1) for _ in range(MOST_SESSIONS)][-1]
    assert sessions.find(first) is None
    assert sessions.find(last).number == 1
    assert sessions.find(other).number == 2


def test_a_form_of_a_stranger_changes_nothing(shop):
    client, _ = web(shop, "victim")
    other, _ = web(shop, "attacker")
    before = len(shop.budget.entries())
    for csrf in ("", "x" * 64, csrf_of(other)):
        assert client.post("/tables/visits", data=form(csrf)).status_code == 403
        assert client.post("/logout", data={"csrf": csrf}).status_code == 403
    assert len(shop.budget.entries()) == before
    assert client.post("/tables/visits", data=form(csrf_of(client))).status_code == 303
    assert client.post("/login", data={"token": "x"}, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    client.close()
    other.close()


def test_a_form_sent_twice_is_charged_once(shop):
    client, _ = web(shop, "twice")
    before, csrf = len(shop.budget.entries()), csrf_of(client)
    places = [client.post("/tables/visits", data=form(csrf, key="k")).headers["location"] for _ in range(2)]
    assert len(set(places)) == 1
    assert len(shop.budget.entries()) == before + 1
    client.close()


PYTHON = {
    "sum": {"column": "cost"},
    "sum in bounds": {"statistic": "sum", "column": "age", "lower": "0", "upper": "90"},
    "mean": {"column": "cost", "by": "ward", "where": "age >= 18\ncost < 50"},
    "median": {"column": "cost"},
    "quantile": {"column": "cost", "quantile": "0.9", "by": "ward", "groups": "a, b"},
    "count": {"by": "ward"},
    "histogram": {"column": "age", "lower": "0", "upper": "90", "bins": "3"},
    "histogram of categories": {"statistic": "histogram", "column": "ward"},
    "variance": {"column": "cost"},
    "std": {"column": "cost"},
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON)
def test_the_line_in_python_asks_the_same(shop, name):
    client, _ = web(shop, f"line-{len(PYTHON[name])}-{name.replace(' ', '-')}")
    asked = form(csrf_of(client), **{"statistic": name, **PYTHON[name]})
    page = client.post("/tables/visits", data=asked | {"action": "plan"}).text
    line = html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1])
    assert client.post("/tables/visits", data=asked).status_code == 303
    eval(line.replace("token=...", f"token={shop.tokens.add(shop.budget.entries()[-1].asker.analyst)!r}"), {"ss": ss})
    theirs, ours = shop.budget.entries()[-2:]
    assert ours.asker == theirs.asker
    statistics = [[replace(one, name=None) for one in entry.query.statistics] for entry in (theirs, ours)]
    assert statistics[0] == statistics[1]
    assert replace(theirs.query, statistics=()) == replace(ours.query, statistics=())
    client.close()


def test_groups_are_found_from_the_page_and_their_names_are_text(tmp_path):
    """Names of groups come from the data, so from anybody who could write into it."""
    bad = ["<script>alert(1)</script>", " =1+1", "a\u202eb"]
    owner = FOUND.replace("max_groups = 3", "max_groups = 1")
    with Server(tmp_path, "--no-pad", owner=owner) as shop:
        rows = {"patient": list(range(300)), "ward": [bad[i % 3] for i in range(300)], "cost": [1.0] * 300}
        pq.write_table(pa.table(rows), tmp_path / "visits.parquet")
        shop.budget.set_share(Asker("ann", "visits"), "10000", "1/4")
        client = httpx.Client(base_url=shop.url, trust_env=False, timeout=60)
        client.post("/login", data={"token": shop.tokens.add("ann")})
        asked = form(csrf_of(client), statistic="groups", by="ward", epsilon="100", delta="1e-9")
        page = client.post("/tables/visits", data=asked | {"action": "plan"}).text
        assert "persons are found" in page
        assert re.search(r"It would leave (.*?) of your share", page)[1] == "epsilon = 9900, delta = 0.25"
        shown = client.post("/tables/visits", data=asked, follow_redirects=True)
        assert "<script>alert" not in shown.text
        assert "&lt;script&gt;" in shown.text
        assert "\u202e" not in shown.text
        lines = client.get(f"{shown.url.path}/csv").text
        assert "' =1+1," in lines
        line = html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1])
        assert line.endswith(".groups('ward', epsilon='100', delta='1e-9')")
        nobody = client.post("/tables/visits", data=asked | {"where": "ward = nobody"}, follow_redirects=True)
        assert (nobody.status_code, "No group was found" in nobody.text) == (200, True)
        assert client.get(f"{nobody.url.path}/csv").text.count("\n") == 1
        asked = form(csrf_of(client), statistic="sum", column="cost", by="ward", grouping="found", epsilon="100",
                     delta="1e-9", action="plan")  # fmt: skip
        page = client.post("/tables/visits", data=asked).text
        line = html.unescape(re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)[1])
        made = eval(line.replace("token=...", f"token={shop.tokens.add('ann')!r}"), {"ss": ss})
        assert sorted(made) == sorted(bad)
        client.close()


def test_what_is_wrong_with_a_form_is_said(shop):
    client, _ = web(shop, "wrong")
    before, csrf = len(shop.budget.entries()), csrf_of(client)
    for more in (
        {"key": "a b"},
        {"key": "k" * 300},
        {"column": "co\x00st", "statistic": "sum"},
        {"epsilon": "\u202e1"},
    ):
        for action in ("release", "plan") if "key" not in more else ("release",):
            answer = client.post("/tables/visits", data=form(csrf, **more, action=action))
            assert (answer.status_code, "cannot answer this" in answer.text) == (422, False), more
    assert len(shop.budget.entries()) == before
    client.close()


def test_who_goes_astray_gets_a_page_and_a_program_json(shop):
    for accept, kind in (("text/html,*/*", "text/html"), ("*/*", "application/json")):
        answer = httpx.get(f"{shop.url}/nowhere", headers={"accept": accept}, trust_env=False)
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (404, kind)
    answer = httpx.get(f"{shop.url}/v1/nowhere", headers={"accept": "text/html"}, trust_env=False)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/json")


def test_a_session_ends_with_its_token(shop):
    client, _ = web(shop, "fired")
    shop.tokens.revoke("fired")
    assert "Your token" in client.get("/").text
    assert client.post("/tables/visits", data=form("x")).status_code == 401
    client.close()


def test_downloads_are_the_release_and_no_formulas(shop):
    client, _ = web(shop, "down")
    data = form(csrf_of(client), by="ward", groups="a, =1+1")
    place = client.post("/tables/visits", data=data).headers["location"]
    got = client.get(f"{place}/json").json()
    assert [one["group"] for one in got["releases"]] == ["a", "=1+1"]
    lines = client.get(f"{place}/csv").text.splitlines()
    assert lines[0].startswith("name,ward,value,low,high")
    assert "'=1+1," in lines[2]
    stranger, _ = web(shop, "stranger")
    for path in (place, f"{place}/json", f"{place}/csv", "/tables/secrets"):
        answer = say_nothing_private(stranger.get(path), shop)
        assert answer.status_code == 404
    client.close()
    stranger.close()


def test_what_analysts_write_is_shown_as_text(shop):
    client, _ = web(shop, "html")
    answer = client.post("/tables/visits", data=form(csrf_of(client), by="<script>alert(1)</script>", groups="a"))
    assert "<script>" not in answer.text
    assert "&lt;script&gt;" in answer.text
    client.close()
