"""The tools of a run: functions, Pydantic models, schemas, files and bundled registries, as one registry; and its
answer, if it is not a call.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, Unpack, get_args, get_origin

from glyphscope.base.errors import GlyphscopeError, RegistryError, ToolError
from glyphscope.events import Answer, ToolContent
from glyphscope.registry import (
    Tool,
    ToolRegistry,
    bundled_registries,
    bundled_registry,
    load_registry,
    make_tool,
)
from glyphscope.tools import CallOptions, Outcome

ToolLike: TypeAlias = (
    "Callable[..., Any] | type[Any] | Tool | ToolRegistry | Tools | Mapping[str, Any] | str | Path"
)
"""A function or a Pydantic model; a document in any form that a registry's file may have (Glyphscope's, OpenAI's,
MCP's); the name of a bundled registry; a JSON file."""

SOURCE = "python"
"""The name of the functions' source in a request."""


class Tools:
    """Tools with the functions that execute them: `Tools(search, Weather, "workspace", "tools.json")`.

    A function's parameters are its arguments, its type hints their schema, as Pydantic reads them, and the first
    paragraph of its docstring the description. A Pydantic model is a tool with its fields as arguments, which nothing
    executes. Raises RegistryError with all problems, also for two tools with the same name.
    """

    def __init__(self, *tools: ToolLike | Iterable[ToolLike]) -> None:
        found: list[Tool] = []
        functions: dict[str, Callable[..., Any]] = {}
        unknown = "refuse"
        for one in _flat(tools):
            if isinstance(one, Tools):
                functions |= one.functions
            elif inspect.isroutine(one):
                functions[one.__name__] = one
            read = _read(one)
            unknown = read.unknown_arguments if read.unknown_arguments == "allow" else unknown
            found += read.tools
        document = ToolRegistry(tuple(found), "allow" if unknown == "allow" else "refuse").to_document()
        self.registry: ToolRegistry = load_registry(document)
        self.functions: Mapping[str, Callable[..., Any]] = MappingProxyType(functions)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.registry)

    def __len__(self) -> int:
        return len(self.registry)

    def __repr__(self) -> str:
        return f"Tools({', '.join(tool.name for tool in self)})"


class PythonFunctions:
    """The source of tools that calls functions, in the thread of the call. Their results are JSON, or texts."""

    name = identity = SOURCE

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for tool in self._tools if tool.name in self._tools.functions)

    def claims(self, tool: str) -> dict[str, Any]:
        return {}

    def call(self, tool: str, arguments: dict[str, Any], **options: Unpack[CallOptions]) -> Outcome:
        """Raises ToolError with the exception of the function."""
        function = self._tools.functions.get(tool)
        if function is None:
            return Outcome(fault="unknown", message=f"No function for '{tool}'.")
        try:
            result = _adapter(function).validate_python(_keywords(arguments))
            if inspect.isawaitable(result):
                result = asyncio.run(_awaited(result))
            text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        except Exception as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error
        structured = result if isinstance(result, dict) else None
        return Outcome(content=(ToolContent(text=text),), structured=structured)

    def close(self) -> None:
        """Do nothing: it has no resources."""


def _flat(tools: Iterable[Any]) -> Iterator[Any]:
    for one in tools:
        if isinstance(one, list | tuple):
            yield from _flat(one)
        else:
            yield one


def _read(one: Any) -> ToolRegistry:
    match one:
        case Tools():
            return one.registry
        case ToolRegistry():
            return one
        case Tool():
            return ToolRegistry((one,))
        case Mapping():
            return load_registry(dict(one))
        case Path():
            return load_registry(one)
        case str():
            return bundled_registry(one) if one in bundled_registries() else load_registry(Path(one))
    schema_of = getattr(one, "model_json_schema", None)
    if callable(schema_of):
        return ToolRegistry((make_tool(one.__name__, _description(one), schema_of()),))
    if inspect.isroutine(one):
        return ToolRegistry((make_tool(one.__name__, _description(one), _parameters(one)),))
    raise RegistryError(
        f"A {type(one).__name__} is not a tool.",
        hint="Give a function, a Pydantic model, a schema as a dictionary, a file, or the name of a bundled registry.",
    )


def _description(one: Any) -> str:
    own = one.__doc__ if isinstance(one, type) else inspect.getdoc(one)
    return " ".join(inspect.cleandoc(own or "").partition("\n\n")[0].split())


def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        schema = _adapter(function).json_schema()
    except RegistryError:
        raise
    except Exception as error:  # Pydantic's errors about type hints have many classes
        raise RegistryError(
            f"The parameters of {function.__name__} have no JSON Schema: {error}.",
            hint="Use type hints that Pydantic knows.",
        ) from error
    if schema.get("type") != "object":
        raise RegistryError(
            f"The parameters of {function.__name__} cannot be given by name.",
            hint="Remove positional-only parameters and *args.",
        )
    return dict(schema)


def _adapter(function: Callable[..., Any]) -> Any:
    """Pydantic's reading of a function: its schema, and calls with checked arguments. Raises RegistryError."""
    try:
        from pydantic import TypeAdapter
    except ImportError:
        raise RegistryError(
            "Pydantic is not installed, which reads the type hints of functions.",
            hint="Install it: pip install 'glyphscope[python]'.",
        ) from None
    return TypeAdapter[Any](function)  # type: ignore[arg-type]  # Pydantic reads functions too


def _keywords(arguments: dict[str, Any]) -> Any:
    from pydantic_core import ArgsKwargs

    return ArgsKwargs((), arguments)


async def _awaited(result: Any) -> Any:
    return await result


AnswerLike: TypeAlias = Any
"""An `Answer`, a JSON Schema, a Pydantic model or TypeAdapter, or a `typing.Literal`."""


def answer_of(given: AnswerLike) -> Answer:
    """The answer that a run is to give.

    A dict is a JSON Schema; a Pydantic model or a `TypeAdapter` has its own; a `Literal` of texts is a choice of these,
    one of other values a schema. Patterns and grammars are an `Answer`: `Answer("regex", "[0-9]+")`. Raises
    GlyphscopeError.
    """
    if isinstance(given, Answer):
        return given
    origin: Any = get_origin(given)
    if origin is Literal:
        values = get_args(given)
        if all(isinstance(value, str) and "\n" not in value for value in values):
            return Answer("choice", "\n".join(values))
        return _schema({"enum": list(values)})
    if isinstance(given, Mapping):
        return _schema(given)
    for name in ("model_json_schema", "json_schema"):  # Pydantic's, which is not imported
        if callable(make := getattr(given, name, None)):
            return _schema(make())
    raise GlyphscopeError(
        f"An answer cannot be a {type(given).__name__}.",
        where="answer",
        hint="Give an Answer, a JSON Schema as a dict, a Pydantic model, or a typing.Literal.",
    )


def _schema(schema: Any) -> Answer:
    try:
        return Answer("schema", json.dumps(schema))
    except (TypeError, ValueError) as error:
        raise GlyphscopeError(f"The schema is not JSON: {error}.", where="answer") from None
