#!/usr/bin/env bash
# Expected: an answer with a text and two calls in Qwen's notation is parsed by a response_template as its text and both calls; the field
#   without an opening, `content`, is all text outside of the other fields.
# Happens: transformers 5.24.0 keeps the last stretch of such text only: the line end between two calls, which is stripped to "", replaces
#   the text before them, and the empty field is left out. With one call, or two without a line end between them, the text is there.
# Who meets it: whoever parses answers with parallel calls by parse_response; what the model says before the calls is lost, without an error.
#   With "repeats": true and "join": "" in the field, stretches are joined.
# Here: `glyphscope template response` tests a model's response_template by random turns, and writes those that join (docs/template-lint.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.24.0
"$folder/env/bin/python" - 2>/dev/null <<'PYTHON'
import json

from transformers.utils.chat_parsing import parse_response

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
CONTENT = {"close": "<|im_end|>"}
TEMPLATE = {
    "start_anchor": "<|im_start|>assistant",
    "fields": {
        "content": CONTENT,
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "content": "json", "repeats": True},
    },
}
JOINED = TEMPLATE | {"fields": TEMPLATE["fields"] | {"content": CONTENT | {"repeats": True, "join": ""}}}
# answer, template: (content as written, as seen)
SEEN = [
    (f"I look.\n{CALL}<|im_end|>", TEMPLATE, ("I look.", "I look.")),
    (f"I look.\n{CALL}{CALL}<|im_end|>", TEMPLATE, ("I look.", "I look.")),
    (f"I look.\n{CALL}\n{CALL}<|im_end|>", TEMPLATE, ("I look.", None)),
    (f"I look.\n{CALL}\n{CALL}<|im_end|>", JOINED, ("I look.", "I look.")),
]
changed = False
for answer, template, (expected, known) in SEEN:
    message = parse_response(answer, template, prefix="<|im_start|>assistant\n")
    seen = message.get("content")
    print(f"{json.dumps(answer)}, content: {json.dumps(template['fields']['content'])}")
    print(f"  expected {expected!r} and {answer.count(CALL)} calls")
    print(f"  transformers 5.24.0 {seen!r} and {len(message['tool_calls'])} calls")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
