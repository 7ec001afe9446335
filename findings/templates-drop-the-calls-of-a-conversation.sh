#!/usr/bin/env bash
# Expected: the chat template of a model that calls tools writes the calls of earlier turns into the prompt, as the model wrote them: the
#   model sees which call a result belongs to (the chapter on tool use in transformers' documentation appends them to the messages).
# Happens: in 3 of the templates that llama.cpp ships (llama_cpp_python 0.3.36) the turn of the assistant is empty and only the result
#   follows it: Granite 3.3, LFM2 and LFM2.5. They describe the tools, and raise no error. Qwen3 and Granite 4 write the call.
# Who meets it: every tool loop with such a model: it reads results of calls that it does not see, and often makes the same call again.
# Here: `glyphscope template lint` has CALL_DROPPED for it (docs/template-lint.md); the form of such a template is not derived from the
#   calls that it writes (docs/native-templates.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
install=("$folder/env/bin/pip" --quiet --disable-pip-version-check)
"${install[@]}" install jinja2==3.1.6
"${install[@]}" download --no-deps --no-binary llama_cpp_python --dest "$folder" llama_cpp_python==0.3.36 # its source has the templates
tar -xzf "$folder"/llama_cpp_python-*.tar.gz -C "$folder" --wildcards --strip-components=5 '*/vendor/llama.cpp/models/templates/*.jinja'
cat > "$folder/render.py" <<'PYTHON'
"""Print what a template makes of the turn with a call, between the question and the result; the tool is described."""

import json
import sys
from pathlib import Path

from jinja2.sandbox import ImmutableSandboxedEnvironment

ARGUMENTS = {"city": "Oslo"}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Forecast", "parameters": PARAMETERS}}]
CALL = {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
MESSAGES = [
    {"role": "user", "content": "Question?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": "Result."},
]

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False} | options)
environment.globals["strftime_now"] = lambda _form: "2026-01-01"
template = environment.from_string(Path(sys.argv[1]).read_text("utf-8"))
prompt = template.render(messages=MESSAGES, tools=TOOLS, xml_tools=[], add_generation_prompt=True, bos_token="", eos_token="")
assert "Forecast" in prompt[: prompt.rindex("Question?")], "no tool is described"
print(json.dumps(prompt[prompt.rindex("Question?") + 9 : prompt.rindex("Result.")], ensure_ascii=False))
PYTHON
turn() { # template, whether the call is in it
  seen=$("$folder/env/bin/python" "$folder/render.py" "$folder/$1.jinja" 2> "$folder/log") || { tail -n 1 "$folder/log"; exit 1; }
  echo "$1, expected: the call is there; seen: $seen"
  case "$seen" in *weather*Oslo*) found=yes ;; *) found=no ;; esac
  [ "$found" = "$2" ] || { echo "The behaviour has changed."; exit 1; }
}
turn Qwen-Qwen3-0.6B yes
turn ibm-granite-granite-4.0 yes
turn ibm-granite-granite-3.3-2B-Instruct no
turn LFM2-8B-A1B no
turn LFM2.5-Instruct no
