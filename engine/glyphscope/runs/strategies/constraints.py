"""The constraint of an answer: its grammar, built from the request and the registry, and written for the engine.

Texts are cached by exactly the data they are built from (`_source`): a tool's arguments by its own schema, so that
editing another tool rebuilds nothing, and the names by the names. Compiled masks are cached in `decoding/mask.py`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.errors import GrammarError
from glyphscope.events import TOOL_CHOICES, ConstraintKind, RunRequest
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.builder.tools import Part
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import lark_rules, to_lark
from glyphscope.grammar.notation_syntax import WhiteSpace
from glyphscope.grammar.packed import pack, unpack
from glyphscope.grammar.reach import reach
from glyphscope.grammar.tree import Grammar, with_suffix
from glyphscope.models.chat import THINKING
from glyphscope.registry import ToolRegistry
from glyphscope.runs.strategies.turns import triggers, turn_form
from glyphscope.turns.form import TurnForm
from glyphscope.turns.grammar import Choice, TurnOptions, build_turn_grammar, used_names
from glyphscope.turns.own import own_call, own_form

MAX_TEXTS = 64
MAX_CHARACTERS = 16 << 20
"""The limits of the cache: the number of texts, and of their characters together."""

_Key: TypeAlias = tuple[Any, ...]


class BuiltGrammar(NamedTuple):
    """`text` is Lark for the mask, otherwise GBNF. `build_ms` is 0 if it was cached.

    For a mask's token budget, `rules` are the packed rules, and `near` is the most tokens that completing a text can
    take (`grammar/reach.py`); empty and None without a budget.
    """

    text: str
    build_ms: float = 0.0
    rules: bytes = b""
    near: int | None = None


class TextCache:
    """Built grammars by their source data; the least recently used is evicted first. From any thread."""

    def __init__(self, *, texts: int = MAX_TEXTS, characters: int = MAX_CHARACTERS) -> None:
        self._built = BoundedCache[_Key, BuiltGrammar](texts, characters, _size)

    def __len__(self) -> int:
        return len(self._built)

    def built(self, key: _Key, build: Callable[[], BuiltGrammar]) -> BuiltGrammar:
        """The text under that key, built if there is none yet. Errors of `build` are not cached."""
        if (cached := self._built.get(key)) is not None:
            return cached
        made = timed(build)
        self._built.put(key, made._replace(build_ms=0.0))
        return made


def _size(_: _Key, cached: BuiltGrammar) -> int:
    return len(cached.text) + len(cached.rules)


_TEXTS = TextCache()


def timed(build: Callable[[], BuiltGrammar]) -> BuiltGrammar:
    """The text with the milliseconds of building it."""
    start = time.perf_counter()
    made = build()
    return made._replace(build_ms=(time.perf_counter() - start) * 1000)


class Expected(NamedTuple):
    """The expected answer: a form of turns, and the options of its grammar."""

    form: TurnForm
    options: TurnOptions

    def grammar(self, registry: ToolRegistry, names: Mapping[str, int] | None = None) -> Grammar:
        """Its rules, built from the registry; `names` are the ids of the vocabulary's special tokens by their texts.

        Raises GrammarError.
        """
        return build_turn_grammar(self.form, registry, self.options, names)


def expected_answer(request: RunRequest) -> Expected:
    """The request's whole answer: calls in its notation, or a turn in the model's form. Raises PromptError."""
    form = turn_form(request)
    named = request.tool_choice not in TOOL_CHOICES
    options = TurnOptions(
        choice="required" if named else cast(Choice, request.tool_choice),
        tool=request.tool_choice if named else None,
        most_calls=request.most_calls,
        constrain_from="reasoning" if form is None else request.constrain_from,
        thinking=THINKING[request.thinking],
        free_text=request.free_text,
        order=request.order,
        lazy=bool(triggers(request)),
    )
    if form is not None and request.native == "template":
        return Expected(form, options)
    alone = form is None and request.most_calls == 1 and request.tool_choice != "auto"
    white = _white_space(request) if alone else "none"
    return Expected(own_form(request.notation, request.shape, white_space=white, model=form), options)


def expected_calls(request: RunRequest, options: TurnOptions) -> Expected:
    """Calls in the request's notation and order, without reasoning, as a strategy with several stages asks for them."""
    return Expected(own_form(request.notation, request.shape), replace(options, order=request.order))


def expected_part(request: RunRequest, part: Part, tool: str = "") -> Expected:
    """A part of a call in the request's notation, as a value: the tool's name, or the arguments of that tool."""
    white = _white_space(request) if part == "arguments" else "none"
    form = own_form(request.notation, part=part, tool=tool, white_space=white)
    return Expected(form, TurnOptions(order=request.order))


def call_constraint(
    request: RunRequest,
    registry: ToolRegistry,
    expected: Expected | None = None,
    after: str = "",
    names: Mapping[str, int] | None = None,
) -> BuiltGrammar:
    """The grammar of the request's answer, or of what is `expected` instead; its custom grammar, if it has one.

    `names` are as in `Expected.grammar`. `after` is the document's text after the answer, as its last token may reach
    into it. A custom grammar is GBNF, checked before any engine sees it, and describes whole calls; the registry still
    validates them. Raises GrammarError.
    """
    kind = request.constraint
    if request.grammar is not None:
        custom = request.grammar
        return _TEXTS.built(("custom", kind, custom), lambda: _custom(custom, kind))
    form, options = asked = expected or expected_answer(request)
    used = used_names(form, options, names or {})

    def build() -> BuiltGrammar:
        grammar = asked.grammar(registry, used)
        return emitted(with_suffix(grammar, after) if after else grammar, kind)

    key = (kind, msgspec.json.encode(form), options, after, *_source(registry, asked), *used.items())
    return _TEXTS.built(key, build)


def constraint_schema(
    request: RunRequest, registry: ToolRegistry, expected: Expected | None = None
) -> dict[str, Any] | None:
    """The same constraint as JSON Schema, for an endpoint that supports no grammar. Raises GrammarError.

    None if a schema cannot express it: it can express only one whole call in JSON without text around it.
    """
    if request.constraint != "endpoint" or request.notation != "json" or request.grammar is not None:
        return None
    form, options = expected or expected_answer(request)
    part = call.part if (call := own_call(form)) is not None else "call"
    if part != "call" or options.free_text or options.choice == "auto" or options.most_calls != 1:
        return None
    return call_schema(registry, request.shape, tool=options.tool)


def _white_space(request: RunRequest) -> WhiteSpace:
    """A model's native calls may have a space after colons and commas, with which it was trained."""
    return "single" if request.native else "none"


def emitted(grammar: Grammar, kind: ConstraintKind) -> BuiltGrammar:
    """Lark for the mask, with its rules for the budget; GBNF for llama.cpp's own sampler and for endpoints."""
    if kind != "mask":
        return BuiltGrammar(emit_gbnf(grammar).text)
    text, rules = to_lark(grammar), lark_rules(grammar)
    try:
        packed = pack(rules)
        return BuiltGrammar(text, rules=packed, near=reach(unpack(packed)))
    except GrammarError:  # its automata are too large to be run beside the mask: there is no budget
        return BuiltGrammar(text)


def _custom(gbnf: str, kind: ConstraintKind) -> BuiltGrammar:
    grammar = load_gbnf(gbnf)
    return emitted(grammar, kind) if kind == "mask" else BuiltGrammar(gbnf)


def _source(registry: ToolRegistry, expected: Expected) -> tuple[str, ...]:
    """The part of the cache key for the registry: only the data that decides this grammar."""
    call = own_call(expected.form)
    tool = None if call is None else registry.get(call.fixed_name)
    if tool is not None and tool.enabled:
        schema = json.dumps(tool.parameters)  # unsorted: the grammar has the schema's order
        return tool.name, hashlib.sha256(schema.encode()).hexdigest()
    if call is not None and call.part == "name":
        return "names", *(tool.name for tool in registry.allowed)
    return (registry.digest,)
