"""An MCP server over HTTP in a thread of the test, also with violations of the protocol. Without a library."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANYTHING = {"type": "object", "properties": {}}
TOOLS = ["echo", "events", "flood", "gone", "hang", "headers", "large", "nothing", "packed", "page", "vanish"]


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, refuse: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.refuse = refuse
        self.methods: list[str] = []
        self.over = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have left."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        self.server.methods.append("DELETE")
        self._answer(200, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, id = message["method"], message.get("id")
        self.server.methods.append(method)
        if self.server.refuse:
            self._answer(self.server.refuse, b"no")
        elif id is None:
            self._answer(202, b"")
        elif method == "initialize":
            found = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "http", "version": "1"},
            }
            session = {} if self.path.endswith("/sessionless") else {"mcp-session-id": "s1"}
            self._json({"id": id, "result": found}, session)
        elif method == "tools/list":
            self._json({"id": id, "result": {"tools": [{"name": n, "inputSchema": ANYTHING} for n in TOOLS]}})
        else:
            getattr(self, "_" + message["params"]["name"])(id, message["params"])

    def _echo(self, id: int, params: dict[str, Any]) -> None:
        self._text(id, json.dumps(params.get("arguments")))

    def _headers(self, id: int, params: dict[str, Any]) -> None:
        self._text(id, json.dumps({key.lower(): value for key, value in self.headers.items()}))

    def _events(self, id: int, params: dict[str, Any]) -> None:
        token = params["_meta"]["progressToken"]
        step = {"progressToken": token, "progress": 1, "message": "half"}
        self._stream()
        self._event({"method": "notifications/progress", "params": step})
        time.sleep(0.05)
        self._event({"id": id, "result": {"content": [{"type": "text", "text": "streamed"}]}})

    def _flood(self, id: int, params: dict[str, Any]) -> None:
        self._stream()
        for _ in range(2000):
            self._event({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
            self._event({"method": "notifications/tools/list_changed"})
        self._event({"id": id, "result": {"content": []}})

    def _large(self, id: int, params: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % id)
        for _ in range(50):
            self.wfile.write(b"x" * 1_000_000)
        self.wfile.write(b'"}]}}')
        self.close_connection = True

    def _packed(self, id: int, params: dict[str, Any]) -> None:
        self._answer(200, gzip.compress(b" " * 100_000_000, 1), {"content-encoding": "gzip"})

    def _page(self, id: int, params: dict[str, Any]) -> None:
        self._answer(200, b"<html>welcome</html>", {"content-type": "text/html"})

    def _nothing(self, id: int, params: dict[str, Any]) -> None:
        self._answer(202, b"")

    def _hang(self, id: int, params: dict[str, Any]) -> None:
        self.server.over.wait(30)
        self.close_connection = True

    def _vanish(self, id: int, params: dict[str, Any]) -> None:
        self.close_connection = True

    def _gone(self, id: int, params: dict[str, Any]) -> None:
        self._answer(404, b"")

    def _text(self, id: int, text: str) -> None:
        self._json({"id": id, "result": {"content": [{"type": "text", "text": text}]}})

    def _json(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._answer(200, json.dumps({"jsonrpc": "2.0", **message}).encode(), headers)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def _event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in ({"content-type": "application/json"} | (headers or {})).items():
            self.send_header(key, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def http_server(refuse: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield its address, and the methods requested so far; `/sessionless` below it opens no session.

    `refuse` is a status that every request gets.
    """
    server = _Server(refuse)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", server.methods
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
