#!/usr/bin/env bash
# Expected: a value between tags is JSON if it is no text, as the JSON Schemas of the tools suggest: true and null. So do the templates of
#   GLM 4.6 and MiniMax M2 write the calls of earlier turns.
# Happens: of the templates that llama.cpp ships (llama_cpp_python 0.3.36), those of Qwen3 Coder, Qwen3.5, Nemotron 3 Nano, Step 3.5, Seed
#   OSS and MiniCPM5 write True and None, as Jinja2 prints Python's values; Gemma 4 writes true and None; MiniMax M3 leaves an argument
#   out whose value is null. The texts "True" and "None" look the same then.
# Who meets it: authors of parsers and grammars for these notations. A model imitates the calls in its prompt: a grammar that allows only
#   true between the tags keeps it from what it would write, and a parser by JSON makes "True" a text.
# Here: values between tags are read as JSON, then as Python, by the schema (docs/native-forms.md, "Reading a turn").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
install=("$folder/env/bin/pip" --quiet --disable-pip-version-check)
"${install[@]}" install jinja2==3.1.6
"${install[@]}" download --no-deps --no-binary llama_cpp_python --dest "$folder" llama_cpp_python==0.3.36 # its source has the templates
tar -xzf "$folder"/llama_cpp_python-*.tar.gz -C "$folder" --wildcards --strip-components=5 '*/vendor/llama.cpp/models/templates/*.jinja'
cat > "$folder/render.py" <<'PYTHON'
"""Print how a template writes an argument that is true and one that is null in a call of an earlier turn."""

import json
import re
import sys
from pathlib import Path

from jinja2.sandbox import ImmutableSandboxedEnvironment

ARGUMENTS = {"city": "Oslo", "exact": True, "days": None}
PARAMETERS = {"type": "object", "properties": {name: {} for name in ARGUMENTS}}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "Forecast", "parameters": PARAMETERS}}]
CALL = {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}}
MESSAGES = [
    {"role": "user", "content": "Question?"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": "Result."},
]


def refuse(words: str) -> None:
    raise ValueError(words)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
environment.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False} | options)
environment.globals.update(strftime_now=lambda _form: "2026-01-01", raise_exception=refuse)
template = environment.from_string(Path(sys.argv[1]).read_text("utf-8"))
prompt = template.render(messages=MESSAGES, tools=TOOLS, add_generation_prompt=True, bos_token="", eos_token="")
call = next(part for part in prompt.rsplit("Question?", 1)[-1].split("Result.") if "Oslo" in part)
after = {name: re.search(rf"\b{name}\b\W+(?:arg_key\W+arg_value\W+)?(\w+)", call) for name in ("exact", "days")}
print(*(found[1] if found else "(left out)" for found in after.values()))
PYTHON
call() { # template, true and null as it writes them
  seen=$("$folder/env/bin/python" "$folder/render.py" "$folder/$1.jinja" 2> "$folder/log") || { tail -n 1 "$folder/log"; exit 1; }
  echo "$1, expected: true null; seen: $seen"
  [ "$seen" = "$2" ] || { echo "The behaviour has changed."; exit 1; }
}
call GLM-4.6 "true null"
call MiniMax-M2 "true null"
for name in Qwen3-Coder Qwen3.5-4B NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 StepFun3.5-Flash ByteDance-Seed-OSS openbmb-MiniCPM5-1B; do
  call "$name" "True None"
done
call google-gemma-4-31B-it "true None"
call MiniMax-M3 "true (left out)"
