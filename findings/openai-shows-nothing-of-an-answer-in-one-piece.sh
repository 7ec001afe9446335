#!/usr/bin/env bash
# Expected: a chat completion that was requested as a stream, and comes as one JSON document, is read, or is an error: some servers and
#   proxies do not stream.
# Happens: openai 3.57.0 yields no chunk and raises nothing: the document has no line that begins with "data:", and the client looks at no
#   Content-Type. The stream() helper ends with an AssertionError without a text when the completion is asked for.
# Who meets it: whoever gives an OpenAI-compatible address of a server that ignores "stream": the answer is empty, and the log is clean.
# Here: endpoints are read by code of our own, for this and eight other reasons (decision 19).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check openai==3.57.0
"$folder/env/bin/python" - <<'PYTHON'
import http.server
import json
import threading

import openai

ANSWER = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
}  # fmt: skip


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(ANSWER).encode())

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def helper():
    with client.chat.completions.stream(**request) as events:
        list(events)
        return events.get_final_completion()


# what is called, by whom: as seen
SEEN = {
    "create()": (lambda: client.chat.completions.create(**request).choices[0].message.content, "Hello"),
    "create(stream=True)": (lambda: list(client.chat.completions.create(**request, stream=True)), []),
    "stream()": (helper, "AssertionError()"),
}
changed = False
for name, (call, known) in SEEN.items():
    try:
        seen = call()
    except Exception as error:
        seen = repr(error)
    print(f"{name}\n  expected Hello, or an error that says why not\n  openai 3.57.0 {seen!r}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
