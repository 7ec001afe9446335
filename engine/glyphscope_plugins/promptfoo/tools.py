"""The tools of a configuration of promptfoo, in the form of any provider, as a registry; and its `response_format`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.json_values import as_object
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.imported import NO_TOOLS, NotReadable, schema_of_answers
from glyphscope.events import Answer
from glyphscope.registry import parse_document
from glyphscope.registry.saving import unused
from glyphscope.registry.tool_forms import gemini_schema
from glyphscope_plugins.promptfoo.files import Files

_MEMBERS = ("tools", "functions", "toolConfig")
_MAX_TOOLS = 10_000


class ProviderTools:
    """The tools of all providers, and their `response_format`: all else of them is not read. `skipped` has places, and
    reasons.
    """

    def __init__(self, document: dict[str, Any], files: Files) -> None:
        self._files = files
        self.skipped: list[tuple[str, str]] = []
        self.given: list[tuple[str, Any]] = []
        self.answer: Answer | None = None
        self.answer_place = ""
        for kind in ("providers", "targets"):
            listed = document.get(kind) or []
            for index, provider in enumerate(listed if isinstance(listed, list) else [listed]):
                self._read_provider(provider, to_pointer((kind, index)))

    def _read_provider(self, given: Any, place: str) -> None:
        try:
            for provider in _listed(self._files.document(given, "provider")):
                self._read_settings(_settings(provider), place)
        except (NotReadable, GlyphscopeError) as error:
            self.skipped.append((place, _reason(error)))

    def _read_settings(self, provider: dict[str, Any], place: str) -> None:
        if "transform" in provider:
            why = "A provider's transform of all answers is not imported."
            self.skipped.append((f"{place}/transform", why))
        config = provider.get("config")
        if isinstance(config, dict):
            named = ((name, config[name]) for name in _MEMBERS if config.get(name) is not None)
            self.given += ((f"{place}/config/{name}", tools) for name, tools in named)
            if (form := config.get("response_format")) is not None:
                at = f"{place}/config/response_format"
                try:
                    self._read_format(self._files.document(form, "response format"), at)
                except (NotReadable, GlyphscopeError) as error:
                    self.skipped.append((at, _reason(error)))

    def _read_format(self, form: Any, place: str) -> None:
        """Read OpenAI's form of a schema for the answer. Raises NotReadable."""
        kind = form.get("type") if isinstance(form, dict) else None
        if kind == "text":
            return
        named = as_object(form.get("json_schema")) if isinstance(form, dict) else {}
        schema = named.get("schema") if kind == "json_schema" else {}
        if kind not in ("json_schema", "json_object") or not isinstance(schema, dict):
            raise NotReadable("The response format is neither json_schema nor json_object.")
        answer = schema_of_answers(schema)
        if self.answer not in (None, answer):
            raise NotReadable("Another provider has another response format.")
        self.answer, self.answer_place = answer, place

    def registry(self, given: list[tuple[str, Any]]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """The registry of tools at their places, and the places and reasons of those that cannot be used."""
        tools: dict[str, dict[str, Any]] = {}
        skipped: list[tuple[str, str]] = []
        for place, each in given:
            for tool in self._tools(each, place, skipped):
                if tools.setdefault(tool["name"], tool) != tool:
                    why = f"Another provider has another tool with the name {tool['name']}."
                    skipped.append((place, why))
        return ({"glyphscope": 1, "tools": list(tools.values())} if tools else NO_TOOLS), skipped

    def _tools(self, given: Any, place: str, skipped: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        try:
            for tool in self._flat(given):
                yield from self._tool(tool, place, skipped)
        except (NotReadable, GlyphscopeError) as error:
            skipped.append((place, _reason(error)))

    def _tool(self, tool: Any, place: str, skipped: list[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        name = tool.get("name", tool.get("type")) if isinstance(tool, dict) else None
        try:
            found = parse_document([_plain(tool)], place)
            skipped += ((place, f"{each.what}: {each.why}") for each in unused(found))
            yield from found.to_document(kept=False)["tools"]
        except NotReadable as reason:
            skipped.append((place, str(reason)))
        except GlyphscopeError as error:
            why = next((each.message for each in getattr(error, "problems", ())), error.message)
            skipped.append(
                (place, f"The tool {shorten(str(name), 60)} cannot be used: {why}" if name else why)
            )

    def _flat(self, given: Any, level: int = 0) -> Iterator[Any]:
        """The tools in lists, files, Gemini's declarations and Bedrock's configuration."""
        given = self._files.document(given, "tool")
        if level > 10:
            raise NotReadable("The tools are nested too deep.")
        if isinstance(given, list):
            for each in given[:_MAX_TOOLS]:
                yield from self._flat(each, level + 1)
            return
        inner = given if isinstance(given, dict) else {}
        for name in ("functionDeclarations", "function_declarations"):
            if isinstance(inner.get(name), list):
                yield from map(_of_gemini, inner[name])
                return
        if isinstance(inner.get("tools"), list) and "name" not in inner:
            yield from self._flat(inner["tools"], level + 1)
        else:
            yield given


def _reason(error: NotReadable | GlyphscopeError) -> str:
    return error.message if isinstance(error, GlyphscopeError) else str(error)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _settings(provider: Any) -> dict[str, Any]:
    """The settings of a provider: an object with an id, or with the id as its only key."""
    if not isinstance(provider, dict):
        return {}
    inner = list(provider.values())
    if "id" not in provider and "config" not in provider and len(inner) == 1 and isinstance(inner[0], dict):
        return inner[0]
    return provider


def _plain(tool: Any) -> Any:
    """A tool in a form that registries read. Raises NotReadable."""
    if not isinstance(tool, dict):
        raise NotReadable("A tool is not an object.")
    definition = tool.get("definition")
    if isinstance(definition, dict) and isinstance(definition.get("schema"), dict):  # Adaline
        return definition["schema"]
    spec = tool.get("toolSpec")
    if isinstance(spec, dict):  # Bedrock
        schema = spec.get("inputSchema")
        inner = schema.get("json", schema) if isinstance(schema, dict) else {}
        described = {"description": spec["description"]} if spec.get("description") else {}
        return {"name": spec.get("name"), **described, "parameters": inner}
    if "parameter_definitions" in tool:
        raise NotReadable("Parameters in Cohere's form are not read.")
    if "name" not in tool and not isinstance(tool.get("function"), dict):
        kind = tool.get("type", next(iter(tool), "?"))
        raise NotReadable(f"The provider's own tool {shorten(str(kind), 60)} has no name and no parameters.")
    return tool


def _of_gemini(declared: Any) -> Any:
    if not isinstance(declared, dict):
        return declared
    given = declared.get("parametersJsonSchema", declared.get("parameters"))
    described = {name: declared[name] for name in ("name", "description") if name in declared}
    return described | ({"parameters": gemini_schema(given)} if given is not None else {})
