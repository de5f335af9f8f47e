"""docs/server.md and docs/server/running.md work as they are written: files, commands and Python, first to last."""

import re
import shlex
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import httpx
import pytest

import soundsum as ss
from soundsum.server.owner_file import read_owner_file
from tests.processes import COMMAND, run

from .running import Server

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "server.md").read_text() + (DOCS / "server" / "running.md").read_text()


def blocks(language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, analyst = blocks("python")
    exec(data, {})
    first, later = blocks("sh")
    printed = [run([COMMAND, *shlex.split(line)[1:]], text=True) for line in first.splitlines()]
    assert [one.returncode for one in printed] == [0, 0, 0], printed
    assert all((tmp_path / name).stat().st_mode & 0o077 == 0 for name in ("visits.db", "owner.tokens"))
    token, owner = printed[1].stdout.strip(), printed[2].stdout.strip()
    file = tmp_path / "owner.toml"
    (public,) = blocks("toml")
    file.write_text(file.read_text().split("[tables.visits.schema]")[0] + public)
    assert list(read_owner_file(str(file))) == ["visits"]
    server = Server.__new__(Server)
    server.folder, server.options, server.owner, server.port = tmp_path, (), file, 0
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.port = free.getsockname()[1]
    server.url = f"http://127.0.0.1:{server.port}"
    with server:
        code = analyst.replace("http://127.0.0.1:8000", server.url).replace("ss_1_...", token)
        found = {}
        exec(code, found)
        assert list(found["r"]) == ["a", "b", "c"]
        assert ss.check(found["r"]) == []
        (asked,) = blocks("json")
        with server.client(token) as client:
            answer = client.post("/v1/tables/visits/release", content=asked)
            assert answer.status_code == 200
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            client.post("/login", data={"token": owner})
            assert "What was spent" in client.get("/").text
    for line in later.splitlines():
        assert run([COMMAND, *shlex.split(line)[1:]], text=True).returncode == 0, line


def test_its_other_files_say_what_the_commands_take():
    """The unit, the container file and nginx's are not run here, but the commands in them are parsed."""
    commands = re.findall(r"^ExecStart=(.*)$", blocks("ini")[0], re.MULTILINE)
    commands += [" ".join(re.findall(r'"([^"]*)"', re.search(r"^CMD (.*)$", blocks("dockerfile")[0], re.MULTILINE)[1]))]
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command)[1:]
        ran = subprocess.run(
            [sys.executable, "-m", "soundsum", *words], capture_output=True, text=True, cwd="/", timeout=60
        )
        assert (ran.returncode, "owner.toml" in ran.stderr) == (2, True), ran.stderr  # read, and missing


@pytest.mark.parametrize("toml", blocks("toml"))
def test_its_toml_is_toml(toml):
    assert tomllib.loads(re.sub(r"(?m)^ {3}", "", toml))
