#!/usr/bin/env bash
# Expected: a schema of an integer with the bounds of 64 bits, "minimum": -9223372036854775808 and "maximum": 9223372036854775807, is
#   compiled, as generators write both bounds for their type of 64 bits; or it is accepted with wider bounds.
# Happens: llguidance 1.9.1 rejects it ("Failed to generate regex for integer range"), also with the least of them as the only bound, or
#   with the greatest as the lower bound. The bounds of 32 bits, and 0 to the greatest of 64 bits, are compiled.
# Who meets it: whoever constrains a tool with an identifier or a counter of 64 bits by a JSON Schema; nothing of the tool can be called.
# Here: bounds of numbers are rules of our own, of any number of digits (decision 7).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check llguidance==1.9.1
"$folder/env/bin/python" - <<'PYTHON'
import json

from llguidance import LLMatcher

LEAST, MOST = -(2**63), 2**63 - 1
# bounds: whether the schema was compiled
SEEN = [
    ({"minimum": LEAST, "maximum": MOST}, False),
    ({"minimum": LEAST}, False),
    ({"minimum": MOST}, False),
    ({"maximum": LEAST}, False),
    ({"maximum": MOST}, True),
    ({"minimum": 0, "maximum": MOST}, True),
    ({"minimum": -(2**31), "maximum": 2**31 - 1}, True),
]
changed = False
for bounds, known in SEEN:
    schema = {"type": "integer"} | bounds
    error = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(json.dumps(schema)), None)
    print(f"{json.dumps(bounds)}\n  expected compiled\n  llguidance 1.9.1 {error or 'compiled'}")
    changed |= known == bool(error)
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
