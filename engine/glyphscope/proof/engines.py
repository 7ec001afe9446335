"""The engines that a proof asks: each says which texts it would let a model write."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias, get_args

from glyphscope.errors import GlyphscopeError, GrammarError
from glyphscope.events import Notation, Shape
from glyphscope.grammar import Grammar, build_call_grammar, to_lark
from glyphscope.grammar.gbnf.emit import emit_gbnf
from glyphscope.grammar.lark.reading import MaskReader
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.notation import shape_keys
from glyphscope.proof.boundary import closed_schema
from glyphscope.registry import Tool, ToolRegistry

EngineName: TypeAlias = Literal["mask", "gbnf", "converter", "schema"]
"""Our grammar under llguidance, our grammar under llama.cpp; for comparison llama-cpp-python's converter under
llama.cpp, and llguidance's own JSON Schema compiler."""

ENGINES: tuple[EngineName, ...] = get_args(EngineName)
OURS: tuple[EngineName, ...] = ("mask", "gbnf")

Reader: TypeAlias = Callable[[Sequence[str]], list[bool]]
"""Which of the texts are of a grammar. Raises GlyphscopeError where the engine refuses the grammar or dies of it."""

_BATCH = 200
_BATCH_CHARACTERS = 200_000


class Judge(Protocol):
    """One engine with the registry's grammar."""

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[bool]:
        """Which of the texts the engine would let through. Raises GlyphscopeError where it can judge none."""


def judge_for(
    engine: EngineName, registry: ToolRegistry, notation: Notation, shape: Shape, probe: GrammarProbe | None
) -> Judge:
    """The judge of that name. Raises GlyphscopeError where there is no such thing for these calls."""
    if engine in ("gbnf", "converter") and probe is None:
        raise GrammarError("llama.cpp is not installed")
    match engine:
        case "mask":
            return CallGrammarJudge(registry, notation, shape, _mask_reader)
        case "gbnf":
            return CallGrammarJudge(registry, notation, shape, lambda grammar: _gbnf_reader(grammar, probe))
        case _ if notation != "json":
            raise GrammarError(f"it knows JSON only, not {notation}")
        case "converter":
            return SchemaJudge(registry, shape, lambda schema: _converter_reader(schema, probe))
        case "schema":
            return SchemaJudge(registry, shape, _schema_reader)


class CallGrammarJudge:
    """Our grammar of the registry's calls. Where one of the tools has none, each of the others is judged alone."""

    def __init__(
        self, registry: ToolRegistry, notation: Notation, shape: Shape, make: Callable[[Grammar], Reader]
    ) -> None:
        self._registry, self._notation, self._shape, self._make = registry, notation, shape, make
        self._whole: Reader | GlyphscopeError | None = None
        self._alone: dict[str, Reader | GlyphscopeError] = {}

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[bool]:
        if self._whole is None:
            self._whole = self._reader(self._registry)
        reader = self._whole
        if isinstance(reader, GlyphscopeError):
            if tool.name not in self._alone:
                self._alone[tool.name] = self._reader(replace(self._registry, tools=(tool,)))
            reader = self._alone[tool.name]
        if isinstance(reader, GlyphscopeError):
            raise reader
        return reader(texts)

    def _reader(self, registry: ToolRegistry) -> Reader | GlyphscopeError:
        try:
            reader = self._make(build_call_grammar(registry, self._notation, self._shape))
            reader(("",))  # some refuse a grammar only when they read
        except GlyphscopeError as error:
            return error
        return reader


class SchemaJudge:
    """An engine that takes JSON Schema: that of a call of one tool after the other."""

    def __init__(
        self, registry: ToolRegistry, shape: Shape, make: Callable[[dict[str, Any]], Reader]
    ) -> None:
        self._closed = registry.unknown_arguments == "refuse"
        self._shape, self._make = shape, make
        self._readers: dict[str, Reader | GlyphscopeError] = {}

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[bool]:
        if tool.name not in self._readers:
            try:
                self._readers[tool.name] = self._make(call_schema(tool, self._shape, closed=self._closed))
            except GlyphscopeError as error:
                self._readers[tool.name] = error
        reader = self._readers[tool.name]
        if isinstance(reader, GlyphscopeError):
            raise reader
        return reader(texts)


def call_schema(tool: Tool, shape: Shape, *, closed: bool = True) -> dict[str, Any]:
    """The JSON Schema of a tool's calls, as one would write it for an engine that takes schemas."""
    parameters = closed_schema(tool.parameters) if closed else tool.parameters
    name_key, args_key = shape_keys(shape)
    name = {"const": tool.name}
    if args_key is not None:
        arguments = _moved(parameters, f"#/properties/{args_key}")
        return {
            "type": "object",
            "properties": {name_key: name, args_key: arguments},
            "required": [name_key, args_key],
            "additionalProperties": False,
        }
    return {
        **parameters,
        "properties": {name_key: name, **parameters.get("properties", {})},
        "required": [name_key, *parameters.get("required", ())],
    }


def _moved(schema: Any, to: str) -> Any:
    """The schema with its references as they are where it stands now."""
    moved = copy.deepcopy(schema)
    waiting = [moved]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(ref := value.get("$ref"), str) and (ref == "#" or ref.startswith("#/")):
                value["$ref"] = to + ref[1:]
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return moved


def _mask_reader(grammar: Grammar) -> Reader:
    reader = MaskReader(lark=to_lark(grammar))
    return lambda texts: [reader.accepts(text) for text in texts]


def _schema_reader(schema: dict[str, Any]) -> Reader:
    reader = MaskReader(schema=schema)
    return lambda texts: [reader.accepts(text) for text in texts]


def _gbnf_reader(grammar: Grammar, probe: GrammarProbe | None) -> Reader:
    return _probed(emit_gbnf(grammar).text, probe)


def _converter_reader(schema: dict[str, Any], probe: GrammarProbe | None) -> Reader:
    assert probe is not None
    return _probed(probe.convert(json.dumps(schema)), probe)


def _probed(gbnf: str, probe: GrammarProbe | None) -> Reader:
    assert probe is not None

    def read(texts: Sequence[str]) -> list[bool]:
        return [match.accepted for part in _batches(texts) for match in probe.match_all(gbnf, part)]

    return read


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Few enough at a time that none takes the probe long: some 200,000 characters are a second."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) >= _BATCH or size + len(text) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch
