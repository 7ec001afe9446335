#!/usr/bin/env bash
# Expected: RFC 9535, section 2.3.5.2.2, defines < for two numbers or two strings; any other pair compares as false, so that
#   $[?@<2] selects numbers only, and $[?@<=true], which is true where < or == is, selects nothing but true.
# Happens: python-jsonpath 2.2.2 orders true and false as 1 and 0, also with strict=True, which is its mode of the RFC.
# Who meets it: whoever asserts on the arguments of tool calls with JSONPath: {"max_results": true} passes a check of max_results < 2.
# Here: JSONPath assertions of evaluations use the package with comparisons of our own, so that true is no number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check python-jsonpath==2.2.2
"$folder/env/bin/python" - <<'PYTHON'
import json

from jsonpath import JSONPathEnvironment

VALUES = [1, True, "1", None, False, 2.5]
# query: (selected by the RFC's comparison, selected by the package)
QUERIES = {
    "$[?@<2]": ([1], [1, True, False]),
    "$[?@>0]": ([1, 2.5], [1, True, 2.5]),
    "$[?@<=true]": ([True], [True, False]),
    "$[?@==1]": ([1], [1]),  # equality does tell them apart
}
strict = JSONPathEnvironment(strict=True)
changed = False
for query, (standard, expected) in QUERIES.items():
    seen = strict.findall(query, VALUES)
    print(f"{query:12} RFC 9535: {json.dumps(standard):12} python-jsonpath 2.2.2: {json.dumps(seen)}")
    changed |= json.dumps(seen) != json.dumps(expected)
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
