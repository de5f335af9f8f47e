"""An object store on this machine: the part of S3's protocol that lists and reads objects, over HTTP, from a folder."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class ObjectStore:
    """Buckets are the folders of a folder, objects the files in them."""

    def __init__(self, folder: Path) -> None:
        self.denied = False
        self.server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (Handler,), {"store": self, "root": folder})
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectStore
    root: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        asked, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        file = self.root / unquote(asked.path).lstrip("/")
        if self.store.denied:
            self._answer(403, _error("AccessDenied"))
        elif "list-type" in query:
            self._answer(200, self._list(file, query.get("prefix", [""])[0], query.get("delimiter", [""])[0]))
        elif not file.is_file():
            self._answer(404, _error("NoSuchKey"))
        else:
            self._answer_with(file.read_bytes())

    def _answer_with(self, content: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self._answer(200, content)
            return
        first, last = wanted.groups()
        begin = int(first) if first else max(0, len(content) - int(last))
        end = min(int(last), len(content) - 1) if first and last else len(content) - 1
        self._answer(206, content[begin : end + 1], {"Content-Range": f"bytes {begin}-{end}/{len(content)}"})

    def _list(self, bucket: Path, prefix: str, delimiter: str) -> bytes:
        keys = sorted(str(file.relative_to(bucket)) for file in bucket.rglob("*") if file.is_file())
        keys = [key for key in keys if key.startswith(prefix)]
        below = {key: key[len(prefix) :].partition(delimiter)[0] if delimiter else key for key in keys}
        common = {prefix + below[key] + delimiter for key in keys if delimiter and delimiter in key[len(prefix) :]}
        plain = [key for key in keys if not delimiter or delimiter not in key[len(prefix) :]]
        objects = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{(bucket / key).stat().st_size}</Size><ETag>1</ETag>"
            "<LastModified>2024-05-06T00:00:00.000Z</LastModified></Contents>"
            for key in plain
        )
        prefixes = "".join(f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in sorted(common))
        count = len(plain) + len(common)
        return (
            f"<ListBucketResult><Name>{bucket.name}</Name><KeyCount>{count}</KeyCount><IsTruncated>false</IsTruncated>"
            f"{objects}{prefixes}</ListBucketResult>"
        ).encode()

    def _answer(self, status: int, content: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        headers = {"ETag": '"1"', "Last-Modified": "Mon, 06 May 2024 00:00:00 GMT", "Accept-Ranges": "bytes"}
        for name, value in {**headers, **(more or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
