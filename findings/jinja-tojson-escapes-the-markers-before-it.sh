#!/usr/bin/env bash
# Expected: in a chat template without autoescaping, '[{"name": "' + name + '", "arguments": ' + (arguments | tojson) writes these
#   characters: transformers and llama.cpp render it so, and templates put JSON together by + in this way.
# Happens: Jinja2 3.1.6's own tojson returns Markup, and text + Markup escapes the text before it: every quotation mark that the template
#   wrote is &#34;, and the values of the JSON have \u003c for <. The same expression with ~ escapes nothing before it.
# Who meets it: whoever renders a model's chat template with a plain Jinja2 environment; the prompt is wrong only where + meets tojson.
# Here: chat templates are rendered with a `tojson` of transformers' form, so that a prompt is the one that the model was trained with
#   (decision 25).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 markupsafe==3.0.4
"$folder/env/bin/python" - <<'PYTHON'
from jinja2.sandbox import ImmutableSandboxedEnvironment

HEAD = """'[{"name": "' """
# expression: (as written in the template, as seen)
TEXTS = {
    HEAD + "+ name + '\", \"arguments\": ' + (arguments | tojson)": (
        '[{"name": "f", "arguments": {"a": "<b>"}',
        '[{&#34;name&#34;: &#34;f&#34;, &#34;arguments&#34;: {"a": "\\u003cb\\u003e"}',
    ),
    HEAD + "~ name ~ '\", \"arguments\": ' ~ (arguments | tojson)": (
        '[{"name": "f", "arguments": {"a": "<b>"}',
        '[{"name": "f", "arguments": {"a": "\\u003cb\\u003e"}',
    ),
}
environment = ImmutableSandboxedEnvironment(autoescape=False)
changed = False
for expression, (expected, known) in TEXTS.items():
    seen = environment.from_string("{{ " + expression + " }}").render(name="f", arguments={"a": "<b>"})
    print(f"{expression}\n  expected {expected}\n  Jinja2 3.1.6 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
