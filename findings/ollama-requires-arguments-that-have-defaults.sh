#!/usr/bin/env bash
# Expected: a Python function in `tools` is sent with the JSON Schema of its arguments: those with a default are not required, a Literal has its values,
#   a list its items' type, and `int | list[int]` is one of two types.
# Happens: the client (ollama 0.6.3) requires arguments that have defaults, unless None is among their types; of a Literal and an Enum it sends
#   "string" without the values, of a list no items, and of a union the "type" "integer, array", which is no type of JSON Schema (and "array, integer"
#   in another process: the order is that of a set).
# Who meets it: whoever passes functions to ollama.chat: the model must fill in what has a default, and is not told which values there are; a
#   server, proxy or recorder that checks schemas rejects the tool with a union.
# Here: such a type in a list of tools is an error with its place and the list to write; of a captured tool with it, any arguments count as valid, as
#   the run says (docs/formats.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check ollama==0.6.3 jsonschema==4.26.0
"$folder/env/bin/python" - <<'PYTHON'
import json
import threading
from enum import Enum
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Literal

import jsonschema
import ollama

bodies = []


class Scripted(BaseHTTPRequestHandler):
    """Answers in words."""

    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        answer = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True, "message": {"role": "assistant", "content": "Yes."}}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


def plain(text: str, times: int, exact: bool):
    """As expected: no defaults, values or items."""


def defaults(text: str, times: int = 1, limit: int | None = None):
    """One argument must be there."""


def values(unit: Literal["km", "mi"], size: Size):
    """Two values each."""


def items(words: list[str]):
    """A list of texts."""


def union(page: int | list[int]):
    """A number or a list of them."""


server = HTTPServer(("127.0.0.1", 0), Scripted)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = ollama.Client(host=f"http://127.0.0.1:{server.server_port}")


def sent(function):
    client.chat(model="m", messages=[{"role": "user", "content": "Go."}], tools=[function])
    return bodies[-1]["tools"][0]["function"]["parameters"]


def is_schema(schema):
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


# function: what is looked at, expected, as seen
SEEN = {
    plain: (lambda schema: schema["required"], ["text", "times", "exact"], ["text", "times", "exact"]),
    defaults: (lambda schema: schema["required"], ["text"], ["text", "times"]),
    values: (lambda schema: [each.get("enum") for each in schema["properties"].values()], [["km", "mi"], ["small", "large"]], [None, None]),
    items: (lambda schema: schema["properties"]["words"].get("items"), {"type": "string"}, None),
    union: (lambda schema: (sorted(str(schema["properties"]["page"]["type"]).split(", ")), is_schema(schema)), "anyOf, a schema", (["array", "integer"], False)),
}  # fmt: skip
changed = False
for function, (look, expected, known) in SEEN.items():
    found = look(sent(function))
    print(f"{function.__name__}\n  expected      {expected}\n  ollama 0.6.3  {found}")
    changed |= found != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
