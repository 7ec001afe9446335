#!/usr/bin/env bash
# Expected: JSON Schema validation, section 6.2.1: a number is valid for multipleOf if the division gives an integer, so that 19.99
#   is a multiple of 0.01. fastjsonschema 2.22.3 and jsonschema-rs 0.61.2 accept every price.
# Happens: jsonschema 4.26.0 divides the floats of Python and rejects 19.99, and 159 of the 999 prices from 0.01 to 9.99.
#   jsonschema-rs 0.33.0 rejected five of them.
# Who meets it: whoever checks the amounts of tool calls with it: right calls are refused, seemingly at random.
# Here: multiples are decided on the decimal digits of a number as it is written, under the mask and in the verdict (docs/schemas.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check jsonschema==4.26.0 jsonschema-rs==0.61.2 fastjsonschema==2.22.3
"$folder/env/bin/python" - <<'PYTHON'
import fastjsonschema
import jsonschema
import jsonschema_rs

SCHEMA = {"type": "number", "multipleOf": 0.01}
PRICES = [19.99, *(cents / 100 for cents in range(1, 1000))]
compiled = fastjsonschema.compile(SCHEMA)


def by_code(price):
    try:
        compiled(price)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


VALIDATORS = {
    "jsonschema 4.26.0": jsonschema.Draft202012Validator(SCHEMA).is_valid,
    "jsonschema-rs 0.61.2": jsonschema_rs.validator_for(SCHEMA).is_valid,
    "fastjsonschema 2.22.3": by_code,
}
rejected = {name: [price for price in PRICES if not valid(price)] for name, valid in VALIDATORS.items()}
for name, prices in rejected.items():
    print(f"{name}: {len(prices)} of {len(PRICES)} prices rejected {prices[:4]}")
raise SystemExit(0 if [len(prices) for prices in rejected.values()] == [160, 0, 0] else "The behaviour has changed.")
PYTHON
