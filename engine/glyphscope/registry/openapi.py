"""Operations of OpenAPI 3 as tools: each parameter is an argument of its name, and the request's body is `body`.

The functions have an operation and its document. The components to which an operation refers are copied
into the tool's `$defs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from glyphscope.base.json_values import as_object
from glyphscope.base.pointer import Path, follow_reference
from glyphscope.registry.document import plain

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
BODY = "body"
_JSON = "application/json"
_ANSWERS = ("200", "201", "202", "2XX", "default")
OUTPUTS: tuple[Path, ...] = tuple(("responses", code, "content", _JSON, "schema") for code in _ANSWERS)
"""The places of the schema of an answer, of which the first one counts."""
_COMPONENT = "#/components/schemas/"
_DEFINITION = "#/$defs/"
PLACE = "x-glyphscope-place"
"""In an operation that is read: its method and path, and the parameters of its path, which are written beside it."""
_MAX_REFERENCES = 50


def operations(document: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The place of each operation, and the operation, with its place."""
    for path, item in as_object(document.get("paths")).items():
        for method, operation in as_object(item).items():
            if method in METHODS and isinstance(operation, dict):
                at = ("paths", path, method)
                yield at, placed(operation, at, document)


def placed(operation: dict[str, Any], at: Path, document: Any) -> dict[str, Any]:
    """The operation with its place, which its name and arguments depend on."""
    path, method = map(str, at[1:3] if len(at) == 3 else ("", ""))
    beside = as_object(as_object(as_object(document).get("paths")).get(path)).get("parameters", [])
    return {**operation, PLACE: {"path": path, "method": method, "parameters": beside}}


def name(operation: Any, _document: Any) -> Any:
    """Its `operationId`, or its method and path."""
    place = operation.get(PLACE, {})
    made = re.sub(r"[^A-Za-z0-9]+", "_", f"{place.get('method', '')}{place.get('path', '')}").strip("_")
    return operation.get("operationId", made)


def put_name(operation: Any, value: Any, _document: Any) -> None:
    operation["operationId"] = value


def description(operation: Any, _document: Any) -> Any:
    return operation.get("description") or operation.get("summary") or ""


def put_description(operation: Any, value: Any, _document: Any) -> None:
    operation["description"] = value


def parameters(operation: Any, document: Any) -> Any:
    """The schema of its arguments."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for argument, given in _arguments(operation, document):
        properties[argument] = _schema_of(given, document)
        if given.get("required") is True:
            required.append(argument)
    made = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    return _with_definitions(made, document)


def _arguments(operation: Any, document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parameters and the body, by the names of their arguments; those of its path come first, unless replaced."""
    listed: dict[tuple[Any, Any], dict[str, Any]] = {}
    for given in (*_list(operation.get(PLACE, {}).get("parameters")), *_list(operation.get("parameters"))):
        each = as_object(_resolved(given, document))
        listed[each.get("name"), each.get("in")] = each
    taken: set[str] = set()
    for (named, place), each in listed.items():
        if not isinstance(named, str):
            continue
        argument = f"{place}_{named}" if named in taken or named == BODY else named
        taken.add(argument)
        yield argument, each
    if body := as_object(_resolved(operation.get("requestBody"), document)):
        yield BODY, body


def left(operation: Any, kept: dict[str, Any], document: Any) -> Iterator[tuple[str, str]]:
    """The members of parameters and bodies of a kept operation that are not used: of which of both, and their names."""
    at = kept.get("at")
    operation = placed(operation, tuple(at) if isinstance(at, list) else (), document)
    for argument, given in _arguments(operation, document):
        of = "requestBody" if argument == BODY else "parameters"
        content = as_object(given.get("content"))
        used = _of_json(content) if content else None
        more = [
            key for kind, media in content.items() for key in (as_object(media) if media is used else (kind,))
        ]
        for key in (*more, *(key for key, value in given.items() if value is not False)):
            if key not in ("name", "in", "required", "schema", "content", "description"):
                yield of, key


def _schema_of(given: dict[str, Any], document: Any) -> Any:
    """The schema of a parameter or a body, with its description."""
    schema = given.get("schema")
    if schema is None and (content := as_object(given.get("content"))):
        schema = as_object(_of_json(content)).get("schema")
    schema = {} if schema is None else schema
    words = given.get("description")
    if (
        not isinstance(schema, dict)
        or not isinstance(words, str)
        or "description" in schema
        or "$ref" in schema
    ):
        return schema
    return {**schema, "description": words}


def _of_json(content: dict[str, Any]) -> Any:
    return content.get(
        _JSON, next((value for kind, value in content.items() if "json" in kind), None)
    ) or next(iter(content.values()))


def put_parameters(operation: Any, value: Any, document: Any) -> None:
    """Changed arguments replace the parameters of their names; new ones are in the query."""
    known = dict(_arguments(operation, document))
    needed = value.get("required", ())
    place = operation.get(PLACE)
    made = []
    value = _without_definitions(value, document)
    for argument, schema in value.get("properties", {}).items():
        given = known.get(argument, {"name": argument, "in": "query"})
        if argument == BODY:
            body = {key: inner for key, inner in given.items() if key not in ("name", "in")}
            kind = next(iter(as_object(body.get("content"))), _JSON)
            operation["requestBody"] = body | {
                "required": argument in needed,
                "content": {**as_object(body.get("content")), kind: {"schema": schema}},
            }
            continue
        given = {key: inner for key, inner in given.items() if key not in ("schema", "content")}
        made.append({**given, "required": argument in needed, "schema": schema})
    if BODY not in value.get("properties", {}):
        operation.pop("requestBody", None)
    operation.pop("parameters", None)
    if made:
        operation["parameters"] = made
    if place is not None:
        operation[PLACE] = place


def output(operation: Any, document: Any) -> Any:
    """The schema of its answer, if that is JSON; None without."""
    responses = as_object(operation.get("responses"))
    for code in _ANSWERS:
        content = as_object(as_object(_resolved(responses.get(code), document)).get("content"))
        schema = as_object(content.get(_JSON)).get("schema")
        if isinstance(schema, dict):
            return _with_definitions(schema, document)
    return None


def put_output(operation: Any, value: Any, document: Any) -> None:
    schema = _without_definitions(value, document)
    operation["responses"] = {
        **as_object(operation.get("responses")),
        "200": {"description": "", "content": {_JSON: {"schema": schema}}},
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(value: Any, document: Any) -> Any:
    for _ in range(_MAX_REFERENCES):
        if not isinstance(value, dict) or not isinstance(ref := value.get("$ref"), str):
            return value
        found = follow_reference(document, ref)
        value = None if found is None else found[1]
    return None


def _with_definitions(schema: dict[str, Any], document: Any) -> dict[str, Any]:
    """The schema with the components that it refers to as its `$defs`."""
    found: dict[str, Any] = {}
    known = as_object(as_object(as_object(document).get("components")).get("schemas"))
    made = plain(schema)[0]
    waiting = [made]
    while waiting:
        for node, key in _references(waiting.pop(), _COMPONENT):
            named = node[key].removeprefix(_COMPONENT)
            node[key] = f"{_DEFINITION}{named}"
            if named not in found and named in known:
                found[named] = plain(known[named])[0]
                waiting.append(found[named])
    return {**made, "$defs": {**as_object(made.get("$defs")), **found}} if found else made


def _without_definitions(schema: dict[str, Any], document: Any) -> dict[str, Any]:
    """The schema with its `$defs` among the document's components."""
    made: dict[str, Any] = plain(schema)[0]
    definitions = as_object(made.pop("$defs", None))
    for part in (made, *definitions.values()):
        for node, key in _references(part, _DEFINITION):
            node[key] = f"{_COMPONENT}{node[key].removeprefix(_DEFINITION)}"
    if definitions:
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for named, definition in definitions.items():
            schemas.setdefault(named, definition)
    return made


def _references(value: Any, prefix: str) -> Iterator[tuple[dict[str, Any], str]]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if isinstance(ref := node.get("$ref"), str) and ref.startswith(prefix):
                yield node, "$ref"
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
