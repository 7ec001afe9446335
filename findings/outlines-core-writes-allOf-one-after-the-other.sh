#!/usr/bin/env bash
# Expected: JSON Schema's allOf is a value that satisfies all of its schemas: two objects with a required key each are one object with both.
# Happens: outlines-core 0.2.14 writes the expressions of the schemas one after the other: {"a": 1}{"b": 2} matches, which is no JSON, and
#   {"a": 1, "b": 2} does not. With a single schema, as generators write for a reference with a description, nothing is wrong.
# Who meets it: whoever constrains a model by a schema of composed types, in vLLM or with Outlines: every answer fails to parse.
# Here: what engines enforce of a schema is tested with real texts (decision 10), outlines-core's expressions on request.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check outlines-core==0.2.14
"$folder/env/bin/python" - <<'PYTHON'
import json
import re

from outlines_core.json_schema import build_regex_from_schema


def has(key):
    return {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}


# schema, text: (valid, as matched)
SEEN = [
    ({"allOf": [has("a"), has("b")]}, '{"a": 1, "b": 2}', (True, False)),
    ({"allOf": [has("a"), has("b")]}, '{"a": 1}{"b": 2}', (False, True)),
    ({"allOf": [{"type": "integer"}, {"type": "integer"}]}, "7", (True, False)),
    ({"allOf": [{"type": "integer"}, {"type": "integer"}]}, "7-7", (False, True)),
    ({"allOf": [has("a")]}, '{"a": 1}', (True, True)),
]
changed = False
for schema, text, (expected, known) in SEEN:
    seen = bool(re.fullmatch(build_regex_from_schema(json.dumps(schema)), text))
    print(f"{json.dumps(schema)}  {text}\n  expected {expected}\n  outlines-core 0.2.14 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
