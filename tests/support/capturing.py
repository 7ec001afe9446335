"""A capture between a client of raw bytes and a server of raw bytes, which both keep all that they get."""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from glyphscope.capture.breakpoints import Paused, Released
from glyphscope.capture.recording import Recorded
from glyphscope.capture.server import CaptureServer
from glyphscope.models.remote import read_address

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "search",
            "description": "Finds pages.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "max_results": {"type": "integer", "maximum": 100},
                },
                "required": ["query"],
            },
        },
    }
]


class RawServer:
    """Answers each connection with `pieces`: bytes, seconds to wait, or None to wait until the client leaves.

    `asked` has the whole requests, `gone` is set when a client left before the end.
    """

    def __init__(
        self, pieces: Sequence[Any] | Callable[[bytes], Sequence[Any]], listening: socket.socket | None = None
    ) -> None:
        self._pieces = pieces if callable(pieces) else lambda _: pieces
        self._socket = listening or socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._socket.getsockname()[1]
        self.asked: list[bytes] = []
        self.sent: list[bytes] = []
        self.gone = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                made, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(made,))
            self._threads.append(thread)
            thread.start()

    def _answer(self, made: socket.socket) -> None:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with made, suppress(OSError):
            made.settimeout(30)
            while request := read_message(made):
                self.asked.append(request)
                for piece in self._pieces(request):
                    if piece is None:
                        if not made.recv(1):
                            self.gone.set()
                        return
                    if isinstance(piece, float):
                        time.sleep(piece)
                        continue
                    made.sendall(piece)
                    self.sent.append(piece)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)


def read_message(made: socket.socket) -> bytes:
    """A whole HTTP message with its body; b"" at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := made.recv(65536)):
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        if not (more := made.recv(65536)):
            break
        body += more
    return head + b"\r\n\r\n" + body


def chunked(*pieces: bytes, kind: str = "text/event-stream", end: bool = True) -> list[bytes]:
    """A streamed answer, each piece as a chunk of HTTP."""
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nx-own: a\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    )
    chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]
    return [head, *chunks, *([b"0\r\n\r\n"] if end else [])]


def whole(document: Any, status: str = "200 OK") -> list[bytes]:
    """An answer that is not streamed."""
    body = json.dumps(document).encode()
    return [
        b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
        % (status.encode(), len(body), body)
    ]


def sse(*documents: Any) -> list[bytes]:
    """Events with these documents."""
    return [b"data: " + json.dumps(each, ensure_ascii=False).encode() + b"\n\n" for each in documents]


def delta(finish: str | None = None, **members: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    return {"choices": [{"index": 0, "delta": members, "finish_reason": finish}]}


def answer_with_call(arguments: str, name: str = "search") -> list[bytes]:
    """The events of an answer with a call."""
    first = {"index": 0, "id": "c1", "function": {"name": name, "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": arguments}}
    return [
        *sse(delta(tool_calls=[first]), delta(tool_calls=[rest]), delta("tool_calls")),
        b"data: [DONE]\n\n",
    ]


def asking(*texts: str, tools: Sequence[Any] = TOOLS, **more: Any) -> dict[str, Any]:
    """A request for a chat completion with these messages, of the user and the assistant in turns."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    return {"model": "m", "messages": messages, "tools": list(tools), "stream": True, **more}


class Capturing:
    """A running capture. `records` are those made so far, `notes` its sentences; `paused` and `released` are of its
    breakpoints.
    """

    server: CaptureServer
    port: int

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: list[Recorded] = []
        self.notes: list[str] = []
        self.paused: queue.Queue[Paused] = queue.Queue()
        self.released: queue.Queue[Released] = queue.Queue()
        self.came = threading.Condition()

    def add(self, recorded: Recorded) -> None:
        with self.came:
            self.records.append(recorded)
            self.came.notify_all()

    def record(self, number: int = 1) -> Recorded:
        """The record of that number, when it is made."""
        with self.came:
            assert self.came.wait_for(lambda: any(each.number == number for each in self.records), 60), (
                self.notes
            )
            return next(each for each in self.records if each.number == number)

    def send(
        self, body: Any = None, path: str = "/v1/chat/completions", method: str = "POST", **headers: str
    ) -> socket.socket:
        """A connection on which the request was sent."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"host": f"127.0.0.1:{self.port}", "content-length": str(len(data)), "user-agent": "own/1"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
        made = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        made.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + data)
        return made

    def ask(
        self, body: Any = None, path: str = "/v1/chat/completions", method: str = "POST", **headers: str
    ) -> tuple[int, bytes, bytes]:
        """The status, the head and the body of the answer to a request; the body is b"CUT" at its end if it was cut."""
        with closing(self.send(body, path, method, **headers)) as made:
            return read_answer(made)


def read_answer(made: socket.socket) -> tuple[int, bytes, bytes]:
    """The status, the head and the body, without the chunks' sizes; the body ends with b"CUT" if it was cut."""
    file = made.makefile("rb")
    head = b""
    while (line := file.readline()) not in (b"\r\n", b""):
        head += line
    low = head.lower()
    if b"transfer-encoding: chunked" in low:
        body = b""
        while size := file.readline():
            if not int(size, 16):
                return int(head.split()[1]), head, body
            body += file.read(int(size, 16))
            file.read(2)
        return int(head.split()[1]), head, body + b"CUT"
    length = int(low.partition(b"content-length:")[2].split()[0]) if b"content-length:" in low else 0
    body = file.read(length)
    return int(head.split()[1]), head, body if len(body) == length else body + b"CUT"


class Tap:
    """Forwards connections to a port, and keeps the bytes of both directions, by connection."""

    def __init__(self, to: int) -> None:
        self._to, self._bytes = to, list[tuple[bytearray, bytearray]]()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._socket.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def asked(self) -> list[tuple[bytes, bytes]]:
        """The head and the body of each request."""
        return [each for asked, _ in self._bytes for each in messages_in(bytes(asked))]

    @property
    def answered(self) -> list[tuple[bytes, bytes]]:
        """The head and the body of each answer."""
        return [each for _, answered in self._bytes for each in messages_in(bytes(answered))]

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._socket.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            kept = bytearray(), bytearray()
            self._bytes.append(kept)
            self._threads.append(threading.Thread(target=self._connect, args=(near, far, *kept)))
            self._threads[-1].start()

    @staticmethod
    def _connect(near: socket.socket, far: socket.socket, asked: bytearray, answered: bytearray) -> None:
        def forward(source: socket.socket, to: socket.socket, kept: bytearray) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    kept += data
                    to.sendall(data)
            for each in (source, to):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

        with near, far:
            other = threading.Thread(target=forward, args=(near, far, asked))
            other.start()
            forward(far, near, answered)
            other.join()


def messages_in(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The head and the body, without the chunks' sizes, of each HTTP message of a connection."""
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        low = head.lower()
        if b"\r\ntransfer-encoding: chunked" in low:
            body = b""
            while data:
                line, _, data = data.partition(b"\r\n")
                size = int(line, 16)
                body, data = body + data[:size], data[size + 2 :]
                if not size:
                    break
        else:
            size = int(low.partition(b"\r\ncontent-length:")[2].split(b"\r\n")[0] or 0)
            body, data = data[:size], data[size:]
        yield head, body


@contextmanager
def capturing(
    folder: Path,
    pieces: Sequence[Any] | Callable[[bytes], Sequence[Any]] = (),
    *,
    to: int | None = None,
    **more: Any,
) -> Iterator[tuple[Capturing, RawServer]]:
    """A capture that records in `folder`, and the server behind it, unless that has the port `to`."""
    upstream = RawServer(pieces)
    agent = Capturing(folder)
    server = agent.server = CaptureServer(
        read_address(f"http://127.0.0.1:{to or upstream.port}"), folder, port=0,
        recorded=agent.add, note=agent.notes.append, paused=agent.paused.put, released=agent.released.put, **more,
    )  # fmt: skip
    agent.port = server.port
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield agent, upstream
    finally:
        server.stop()
        upstream.close()
        thread.join(60)
