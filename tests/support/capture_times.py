"""`python tests/support/capture_times.py [REQUESTS]`: the time that a capture adds to each piece, its memory, and the
losses of a kill.

The server writes the time into each piece; the client reads it when the piece has come, with and without a capture.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles

from capturing import RawServer, answer_with_call, asking, chunked
from glyphscope.runs import run_state
from glyphscope.store.records import read_record

PIECES, PAUSE = 400, 0.003


def timed(_: bytes) -> Iterator[bytes | float]:
    """A streamed answer of small pieces, each with the time at which it was sent."""
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for _number in range(PIECES):
        delta = {"content": f"@{time.monotonic_ns()}@"}
        piece = b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
        yield PAUSE
    yield b"0\r\n\r\n"


def delays(port: int) -> list[float]:
    """The milliseconds from server to client of each piece of one answer."""
    body = json.dumps(asking("a")).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    found: list[float] = []
    with closing(socket.create_connection(("127.0.0.1", port))) as made:
        made.sendall(head.encode() + body)
        rest = b""
        while b"\r\n0\r\n" not in rest:
            rest = rest[-40:] + made.recv(65536)
            now = time.monotonic_ns()
            sent = re.findall(rb"@(\d+)@", rest)
            found += [(now - int(each)) / 1e6 for each in sent]
            rest = rest[rest.rfind(b"@") + 1 :] if sent else rest
    return found


def memory(pid: int) -> list[float]:
    """The resident memory of a process and of its children, in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    children = {
        each for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()
    }
    return [pages * 4096 / 1e6, *(each for child in children for each in memory(int(child)))]


def words(times: list[float]) -> str:
    """The median and the 99th percentile."""
    return f"median {median(times):.3f} ms, 99% {quantiles(times, n=100)[98]:.3f} ms, {len(times)} pieces"


def command(folder: str, port: int) -> tuple[subprocess.Popen[str], int]:
    """A running capture, and its port."""
    call = ["glyphscope", "capture", "--to", f"http://127.0.0.1:{port}", "--port", "0", "--records", folder]
    made = subprocess.Popen(
        [sys.executable, "-m", *call], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert made.stderr is not None
    return made, int(re.findall(r"127\.0\.0\.1:(\d+)/v1", made.stderr.readline())[-1])


def killed(seconds: float) -> str:
    """Kill a capture while four agents ask, start it again, and compare the agents' answers with the records."""

    def answer(asked: bytes) -> list[bytes]:
        (name, *_) = (*re.findall(rb"n\d+", asked), b"")  # the kill may cut a request
        return chunked(*answer_with_call(json.dumps({"query": name.decode()})))

    server = RawServer(answer)
    got = dict[str, bytes]()

    def ask(agent: int) -> None:
        for number in range(100_000):
            name = f"n{agent}{number:05}"
            body = json.dumps(asking(name)).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
            head += f"content-length: {len(body)}\r\n\r\n"
            try:
                with closing(socket.create_connection(("127.0.0.1", port))) as client:
                    client.sendall(head.encode() + body)
                    while data := client.recv(65536):
                        got[name] = got.get(name, b"") + data
                        if data.endswith(b"0\r\n\r\n"):
                            break
            except OSError:
                return

    with tempfile.TemporaryDirectory() as folder:
        made, port = command(folder, server.port)
        agents = [threading.Thread(target=ask, args=(number,)) for number in range(1, 5)]
        for agent in agents:
            agent.start()
        time.sleep(seconds)
        made.kill()
        made.wait()
        for agent in agents:
            agent.join()
        left = len(list(Path(folder).glob("*.exchange")))
        time.sleep(2)  # the process of the records ends with the capture
        made, _ = command(folder, server.port)
        while list(Path(folder).glob("*.exchange")):
            time.sleep(0.1)
        made.kill()
        made.wait()
        server.close()
        runs = [run_state(read_record(file).events) for file in Path(folder).glob("*.jsonl")]
    written = {run.begun.request.prompt: run.stages[-1].text if run.stages else "" for run in runs}
    whole = [name for name, data in got.items() if data.endswith(b"0\r\n\r\n")]
    lost = [name for name in whole if name not in written.get(name, "")]
    cut = [name for name in got if name not in written]
    return (
        f"killed after {len(whole)} whole answers, with {left} files open or without a record: {len(runs)} records "
        f"after the next start; lost {len(lost)} whole answers and {len(cut)} of {len(got)} begun ones"
    )


def main(requests: int) -> None:
    """Print the times and the memory."""
    with tempfile.TemporaryDirectory() as folder:
        server = RawServer(timed)
        made, port = command(folder, server.port)
        delays(port)
        direct, through = [], []
        for _ in range(4):  # in turns, as the machine may do other things as well
            direct += delays(server.port)
            through += delays(port)
        print("direct: ", words(direct))
        print("capture:", words(through))
        print(f"added:   {median(through) - median(direct):.3f} ms at the median")
        made.kill()
        made.wait()
        server.close()
    print(killed(8.0))
    with tempfile.TemporaryDirectory() as folder:
        server = RawServer(chunked(*answer_with_call('{"query": "a"}')))
        made, port = command(folder, server.port)
        body = json.dumps(asking("a" * 2000)).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-length: {len(body)}\r\n\r\n"
        began = time.monotonic()
        for number in range(1, requests + 1):
            with closing(socket.create_connection(("127.0.0.1", port))) as client:
                client.sendall(head.encode() + body)
                got = b""
                while not got.endswith(b"0\r\n\r\n"):
                    got += client.recv(65536)
            while number % 100 == 0 and len(list(Path(folder).glob("*.exchange"))) > 100:
                time.sleep(0.1)
            if number % max(1, requests // 10) == 0:
                used = ", ".join(f"{each:.1f}" for each in memory(made.pid))
                print(f"{number:>6} requests, {time.monotonic() - began:.0f} s: {used} MB")
        while list(Path(folder).glob("*.exchange")):
            time.sleep(0.1)
        print(f"{len(list(Path(folder).glob('*.jsonl')))} records of {requests} requests")
        made.kill()
        made.wait()
        server.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000)
