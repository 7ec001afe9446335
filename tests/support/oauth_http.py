"""An MCP server over HTTP that requires OAuth, with its own authorization server. Without a library."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class OAuthServer(ThreadingHTTPServer):
    """`seen` are the requested paths, `token` the currently accepted one."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, behaviour: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.seen: list[str] = []
        self.token = "first-secret-token"
        self.expires = 3600
        self.redirect = ""
        self.asked: list[dict[str, str]] = []
        """The parameters of requests for authorization and for tokens, with the header Authorization."""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have left."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OAuthServer

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_DELETE(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        server, parts = self.server, urlsplit(self.path)
        server.seen.append(parts.path)
        if parts.path == "/.well-known/oauth-protected-resource/mcp":
            self._json({"resource": server.url, "authorization_servers": [server.origin]})
        elif parts.path == "/.well-known/oauth-authorization-server":
            at = "http://sign-in.test" if server.behaviour == "plain-address" else server.origin
            self._json(
                {
                    "issuer": server.origin,
                    "authorization_endpoint": f"{at}/authorize",
                    "token_endpoint": f"{server.origin}/token",
                    "registration_endpoint": f"{server.origin}/register",
                    "code_challenge_methods_supported": ["S256"],
                    "client_id_metadata_document_supported": server.behaviour == "documents",
                }
            )
        elif parts.path == "/authorize":
            asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
            server.redirect = asked["redirect_uri"]
            server.asked.append(asked)
            answer = {"code": "c0de", "state": asked["state"]}
            if server.behaviour == "refuses":
                answer = {"error": "access_denied", "error_description": "not you", "state": asked["state"]}
            self.send_response(302)
            self.send_header("location", f"{asked['redirect_uri']}?{urlencode(answer)}")
            self.send_header("content-length", "0")
            self.end_headers()
        else:
            self._json({}, 405)

    def do_POST(self) -> None:
        server, path = self.server, urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        server.seen.append(path)
        if path == "/register" and server.behaviour == "no-registration":
            self._json({}, 404)
        elif path == "/register":
            self._json({**json.loads(body), "client_id": "glyph"}, 201)
        elif path == "/token":
            form = {key: values[0] for key, values in parse_qs(body.decode()).items()}
            server.asked.append({**form, "authorization": self.headers.get("authorization", "")})
            if server.behaviour == "no-token":
                self._json({"error": "invalid_grant"}, 400)
                return
            if form["grant_type"] == "refresh_token":
                server.seen.append("refresh")
                server.token = "second-secret-token"
            self._json(
                {
                    "access_token": server.token,
                    "token_type": "bearer",
                    "expires_in": server.expires,
                    "refresh_token": "refresh-secret",
                }
            )
        elif self.headers.get("authorization") != f"Bearer {server.token}":
            where = f'Bearer resource_metadata="{server.origin}/.well-known/oauth-protected-resource/mcp"'
            self._json({}, 401, {"www-authenticate": where})
        else:
            self._rpc(json.loads(body))

    def _rpc(self, message: dict[str, Any]) -> None:
        id, method = message.get("id"), message["method"]
        if id is None:
            self._json({}, 202)
            return
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object", "properties": {}}}]},
        }
        said = {"content": [{"type": "text", "text": str(self.headers.get("authorization"))}]}
        self._json({"jsonrpc": "2.0", "id": id, "result": results.get(method, said)})

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for key, words in (headers or {}).items():
            self.send_header(key, words)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def oauth_server(behaviour: str = "") -> Iterator[OAuthServer]:
    server = OAuthServer(behaviour)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Browser:
    """Signs in at once, in a separate thread; `opened` are the addresses it was given."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.read: list[str] = []

    def __call__(self, address: str) -> bool:
        self.opened.append(address)
        threading.Thread(target=self._visit, args=(address,)).start()
        return True

    def _visit(self, address: str) -> None:
        loopback = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        with urllib.request.urlopen(f"{loopback}?code=stolen&state=foreign", timeout=20) as answer:
            self.read.append(answer.read().decode())
        with urllib.request.urlopen(address, timeout=20) as answer:
            self.read.append(answer.read().decode())
