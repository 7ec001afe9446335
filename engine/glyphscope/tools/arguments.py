"""Check arguments against a tool's schema again at the tool, because a call may not have been judged before.

Errors are reported in words for a model; `validation` makes verdicts by character.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from jsonschema.exceptions import ValidationError

from glyphscope.base.shorten import json_excerpt, schema_error_words, shorten
from glyphscope.grammar.checking import validator_of
from glyphscope.registry import Tool
from glyphscope.registry.keywords import LIMITS, PATTERNS, Measure

MAX_LISTED = 3
_KINDS = {"object": "an object", "array": "a list", "string": "a text", "integer": "a whole number"}
_KINDS |= {"number": "a number", "boolean": "true or false", "null": "null"}
_WORDS: dict[Measure, tuple[str, str]] = {
    "value": (", and must be at least {}", ", and must be at most {}"),
    "length": (": too short, it needs at least {} characters", ": too long, it has at most {} characters"),
}
"""The words for less than the least, and for more than the most."""
_BOUNDS = {name: text for of, texts in _WORDS.items() for name, text in zip(LIMITS[of], texts, strict=True)}


def argument_problems(tool: Tool, arguments: Any) -> str:
    """The problems of the arguments, in sentences. Unknown arguments are rejected."""
    if not isinstance(arguments, dict):
        return "The arguments are not an object."
    named = tool.parameters.get("properties", {})
    sentences = [
        f"{shorten(str(name), 60)} is not an argument of {tool.name}; the arguments are {', '.join(named)}."
        for name in islice((name for name in arguments if name not in named), MAX_LISTED)
    ]
    try:
        for error in validator_of(tool.parameters).iter_errors(arguments):
            sentences += [sentence for sentence in _sentences(error, named) if sentence not in sentences]
            if len(sentences) >= MAX_LISTED:
                break
    except (RecursionError, ValueError, OverflowError):  # nested too deep, or a number of thousands of digits
        sentences.append("The arguments are nested too deep, or a number in them is too large.")
    return " ".join(sentences[:MAX_LISTED])


def _sentences(error: ValidationError, named: dict[str, Any]) -> list[str]:
    if error.validator == "required":  # one error per missing name, each listing all names
        before = [str(step) for step in error.absolute_path]
        missing = [name for name in error.validator_value if name not in error.instance]
        return [
            f"{'.'.join([*before, name])} is missing{_example(None if before else named.get(name))}."
            for name in missing
        ]
    return [_broken(error)]


def _broken(error: ValidationError) -> str:
    where = ".".join(str(step) for step in error.absolute_path)
    keyword, limit = error.validator, error.validator_value
    shown = _shown(error.instance)
    if keyword == "type":
        kinds = [_KINDS.get(kind, kind) for kind in ([limit] if isinstance(limit, str) else limit)]
        return f"{where} is {shown}, and must be {' or '.join(kinds)}."
    if keyword == "enum":
        return f"{where} is {shown}, and must be one of {', '.join(map(str, limit))}."
    if keyword == "format":
        return f"{where} is {shown}, and must be in the format {limit}."
    if keyword in _BOUNDS:
        return f"{where} is {shown}{_BOUNDS[keyword].format(limit)}."
    if keyword in PATTERNS:
        return f"{where} is {shown}, and does not fit {PATTERNS[keyword](limit)}{_example(error.schema)}."
    return f"{where or 'The call'}: {schema_error_words(error)}."


def _example(schema: Any) -> str:
    examples = schema.get("examples") if isinstance(schema, dict) else None
    return f", for example {_shown(examples[0])}" if examples else ""


def _shown(value: Any) -> str:
    try:
        return json_excerpt(value, 60)
    except (RecursionError, ValueError):
        return "a value too large to be shown"
