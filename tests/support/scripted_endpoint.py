"""An OpenAI-compatible endpoint on loopback that answers by script, also in ways that violate the protocol."""

from __future__ import annotations

import json
import select
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.models.remote import RemoteModel, Timeouts, open_remote, read_address

DONE = b"data: [DONE]\n\n"
CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Of 127.0.0.1, signed by itself, with its key; valid for a hundred years."""


class Cut:
    """The connection ends here, in the middle of the answer."""


class Hang:
    """Nothing follows, until the client disconnects."""


class Answer(NamedTuple):
    """The response to a request. `pieces` are bytes, seconds to wait, `Cut` or `Hang`."""

    pieces: Sequence[Any] = ()
    status: int = 200
    kind: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()


class Asked(NamedTuple):
    """A received request, unchanged."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def event(document: Any) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


def chunk(text: str | None = None, *, finish: str | None = None, **more: Any) -> bytes:
    """A chunk with that text; `more` are members of its delta, but for `logprobs` and `usage`."""
    delta = more.pop("delta", {}) | ({} if text is None else {"content": text})
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": more.pop("logprobs", None)}
    return event({"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **more})


def said(*texts: str, finish: str = "stop") -> Answer:
    """Return a well-formed answer with these texts."""
    return Answer((*(chunk(text) for text in texts), chunk(finish=finish), DONE))


def counted(prompt: int, tokens: int, cached: int = 0) -> bytes:
    usage = {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}
    usage |= {"prompt_tokens_details": {"cached_tokens": cached}}
    return event({"id": "c1", "choices": [], "usage": usage})


class Endpoint(ThreadingHTTPServer):
    """`asked` has the chat requests, `posted` those to other paths; `gone` is set once a client left before the
    end of its answer.
    """

    daemon_threads = False
    block_on_close = True

    def __init__(self, answers: Sequence[Answer], paths: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.paths = list(answers), paths
        self.asked: list[Asked] = []
        self.got: list[Asked] = []
        self.posted: list[Asked] = []
        self.gone = threading.Event()
        self.over = threading.Event()
        self.scheme = "http"

    def encrypt(self) -> None:
        """Serve HTTPS from now on, with `CERTIFICATE`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.scheme = "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have left."""
        self.gone.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 0.5  # of an idle keep-alive connection
    server: Endpoint

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._by_path({})

    def _by_path(self, body: dict[str, Any]) -> None:
        self.server.got.append(Asked(self.path, dict(self.headers.items()), {}))
        answer = self.server.paths.get(self.path, Answer((b"{}",), 404, "application/json"))
        if callable(answer):
            answer = answer(body)
        if not isinstance(answer, Answer):
            answer = Answer((json.dumps(answer).encode(),), kind="application/json")
        self._answer(answer)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path in self.server.paths or not self.path.endswith(("completions", "responses")):
            self.server.posted.append(Asked(self.path, headers, body))
            self._by_path(body)
            return
        self.server.asked.append(Asked(self.path, headers, body))
        answers = self.server.answers
        self._answer(answers[min(len(self.server.asked), len(answers)) - 1])

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("content-type", answer.kind)
        self.send_header("transfer-encoding", "chunked")
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        for piece in answer.pieces:
            if piece is Cut:
                self.close_connection = True
                return
            if piece is Hang:
                self._until_gone()
                return
            if isinstance(piece, int | float):
                time.sleep(piece)
                continue
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _until_gone(self) -> None:
        self.close_connection = True
        while not self.server.over.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if readable:
                with suppress(OSError):
                    if self.connection.recv(1024):
                        continue
                self.server.gone.set()
                return


@contextmanager
def endpoint(
    *answers: Answer, owner: str = "llamacpp", models: Any = None, encrypted: bool = False, **paths: Any
) -> Iterator[Endpoint]:
    """A server that answers the n-th chat request with the n-th answer, and every further one with the last.

    `owner` is the owner of its model, which implies its dialect; `paths` are other paths by name, without the slash;
    a function makes the answer of the request's body.
    """
    listed = {"object": "list", "data": [{"id": "tiny", "object": "model", "owned_by": owner}]}
    given = {f"/{name}": value for name, value in paths.items()}
    server = Endpoint(answers, {"/v1/models": listed if models is None else models, **given})
    if encrypted:
        server.encrypt()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


SHORT = Timeouts(connect=5.0, first=20.0, between=20.0, attempts=3, retrying=20.0, wait=0.02, longest=0.5)
"""Short pauses between attempts, and long timeouts: the machine may be busy."""
SHORTEST = SHORT._replace(first=0.5, between=0.4)
"""For an endpoint that is to time out."""


@contextmanager
def remote(server: Endpoint, tail: str = "", patience: Timeouts = SHORT) -> Iterator[RemoteModel]:
    """The model behind it; `tail` is appended to the server's address."""
    model = open_remote(read_address(server.url + tail), patience=patience)
    try:
        yield model
    finally:
        model.close()
