#!/usr/bin/env bash
# Expected: hf_hub_download resumes a download that was interrupted, on another day too: its partial file ends with ".incomplete" in the
#   cache's folder, and the server here takes ranges.
# Happens: with huggingface_hub 2.4.0 each call has a partial file with a random name, which it deletes at Ctrl+C: the next call asks for all bytes
#   again.
# Who meets it: whoever stops the download of a model of many gigabytes, closes the laptop or loses the power: what had arrived is lost.
# Here: downloads of models call the library's `http_get` with a partial file of our own (decision 18), which is named by the hash.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check huggingface_hub==2.4.0
"$folder/env/bin/python" - "$folder/cache" <<'PYTHON'
import http.server
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

DATA = bytes(6 << 20)
PART = 2 << 20
PROGRAM = """
import signal

from huggingface_hub import hf_hub_download

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands ignore it
hf_hub_download("owner/model", "model.gguf")
"""
requests, pause, paused = [], True, threading.Event()


class Server(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200)
        self.send_headers(0)

    def do_GET(self):
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        requests.append(f"from byte {first}")
        self.send_response(206 if first else 200)
        self.send_headers(first)
        self.wfile.write(DATA[first:PART] if pause else DATA[first:])
        if pause:
            paused.set()
            threading.Event().wait()  # until the client has ended

    def send_headers(self, first):
        self.send_header("Content-Length", str(len(DATA) - first))
        self.send_header("Content-Range", f"bytes {first}-{len(DATA) - 1}/{len(DATA)}")
        self.send_header("ETag", '"' + "0" * 64 + '"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.end_headers()

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
cache = Path(sys.argv[1])
environment = os.environ | {
    "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
    "HF_HOME": str(cache),
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
command = [sys.executable, "-c", PROGRAM]
first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
assert paused.wait(60), "the download began"
first.send_signal(signal.SIGINT)
first.wait(60)
left = [path.name for path in cache.rglob("*.incomplete")]
pause = False
subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=True, timeout=60)
seen = (requests, left)
print("requests of two calls, partial files between them")
print(f"  expected (['from byte 0', 'from byte N'], ['….incomplete'])\n  huggingface_hub 2.4.0 {seen}")
raise SystemExit(0 if seen == (["from byte 0", "from byte 0"], []) else "The behaviour has changed.")
PYTHON
