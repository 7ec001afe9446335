"""The engines of a proof: each decides which texts it would let a model generate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from glyphscope.base.errors import GlyphscopeError, GrammarError, ModelDied
from glyphscope.events import ArgumentOrder, Notation, Shape
from glyphscope.explain.proof.outside import OUTSIDE, OutsideName, read_outside
from glyphscope.grammar.builder.json_schema import one_call
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import MaskReader, to_lark
from glyphscope.grammar.tree import Grammar
from glyphscope.models.grammar_probe import GrammarProbe
from glyphscope.processes.compilers.service import CompilerDied
from glyphscope.registry import Tool, ToolRegistry, making
from glyphscope.turns import TurnOptions, build_call_grammar

EngineName: TypeAlias = Literal["mask", "gbnf", "converter", "schema", OutsideName]
"""Our grammar in llguidance, our grammar in llama.cpp; for comparison, llama-cpp-python's converter with llama.cpp,
llguidance's JSON Schema compiler, and engines in separate environments."""

ENGINES: tuple[EngineName, ...] = ("mask", "gbnf", "converter", "schema")
OURS: tuple[EngineName, ...] = ("mask", "gbnf")

Answer: TypeAlias = bool | str
"""Whether the engine accepts a text, or why it failed on the text."""

Cancelled: TypeAlias = Callable[[], bool]

_BATCH, _BATCH_CHARACTERS = 200, 200_000
"""The maximum number of texts in one request, and of their characters: about a second of the probe."""
MAX_DEATHS = 3
"""After this many crashes and timeouts with one grammar, an engine is not used again."""


class EngineCalls(NamedTuple):
    """The calls whose constraints are proved. `order` is the order of arguments in our grammars."""

    registry: ToolRegistry
    notation: Notation
    shape: Shape
    order: ArgumentOrder = "schema"

    def grammar(self, tool: Tool | None = None) -> Grammar:
        """Our grammar of the calls of all tools, or of one tool. Raises GrammarError."""
        registry = self.registry if tool is None else replace(self.registry, tools=(tool,))
        return build_call_grammar(registry, self.notation, self.shape, TurnOptions(order=self.order))


class Engine:
    """One engine with the grammars of a registry's calls. Raises GlyphscopeError if it has no grammar for these calls.

    Engines in `OURS` get one grammar of all tools or, if it cannot be built, one per tool. Those for comparison get the
    JSON Schema of one tool's calls. Those of `OUTSIDE` are installed in the folder `outside`. Once `cancelled` returns
    True, no more texts are read.
    """

    def __init__(
        self,
        engine: EngineName,
        calls: EngineCalls,
        probe: GrammarProbe | None,
        cancelled: Cancelled = lambda: False,
        outside: Path | None = None,
    ) -> None:
        if engine in ("gbnf", "converter") and probe is None:
            raise GrammarError("llama.cpp is not installed")
        if engine not in OURS and calls.notation != "json":
            raise GrammarError(f"it knows JSON only, not {calls.notation}")
        if engine in OUTSIDE and outside is None:
            raise GrammarError("it is not installed")
        self._engine, self._calls, self._probe, self._cancelled = engine, calls, probe, cancelled
        self._outside = outside
        self._readers: dict[str, BatchedReader | GlyphscopeError] = {}  # by tool; "" for all tools

    def accepted(self, tool: Tool, texts: Sequence[str]) -> list[Answer]:
        """The engine's answer to each text. Raises GlyphscopeError if it has no grammar for the tool."""
        reader = self._reader(None) if self._engine in OURS else self._reader(tool)
        if isinstance(reader, GlyphscopeError):
            reader = self._reader(tool)
        if isinstance(reader, GlyphscopeError):
            raise reader
        return reader.read(texts)

    def _reader(self, tool: Tool | None) -> BatchedReader | GlyphscopeError:
        name = "" if tool is None else tool.name
        if name not in self._readers:
            try:
                reader = BatchedReader(self._read_by(tool), self._cancelled)
                if self._engine != "schema":
                    reader.read([""])  # some engines reject a grammar, or crash, only when they read a text
                self._readers[name] = reader
            except GlyphscopeError as error:
                self._readers[name] = error
        return self._readers[name]

    def _schema(self, tool: Tool) -> dict[str, Any]:
        return call_schema(tool, self._calls.shape, closed=self._calls.registry.is_closed(tool))

    def _read_by(self, tool: Tool | None) -> Callable[[Sequence[str]], Sequence[Answer]]:
        """A function that reads texts with the grammar of that tool (None: of all tools). Raises GlyphscopeError."""
        if self._engine == "mask":
            return MaskReader(lark=to_lark(self._calls.grammar(tool))).read
        schema = {} if tool is None else self._schema(tool)
        if self._engine == "schema":
            return MaskReader(schema=schema).read
        if self._engine in OUTSIDE:
            assert self._outside is not None
            return partial(read_outside, self._outside, self._engine, json.dumps(schema))
        probe = self._probe
        assert probe is not None
        ours = self._engine == "gbnf"
        gbnf = emit_gbnf(self._calls.grammar(tool)).text if ours else probe.convert(json.dumps(schema))
        return lambda texts: [match.accepted for match in probe.match_all(gbnf, texts)]


def call_schema(tool: Tool, shape: Shape, *, closed: bool = True) -> dict[str, Any]:
    """The JSON Schema of a tool's calls."""
    return one_call(tool.name, making.closed(tool.parameters) if closed else tool.parameters, shape)


class BatchedReader:
    """Reads texts in batches; after a crash, reads the batch's texts one by one, to find the one that caused it."""

    def __init__(self, ask: Callable[[Sequence[str]], Sequence[Answer]], cancelled: Cancelled) -> None:
        self._ask, self._cancelled = ask, cancelled
        self._deaths: list[str] = []

    def read(self, texts: Sequence[str]) -> list[Answer]:
        answers: dict[str, Answer] = {}
        for batch in _batches(sorted(texts, key=len)):  # long texts are hard, so they are batched together
            answers.update(zip(batch, self._batch(batch), strict=True))
        return [answers[text] for text in texts]

    def _batch(self, texts: Sequence[str]) -> list[Answer]:
        if len(self._deaths) >= MAX_DEATHS:
            return [f"{self._deaths[-1]} It is not used again."] * len(texts)
        if self._cancelled():
            return ["It was stopped."] * len(texts)
        try:
            return list(self._ask(texts))
        except (ModelDied, CompilerDied) as error:
            if not self._deaths and texts == [""]:
                raise  # the grammar itself crashes the engine
            self._deaths.append(error.message)
            if len(texts) == 1:
                return [error.message]
        return [answer for text in texts for answer in self._batch([text])]


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in batches; a text that is longer than a batch is a separate batch."""
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
