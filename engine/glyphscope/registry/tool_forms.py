"""The forms in which other programs write lists of tools: a table from which they are read and written.

A `Shape` says where an item of a list has each member of a tool. All else of an item stays in `Tool.kept`, and
what the file has beside its tools in `ToolRegistry.kept`: saved in the same form, an unchanged registry is equal to its
file, and of a changed tool only the changed members are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from glyphscope.base.json_values import as_object
from glyphscope.base.pointer import Path
from glyphscope.registry import openapi
from glyphscope.registry.document import plain
from glyphscope.registry.keywords import CUSTOM
from glyphscope.registry.making import with_children
from glyphscope.registry.normal_form import normalise
from glyphscope.registry.tool import Tool, custom_parameters

MISSING: Any = object()
"""The value of a member that an item does not have."""
HOLE = "$tool"
"""In a kept item, the place of a member that the tool has as it was written; in a kept document, that of a tool."""
_SUFFIX = re.compile(r"_20\d{6}$")


class Member(NamedTuple):
    """A member of a tool within an item. `get` has the item and its whole document, and returns MISSING for none; `put`
    changes an item. `path` is where it is written as the tool has it; empty if it is made of several places.
    """

    get: Callable[[Any, Any], Any]
    put: Callable[[Any, Any, Any], None]
    path: Path = ()
    pointers: Callable[[Path, Path], Path] = lambda place, _inner: place
    """The place in the document of a place in the value of an item."""
    used: tuple[Path, ...] = ()
    """The places that it is made of."""


def at(
    *path: str, decode: Callable[[Any], Any] | None = None, encode: Callable[[Any], Any] | None = None
) -> Member:
    """A member at one place; `decode` and `encode` are for another notation of its value."""

    def get(item: Any, _document: Any) -> Any:
        value = _at(item, path)
        return value if decode is None or value is MISSING else decode(value)

    def put(item: Any, value: Any, _document: Any) -> None:
        for step in path[:-1]:
            item = item.setdefault(step, {})
        item[path[-1]] = value if encode is None else encode(value)

    return Member(get, put, path, lambda place, inner: (*place, *path, *inner), (path,))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        if value is MISSING:
            return value
    return value


@dataclass(frozen=True)
class Shape:
    """How an item writes a tool. `sign` recognises it; `fixed` are its constant members; `custom`: it is a text of a
    grammar.
    """

    form: str
    sign: Callable[[dict[str, Any]], bool]
    members: Mapping[str, Member]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    custom: bool = False

    @property
    def used(self) -> tuple[Path, ...]:
        return (("type",), ("enabled",), *(path for member in self.members.values() for path in member.used))

    def new(self, tool: Tool, name: str, document: Any) -> dict[str, Any]:
        """An item for a tool that the file did not have."""
        given = {"name": name, "description": tool.description, "parameters": tool.parameters} | tool.facts()
        made: dict[str, Any] = dict(self.fixed)
        for member, place in self.members.items():
            if member in given:
                place.put(made, plain(given[member])[0], document)
        return made


def _format(form: Any) -> Any:
    """The parameters of a custom tool; Chat Completions has the grammar in an inner object."""
    if isinstance(form, dict) and isinstance(grammar := form.get("grammar"), dict):
        form = {**{key: value for key, value in form.items() if key != "grammar"}, **grammar}
    form = {"type": "text"} if form is None else form
    return custom_parameters(form if isinstance(form, dict) else {"type": form})


def _custom(*path: str, nested: bool) -> Member:
    """The `format` of a custom tool as its parameters; an item without one takes any text."""
    place = at(*path)

    def get(item: Any, document: Any) -> Any:
        value = place.get(item, document)
        return _format(None if value is MISSING else value)

    def put(item: Any, value: Any, document: Any) -> None:
        form = dict(Tool("", parameters=value).format or {"type": "text"})
        grammar = {key: inner for key, inner in form.items() if key != "type"}
        place.put(item, {"type": form["type"], "grammar": grammar} if nested and grammar else form, document)

    def pointers(place: Path, inner: Path) -> Path:
        grammar = ("grammar",) if nested else ()
        rest = inner[inner.index(CUSTOM) + 1 :] if CUSTOM in inner else ()
        return (*place, *path, *grammar, *rest)

    return Member(get, put, (), pointers, (path,))


_GEMINI_TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_GEMINI_KEYWORDS = {
    "_".join(part.lower() for part in re.findall("[A-Z]?[a-z]+", name)): name
    for name in (*_COUNTS, "anyOf", "additionalProperties", "propertyOrdering")
} | {"ref": "$ref", "defs": "$defs"}
"""As Python's SDK writes them."""


def gemini_schema(schema: Any) -> Any:
    """JSON Schema of Gemini's own: its types are in capitals, and its counts may be texts, as protobuf writes int64."""
    if not isinstance(schema, dict):
        return schema
    schema = {_GEMINI_KEYWORDS.get(key, key): value for key, value in schema.items() if value is not None}
    try:
        made = with_children(schema, gemini_schema)
    except RecursionError:  # which the check of the schema reports
        return schema
    if made.get("type") in _GEMINI_TYPES:
        made["type"] = made["type"].lower()
    elif made.get("type") == "TYPE_UNSPECIFIED":
        del made["type"]
    return {
        key: int(value) if key in _COUNTS and isinstance(value, str) and value.isdigit() else value
        for key, value in made.items()
    }


def _both(*names: str) -> tuple[str, str]:
    """A name as JSON has it, and as Python's SDK writes it."""
    camel = "".join(part if n == 0 else part.title() for n, part in enumerate(names))
    return camel, "_".join(names)


_PLAIN = {"name": at("name"), "description": at("description")}
_STRICT = {"strict": at("strict")}
_DEFERRED = {"defer_loading": at("defer_loading")}


def _has(key: str) -> Callable[[dict[str, Any]], bool]:
    return lambda item: key in item


def _gemini(own: str, *plain_names: str) -> Member:
    """A schema of Gemini's own, or a plain one; once edited, it is plain, by the first name unless it has another."""

    def place(item: Any) -> str:
        return next((name for name in (own, *plain_names) if item.get(name) is not None), plain_names[0])

    def get(item: Any, document: Any) -> Any:
        name = place(item)
        return at(name, decode=gemini_schema if name == own else None).get(item, document)

    def put(item: Any, value: Any, _document: Any) -> None:
        name = place(item)
        if name == own:
            item.pop(own)
        item[plain_names[0] if name == own else name] = value

    return Member(
        get, put, (), lambda at, inner: (*at, own, *inner), tuple((name,) for name in (own, *plain_names))
    )


def _is_declared(item: dict[str, Any]) -> bool:
    """Whether it has a schema of Gemini's own."""
    return any(as_object(item.get(name)).get("type") in _GEMINI_TYPES for name in ("parameters", "response"))


_GEMINI_OUTPUT = _gemini("response", *_both("response", "json", "schema"))
_GEMINI_DECLARED = {
    **_PLAIN,
    "parameters": _gemini("parameters", *_both("parameters", "json", "schema")),
    "output_schema": _GEMINI_OUTPUT,
}


def _schema_put(item: Any, value: Any, _document: Any) -> None:
    about = {key: item[key] for key in ("title", "description") if key in item}
    item.clear()
    item |= about | {key: inner for key, inner in value.items() if key not in about}


SHAPES: tuple[Shape, ...] = (
    Shape(
        "openai-chat",
        lambda item: isinstance(item.get("function"), dict),
        {name: at("function", name) for name in ("name", "description", "parameters", "strict")},
        {"type": "function"},
    ),
    Shape(
        "openai-chat",
        lambda item: item.get("type") == "custom" and isinstance(item.get("custom"), dict),
        {
            "name": at("custom", "name"),
            "description": at("custom", "description"),
            "parameters": _custom("custom", "format", nested=True),
        },
        {"type": "custom"},
        custom=True,
    ),
    Shape(
        "anthropic",
        _has("input_schema"),
        {
            **_PLAIN,
            "parameters": at("input_schema"),
            **_STRICT,
            **_DEFERRED,
            "input_examples": at("input_examples"),
        },
    ),
    Shape(
        "mcp",
        _has("inputSchema"),
        {
            **_PLAIN,
            "parameters": at("inputSchema"),
            "output_schema": at("outputSchema"),
            "annotations": at("annotations"),
        },
    ),
    Shape(
        "pydantic-ai",
        _has("parameters_json_schema"),
        {
            **_PLAIN,
            "parameters": at("parameters_json_schema"),
            **_STRICT,
            **_DEFERRED,
            "output_schema": at("return_schema"),
        },
    ),
    *(
        Shape(
            "gemini",
            lambda item, key=key: item.get(key) is not None,  # type: ignore[misc]
            {**_PLAIN, "parameters": at(key), "output_schema": _GEMINI_OUTPUT},
        )
        for key in _both("parameters", "json", "schema")
    ),
    Shape("gemini", _is_declared, _GEMINI_DECLARED),
    Shape(
        "openai-responses",
        lambda item: item.get("type") == "custom",
        {**_PLAIN, "parameters": _custom("format", nested=False), **_DEFERRED},
        {"type": "custom"},
        custom=True,
    ),
    Shape(
        "openai-responses",
        lambda item: item.get("type") == "function",
        {
            **_PLAIN,
            "parameters": at("parameters"),
            **_STRICT,
            **_DEFERRED,
            "output_schema": at("output_schema"),
        },
        {"type": "function"},
    ),
    Shape(
        "json-schema",
        lambda item: (
            "name" not in item and "title" in item and ("properties" in item or item.get("type") == "object")
        ),
        {
            "name": at("title"),
            "description": at("description"),
            "parameters": Member(
                lambda item, _document: {k: v for k, v in item.items() if k not in ("title", "description")},
                _schema_put,
                (),
                lambda place, inner: (*place, *inner),
                ((),),
            ),
        },
    ),
    Shape("functions", lambda item: True, {**_PLAIN, "parameters": at("parameters"), **_STRICT, **_DEFERRED}),
)
"""In the order in which they are tried."""
GEMINI_DECLARED = Shape("gemini", lambda item: True, _GEMINI_DECLARED)
"""Any declaration of Gemini without a plain schema."""
OPERATION = Shape(
    "openapi",
    lambda item: True,
    {
        "name": Member(openapi.name, openapi.put_name, (), used=(("operationId",),)),
        "description": Member(openapi.description, openapi.put_description, (), used=(("description",),)),
        "parameters": Member(
            openapi.parameters, openapi.put_parameters, (), used=(("parameters",), ("requestBody",))
        ),
        "output_schema": Member(openapi.output, openapi.put_output, (), used=openapi.OUTPUTS),
    },
    {"responses": {"200": {"description": ""}}},
)


def as_parameters(schema: Any) -> dict[str, Any]:
    """The parameters of a tool with that schema, which has no error; None is the schema of no arguments."""
    made = normalise(schema) if schema else {"type": "object", "properties": {}}
    assert isinstance(made, dict)  # a check rejected the others
    if made.get("type") == "object":
        return made
    return {"type": "object"} | {key: value for key, value in made.items() if key != "type"}


class Form(NamedTuple):
    """A form of a file of tools. `title` names it; `new` is a file without tools; a tool's name must match `names`,
    which `limit` says.
    """

    title: str
    new: Callable[[], Any]
    names: str = ""
    limit: str = ""


_OPENAI_NAMES = (r"[a-zA-Z0-9_-]{1,64}", "letters, digits, _ and -, at most 64")
FORMS: dict[str, Form] = {
    "openai-chat": Form("OpenAI Chat Completions", list, *_OPENAI_NAMES),
    "openai-responses": Form("OpenAI Responses", list, *_OPENAI_NAMES),
    "anthropic": Form(
        "Anthropic Messages", list, r"[a-zA-Z0-9_-]{1,128}", "letters, digits, _ and -, at most 128"
    ),
    "gemini": Form(
        "Gemini",
        lambda: [{"functionDeclarations": []}],
        r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
        "letters, digits and _ . : -, beginning with a letter or _, at most 128",
    ),
    "mcp": Form("MCP tools/list", lambda: {"tools": []}),
    "openapi": Form(
        "OpenAPI", lambda: {"openapi": "3.1.0", "info": {"title": "Tools", "version": "1"}, "paths": {}}
    ),
    "functions": Form("Functions (LangChain, OpenAI before tools)", list, *_OPENAI_NAMES),
    "json-schema": Form("JSON Schemas with titles (Pydantic, LangChain)", list),
    "pydantic-ai": Form("Pydantic AI", list),
}
"""By the name in `--to`."""


def shape_for(form: str, *, custom: bool) -> Shape:
    """The shape in which a form writes a new tool; a form without custom tools has functions with their argument."""
    if form == "openapi":
        return OPERATION
    shapes = [shape for shape in SHAPES if shape.form == form]
    return next((shape for shape in shapes if shape.custom == custom), shapes[0])


def shape_of(form: str, item: Any) -> Shape | None:
    """The shape of a kept item of that form."""
    if form == "openapi":
        return OPERATION
    shape = _shape(item)
    return GEMINI_DECLARED if form == "gemini" and shape is SHAPES[-1] else shape


class Item(NamedTuple):
    """An item of a file: a tool of a `shape`, or without one something that its provider runs."""

    at: Path
    item: Any
    shape: Shape | None
    prefix: str = ""


class Group(NamedTuple):
    """An item with a list of tools. `prefix`: they are named by the group's name, a dot and their own."""

    key: str
    sign: Callable[[dict[str, Any]], bool]
    form: str
    prefix: bool = False


GROUPS = (
    Group("tools", lambda item: item.get("type") == "namespace", "openai-responses", prefix=True),
    *(
        Group(key, lambda item, key=key: isinstance(item.get(key), list), "gemini")  # type: ignore[misc]
        for key in _both("function", "declarations")
    ),
)


def items(listed: list[Any], path: Path) -> Iterator[Item]:
    """The items of a list, those of its groups in their places."""
    for index, item in enumerate(listed):
        place = (*path, index)
        group = next((group for group in GROUPS if isinstance(item, dict) and group.sign(item)), None)
        if group is None:
            yield Item(place, item, _shape(item))
            continue
        inner = item.get(group.key)
        prefix = f"{item.get('name')}." if group.prefix else ""
        for number, each in enumerate(inner if isinstance(inner, list) else ()):
            yield Item((*place, group.key, number), each, shape_of(group.form, each), prefix)
        if set(item) - {group.key} and group.form == "gemini":
            yield Item(place, {key: value for key, value in item.items() if key != group.key}, None)


def _shape(item: Any) -> Shape | None:
    """The shape of an item; None if its provider runs it. Anything else is meant as a tool, with its errors."""
    if not isinstance(item, dict):
        return SHAPES[-1]
    shape = next(shape for shape in SHAPES if shape.sign(item))
    if shape is SHAPES[-1] and not ("name" in item and "parameters" in item):
        if isinstance(kind := item.get("type"), str) and kind != "object":
            return None
        if "name" not in item and len(item) == 1 and isinstance(next(iter(item.values())), dict):
            return None  # Gemini's hosted tools: {"googleSearch": {}}
    if shape.form == "json-schema" and item.get("type") not in (None, "object"):
        return None
    return shape


def hosted_name(item: dict[str, Any]) -> str:
    """The name of a tool that its provider runs."""
    return str(item.get("type") or next(iter(item), ""))


def form_of(found: list[Item]) -> str:
    """The form of a file with these items: that of the first one that only one form has."""
    named = [each.shape.form for each in found if each.shape is not None]
    if special := next((form for form in named if form != "functions"), ""):
        return special
    hosted = [hosted_name(each.item) for each in found if each.shape is None]
    if any(map(_SUFFIX.search, hosted)) or "mcp_toolset" in hosted:
        return "anthropic"
    if named:
        return "functions"
    return "gemini" if hosted and all("type" not in each.item for each in found) else "openai-responses"
