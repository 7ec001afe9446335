"""The text of a request's constraint, kept: what a grammar is built from is its key, and nothing else.

A tool's arguments are kept by that tool's own schema, so an edit of another tool costs them nothing; the names
by the names. The engine keeps what it compiles of a text for itself (`decoding/mask_cache.py`).
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from glyphscope.errors import GrammarError
from glyphscope.events import ConstraintKind, RunRequest
from glyphscope.grammar import Grammar, GrammarOptions, build_call_grammar, emit_gbnf, to_lark
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.following import followed_by
from glyphscope.grammar.gbnf.load import load_gbnf
from glyphscope.grammar.surface import WhiteSpace
from glyphscope.registry import ToolRegistry

MOST_TEXTS = 64
MOST_CHARACTERS = 16 << 20

_Key: TypeAlias = tuple[Any, ...]


class BuiltGrammar(NamedTuple):
    """Lark for the mask, GBNF for llama.cpp's own sampler. `build_ms` is 0 where the text was kept."""

    text: str
    build_ms: float


class TextCache:
    """Texts by what they are made from, the last used longest. From any thread."""

    def __init__(self, *, texts: int = MOST_TEXTS, characters: int = MOST_CHARACTERS) -> None:
        self._most_texts, self._most_characters = texts, characters
        self._kept: OrderedDict[_Key, str] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def built(self, key: _Key, build: Callable[[], str]) -> BuiltGrammar:
        """The text under that key, built if there is none yet. What `build` raises is kept nowhere."""
        with self._lock:
            text = self._kept.get(key)
            if text is not None:
                self._kept.move_to_end(key)
                return BuiltGrammar(text, 0.0)
        made = timed(build)
        with self._lock:
            if key not in self._kept:
                self._characters += len(made.text)
            self._kept[key] = made.text
            while len(self._kept) > self._most_texts or (
                self._characters > self._most_characters and len(self._kept) > 1
            ):
                self._characters -= len(self._kept.popitem(last=False)[1])
        return made


_TEXTS = TextCache()


def timed(build: Callable[[], str]) -> BuiltGrammar:
    """The text, with what it took to make it."""
    start = time.perf_counter()
    text = build()
    return BuiltGrammar(text, (time.perf_counter() - start) * 1000)


def call_constraint(
    request: RunRequest, registry: ToolRegistry, options: GrammarOptions | None = None, after: str = ""
) -> BuiltGrammar:
    """The grammar of the registry's calls, or of a part of them (`options`); the request's own, where it has one.

    `after` is what the document writes after the part, for the token that reaches over its end.

    A grammar in the request is in GBNF and holds in place of the registry's. It is read and checked before any engine
    sees it. Whether what comes of it is a valid call is the registry's to say in any case. Raises GrammarError, also
    for a part of a call under a grammar of the request's own: that one is of whole calls.
    """
    kind = request.constraint
    if request.grammar is not None:
        if options is not None:
            raise GrammarError(
                "A grammar of one's own is one of whole calls, and this strategy asks for a call in parts.",
                hint="Use the strategy direct, or leave the grammar out.",
            )
        own = request.grammar
        return _TEXTS.built(("own", kind, own), lambda: _own_text(own, kind))
    asked = replace(options or call_options(request), order=request.order)

    def build() -> str:
        grammar = build_call_grammar(registry, request.notation, request.shape, asked)
        return emitted(followed_by(grammar, after) if after else grammar, kind)

    return _TEXTS.built((kind, request.notation, *_source(request, registry, asked), asked, after), build)


def constraint_schema(
    request: RunRequest, registry: ToolRegistry, options: GrammarOptions | None = None
) -> dict[str, Any] | None:
    """The same constraint as JSON Schema, for an endpoint that takes no grammar; None where a schema cannot say it.

    It can say whole calls in JSON and nothing around them. Raises GrammarError.
    """
    asked = options or call_options(request)
    bare = asked.part == "call" and not asked.free_text and not asked.words and asked.most_calls == 1
    if (
        request.constraint != "endpoint"
        or request.notation != "json"
        or request.grammar is not None
        or not bare
    ):
        return None
    return call_schema(registry, request.shape, asked)


def call_options(request: RunRequest) -> GrammarOptions:
    """How freely the request's whole calls are written."""
    return GrammarOptions(free_text=request.free_text, white_space=white_space(request), order=request.order)


def white_space(request: RunRequest) -> WhiteSpace:
    """A model's own calls were trained with a space after colons and commas: it may write it."""
    return "single" if request.native else "none"


def emitted(grammar: Grammar, kind: ConstraintKind) -> str:
    """Lark for the mask, GBNF for llama.cpp's own sampler and for endpoints."""
    return to_lark(grammar) if kind == "mask" else emit_gbnf(grammar).text


def _own_text(text: str, kind: ConstraintKind) -> str:
    own = load_gbnf(text)
    return to_lark(own) if kind == "mask" else text


def _source(request: RunRequest, registry: ToolRegistry, options: GrammarOptions) -> tuple[str, ...]:
    """What the grammar is made from: as little of the registry as decides it."""
    tool = registry.get(options.tool or "")
    if options.part == "arguments" and tool is not None and tool.enabled:
        schema = json.dumps(
            tool.parameters, ensure_ascii=True
        )  # in the schema's order, which is the grammar's
        return tool.name, hashlib.sha256(schema.encode()).hexdigest()
    if options.part == "name" and options.tool is None:
        return "names", *(tool.name for tool in registry.allowed)
    return registry.digest, request.shape
