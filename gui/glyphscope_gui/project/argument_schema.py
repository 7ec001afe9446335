"""Small edits to the JSON Schema of a tool's arguments, and summaries of a schema in words; no Qt.

Every edit returns a new schema and leaves the given one unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glyphscope.base.pointer import follow_reference
from glyphscope.prompting.signature import bounds_words
from glyphscope.registry.keywords import CUSTOM, LIMITS, Measure, names_with
from glyphscope_gui.shared.language import tr

Schema = dict[str, Any]

TYPES = ("string", "integer", "number", "boolean", "array", "object")
FORMATS = ("date", "date-time", "time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid")

SYNTAXES = ("gbnf", "lark", "regex")
"""The languages of an argument's own grammar: of the value as written, or of the text that a string stands for."""

_MAX_REFERENCES = 16
"""References that are followed one after the other."""
_MAX_DEPTH = 3
"""Arrays in arrays whose items are described."""
_SHORT = {"integer": "int", "boolean": "bool"}
_CHOICES: dict[str, Callable[[object], str]] = {
    "anyOf": lambda count: tr("any of {count}", count=count),
    "oneOf": lambda count: tr("one of {count}", count=count),
    "allOf": lambda count: tr("all of {count}", count=count),
}
COMBINATIONS = tuple(_CHOICES)
_MEASURES: dict[str, Measure] = {"string": "length", "integer": "value", "number": "value", "array": "items"}


def arguments(parameters: Schema) -> dict[str, Any]:
    """The schemas of the top-level arguments, in order."""
    properties = parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def required(parameters: Schema) -> tuple[str, ...]:
    names = parameters.get("required")
    return tuple(n for n in names if isinstance(n, str)) if isinstance(names, list) else ()


def type_of(schema: Any) -> str:
    """The single type of an argument; "" if there is none, or several."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else ""


def resolved(schema: Any, root: Schema) -> Any:
    """The schema behind a reference into `root`, with the keywords beside it; itself without a reference, and where it
    leads nowhere.
    """
    for _ in range(_MAX_REFERENCES):
        if not (isinstance(schema, dict) and isinstance(reference := schema.get("$ref"), str)):
            break
        found = follow_reference(root, reference)
        if found is None or not isinstance(found[1], dict):
            break
        schema = {**found[1], **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def summary(schema: Any, root: Schema) -> str:
    """The type and bounds of a schema below `root` in a few characters: `int 1..100`, `string >= 1`, `array of object`,
    `one of 3`.
    """
    schema = resolved(schema, root)
    text = _type_words(schema, root)
    bounds = bounds_text(schema) if isinstance(schema, dict) and not _is_listed(schema) else ""
    return f"{text} {bounds}" if bounds else text


def _is_listed(schema: Schema) -> bool:
    """Whether its values are listed."""
    return "const" in schema or isinstance(schema.get("enum"), list)


def _type_words(schema: Any, root: Schema, depth: int = 0) -> str:
    if not isinstance(schema, dict):
        return tr("any") if schema is not False else tr("nothing")
    if grammar_of(schema)[0] not in ("", "text"):
        return tr("custom grammar")
    if "const" in schema:
        return tr("constant")
    if isinstance(schema.get("enum"), list):
        return tr("enum of {count}", count=len(schema["enum"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return tr(" or ").join(_SHORT.get(str(k), str(k)) for k in kind)
    if not isinstance(kind, str):
        if "$ref" in schema:
            return tr("reference")
        for keyword, choice_words in _CHOICES.items():
            if keyword in schema:
                choices = schema[keyword]
                return choice_words(len(choices) if isinstance(choices, list) else "").rstrip()
        return tr("any")
    text = _SHORT.get(kind, kind)
    items = schema.get("items")
    if kind == "array" and isinstance(items, dict) and depth < _MAX_DEPTH:
        words = _type_words(resolved(items, root), root, depth + 1)
        text = text if words == tr("any") else tr("{array} of {type}", array=text, type=words)
    return text


def bounds_text(schema: Schema) -> str:
    """`1..100`, `>= 1`, `<= 100`, or "" without bounds."""
    measure = _MEASURES.get(type_of(schema))
    return "" if measure is None else bounds_words(*map(schema.get, LIMITS[measure]))


def with_keyword(parameters: Schema, argument: str, keyword: str, value: Any) -> Schema:
    """Set `keyword` of the argument's schema to `value`, or remove it if `value` is None."""
    schema = arguments(parameters).get(argument)
    schema = dict(schema) if isinstance(schema, dict) else {}
    if value is None:
        schema.pop(keyword, None)
    else:
        schema[keyword] = value
    return _with_properties(parameters, {**arguments(parameters), argument: schema})


def grammar_of(schema: Schema) -> tuple[str, str]:
    """The syntax of an argument's own grammar (empty for none, `text` for any text of a custom tool), and its text."""
    found = schema.get(CUSTOM)
    if isinstance(found, dict):
        text = found.get("definition")
        return str(found.get("syntax", found.get("type", "text"))), text if isinstance(text, str) else ""
    return ("gbnf", found) if isinstance(found, str) else ("", "")


def with_grammar(parameters: Schema, argument: str, syntax: str, text: str) -> Schema:
    """Set the argument's own grammar. Without a syntax there is none, and a custom tool has any text first."""
    value: Any = text or None
    if syntax in SYNTAXES[1:]:
        value = {"type": "grammar", "syntax": syntax, "definition": text}
    elif syntax not in SYNTAXES:
        schema = arguments(parameters).get(argument)
        known = grammar_of(schema if isinstance(schema, dict) else {})[0]
        value = {"type": "text"} if known in SYNTAXES[1:] else None
    return with_keyword(parameters, argument, CUSTOM, value)


def with_type(parameters: Schema, argument: str, kind: str) -> Schema:
    """Set the argument's type, and remove the keywords of other types: `minimum` does not constrain a string."""
    schema = arguments(parameters).get(argument)
    schema = dict(schema) if isinstance(schema, dict) else {}
    own = "number" if kind == "integer" else kind
    foreign = names_with(lambda keyword: keyword.about not in ("", "any", own))
    rest = {k: v for k, v in schema.items() if k not in foreign and k != "type"}
    return _with_properties(parameters, {**arguments(parameters), argument: {"type": kind, **rest}})


def with_required(parameters: Schema, argument: str, needed: bool) -> Schema:
    names = [name for name in required(parameters) if name != argument]
    if needed:
        chosen = {*names, argument}
        names = [name for name in arguments(parameters) if name in chosen]
    return _with_required(parameters, names)


def renamed(parameters: Schema, old: str, new: str) -> Schema:
    """Rename the argument, keeping its place."""
    properties = {new if name == old else name: schema for name, schema in arguments(parameters).items()}
    names = [new if name == old else name for name in required(parameters)]
    return _with_required(_with_properties(parameters, properties), names)


def added(parameters: Schema, argument: str, schema: Schema) -> Schema:
    return _with_properties(parameters, {**arguments(parameters), argument: schema})


def removed(parameters: Schema, argument: str) -> Schema:
    properties = {name: schema for name, schema in arguments(parameters).items() if name != argument}
    names = [name for name in required(parameters) if name != argument]
    return _with_required(_with_properties(parameters, properties), names)


def moved(parameters: Schema, argument: str, to: int) -> Schema:
    """Move the argument to place `to`; the grammar writes the arguments in this order."""
    items = [(name, schema) for name, schema in arguments(parameters).items() if name != argument]
    items.insert(to, (argument, arguments(parameters)[argument]))
    return _with_properties(parameters, dict(items))


def free_name(preferred: str, taken: Any) -> str:
    """`preferred`, followed if necessary by the first number that makes it unique."""
    if preferred not in taken:
        return preferred
    number = 2
    while f"{preferred}_{number}" in taken:
        number += 1
    return f"{preferred}_{number}"


def _with_properties(parameters: Schema, properties: Schema) -> Schema:
    if "properties" in parameters:
        return {**parameters, "properties": properties}
    return {"type": "object", **parameters, "properties": properties}


def _with_required(parameters: Schema, names: list[str]) -> Schema:
    if names:
        return {**parameters, "required": names}
    return {key: value for key, value in parameters.items() if key != "required"}
