"""Write a registry in any form of `tool_forms.FORMS`, with all that its file had, and list what of it is not used."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from glyphscope.base.errors import RegistryError, find_named
from glyphscope.base.json_values import as_object
from glyphscope.base.pointer import Path, readable, to_pointer
from glyphscope.base.shorten import listed, shorten
from glyphscope.registry import openapi
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import plain
from glyphscope.registry.keywords import LIMITS, children
from glyphscope.registry.tool import Tool, ToolRegistry
from glyphscope.registry.tool_forms import (
    FORMS,
    HOLE,
    MISSING,
    Item,
    as_parameters,
    hosted_name,
    shape_for,
    shape_of,
)

_MAX_LEVELS = 50
_SHOWN = 60


def with_origin(
    registry: ToolRegistry, form: str, found: Sequence[Item | None], document: Any
) -> ToolRegistry:
    """The registry of a file in that form, whose tools are those items, with what is needed to write an equal file.

    The document is used up.
    """
    if to_form(registry, form) == document:
        return registry
    tools = []
    for tool, item in zip(registry.tools, found, strict=True):
        assert item is not None and item.shape is not None
        kept = {"form": form, "at": list(item.at), "item": _with_holes(tool, item)}
        tools.append(replace(tool, kept=kept | ({"prefix": item.prefix} if item.prefix else {})))
    for item in found:
        assert item is not None
        document = _put(document, item.at, HOLE)
    return replace(registry, tools=tuple(tools), kept={"form": form, "document": document})


def _with_holes(tool: Tool, found: Item) -> dict[str, Any]:
    """The item, without the members that the tool has as they were written."""
    assert found.shape is not None
    item = {key: value for key, value in found.item.items() if key != openapi.PLACE}
    own = _members(tool, found.prefix)
    for name, member in found.shape.members.items():
        if member.path and name in own and member.get(item, None) == own[name]:
            item = _put(item, member.path, HOLE)
    return item


def _members(tool: Tool, prefix: str) -> dict[str, Any]:
    return {
        "name": tool.name.removeprefix(prefix), "description": tool.description, "parameters": tool.parameters
    } | tool.facts()  # fmt: skip


def _put(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at a path that exists in it."""
    if not path:
        return new
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = new
    return value


def to_form(registry: ToolRegistry, form: str) -> Any:
    """The registry's allowed tools as a document of that form.

    Saved in the form of its file, everything that is not changed is as it was there. Raises RegistryError for an
    unknown form.
    """
    new = find_named(
        {name: each.new for name, each in FORMS.items()}, form, f"form {form}", error=RegistryError
    )
    kept = registry.kept.get("document") if registry.kept.get("form") == form else None
    document = new() if kept is None else plain(kept)[0]
    holes = set(_holes(document, ()))
    added = []
    for tool in registry.allowed:
        place = tuple(tool.kept.get("at", ())) if tool.kept.get("form") == form else None
        if place not in holes or not isinstance(tool.kept.get("item"), dict):
            added.append(tool)
            continue
        holes.remove(place)
        document = _put(document, place, _saved_item(tool, form, place, document))
    for place in sorted(holes, key=_order, reverse=True):
        if not place:
            document = new()
            continue
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        del holder[place[-1]]
    for tool in added:
        document = _added(document, tool, form)
    return document


def _order(place: Path) -> tuple[tuple[str, int], ...]:
    """So that the last place of a list comes last."""
    return tuple((step, 0) if isinstance(step, str) else ("", step) for step in place)


def _holes(value: Any, at: Path) -> Iterator[Path]:
    if value == HOLE:
        yield at
    elif isinstance(value, dict | list) and len(at) < _MAX_LEVELS:
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _holes(inner, (*at, step))


def _saved_item(tool: Tool, form: str, place: Path, document: Any) -> Any:
    """The item of the tool's file, with those members changed that differ from the tool's."""
    prefix = str(tool.kept.get("prefix", ""))
    item = plain(tool.kept["item"])[0]
    shape = shape_of(form, item)
    if shape is None or shape.custom != (tool.format is not None):
        return shape_for(form, custom=tool.format is not None).new(
            tool, tool.name.removeprefix(prefix), document
        )
    own = _members(tool, prefix)
    with_place = openapi.placed(item, place, document) if form == "openapi" else item
    for name, member in shape.members.items():
        value = member.get(with_place, document)
        new = own.get(name, MISSING)
        if value is MISSING or value is None:
            if new is not MISSING and not (name == "parameters" and new == as_parameters(None)) and new != "":
                member.put(with_place, new, document)
        elif (value == HOLE and member.path) or not _is_same(name, value, new):
            if new is MISSING:
                member.put(with_place, None, document)
            else:
                member.put(with_place, plain(new)[0], document)
    with_place.pop(openapi.PLACE, None)
    return with_place


def _is_same(name: str, value: Any, new: Any) -> bool:
    """Whether a file's member is read as the tool's."""
    if name == "parameters":
        return isinstance(value, dict) and not check_schema(value) and as_parameters(value) == new
    return value == new or (new is MISSING and value in ([], {}))


def _added(document: Any, tool: Tool, form: str) -> Any:
    """The document with a tool that its file did not have, at the end."""
    shape = shape_for(form, custom=tool.format is not None)
    if form == "openapi":
        path = f"/{tool.name}"
        document.setdefault("paths", {}).setdefault(path, {})["post"] = shape.new(tool, tool.name, document)
        return document
    listed = _list_of(document, form)
    space, _, short = tool.name.rpartition(".")
    groups = [document] if listed is None else listed
    for group in groups if form == "openai-responses" and space else ():
        if as_object(group).get("type") == "namespace" and group.get("name") == space:
            group.setdefault("tools", []).append(shape.new(tool, short, document))
            return document
    item = shape.new(tool, tool.name, document)
    if listed is None:  # a file of a single tool
        return [document, item]
    listed.append(item)
    return document


def _list_of(document: Any, form: str) -> list[Any] | None:
    """The list in a document to which tools are added; None if it has none."""
    if isinstance(document, dict) and document.get("type") != "namespace":
        document = as_object(document.get("result", document)).get("tools", document)
    if form == "gemini":
        groups = document if isinstance(document, list) else [document]
        for group in groups:
            for key in ("functionDeclarations", "function_declarations"):
                if isinstance(inner := as_object(group).get(key), list):
                    return inner
        if isinstance(document, list) and not any("name" in as_object(each) for each in document):
            document.append({"functionDeclarations": []})
            return document[-1]["functionDeclarations"]  # type: ignore[no-any-return]
    return document if isinstance(document, list) else None


class Unused(NamedTuple):
    """Something in a registry's file that Glyphscope does not use: its name, the reason, and where it is."""

    what: str
    why: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.what} ({shorten(listed(self.places, 3), _SHOWN)}): {self.why}"


class Notes:
    """Collects what is not used, each name and reason once, with its places."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    def add(self, what: str, why: str, place: str) -> None:
        self._found.setdefault((what, why), []).append(place)

    def leave(self, item: Mapping[str, Any], used: Collection[str], place: str, of: str) -> None:
        """Note the members of an item that are not used, unless empty or false; `of` says in words what it is."""
        for key, value in item.items():
            if key not in used and value is not False and value not in (None, [], {}):
                self.add(f"{key} of {of}", why_unused(key), f"{place}/{key}")

    def found(self) -> tuple[Unused, ...]:
        """The most frequent first."""
        ordered = sorted(self._found.items(), key=lambda each: -len(each[1]))
        return tuple(Unused(what, why, tuple(places)) for (what, why), places in ordered)


CREDENTIALS = frozenset(
    {"authorization", "authorization_token", "headers", "api_key", "access_token", "client_secret"}
)
"""Members that may be credentials."""
_SECRET = "a credential; no call is sent to a server. Remove it before you share the file."
_AT_PROVIDER = "runs at the provider; it is not offered to a model here."
_WHY = {
    "tool_search": "the tool loop has its own search for deferred tools.",
    "allowed_callers": "calls come only from the model, not from code that it writes.",
    "cache_control": "a model here keeps what is equal of the prompt without a mark.",
    "eager_input_streaming": "arguments are always shown while they are written.",
    "nextCursor": "the list has more pages, which are not in this file.",
    "behavior": "a call is always awaited.",
    "async": "a call is always awaited.",
    "model": "the project's model answers.",
    "stream": "an answer is always shown while it is written.",
    "stream_options": "an answer is always shown while it is written.",
    "is_error": "the model gets the text of the result alone.",
    "signature": "only the provider reads it.",
    "encrypted_content": "only the provider reads it.",
    "previous_response_id": "the earlier messages are at the provider.",
    "conversation": "the earlier messages are at the provider.",
    "thread": "the provider keeps the conversation; of one that is continued, the system prompt and tools too.",
    "mcp_servers": "no server is connected: import its tools.",
    "logprobs": "probabilities are always recorded.",
    "top_logprobs": "the options of the run set the number of alternatives.",
    "logit_bias": "its tokens are those of another model.",
    "n": "a run has one answer.",
    "title": "the name is shown.",
    "icons": "the name is shown.",
    "servers": "no call is sent to a server.",
    "security": "no call is sent to a server.",
    "headers": "they may have credentials; no call is sent to a server. Remove them before you share the file.",
}
_NOT_USED = "not used."
_STRUCTURE = frozenset({"jsonrpc", "id", "openapi", "name", "type", "schemas", "parameters", "requestBodies"})


def unused(registry: ToolRegistry) -> tuple[Unused, ...]:
    """The parts of its file that Glyphscope keeps and does not use, with the reason; the most frequent first."""
    notes = Notes()
    form = str(registry.kept.get("form", ""))
    for tool in registry.tools:
        item = tool.kept.get("item")
        shape = shape_of(str(tool.kept.get("form")), item)
        if isinstance(item, dict) and shape is not None:
            used = frozenset(shape.used)
            if form == "openapi" and not item.get("description"):
                used |= {("summary",)}  # which is the description then
            more = openapi.left(item, tool.kept, registry.kept.get("document")) if form == "openapi" else ()
            for path in (*_left(item, (), used), *more):
                notes.add(".".join(map(str, path)), why_unused(str(path[-1])), tool.name)
    if form:
        in_body = "tools" in as_object(registry.kept.get("document"))
        for path, value in _beside(registry.kept.get("document"), (), form):
            if isinstance(path[-1] if path else None, int) or (path and path[-1] == "tools"):
                what = hosted_name(value) if isinstance(value, dict) else str(value)
                notes.add(what, _why_hosted(what), to_pointer(path))
            elif form == "gemini" and (not in_body if len(path) == 1 else isinstance(path[-2], int)):
                notes.add(str(path[-1]), _AT_PROVIDER, to_pointer(path))
            else:
                within = isinstance(path[-2:][0], int) or as_object(registry.kept["document"]).get("type")
                what = f"{path[-1]} of a namespace" if within else str(path[-1])
                notes.add(what, why_unused(str(path[-1])), to_pointer(path))
            for name in _credentials(value) if path[:1] not in (("messages",), ("input",)) else ():
                notes.add(name, _WHY.get(name, _SECRET), to_pointer(path))
    return notes.found()


def _credentials(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from sorted(CREDENTIALS & value.keys())
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


_CLIENTS = re.compile(r"(bash|text_editor|computer|memory|browser)(_|$)|local_shell$|shell$|apply_patch$")


def _why_hosted(name: str) -> str:
    if name.startswith("tool_search"):
        return _WHY["tool_search"]
    if _CLIENTS.match(name):
        return "only the provider's models know its arguments; it is not offered to a model here."
    return _WHY.get(name, _AT_PROVIDER)


def why_unused(name: str) -> str:
    """The reason why a member of that name is not used."""
    return _WHY.get(name, _NOT_USED)


def _left(value: Any, at: Path, used: frozenset[Path]) -> Iterator[Path]:
    """The places in an item that are not used. A null says nothing."""
    if at in used or value is None:
        return
    if isinstance(value, dict) and (not at or any(path[: len(at)] == at for path in used)):
        for key, inner in value.items():
            yield from _left(inner, (*at, key), used)
    else:
        yield at


def _beside(value: Any, at: Path, form: str) -> Iterator[tuple[Path, Any]]:
    """The places in a document that are beside its tools, and what is there."""
    if value == HOLE or value is None:
        return
    holder = not at or any(True for _ in _holes(value, ())) or _is_holder(value, at)
    if (
        isinstance(value, dict)
        and holder
        and not (at and isinstance(at[-1], int) and not _is_holder(value, at))
    ):
        for key, inner in value.items():
            if key not in _STRUCTURE and not (key == "info" and inner.keys() <= {"title", "version"}):
                yield from _beside(inner, (*at, key), form)
    elif isinstance(value, dict) and at == ("components",):
        yield from ((("components", key), inner) for key, inner in value.items() if key not in _STRUCTURE)
    elif isinstance(value, list) and holder:
        for index, inner in enumerate(value):
            yield from _beside(inner, (*at, index), form)
    else:
        yield at, value


def _is_holder(value: Any, at: Path) -> bool:
    """Whether it is a list of tools, or a group of them, even without any."""
    if isinstance(value, dict):
        return value.get("type") == "namespace" or any(
            isinstance(value.get(key), list) for key in ("functionDeclarations", "function_declarations")
        )
    return isinstance(value, list) and at[-1] in ("tools", "functionDeclarations", "function_declarations")


_MOST_NAMES = 4
_STRICT: dict[str, tuple[str, frozenset[str]]] = {
    "openai": ("OpenAI", frozenset({"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else"})),
    "anthropic": (
        "Anthropic",
        frozenset({*LIMITS["value"], *LIMITS["length"], *LIMITS["items"], "multipleOf"} - {"minItems"}),
    ),
}  # fmt: skip
"""The API by the beginning of its forms' names, and the keywords that it rejects in a strict tool."""


def strict_problems(tool: Tool, form: str = "") -> tuple[str, ...]:
    """The places in the schema of a strict tool that the API of that form rejects, by default each API."""
    apis = {key: each for key, each in _STRICT.items() if form.startswith(key)} or (
        _STRICT if not form else {}
    )
    found: dict[str, list[str]] = {}
    schemas: list[tuple[Path, Any]] = [((), tool.parameters)] if tool.strict and tool.format is None else []
    for at, schema in schemas:
        schemas += (((*at, *step), inner) for step, inner in children(schema) if isinstance(inner, dict))
        for key, (api, lacks) in apis.items():
            named = schema.get("properties", {})
            open_ = schema.get("type") == "object" and schema.get("additionalProperties") is not False
            optional = (
                [name for name in named if name not in schema.get("required", ())] if key == "openai" else []
            )
            place = readable(to_pointer(tuple(step for step in at if step != "properties")))
            for words, names in (
                ("missing", ['"additionalProperties": false'] if open_ else []),
                ("not required", optional),
                ("not supported", sorted(lacks & schema.keys())),
            ):
                if names:
                    problem = f"{words}{f' in {place}' if place else ''}: {listed(names, _MOST_NAMES)}"
                    found.setdefault(problem, []).append(api)
    return tuple(f"{problem} ({', '.join(names)})" for problem, names in found.items())


def name_problems(registry: ToolRegistry, form: str) -> tuple[str, ...]:
    """The names of allowed tools that the API of that form rejects."""
    pattern = FORMS[form].names
    if not pattern:
        return ()
    return tuple(
        tool.name
        for tool in registry.allowed
        if not re.fullmatch(
            pattern, tool.name.rpartition(".")[2] if form == "openai-responses" else tool.name
        )
    )
