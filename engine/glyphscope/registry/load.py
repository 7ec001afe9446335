"""Load a registry and report all errors at once, each at its place in the user's document."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any

from glyphscope.base import resources
from glyphscope.base.errors import Problem, RegistryError, find_named
from glyphscope.base.pointer import Path, to_pointer
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import parse_text, plain, read_registry_file
from glyphscope.registry.forms import RawTool, below, read_forms
from glyphscope.registry.saving import with_origin
from glyphscope.registry.tool import Tool, ToolRegistry
from glyphscope.registry.tool_forms import as_parameters


def load_registry(source: FilePath | str | bytes | dict[str, Any] | list[Any]) -> ToolRegistry:
    """The registry of a file (Path), of a JSON text (str, bytes) or of a document.

    Raises RegistryError with all problems; a registry is never loaded partially.
    """
    if isinstance(source, FilePath):
        where = str(source)
        return parse_document(parse_text(read_registry_file(source), where), where)
    if isinstance(source, str | bytes):
        return parse_document(parse_text(source))
    return parse_document(source)


def parse_document(document: Any, where: str = "") -> ToolRegistry:
    """The registry of a document in any of the forms; the document is copied, not changed."""
    copy, problems = plain(document)
    if problems:
        raise _error(problems, where)
    raw = read_forms(copy, where)
    first: dict[str, Path] = {}
    tools = []
    for item in raw.tools:
        found = _check(item)
        raw.problems += found
        if isinstance(item.name, str):
            if item.name in first:
                message = f"Another tool has this name: {to_pointer(first[item.name])}."
                raw.problem((*item.at, "name"), message)
            first.setdefault(item.name, item.at)
        if not found:
            tools.append(_tool(item))
    if raw.unknown_arguments not in ("refuse", "allow"):
        raw.problem(("unknown_arguments",), 'Unknown arguments: "refuse" or "allow".')
    if raw.problems:
        raise _error(raw.problems, where)
    registry = ToolRegistry(
        tuple(tools), raw.unknown_arguments, raw.kept if isinstance(raw.kept, dict) else {}
    )
    return with_origin(registry, raw.form, [each.item for each in raw.tools], copy) if raw.form else registry


def check_tool(tool: Tool) -> tuple[Problem, ...]:
    """Every error of one tool, by JSON Pointer into `{"name", "description", "enabled", "parameters"}`."""
    parameters, problems = plain(tool.parameters)
    if problems:
        return tuple(Problem("/parameters" + problem.pointer, problem.message) for problem in problems)
    places = below(("parameters",))
    return tuple(_check(RawTool((), tool.name, tool.description, parameters, tool.enabled, places)))


def make_tool(name: str, description: str, parameters: dict[str, Any], *, enabled: bool = True) -> Tool:
    """A checked tool with normalised parameters, for editors. Raises RegistryError with all problems."""
    edited = Tool(name, description, parameters, enabled)
    if problems := check_tool(edited):
        raise _error(list(problems), f"tool {name}")
    return _tool(RawTool((), name, description, parameters, enabled))


@lru_cache(maxsize=1)
def default_registry() -> ToolRegistry:
    """The seven bundled tools: search, calculate, browse, execute, files and mail."""
    return bundled_registry("default")


def bundled_registries() -> list[str]:
    """The names of the bundled registries."""
    return [name.removesuffix(".json") for name in resources.names("registries", ".json")]


def bundled_registry(name: str) -> ToolRegistry:
    """The bundled registry of that name. Raises RegistryError if there is none."""
    files = {known: f"registries/{known}.json" for known in bundled_registries()}
    return load_registry(
        resources.read_text(find_named(files, name, f'bundled registry "{name}"', error=RegistryError))
    )


def _check(item: RawTool) -> list[Problem]:
    found: list[Problem] = []
    if not isinstance(item.name, str) or not item.name:
        found.append(_problem((*item.at, "name"), "A tool has a name that is not empty."))
    elif reason := _unusable(item.name):
        found.append(_problem((*item.at, "name"), reason))
    if not isinstance(item.description, str | None):
        found.append(_problem((*item.at, "description"), "A description is a text."))
    if not isinstance(item.enabled, bool):
        found.append(_problem((*item.at, "enabled"), "enabled is true or false."))
    found += _fact_problems(item)
    if item.parameters is None:
        return found
    if not isinstance(item.parameters, dict):
        return [*found, _problem(item.pointers(()), "The parameters are a JSON Schema of type object.")]
    kind = item.parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        found.append(_problem(item.pointers(("type",)), 'Arguments are an object: "type": "object".'))
    properties = item.parameters.get("properties")
    named = properties if isinstance(properties, dict) else {}
    found += (_problem(item.pointers(("properties", n)), reason) for n in named if (reason := _unusable(n)))
    found += (_problem(item.pointers(path), reason) for path, reason in check_schema(item.parameters))
    return found


def _unusable(name: str) -> str:
    """Why a name is invalid in a call: control characters and line ends are invisible, and tokenised inconsistently."""
    bad = next((c for c in name if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")), "")
    return f"A name has no control characters; this one has U+{ord(bad):04X}." if bad else ""


def _fact_problems(item: RawTool) -> Iterator[Problem]:
    expected: dict[str, tuple[type, str]] = {
        "strict": (bool, "strict is true or false."),
        "input_examples": (list, "Examples are a list of objects, each with the arguments of a call."),
        "output_schema": (dict, "The schema of results is a JSON Schema."),
        "annotations": (dict, "Annotations are an object."),
        "defer_loading": (bool, "defer_loading is true or false."),
    }
    for name, value in item.facts.items():
        kind, words = expected[name]
        usable = isinstance(value, kind) and (
            not isinstance(value, list) or all(isinstance(one, dict) for one in value)
        )
        if value is not None and not usable:
            yield _problem((*item.at, name), words)


def _tool(item: RawTool) -> Tool:
    facts: dict[str, Any] = {name: value for name, value in item.facts.items() if value is not None}
    if "input_examples" in facts:
        facts["input_examples"] = tuple(facts["input_examples"])
    kept = item.kept if isinstance(item.kept, dict) else {}
    return Tool(
        item.name, item.description or "", as_parameters(item.parameters), item.enabled, **facts, kept=kept
    )


def _problem(path: Path, message: str) -> Problem:
    return Problem(to_pointer(path), message)


def _error(problems: list[Problem], where: str) -> RegistryError:
    number = f"{len(problems)} errors" if len(problems) > 1 else "an error"
    return RegistryError(f"The registry has {number}.", where=where, problems=tuple(problems))
