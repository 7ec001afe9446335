"""Every valid and invalid instance of 530 real schemas, in both notations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glyphscope.events import Notation
from glyphscope.notation import write_call
from glyphscope.registry import load_registry
from glyphscope.validation import CallValidator

pytestmark = pytest.mark.slow

# Instances outside the language of calls, with the reason. There are none: no instance of this collection
# writes an integer as 5.0 where the schema requires an integer.
LEFT_OUT: dict[tuple[str, int], str] = {}

APPLIED = frozenset(
    {
        "properties",
        "patternProperties",
        "additionalProperties",
        "items",
        "not",
        "if",
        "then",
        "else",
        "contains",
    }
    | {"propertyNames", "dependencies"}
)


def as_parameters(schema: Any) -> tuple[dict[str, Any], bool]:
    """Return a schema as a tool's parameters; one that is not for objects becomes that of an argument `value`."""
    if isinstance(schema, dict) and schema.get("type") == "object":
        return schema, False
    wrapper = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    if isinstance(schema, dict):  # its references are relative to the whole document
        wrapper |= {
            key: part for key, part in schema.items() if isinstance(part, dict) and key not in APPLIED
        }
    return wrapper, True


@pytest.mark.parametrize("notation", ["json", "glyph"])
def test_every_real_instance_is_validated_right(notation: Notation, shared_data: Path) -> None:
    judged, wrong = 0, []
    for line in (shared_data / "schemas" / "sample.jsonl").read_text().splitlines():
        case = json.loads(line)
        parameters, wrapped = as_parameters(case["schema"])
        document = {
            "glyphscope": 1,
            "unknown_arguments": "allow",
            "tools": [{"name": "f", "parameters": parameters}],
        }
        registry = load_registry(document)
        for index, test in enumerate(case["tests"]):
            arguments = {"value": test["data"]} if wrapped else test["data"]
            if not isinstance(arguments, dict) or (case["name"], index) in LEFT_OUT:
                continue
            validator = CallValidator(registry, notation, "tool-args")
            validator.feed(write_call("f", arguments, style=notation, shape="tool-args"))
            validator.finish()
            judged += 1
            if validator.valid != test["valid"]:
                wrong.append((case["name"], index, validator.violations[:1]))
    assert not wrong
    assert judged > 950
