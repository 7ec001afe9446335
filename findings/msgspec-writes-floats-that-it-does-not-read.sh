#!/usr/bin/env bash
# Expected: what msgspec encodes of a struct, it decodes as that struct: a float field may be NaN or infinite in Python, and JSON cannot write it,
#   so encoding raises an error, as for other values without JSON.
# Happens: msgspec 0.23.0 writes null for NaN and both infinities without an error; decoding the same struct is a ValidationError, and without
#   the type the value is None. In msgpack all three return.
# Who meets it: whoever records log-probabilities, of which a masked token has -inf: the file is written for hours, and cannot be opened.
# Here: events are structs in JSON and msgpack (decision 5); a figure that may be missing is optional, and a token without probability has none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check msgspec==0.23.0
"$folder/env/bin/python" - <<'PYTHON'
import math

import msgspec


class Step(msgspec.Struct):
    logprob: float


# value: what JSON has, and what both formats return, as seen
SEEN = {
    -0.25: (b'{"logprob":-0.25}', "Step(logprob=-0.25)", "Step(logprob=-0.25)"),
    -math.inf: (b'{"logprob":null}', "ValidationError", "Step(logprob=-inf)"),
    math.nan: (b'{"logprob":null}', "ValidationError", "Step(logprob=nan)"),
}


def again(format, data):
    try:
        return repr(format.decode(data, type=Step))
    except msgspec.ValidationError:
        return "ValidationError"


changed = False
for value, known in SEEN.items():
    text = msgspec.json.encode(Step(value))
    seen = (text, again(msgspec.json, text), again(msgspec.msgpack, msgspec.msgpack.encode(Step(value))))
    print(f"Step({value})\n  expected an error, or the same value\n  msgspec 0.23.0 {seen}")
    changed |= seen != known
raise SystemExit("The behaviour has changed." if changed else 0)
PYTHON
