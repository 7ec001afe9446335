"""A keystroke in an editor: the time from the changed text to its diagnostics, by `glyphscope lsp` in its process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import IO, Any

from glyphscope_benchmarks.figures import Figure, Row, at_most
from glyphscope_benchmarks.grammars import RULES, edited_grammar
from glyphscope_benchmarks.timing import Plan, seconds

KEYSTROKE = Row(
    f"a grammar of {RULES:,} rules in an editor, a keystroke",
    "ms",
    "from the change to all diagnostics, by the language server in its process",
    at_most(100.0),
)
_URI = "file:///grammar.gbnf"


def figures(plan: Plan) -> Iterator[Figure]:
    """The figure; missing without the extra `lsp`."""
    if find_spec("pygls") is None:
        yield KEYSTROKE.missing("the extra lsp is not installed")
        return
    edits = edited_grammar(plan.rounds)
    command = [sys.executable, "-m", "glyphscope", "lsp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None and server.stdout is not None
        into, said = server.stdin, server.stdout
        _send(into, "initialize", {"capabilities": {}}, 1)
        _send(into, "initialized", {})
        item = {"uri": _URI, "languageId": "gbnf", "version": 0, "text": edits[0]}
        _send(into, "textDocument/didOpen", {"textDocument": item})
        _wait(said, 0)
        taken = []
        for version, text in enumerate(edits[1:], 1):
            change = {"textDocument": {"uri": _URI, "version": version}, "contentChanges": [{"text": text}]}

            def type_and_wait(change: dict[str, Any] = change, version: int = version) -> None:
                _send(into, "textDocument/didChange", change)
                _wait(said, version)

            taken.append(seconds(type_and_wait) * 1000)
        _send(into, "shutdown", None, 2)
        _send(into, "exit", None)
        said.read()
    yield KEYSTROKE.of(taken)


def _send(to: IO[bytes], method: str, params: Any, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | (
        {} if number is None else {"id": number}
    )
    data = json.dumps({key: value for key, value in message.items() if value is not None}).encode()
    to.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
    to.flush()


def _wait(stream: IO[bytes], version: int) -> None:
    """Read until the diagnostics of that version."""
    while True:
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message = json.loads(stream.read(length))
        if (message.get("params") or {}).get("version") == version:
            return
