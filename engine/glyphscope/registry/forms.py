"""The common forms of tools, read into one form: names, descriptions and schemas, not yet checked.

Glyphscope's form; those of other programs (`tool_forms.py`), also in an object's `tools` and in a JSON-RPC envelope;
`{name: JSON Schema}`; and `{name: {"args": {argument: {"type", "required", "min", "max", …}}}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from glyphscope.base.errors import Problem, RegistryError
from glyphscope.base.json_values import json_file
from glyphscope.base.pointer import Path, to_pointer
from glyphscope.events import Strict
from glyphscope.registry.check import meant_type
from glyphscope.registry.keywords import ABOUT, ANY_TYPE, DEFINITIONS, LIMITS
from glyphscope.registry.openapi import operations
from glyphscope.registry.tool import FACTS, VERSION, Tool, ToolRegistry
from glyphscope.registry.tool_forms import MISSING, OPERATION, Item, form_of, items, shape_for

Api: TypeAlias = Literal["templates", "endpoints", "chat", "responses"]
"""The receiver of tools: chat templates, compatible servers, or one of OpenAI's two interfaces."""

_OUR_KEYS = {"glyphscope", "tools", "unknown_arguments", "kept"}
_OUR_TOOL_KEYS = {"name", "description", "enabled", "parameters", "kept", *FACTS}

_OUR_CUSTOM_KEYS = {"name", "description", "enabled", "type", "format", "kept", *FACTS}

_SIGNS = {"args", "type", "$schema", "description", "title", *ABOUT["object"], *ANY_TYPE, *DEFINITIONS}
"""The value for a tool's name has at least one of these keys: those of a JSON Schema, or of the short form."""

_ARG_TYPES = {
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
}
_ARG_TYPES |= {"bool": "boolean", "boolean": "boolean", "array": "array", "object": "object"}
_ARG_KEYWORDS = dict(zip(("min", "max"), LIMITS["value"], strict=True))
_ARG_PLAIN = ABOUT["string"] | {*LIMITS["items"], "enum", "description", "default"}
"""The short form of arguments: its types and bounds of numbers in JSON Schema, and the keywords that both share."""


@dataclass(frozen=True)
class RawTool:
    """A tool as written. `pointers` maps a path in its schema to the place in the user's document; `facts` are those
    of `FACTS`, `item` its place in a file of another program, and `kept` what an earlier file had.
    """

    at: Path
    name: Any
    description: Any = ""
    parameters: Any = None
    enabled: Any = True
    pointers: Callable[[Path], Path] = field(default=lambda path: path)
    facts: dict[str, Any] = field(default_factory=dict)
    item: Item | None = None
    kept: Any = None


@dataclass
class RawRegistry:
    """The tools of a document as written, and the problems with its form; `form` is that of another program."""

    tools: list[RawTool] = field(default_factory=list)
    unknown_arguments: Any = "refuse"
    problems: list[Problem] = field(default_factory=list)
    form: str = ""
    kept: Any = None

    def problem(self, path: Path, message: str) -> None:
        self.problems.append(Problem(to_pointer(path), message))


def read_forms(document: Any, where: str = "") -> RawRegistry:
    """The tools of a document in any of the forms. Raises RegistryError for any other document, or a newer version."""
    raw = RawRegistry()
    if isinstance(document, list):
        _listed(raw, document, (), document)
    elif not isinstance(document, dict):
        raise _unknown_form(where)
    elif "glyphscope" in document:
        _own_form(raw, document, where)
    elif isinstance(result := document.get("result"), dict) and isinstance(result.get("tools"), list):
        _listed(raw, result["tools"], ("result", "tools"), document)
    elif "jsonrpc" in document:
        raise RegistryError(
            "This JSON-RPC answer has no list of tools.", where=where, hint="Save a tools/list result."
        )
    elif isinstance(document.get("tools"), list) and document.get("type") != "namespace":
        _listed(raw, document["tools"], ("tools",), document)
    elif isinstance(document.get("openapi"), str):
        raw.form = "openapi"
        raw.tools += (_of_item(Item(at, item, OPERATION), document) for at, item in operations(document))
    elif isinstance(document.get("name"), str) or _is_single(document):
        _listed(raw, [document], None, document)
    elif document and all(_is_schema(value) for value in document.values()):
        for name, value in document.items():
            raw.tools.append(_with_args(raw, name, value) if "args" in value else _from_schema(name, value))
    else:
        raise _unknown_form(where)
    return raw


def _is_single(document: dict[str, Any]) -> bool:
    """Whether this is a single tool whose name is inside it, a schema with a title, or a single tool of Gemini."""
    return (
        isinstance(document.get("function"), dict)
        or document.get("type") == "custom"
        or (isinstance(document.get("title"), str) and document.get("type") == "object")
        or any(
            isinstance(document.get(f"function{name}"), list) for name in ("Declarations", "_declarations")
        )
    )


def _is_schema(value: Any) -> bool:
    """Whether this is meant as the schema or the arguments of a tool, unlike `{"tools": {…}}`."""
    return isinstance(value, dict) and (not value or not _SIGNS.isdisjoint(value))


def _unknown_form(where: str) -> RegistryError:
    return RegistryError(
        "Not a tool registry.",
        where=where,
        hint='Expected {"glyphscope": 1, "tools": [...]}, the tools of OpenAI, Anthropic or Gemini, an MCP tools/list '
        "result, an OpenAPI document, or an object of JSON Schemas by tool name.",
    )


def _own_form(raw: RawRegistry, document: dict[str, Any], where: str) -> None:
    version = document["glyphscope"]
    if isinstance(version, int) and not isinstance(version, bool) and version > VERSION:
        raise RegistryError(
            f"This registry is of version {version}; this program reads up to version {VERSION}.",
            where=where,
            hint="Open it with a newer Glyphscope.",
        )
    if version != VERSION or isinstance(version, bool):
        raw.problem(("glyphscope",), f"The version is a number, at most {VERSION}.")
    _report_unknown_keys(raw, document, _OUR_KEYS, ())
    raw.unknown_arguments = document.get("unknown_arguments", "refuse")
    tools = document.get("tools")
    if not isinstance(tools, list):
        raw.problem(() if tools is None else ("tools",), 'The tools are a list: "tools": [...].')
        return
    raw.kept = document.get("kept")
    for index, item in enumerate(tools):
        at: Path = ("tools", index)
        if not isinstance(item, dict):
            raw.problem(at, _NOT_A_TOOL)
            continue
        custom = item.get("type") == "custom"
        _report_unknown_keys(raw, item, _OUR_CUSTOM_KEYS if custom else _OUR_TOOL_KEYS, at)
        read = _of_item(Item(at, item, shape_for("openai-responses", custom=custom)), document)
        facts = {name: item[name] for name in FACTS if name in item}
        enabled = item.get("enabled", True)
        raw.tools.append(replace(read, enabled=enabled, facts=facts, item=None, kept=item.get("kept")))


def _report_unknown_keys(raw: RawRegistry, item: dict[str, Any], known: set[str], path: Path) -> None:
    for key in item:
        if key not in known:
            raw.problem((*path, key), f"Unknown key; known keys: {', '.join(sorted(known))}.")


def _listed(raw: RawRegistry, listed: list[Any], path: Path | None, document: Any) -> None:
    """Tools that contain their name; `path` None: the document is a single tool."""
    found = list(items(listed, () if path is None else path))
    if path is None:
        found = [each._replace(at=each.at[1:]) for each in found]
    raw.form = form_of(found)
    for each in found:
        if not isinstance(each.item, dict):
            raw.problem(each.at, _NOT_A_TOOL)
        elif each.shape is not None:
            raw.tools.append(_of_item(each, document))


_NOT_A_TOOL = "A tool is an object with a name and parameters."


def _of_item(found: Item, document: Any) -> RawTool:
    """The tool that an item with a shape writes."""
    assert found.shape is not None
    place, values = found.shape.members, {}
    for name, member in found.shape.members.items():
        value = member.get(found.item, document)
        if value is not MISSING:
            values[name] = value
    named = values.get("name")
    return RawTool(
        at=(*found.at, *place["name"].path[:-1]),
        name=f"{found.prefix}{named}" if found.prefix and isinstance(named, str) else named,
        description=values.get("description"),
        parameters=values.get("parameters"),
        enabled=found.item.get("enabled", True),
        pointers=lambda path: place["parameters"].pointers(found.at, path),
        facts={name: values[name] for name in FACTS if name in values},
        item=found,
    )


def below(prefix: Path) -> Callable[[Path], Path]:
    """The `pointers` of a schema at `prefix`."""
    return lambda path: (*prefix, *path)


def _from_schema(name: str, schema: dict[str, Any]) -> RawTool:
    description = schema.get("description", "")
    return RawTool((name,), name, description, schema, pointers=below((name,)))


def _with_args(raw: RawRegistry, name: str, tool: dict[str, Any]) -> RawTool:
    _report_unknown_keys(raw, tool, {"args", "description", "enabled"}, (name,))
    args = tool["args"]
    properties: dict[str, Any] = {}
    required: list[str] = []
    if not isinstance(args, dict):
        raw.problem((name, "args"), "The arguments are an object: name to type and constraints.")
        args = {}
    for arg, spec in args.items():
        properties[arg] = _arg_schema(raw, spec, (name, "args", arg))
        if isinstance(spec, dict) and spec.get("required") is True:
            required.append(arg)
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    back = {keyword: key for key, keyword in _ARG_KEYWORDS.items()}

    def pointers(path: Path) -> Path:
        steps = tuple(back.get(step, step) if isinstance(step, str) else step for step in path[2:])
        return (name, "args", *path[1:2], *steps)

    return RawTool(
        (name,), name, tool.get("description", ""), parameters, tool.get("enabled", True), pointers
    )


def _arg_schema(raw: RawRegistry, spec: Any, path: Path) -> dict[str, Any]:
    """The JSON Schema of one argument in the short form; `items` may be a type's name or another such argument."""
    if isinstance(spec, str):
        spec = {"type": spec}
    if not isinstance(spec, dict):
        raw.problem(path, 'An argument is an object such as {"type": "string", "required": true}.')
        return {}
    return dict(_arg_keywords(raw, spec, path))


def _arg_keywords(raw: RawRegistry, spec: dict[str, Any], path: Path) -> Iterator[tuple[str, Any]]:
    kind = spec.get("type", "any")
    if isinstance(kind, str) and kind in _ARG_TYPES:
        yield "type", _ARG_TYPES[kind]
    elif kind != "any":
        meant = meant_type(kind) if isinstance(kind, str) else None
        words = f'Write "{meant or "any"}" instead of "{kind}"' if meant is not None else "No such type"
        raw.problem((*path, "type"), f"{words}; the types are {', '.join((*_ARG_TYPES, 'any'))}.")
    for key, value in spec.items():
        if key in _ARG_KEYWORDS:
            if kind in ("int", "integer", "float", "number", "any"):
                yield _ARG_KEYWORDS[key], value
            else:
                raw.problem((*path, key), f"{key} bounds a number; for a text write {key}Length.")
        elif key in _ARG_PLAIN:
            yield key, value
        elif key == "items":
            yield "items", _arg_schema(raw, value, (*path, "items"))
        elif key == "required":
            if not isinstance(value, bool):
                raw.problem((*path, key), "required is true or false.")
        elif key != "type":
            raw.problem((*path, key), "Unknown constraint.")


def to_openai(registry: ToolRegistry, api: Api = "templates") -> list[dict[str, Any]]:
    """The allowed tools as the `tools` of a request; the schemas are copies.

    Chat templates and servers other than OpenAI's have no custom tools: for them these are functions, too. Templates,
    which show the model all that they get, get no `strict`.
    """
    return [_openai(tool, api) for tool in registry.allowed]


def under_strict(registry: ToolRegistry, strict: Strict) -> ToolRegistry:
    """The registry in which every tool asks for its schema to be enforced, or none does; `auto`: unchanged."""
    if strict == "auto":
        return registry
    asked = strict == "on" or None
    return replace(registry, tools=tuple(replace(tool, strict=asked) for tool in registry.tools))


def with_custom(functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The functions of `to_openai` in the form of Chat Completions, in which custom tools are such."""
    return [_openai(Tool(**each["function"]), "chat") for each in functions]


def _openai(tool: Tool, api: Api) -> dict[str, Any]:
    form = "openai-responses" if api == "responses" else "openai-chat"
    if api == "templates":
        tool = Tool(tool.name, tool.description, tool.parameters)
    shape = shape_for(form, custom=api in ("chat", "responses") and tool.format is not None)
    return shape.new(tool, tool.name, None)


def to_json(registry: ToolRegistry) -> str:
    """The registry file: Glyphscope's form, indented, with all tools; `load_registry` reads it back equal."""
    return json_file(registry.to_document())
