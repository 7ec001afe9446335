#!/usr/bin/env bash
# Expected: a function_tool, which is strict by default, runs only calls that are valid by the schema that it sends: all arguments are required, no
#   other is allowed, and an integer is no text and no boolean. Another call is answered with an error, from which the model can learn.
# Happens: openai-agents 0.24.0 reads the arguments with Pydantic's lax rules, and of an object only the names that the function has. "5" and true run as the
#   integers 5 and 1, "yes" as true, arguments that do not exist are dropped, and one that is missing has its default.
# Who meets it: whoever uses the SDK with a server that does not enforce `strict`, as most local ones: wrong calls are executed as if they were right, and
#   a misspelt argument has no effect, without a word to the model or in the trace.
# Here: a call is judged by the schema that the model was shown, and executed only if it is valid; what a repair changed is shown (decision 11).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check openai-agents==0.24.0 jsonschema==4.26.0
"$folder/env/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import jsonschema
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
arguments, bodies = {}, []


class Scripted(BaseHTTPRequestHandler):
    """Calls the tool with `arguments`, then answers in words."""

    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        called = bodies[-1]["messages"][-1]["role"] == "user"
        function = {"name": "book", "arguments": json.dumps(arguments)}
        call = {"id": "call_1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None if called else "Done.", "tool_calls": [call] if called else None}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if called else "stop"}
        data = json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@function_tool
def book(seats: int, window: bool = False) -> str:
    """Book seats."""
    return json.dumps([seats, window])


server = HTTPServer(("127.0.0.1", 0), Scripted)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
agent = Agent(name="a", tools=[book], model=OpenAIChatCompletionsModel(model="m", openai_client=client))


def result(given):
    """(valid by the schema that was sent, what the tool returned; None for an error)."""
    arguments.clear()
    arguments.update(given)
    bodies.clear()
    Runner.run_sync(agent, "Book.")
    function = bodies[0]["tools"][0]["function"]
    assert function["strict"] is True
    valid = jsonschema.Draft202012Validator(function["parameters"]).is_valid(given)
    text = bodies[1]["messages"][-1]["content"]
    return valid, json.loads(text) if text.startswith("[") else None


# arguments of the call: as seen
SEEN = [
    ({"seats": 5, "window": True}, (True, [5, True])),
    ({"seats": [5], "window": True}, (False, None)),
    ({"seats": "5", "window": True}, (False, [5, True])),
    ({"seats": True, "window": "yes"}, (False, [1, True])),
    ({"seats": 5}, (False, [5, False])),
    ({"seats": 5, "windows": True}, (False, [5, False])),
]
changed = False
for given, known in SEEN:
    found = valid, returned = result(given)
    says = {True: "runs", False: "an error"}[valid]
    print(f"{json.dumps(given)}\n  expected              {says}")
    print(f"  openai-agents 0.24.0  {'an error' if returned is None else f'runs with {returned}'}")
    changed |= found != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
