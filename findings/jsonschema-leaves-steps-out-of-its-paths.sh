#!/usr/bin/env bash
# Expected: an error's path leads to the value that is wrong, and its schema_path, which jsonschema documents as the failed keyword's place in the schema, from
#   the root to that keyword: through "$ref" where a reference judges the value, as keywordLocation in the output of JSON Schema 2020-12 (12.3.1).
# Happens: jsonschema 4.26.0 leaves out "$ref", though not "$dynamicRef": the path goes on in the definition as if that stood in place of the reference. It
#   leads to nothing or, if a keyword of the same name stands beside the reference, to that one. Of a property whose schema is false, both paths lack the
#   property: the error is that of the object.
# Who meets it: programs that show the wrong field, or show and change the rule that rejected it: with Pydantic's schemas, where each model of a
#   field is a reference, the rule is not found, or another one is blamed.
# Here: a verdict has the pointers of the value and of the keyword, which references are followed for (`engine/glyphscope/validation/checker.py`, decision 6).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0
"$folder/env/bin/python" - <<'PYTHON'
import json

from jsonschema import Draft202012Validator

NAME = {"maxLength": 2, "type": "string"}
DEFINED = {"$defs": {"name": NAME}}
LONG = {"a": "abc"}
# case: schema, value, (path of the value, path in the schema) as expected, as seen
SEEN = {
    "no reference": ({"properties": {"a": NAME}}, LONG, ("a", "properties/a/maxLength"), ("a", "properties/a/maxLength")),
    "a dynamic reference": (
        {"properties": {"a": {"$dynamicRef": "#name"}}, "$defs": {"name": {"$dynamicAnchor": "name"} | NAME}},
        LONG,
        ("a", "properties/a/$dynamicRef/maxLength"),
        ("a", "properties/a/$dynamicRef/maxLength"),
    ),
    "a reference": (
        {"properties": {"a": {"$ref": "#/$defs/name"}}} | DEFINED,
        LONG,
        ("a", "properties/a/$ref/maxLength"),
        ("a", "properties/a/maxLength"),
    ),
    "a reference beside maxLength 9": (
        {"properties": {"a": {"maxLength": 9, "$ref": "#/$defs/name"}}} | DEFINED,
        LONG,
        ("a", "properties/a/$ref/maxLength"),
        ("a", "properties/a/maxLength"),
    ),
    "a property that is {'not': {}}": ({"properties": {"a": {"not": {}}}}, LONG, ("a", "properties/a/not"), ("a", "properties/a/not")),
    "a property that is false": ({"properties": {"a": False}}, LONG, ("a", "properties/a"), ("", "properties")),
}
changed = False
for case, (schema, value, expected, known) in SEEN.items():
    (error,) = Draft202012Validator(schema).iter_errors(value)
    found = tuple("/".join(map(str, path)) for path in (error.absolute_path, error.absolute_schema_path))
    print(f"{case}: {json.dumps(value)}\n  expected           value '{expected[0]}', keyword '{expected[1]}'")
    print(f"  jsonschema 4.26.0  value '{found[0]}', keyword '{found[1]}'")
    changed |= found != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
