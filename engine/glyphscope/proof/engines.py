"""The engines that a proof asks: each says which texts it would let a model write."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol, TypeAlias, get_args

from glyphscope.compilers.service import CompilerDied
from glyphscope.errors import GlyphscopeError, GrammarError, ModelDied
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.grammar import Grammar, GrammarOptions, build_call_grammar, to_lark
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
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

Answer: TypeAlias = bool | str
"""Whether a text is of the grammar; where the engine gave up over it, why."""

Reader: TypeAlias = Callable[[Sequence[str]], list[Answer]]
"""The answer for each text. Raises GlyphscopeError where the engine refuses the grammar."""

Cancelled: TypeAlias = Callable[[], bool]

_BATCH = 200
_BATCH_CHARACTERS = 200_000
MOST_DEATHS = 3
"""Times that an engine may crash or use up its seconds over texts of a grammar; then it is not asked any more."""


class Judge(Protocol):
    """One engine with the registry's grammar."""

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[Answer]:
        """Which of the texts the engine would let through. Raises GlyphscopeError where it can judge none."""


def judge_for(
    engine: EngineName,
    registry: ToolRegistry,
    notation: Notation,
    shape: Shape,
    probe: GrammarProbe | None,
    cancelled: Cancelled = lambda: False,
    *,
    order: ArgumentOrder = "schema",
) -> Judge:
    """The judge of that name. Raises GlyphscopeError where there is no such thing for these calls.

    When `cancelled` says so it asks its engine no more.
    """
    if engine in ("gbnf", "converter") and probe is None:
        raise GrammarError("llama.cpp is not installed")
    match engine:
        case "mask":
            return CallGrammarJudge(
                registry, notation, shape, lambda grammar: _mask_reader(grammar, cancelled), order
            )
        case "gbnf":
            return CallGrammarJudge(
                registry, notation, shape, lambda grammar: _gbnf_reader(grammar, probe, cancelled), order
            )
        case _ if notation != "json":
            raise GrammarError(f"it knows JSON only, not {notation}")
        case "converter":
            return SchemaJudge(registry, shape, lambda schema: _converter_reader(schema, probe, cancelled))
        case "schema":
            return SchemaJudge(registry, shape, lambda schema: _schema_reader(schema, cancelled))


class CallGrammarJudge:
    """Our grammar of the registry's calls. Where one of the tools has none, each of the others is judged alone."""

    def __init__(
        self, registry: ToolRegistry, notation: Notation, shape: Shape, make: Callable[[Grammar], Reader],
        order: ArgumentOrder = "schema",
    ) -> None:  # fmt: skip
        self._options = GrammarOptions(order=order)
        self._registry, self._notation, self._shape, self._make = registry, notation, shape, make
        self._whole: Reader | GlyphscopeError | None = None
        self._alone: dict[str, Reader | GlyphscopeError] = {}

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[Answer]:
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
            reader = self._make(build_call_grammar(registry, self._notation, self._shape, self._options))
            reader([""])  # some refuse a grammar only when they read
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

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[Answer]:
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


def _mask_reader(grammar: Grammar, cancelled: Cancelled) -> Reader:
    return Asked(MaskReader(lark=to_lark(grammar)).read, cancelled).read


def _schema_reader(schema: dict[str, Any], cancelled: Cancelled) -> Reader:
    return Asked(MaskReader(schema=schema).read, cancelled).read


def _gbnf_reader(grammar: Grammar, probe: GrammarProbe | None, cancelled: Cancelled) -> Reader:
    assert probe is not None
    return Asked(_probed(emit_gbnf(grammar).text, probe), cancelled).read


def _converter_reader(schema: dict[str, Any], probe: GrammarProbe | None, cancelled: Cancelled) -> Reader:
    assert probe is not None
    reader = Asked(_probed(probe.convert(json.dumps(schema)), probe), cancelled).read
    reader([""])  # where it is the grammar that crashes llama.cpp, no text is to blame
    return reader


def _probed(gbnf: str, probe: GrammarProbe) -> Callable[[Sequence[str]], Sequence[Answer]]:
    return lambda texts: [match.accepted for match in probe.match_all(gbnf, texts)]


class Asked:
    """An engine in a process of its own. What it gives up over is found among the texts of a batch, one by one."""

    def __init__(self, ask: Callable[[Sequence[str]], Sequence[Answer]], cancelled: Cancelled) -> None:
        self._ask, self._cancelled = ask, cancelled
        self._deaths: list[str] = []

    def read(self, texts: Sequence[str]) -> list[Answer]:
        answers: dict[str, Answer] = {}
        for batch in _batches(sorted(texts, key=len)):  # what is hard to read is long, and stands together
            answers.update(zip(batch, self._batch(batch), strict=True))
        return [answers[text] for text in texts]

    def _batch(self, texts: Sequence[str]) -> list[Answer]:
        if len(self._deaths) >= MOST_DEATHS:
            return [f"{self._deaths[-1]} It is not used again."] * len(texts)
        if self._cancelled():
            return ["It was stopped."] * len(texts)
        try:
            return list(self._ask(texts))
        except (ModelDied, CompilerDied) as error:
            if not self._deaths and texts == [""]:
                raise  # it is the grammar that it does not take
            self._deaths.append(error.message)
            if len(texts) == 1:
                return [error.message]
        return [answer for text in texts for answer in self._batch([text])]


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
