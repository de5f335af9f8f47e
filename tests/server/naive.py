"""An endpoint as many are: whatever sum it is given to compute, with exact noise, answered when it is done."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from soundsum.attacks.delivery.outcome import ordinary_release


@contextmanager
def serve_naively(add_up, ideal, epsilon):
    """`add_up` gets a request's path and body; noise is for the ideal sensitivity. Gives the address."""

    class Naive(BaseHTTPRequestHandler):
        def do_POST(self):
            total = add_up(self.path, self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps({"value": str(ordinary_release(total, ideal, epsilon))}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Naive)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
