#!/usr/bin/env bash
# Expected: get_json_schema, which says that it writes JSON Schema, describes `int | None` so that null is valid: "type": ["integer", "null"], as it does
#   for a Literal with None.
# Happens: transformers 5.24.0 writes "nullable": true beside "type": "integer", a keyword of OpenAPI 3.0. JSON Schema does not know it, so that a
#   validator rejects null, and a grammar or mask made of the schema cannot write it.
# Who meets it: whoever passes functions with optional arguments to apply_chat_template, and checks or constrains the calls by the same schema: the
#   call of a model that leaves the argument empty by null is invalid, and under a mask it must invent a value.
# Here: a list of tools with `nullable` is read with the type null, and written again as it was (docs/formats.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0 jsonschema==4.26.0 llguidance==1.9.1
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import json
from typing import Literal

import jsonschema
from llguidance import LLMatcher, LLTokenizer
from transformers.utils import get_json_schema


def find(unit: Literal["km", None], limit: int | None = None):
    """Find places.

    Args:
        unit: the unit, or null
        limit: how many, or null for all
    """


# argument: (the schema without its description, null is valid, a mask lets null be written), as seen
SEEN = {
    "unit": ({"type": ["string", "null"], "enum": ["km", None]}, True, True),
    "limit": ({"type": "integer", "nullable": True}, False, False),
}
tokenizer = LLTokenizer("byte")
changed = False
for name, known in SEEN.items():
    schema = get_json_schema(find)["function"]["parameters"]["properties"][name]
    schema.pop("description")
    valid = jsonschema.Draft202012Validator(schema).is_valid(None)
    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    tokens = tokenizer.tokenize_str("null")
    written = matcher.validate_tokens(tokens) == len(tokens)
    print(f"{name}: {schema}\n  null: expected valid, and written under a mask\n  null: valid {valid}, written under a mask {written}")
    changed |= (schema, valid, written) != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
