#!/usr/bin/env bash
# Expected: a schema that the metaschema allows is checked by check_schema, as values are checked by it: of objects in objects, 100 levels.
# Happens: jsonschema 4.26.0 raises RecursionError from check_schema at 100 levels, where is_valid checks a value of 250 levels by the same
#   schema. The check follows $dynamicRef through every vocabulary of the metaschema, some ten calls for each level.
# Who meets it: whoever checks the schemas of tools before use, such as generated ones: the error is neither a SchemaError nor about the schema.
# Here: schemas are checked keyword by keyword, without recursion (decision 6); 256 levels load.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0
"$folder/env/bin/python" - <<'PYTHON'
import jsonschema

Validator = jsonschema.Draft202012Validator
# levels: (check_schema, is_valid), as seen
SEEN = {50: ("checked", "valid"), 100: ("RecursionError", "valid"), 250: ("RecursionError", "valid")}
changed = False
for levels, known in SEEN.items():
    schema, value = {"type": "integer"}, 1
    for _ in range(levels):
        schema, value = {"type": "object", "properties": {"a": schema}}, {"a": value}
    try:
        Validator.check_schema(schema)
        checked = "checked"
    except RecursionError:
        checked = "RecursionError"
    seen = (checked, "valid" if Validator(schema).is_valid(value) else "invalid")
    print(f"{levels} levels\n  expected ('checked', 'valid')\n  jsonschema 4.26.0 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
