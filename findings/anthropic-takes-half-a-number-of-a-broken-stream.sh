#!/usr/bin/env bash
# Expected: a chat completion that breaks off in the middle of a tool call ends with an error, or the call is marked as incomplete.
# Happens: anthropic 2.14.0 reads the arguments so far as whole JSON: a stream that ends after `"amount": 12` of 1250 gives a tool_use
#   block with the input {"amount": 12}, and get_final_message raises nothing; only stop_reason is None. Its parser, jiter, drops texts that
#   are cut and keeps numbers that are.
# Who meets it: whoever runs tools on the final message of stream() behind a proxy with a time limit: the amount is another one.
# Here: endpoints are read by code of our own (decision 19), where a stream that breaks off is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check anthropic==2.14.0
"$folder/env/bin/python" - <<'PYTHON'
import http.server
import json
import threading

import anthropic

PIECES = ['{"to": "Ann', 'a", "amount": 12', "50}"]


def event(kind, **members):
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | members)}\n\n"


def stream(pieces, complete):
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield event("message_start", message=message)
    call = {"type": "tool_use", "id": "t", "name": "pay", "input": {}}
    yield event("content_block_start", index=0, content_block=call)
    for piece in pieces:
        yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
    if complete:
        yield event("content_block_stop", index=0)
        yield event("message_delta", delta={"stop_reason": "tool_use"}, usage=usage)
        yield event("message_stop")


class Server(http.server.BaseHTTPRequestHandler):
    events = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(self.events).encode())

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.server_port}", api_key="none", max_retries=0)
# pieces that arrive, whether the stream has its end: (input of the call, stop_reason) as seen
SEEN = [
    (3, True, ({"to": "Anna", "amount": 1250}, "tool_use")),
    (2, False, ({"to": "Anna", "amount": 12}, None)),
    (1, False, ({}, None)),
]
changed = False
for count, complete, known in SEEN:
    Server.events = list(stream(PIECES[:count], complete))
    messages = [{"role": "user", "content": "Pay Anna 1250."}]
    with client.messages.stream(model="m", max_tokens=99, messages=messages) as answer:
        message = answer.get_final_message()
    seen = (message.content[0].input, message.stop_reason)
    print(f"{''.join(PIECES[:count])}\n  expected {'the call' if complete else 'an error'}\n  anthropic 2.14.0 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
