#!/usr/bin/env bash
# Expected: a keyword of JSON Schema that a converter to regular expressions does not enforce is an error, as a schema of `not` alone is in
#   outlines-core, or is named, so that values are checked afterwards.
# Happens: outlines-core 0.2.14 leaves out minimum, maximum, exclusiveMinimum, multipleOf, uniqueItems, and `not` beside a type, without a word,
#   and beside a length also pattern and format: {"type": "string", "pattern": "^[A-Z]+$", "maxLength": 3} is any text of three characters.
# Who meets it: whoever takes an answer under a constraint as valid by its schema: quantities are negative, codes have any letters.
# Here: the table of what is enforced (decision 10) has a row for each keyword and engine, and every call is checked under any mask.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check outlines-core==0.2.14
"$folder/env/bin/python" - <<'PYTHON'
import json
import re

from outlines_core.json_schema import build_regex_from_schema

CODE = {"type": "string", "pattern": "^[A-Z]+$"}
# schema, text that is invalid: as seen
SEEN = [
    ({"type": "integer", "minimum": 0, "maximum": 9}, "-5", "matched"),
    ({"type": "number", "exclusiveMinimum": 0}, "-0.5", "matched"),
    ({"type": "integer", "multipleOf": 5}, "3", "matched"),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1,1]", "matched"),
    (CODE, '"a?"', "not matched"),
    (CODE | {"maxLength": 3}, '"a?"', "matched"),
    ({"type": "string", "format": "date", "minLength": 1}, '"soon"', "matched"),
    ({"type": "integer", "not": {"const": 3}}, "3", "matched"),
    ({"not": {"type": "string"}}, '"a"', "an error"),
]
changed = False
for schema, text, known in SEEN:
    try:
        seen = "matched" if re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) else "not matched"
    except Exception:
        seen = "an error"
    print(f"{json.dumps(schema)}  {text}\n  expected not matched, or an error\n  outlines-core 0.2.14 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
