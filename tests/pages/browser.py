"""The system's Chromium, headless, spoken to over its DevTools protocol.

Through a pair of pipes (`--remote-debugging-pipe`), messages in JSON ended by a zero byte: no port, no driver to
install, and no library that would bring a browser of its own.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60


def command() -> str:
    """The browser's path; a test that needs one fails in one line where there is none, and no other test does."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.fail(f"no browser: install one of {', '.join(NAMES)}; `make browser` installs Debian's", pytrace=False)
    return found


@dataclass
class Tab:
    """A page that remembers what it asked of the network and what it complained of."""

    commands: int
    answers: int
    session: str | None = None
    sent: int = 0
    unread: bytes = b""
    events: list[dict] = field(default_factory=list)

    def call(self, method, **params):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while (answer := self._next(deadline)).get("id") != self.sent:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, event):
        deadline = time.monotonic() + PATIENCE
        while all(seen.get("method") != event for seen in self.events):
            self.events.append(self._next(deadline))

    def _next(self, deadline):
        while b"\0" not in self.unread:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"Chromium said nothing for {PATIENCE} s")
            piece = os.read(self.answers, 2**20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self.unread += piece
        message, _, self.unread = self.unread.partition(b"\0")
        return json.loads(message)

    def open(self, path: Path):
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait("Page.loadEventFired")

    def evaluate(self, script):
        """The value of an expression in the page, as JSON would give it."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def look(self, width, scheme="light", height=900, media="screen"):
        """The page at this width and in this theme; widths below 600 are a phone's."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def requests(self):
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self):
        wanted = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in wanted]

    def screenshot(self, path: Path):
        """The whole page as a PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def chromium(profile: Path):
    """A tab in a new Chromium, which ends with the block. Without its sandbox, as root cannot have it."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    arguments = [
        command(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
        "--no-first-run",
        "--disable-background-networking",
        "about:blank",
    ]
    # The protocol is on descriptors 3 and 4, which a shell can lay out.
    laid_out = ["bash", "-c", f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}', *arguments]
    with subprocess.Popen(
        laid_out, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        tab = Tab(ours_out, ours_in)
        try:
            target = tab.call("Target.createTarget", url="about:blank")["targetId"]
            tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                tab.call(f"{domain}.enable")
            yield tab
        finally:
            process.kill()
            os.close(ours_in)
            os.close(ours_out)
