"""Converts BFCL's schemas and answers: Python's names of types, lists of right values, calls as Python source.

The format is that of the Berkeley Function Calling Leaderboard (versions 3 and 4). An answer lists, by argument, values
of which any one is right; an empty text among them means that the argument may be left out. The same applies to each
member of an argument that is an object. Turns of a conversation list their calls as Python expressions.
"""

from __future__ import annotations

import ast
import math
from itertools import islice, product
from typing import Any

from glyphscope.evals.suites.imported import NotReadable
from glyphscope.evals.suites.suite import ExpectedCall
from glyphscope.text.shorten import shorten

MAX_VALUES = 256
"""Values of one argument, after combining the alternatives of its members."""

_MAX_LEVELS = 64
_MAX_SOURCE = 4_000
_TYPES = {
    "dict": "object", "object": "object", "float": "number", "number": "number", "double": "number",
    "integer": "integer", "int": "integer", "string": "string", "str": "string", "boolean": "boolean",
    "bool": "boolean", "array": "array", "list": "array", "tuple": "array", "null": "null", "any": "",
}  # fmt: skip
_OMITTED = object()


def tool_of(function: Any) -> dict[str, Any]:
    """A tool in the form of Glyphscope's registry. Raises NotReadable."""
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise NotReadable("A function has no name.")
    parameters = function.get("parameters")
    tool = {
        "name": function["name"],
        "parameters": {"type": "object"} if parameters is None else schema_of(parameters),
    }
    if isinstance(function.get("description"), str):
        tool["description"] = function["description"]
    return tool


def schema_of(schema: Any, level: int = 0) -> Any:
    """The JSON Schema of a function's or an argument's description. Raises NotReadable."""
    if level > _MAX_LEVELS:
        raise NotReadable("A function's parameters are nested too deep.")
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key != "required" or isinstance(value, list)}
    kind = made.pop("type", "any")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise NotReadable(f"The type {shorten(str(kind), 40)} is not a type of the Python categories.")
    if _TYPES[kind]:
        made = {"type": _TYPES[kind], **made}
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: schema_of(each, level + 1) for name, each in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in made:
            made[key] = schema_of(made[key], level + 1)
    return made


def expected_call(answer: Any) -> ExpectedCall:
    """The expected call of one `{name: {argument: [value, …]}}`. Raises NotReadable."""
    if not isinstance(answer, dict) or len(answer) != 1:
        raise NotReadable("An answer is not an object with one function's name.")
    ((name, arguments),) = answer.items()
    if not isinstance(arguments, dict) or not all(isinstance(each, list) for each in arguments.values()):
        raise NotReadable(f"The answer for {name} does not list its arguments' values.")
    any_of: dict[str, tuple[Any, ...]] = {}
    optional: list[str] = []
    for argument, values in arguments.items():
        given = [value for value in values if not _is_empty(value)]
        if len(given) < len(values) and given:
            optional.append(argument)
        if given:
            any_of[argument] = tuple(_taken(one for value in given for one in _alternatives(value, 0)))
    return ExpectedCall(
        tools=(name,),
        arguments=None if any_of else {},  # if no value is right, none may be given
        any_of=any_of,
        optional=tuple(optional),
        folded=True,
    )


def parsed_call(source: str, tools: dict[str, dict[str, Any]]) -> ExpectedCall:
    """The expected call of a Python call with literal arguments, of a tool in `tools`, whose schemas are valid.

    Raises NotReadable.

    Other arguments may be given as well, and one with its default value may be left out.
    """
    call = _call_of(source)
    name = ast.unparse(call.func)
    if name not in tools:
        raise NotReadable(f"The answer calls {shorten(name, 60)}, which is not a function of the entry.")
    schema = tools[name]["parameters"]
    properties: dict[str, Any] = schema.get("properties", {})
    if len(call.args) > len(properties):
        raise NotReadable(f"The answer gives {name} more arguments than it accepts.")
    given = dict(zip(properties, call.args))
    for keyword in call.keywords:
        if keyword.arg is None:
            raise NotReadable("An answer unpacks its arguments.")
        given[keyword.arg] = keyword.value
    try:
        arguments = {key: _plain(ast.literal_eval(value)) for key, value in given.items()}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise NotReadable(f"An argument of {name} is not a literal.") from None
    required = schema.get("required", ())
    optional = tuple(
        key
        for key, value in arguments.items()
        if key not in required and _is_default(properties.get(key), value)
    )
    return ExpectedCall(tools=(name,), arguments=arguments, match="subset", optional=optional, folded=True)


def _call_of(source: str) -> ast.Call:
    if len(source) > _MAX_SOURCE:
        raise NotReadable(f"A call of an answer has more than {_MAX_SOURCE:,} characters.")
    call: ast.expr | None
    try:
        call = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        call = None
    if not isinstance(call, ast.Call):
        raise NotReadable(f"Not a Python call: {shorten(source, 60)}")
    return call


def _is_default(schema: Any, value: Any) -> bool:
    return isinstance(schema, dict) and "default" in schema and bool(schema["default"] == value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("a key that is not a string")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("no value of JSON")


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value


def _alternatives(value: Any, level: int) -> list[Any]:
    """The values that one entry of an answer represents: an object's members have lists of values."""
    if level > _MAX_LEVELS:
        raise NotReadable("An answer is nested too deep.")
    if isinstance(value, dict):
        choices = []
        for listed in value.values():
            listed = listed if isinstance(listed, list) else [listed]
            found: list[Any] = [
                one for each in listed if not _is_empty(each) for one in _alternatives(each, level + 1)
            ]
            choices.append(_taken([*found, _OMITTED] if len(found) < len(listed) or not found else found))
        rows = _taken(product(*choices))
        return [{k: v for k, v in zip(value, row) if v is not _OMITTED} for row in rows]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [list(row) for row in _taken(product(*(_alternatives(item, level + 1) for item in value)))]
    return [value]


def _taken(values: Any) -> list[Any]:
    found = list(islice(values, MAX_VALUES + 1))
    if len(found) > MAX_VALUES:
        raise NotReadable(f"An argument has more than {MAX_VALUES} right values.")
    return found
