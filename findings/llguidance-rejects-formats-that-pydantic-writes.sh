#!/usr/bin/env bash
# Expected: JSON Schema, section 7.2.3 of validation: a format that is not known is not asserted. llguidance ignores keywords that it does not
#   know, such as "x-order", and the schemas that pydantic writes are compiled.
# Happens: llguidance 1.9.1 rejects a string with a format that it does not know ("Unknown format: binary"), so a tool with a field of type
#   bytes, Path, SecretStr or Base64Bytes in pydantic 2.14.4 cannot be constrained at all. A format of a number, int32, is ignored.
# Who meets it: whoever compiles the schemas of pydantic's models or of OpenAPI, where binary, byte and password are usual.
# Here: grammars are made of our own rules (decision 7); a format without a rule is listed as not enforced.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check llguidance==1.9.1 pydantic==2.14.4
"$folder/env/bin/python" - <<'PYTHON'
import json
from datetime import date
from pathlib import Path
from typing import Annotated

from llguidance import LLMatcher
from pydantic import Base64Bytes, SecretStr, TypeAdapter, WithJsonSchema

# type: whether its schema is compiled
SEEN = {
    bytes: False,
    Path: False,
    SecretStr: False,
    Base64Bytes: False,
    date: True,
    Annotated[int, WithJsonSchema({"type": "integer", "format": "int32"})]: True,
    Annotated[str, WithJsonSchema({"type": "string", "x-order": 1})]: True,
}
changed = False
for kind, known in SEEN.items():
    schema = json.dumps(TypeAdapter(kind).json_schema())
    error = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(schema), None)
    print(f"{schema}\n  expected compiled\n  llguidance 1.9.1 {error or 'compiled'}")
    changed |= known == bool(error)
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
