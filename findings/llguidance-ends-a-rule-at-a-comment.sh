#!/usr/bin/env bash
# Expected: llguidance reads the grammars of the Python library Lark, but for what its documentation lists, so that a comment between the
#   alternatives of a rule is a comment.
# Happens: with llguidance 1.9.1 a line that has only a comment or spaces ends the rule, and the `|` in the next one is an error; Lark 1.3.1 goes on.
#   An empty line is read by both, and so is a comment behind an alternative.
# Who meets it: whoever explains the alternatives of a grammar, or has one reformatted, for the custom tools of OpenAI or a mask.
# Here: Lark is read as llguidance reads it; the check names the place (`line-before-bar`) and has a fix.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check llguidance==1.9.1 lark==1.3.1
"$folder/env/bin/python" - <<'PYTHON'
from lark import Lark
from llguidance import LLMatcher

# between two alternatives: (read by Lark, by llguidance)
SEEN = {
    "": (True, True),
    "\n": (True, True),
    "  // of the east\n": (True, False),
    "  \n": (True, False),
}
changed = False
for between, known in SEEN.items():
    text = f'start: "north"\n{between}  | "east" // or so\n'
    error = LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(text), None)
    try:
        Lark(text)
        by_lark = True
    except Exception:
        by_lark = False
    seen = (by_lark, not error)
    reason = error.partition("\n")[0] or "read"
    print(f"{text!r}\n  expected read by both\n  Lark 1.3.1 {'read' if by_lark else 'error'}, llguidance 1.9.1 {reason}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
