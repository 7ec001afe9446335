"""A Hub in a thread of the test: models' descriptions, files with ranges and redirects, and all its errors."""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx2
import pytest
from huggingface_hub import constants
from huggingface_hub.utils._http import hf_request_event_hook

from glyphscope.base.errors import GlyphscopeError
from glyphscope.models.remote import Timeouts
from glyphscope.processes import Child

QUICK = Timeouts(connect=1.0, first=2.0, between=1.0, attempts=3, retrying=5.0, wait=0.01, longest=0.05)
COMMIT = "c0ffee" * 6 + "beef"
REPO = "maker/tiny-GGUF"


def gguf(size: int = 4096, *, words: int = 3) -> bytes:
    """Return a complete GGUF file without weights, with an architecture and a vocabulary; about `size` bytes."""

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    pairs = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    pairs += text("general.file_type") + struct.pack("<II", 4, 15)
    pairs += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, words)
    pairs += b"".join(text(f"w{n}") for n in range(words))
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 3) + pairs
    return head + (bytes(range(251)) * (size // 251 + 1))[: max(size - len(head), 64)]


class FakeHub(ThreadingHTTPServer):
    """Its contents and faults may be changed at any time; `asked` are the requests so far."""

    daemon_threads = False
    block_on_close = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, dict[str, bytes]] = {REPO: {"README.md": b"# tiny", "tiny-Q4_K_M.gguf": gguf()}}
        self.plain: set[str] = set()  # files outside LFS: they have git's hash only
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.statuses: list[tuple[int, dict[str, str]]] = []  # answered first, in turn
        self.file_statuses: list[tuple[int, dict[str, str]]] = []  # the same, to requests for files
        self.cuts: list[int] = []  # bytes after which a connection for a file ends
        self.stall_after = -1  # bytes after which a connection stalls, until `over`
        self.no_ranges = False
        self.other_range = False
        self.tampered: dict[str, bytes] = {}  # sent in place of a file
        self.required_token = ""
        self.cdn = ""  # another server's address, which has the files
        self.body: bytes | None = None  # sent in place of a description
        self.silent = False
        self.moved: dict[str, str] = {}
        self.downloads: dict[str, int] = {}
        self.over = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def ranges(self) -> list[str]:
        """Return the requested ranges of files."""
        return [headers.get("range", "") for _, path, headers in self.asked if "/resolve/" in path]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have left."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeHub

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        hub, path = self.server, unquote(urlsplit(self.path).path)
        hub.asked.append(("GET", self.path, {name.lower(): value for name, value in self.headers.items()}))
        if hub.silent:
            hub.over.wait(30)
            self.close_connection = True
            return
        if hub.required_token and self.headers.get("authorization") != f"Bearer {hub.required_token}":
            self._send(401, b"", {"x-error-message": "Invalid username or password."})
            return
        statuses = hub.statuses if path.startswith("/api/") else hub.file_statuses
        if statuses:
            status, headers = statuses.pop(0)
            self._send(status, b"", headers)
        elif path == "/api/models":
            self._search()
        elif path.startswith("/api/models/"):
            self._describe(path.removeprefix("/api/models/"))
        else:
            self._file(path.strip("/"))

    def _search(self) -> None:
        """Answer as the real Hub does: every word is in the name; the order and numbers are those of `downloads`."""
        hub, query = self.server, parse_qs(urlsplit(self.path).query)
        words = query.get("search", [""])[0].lower().split()
        found = [repo for repo in hub.repos if all(word in repo.lower() for word in words)]
        found.sort(key=lambda repo: -hub.downloads.get(repo, 0))
        hits = [{"id": repo, "downloads": hub.downloads.get(repo, 0), "tags": ["gguf"]} for repo in found]
        body = json.dumps(hits[: int(query["limit"][0])]).encode()
        self._send(200, body if hub.body is None else hub.body)

    def _describe(self, name: str) -> None:
        hub = self.server
        repo, _, revision = name.partition("/revision/")
        if repo in hub.moved:
            self._send(307, b"", {"location": f"/api/models/{hub.moved[repo]}?blobs=true"})
        elif repo not in hub.repos:
            self._send(404, b'{"error":"Repository not found"}', {"x-error-code": "RepoNotFound"})
        elif revision not in ("", "main", COMMIT):
            self._send(404, b"", {"x-error-code": "RevisionNotFound"})
        elif hub.body is not None:
            self._send(200, hub.body)
        else:
            siblings = [self._sibling(path, data) for path, data in hub.repos[repo].items()]
            self._send(200, json.dumps({"id": repo, "sha": COMMIT, "siblings": siblings}).encode())

    def _sibling(self, path: str, data: bytes) -> dict[str, Any]:
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        entry: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": blob}
        if path.endswith(".gguf") and path not in self.server.plain:
            entry["lfs"] = {
                "sha256": hashlib.sha256(data).hexdigest(),
                "size": len(data),
                "pointerSize": 134,
            }
        return entry

    def _file(self, path: str) -> None:
        hub = self.server
        repo, resolved, rest = path.partition("/resolve/")
        if resolved and hub.cdn:
            self._send(302, b"", {"location": f"{hub.cdn}/{path}"})
            return
        file = rest.partition("/")[2]
        data = hub.tampered.get(file, hub.repos.get(repo, {}).get(file))
        if data is None:
            self._send(404, b"", {"x-error-code": "EntryNotFound"})
            return
        start = 0
        range_header = self.headers.get("range", "")
        if range_header and not hub.no_ranges:
            start = int(range_header.removeprefix("bytes=").rstrip("-")) + (1 if hub.other_range else 0)
            if start >= len(data):
                self._send(416, b"", {"content-range": f"bytes */{len(data)}"})
                return
        self.send_response(206 if range_header and not hub.no_ranges else 200)
        self.send_header("etag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("content-length", str(len(data) - start))
        if range_header and not hub.no_ranges:
            self.send_header("content-range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self._body(data[start:])

    def _body(self, data: bytes) -> None:
        hub = self.server
        if hub.stall_after >= 0:
            self.wfile.write(data[: hub.stall_after])
            self.wfile.flush()
            hub.over.wait(30)
            self.close_connection = True
        elif hub.cuts:
            self.wfile.write(data[: hub.cuts.pop(0)])
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        else:
            self.wfile.write(data)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class HubInTest:
    """Replaces the process that accesses the Hub: the test calls its code, which starts at once.

    Does not end a download: tests that cancel one use the process.
    """

    def __init__(self, *_: object, **__: object) -> None: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...

    def call(self, _seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)


def hub_in_thread(monkeypatch: Any, address: str) -> None:
    """Send requests to that Hub from a thread: no token, no certificates, which load slowly, no long pauses."""
    monkeypatch.setattr("glyphscope.models.hub.jobs.Child", HubInTest)
    monkeypatch.setattr("glyphscope.models.hub.client.get_token", lambda: None)
    monkeypatch.setattr("glyphscope.models.hub.client.FILE", QUICK)
    monkeypatch.setattr("glyphscope.models.hub.client.QUESTION", QUICK)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    sleep = time.sleep
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: sleep(min(seconds, 0.01)))
    hooks: Any = {"request": [hf_request_event_hook]}
    limits = httpx2.Limits(max_keepalive_connections=0)
    client = httpx2.Client(
        event_hooks=hooks, follow_redirects=True, verify=False, trust_env=False, limits=limits
    )
    monkeypatch.setattr("glyphscope.models.hub.client.get_session", lambda: client)
    monkeypatch.setattr("huggingface_hub.utils._http.get_session", lambda: client)


def hub_in_process(monkeypatch: Any, address: str, home: Path) -> None:
    """Send requests to that Hub from a process, as for a user; `home` has no token."""
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("glyphscope.models.hub.jobs.Child", Child)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("HF_ENDPOINT", address)


@contextmanager
def fake_hub() -> Iterator[FakeHub]:
    """A Hub that answers until the end of the block."""
    hub = FakeHub()
    thread = threading.Thread(target=hub.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        hub.over.set()
        hub.shutdown()
        hub.server_close()
        thread.join()


def refused(do: Callable[[], object]) -> GlyphscopeError:
    """Return the final error, which has a message, a place and a hint."""
    with pytest.raises(GlyphscopeError) as caught:
        do()
    assert caught.value.message and caught.value.where and caught.value.hint, caught.value
    return caught.value
