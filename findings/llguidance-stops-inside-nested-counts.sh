#!/usr/bin/env bash
# Expected: a pattern whose counts are inside of each other, such as words of at most 100 letters in lines of at most 100 words, is either
#   rejected when it is compiled, or enforced to its end; the pattern is regular and each text that it has is short.
# Happens: llguidance 1.9.1 compiles it without a warning, and stops with "too many expressions constructed" after some dozens of letters,
#   far below the counts: whoever asks only how many tokens were taken sees valid text rejected. With counts of 9 it is read to its end.
# Who meets it: whoever bounds what a model writes by such a pattern; a generation fails in the middle of a string that is right so far.
# Here: patterns of a validator are matched in linear time without it, and tests compare the two (decision 4).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check llguidance==1.9.1
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import json
import re

from llguidance import LLMatcher, LLTokenizer

# pattern, text: whether all of it was taken
SEEN = [
    ("^(([a-z]{0,100}){0,100}){0,100}$", "a" * 60, False),
    ("^((a|b){1,50}(a|c){1,50}){1,50}$", "a" * 200, False),
    ("^(([a-z]{0,9}){0,9}){0,9}$", "a" * 60, True),
    ("^([a-z]{0,100}){0,100}$", "a" * 60, True),
]
changed = False
for pattern, text, known in SEEN:
    assert re.search(pattern, text)
    grammar = LLMatcher.grammar_from_json_schema(json.dumps({"type": "string", "pattern": pattern}))
    assert not LLMatcher.validate_grammar(grammar, None), "it is compiled"
    tokenizer = LLTokenizer("byte")
    matcher = LLMatcher(tokenizer, grammar, log_level=0)
    taken = sum(matcher.consume_token(byte) for byte in json.dumps(text).encode()[:-1])
    error = matcher.get_error().partition("\n")[0]
    print(f"{pattern}\n  expected {len(text) + 1} bytes\n  llguidance 1.9.1 {taken} bytes {error}")
    changed |= known == bool(error)
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
