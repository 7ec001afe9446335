#!/usr/bin/env bash
# Expected: a keyword of JSON Schema that a compiler of constraints does not enforce is an error, as an unknown type is in XGrammar, or is named in a
#   way that a program can read, so that values are checked afterwards.
# Happens: XGrammar 0.2.9 accepts any JSON value for an `allOf` of two parts, even of other types, and with `pattern`, `not`, `uniqueItems`,
#   `dependentRequired` and `multipleOf` of 0.5 the values that they exclude, without an error: look-ahead in a pattern is left out.
# Who meets it: whoever composes schemas of parts (Pydantic with a base and a constraint, OpenAPI), and takes an answer of vLLM or SGLang as valid.
# Here: the report of what engines enforce has XGrammar as a column on request (docs/commands.md), and every call is checked under any mask.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
pip=("$folder/env/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" apache-tvm-ffi==0.1.15.post2 numpy pydantic typing-extensions
"${pip[@]}" --no-deps xgrammar==0.2.9 2>/dev/null
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import json
import sys
import types

import tvm_ffi  # noqa: F401 (looks for PyTorch)


class Absent(types.ModuleType):  # PyTorch and transformers are for masks and tokenizers; texts need neither
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *_args, **_named: None})


for name in ("torch", "transformers"):
    sys.modules[name] = Absent(name)
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType

vocabulary = [*(bytes([b]) for b in range(256)), b"<end>"]
compiler = GrammarCompiler(TokenizerInfo(vocabulary, VocabType.RAW, stop_token_ids=[256]))


def seen_for(schema, text):
    try:
        grammar = compiler.compile_json_schema(json.dumps(schema))
    except RuntimeError:
        return "an error"
    matcher = GrammarMatcher(grammar, terminate_without_stop_token=True)
    return "accepted" if matcher.accept_string(text) and matcher.is_completed() else "rejected"


SHORT, LONG = {"type": "string", "maxLength": 4}, {"type": "string", "minLength": 2}
# schema, text that is invalid: as seen
SEEN = [
    ({"allOf": [SHORT]}, '"teatea"', "rejected"),
    ({"allOf": [SHORT, LONG]}, '"teatea"', "accepted"),
    ({"allOf": [SHORT, LONG]}, "null", "accepted"),
    ({"type": "integer", "minimum": 3}, "2", "rejected"),
    ({"type": "integer", "not": {"const": 3}}, "3", "accepted"),
    ({"type": "number", "multipleOf": 0.5}, "1.25", "accepted"),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "[1,1]", "accepted"),
    ({"type": "string", "pattern": "^(?=.*[0-9])[a-z0-9]+$"}, '"z"', "accepted"),
    ({"type": "nope"}, "1", "an error"),
]
changed = False
for schema, text, known in SEEN:
    seen = seen_for(schema, text)
    print(f"{json.dumps(schema)}  {text}\n  expected rejected, or an error\n  XGrammar 0.2.9 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
