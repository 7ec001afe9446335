#!/usr/bin/env bash
# Expected: a request for Messages has the whole conversation with its tools and system prompt, as the interface keeps no state.
# Happens: tool_runner of the client (anthropic 2.14.0) adds `thread` to each request by default. The first one creates it; each later one names the answer
#   before and has only the new tool result: no tools, no system prompt, no earlier message. messages.create sends all, as ever.
# Who meets it: servers with the Messages interface, proxies, recorders and caches, which see a result without its call and judge calls without tools.
# Here: a capture joins such requests with the earlier ones of the conversation (docs/capture.md), and an opened body lists what is at the provider.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check anthropic==2.14.0
"$folder/env/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anthropic

bodies = []


class Scripted(BaseHTTPRequestHandler):
    """Calls the tool twice, then answers in words."""

    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        called = len(bodies) < 3
        call = {"type": "tool_use", "id": f"toolu_{len(bodies)}", "name": "get_time", "input": {"city": "Oslo"}}
        message = {
            "id": f"msg_{len(bodies)}", "type": "message", "role": "assistant", "model": "m",
            "content": [call if called else {"type": "text", "text": "It is 12:00."}],
            "stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 4},
        }  # fmt: skip
        data = json.dumps(message).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@anthropic.beta_tool
def get_time(city: str) -> str:
    """The time in a city.

    Args:
        city: its name
    """
    return "12:00"


server = HTTPServer(("127.0.0.1", 0), Scripted)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.server_port}", api_key="none", max_retries=0)
asked = {"model": "m", "max_tokens": 64, "system": "Be brief.", "messages": [{"role": "user", "content": "What time is it in Oslo?"}]}
client.beta.messages.tool_runner(tools=[get_time], **asked).until_done()
seen = [(len(each["messages"]), "tools" in each, "system" in each, each.get("thread", {}).get("type")) for each in bodies]
print("messages, tools and system prompt of three requests, expected 1, 3, 5, each with both")
for number, (messages, tools, system, thread) in enumerate(seen, 1):
    print(f"  anthropic request {number}: {messages}, tools {tools}, system prompt {system}, thread {thread}")
changed = seen != [(1, True, True, "create"), (1, False, False, "continue"), (1, False, False, "continue")]
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
