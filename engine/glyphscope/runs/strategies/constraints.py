"""The constraint of an answer: its grammar, built from the request and the registry, and written for the engine.

Texts are cached by exactly the data they are built from (`_source`): a tool's arguments by its own schema, so that
editing another tool rebuilds nothing, and the names by the names. Compiled masks are cached in `decoding/mask.py`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace as with_fields

from glyphscope.base.bounded_cache import BoundedCache
from glyphscope.base.errors import GrammarError
from glyphscope.base.figures import pluralize
from glyphscope.base.pointer import steps_of
from glyphscope.base.shorten import and_more
from glyphscope.events import ConstraintKind, RunRequest
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.languages import LARK, checked
from glyphscope.grammar.lark.emit import lark_rules, lark_unenforced, to_lark
from glyphscope.grammar.packed import pack, unpack
from glyphscope.grammar.reach import reach
from glyphscope.grammar.tree import Grammar, Unenforced, with_suffix
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.strategies.turns import expected_answer
from glyphscope.turns.answers import schema_of
from glyphscope.turns.expected import Expected
from glyphscope.turns.grammar import used_names
from glyphscope.turns.own import own_call

MAX_TEXTS = 64
MAX_CHARACTERS = 16 << 20
"""The limits of the cache: the number of texts, and of their characters together."""
_NAMED = 3
"""Unenforced keywords that a sentence names."""
_SCHEMAS = ("properties", "$defs")
"""Steps of a pointer that are followed by a name."""

_Key: TypeAlias = tuple[Any, ...]


class BuiltGrammar(NamedTuple):
    """`text` is Lark for the mask, otherwise GBNF. `build_ms` is 0 if it was cached.

    For a mask's token budget, `rules` are the packed rules, and `near` is the most tokens that completing a text can
    take (`grammar/reach.py`); empty and None without a budget. `unenforced` are the constraints that the text does not
    enforce.
    """

    text: str
    build_ms: float = 0.0
    rules: bytes = b""
    near: int | None = None
    unenforced: tuple[Unenforced, ...] = ()


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
    form, options, _ = asked = expected or expected_answer(request)
    used = used_names(form, options, names or {})

    def build() -> BuiltGrammar:
        grammar = asked.grammar(registry, used)
        return emitted(with_suffix(grammar, after), kind)

    key = (kind, msgspec.json.encode(form), options, after, *_source(registry, asked), *used.items())
    return _TEXTS.built(key, build)


def constraint_schema(
    request: RunRequest, registry: ToolRegistry, expected: Expected | None = None
) -> dict[str, Any] | None:
    """The same constraint as JSON Schema, for an endpoint that supports no grammar. Raises GrammarError.

    None if a schema cannot express it: it can express only one whole call in JSON without text around it, and is the
    schema of an answer itself.
    """
    if request.constraint != "endpoint" or request.notation != "json" or request.grammar is not None:
        return None
    form, options, _ = expected or expected_answer(request)
    part = call.part if (call := own_call(form)) is not None else "call"
    if part == "answer" and call is not None and call.answer.kind == "schema" and not options.free_text:
        schema = schema_of(call.answer)
        return schema if isinstance(schema, dict) else {} if schema else None
    if part != "call" or options.free_text or options.choice == "auto" or options.most_calls != 1:
        return None
    return call_schema(registry, request.shape, tool=options.tool)


def emitted(grammar: Grammar, kind: ConstraintKind) -> BuiltGrammar:
    """Lark for the mask, with its rules for the budget; GBNF for llama.cpp's own sampler and for endpoints."""
    if kind != "mask":
        made = emit_gbnf(grammar)
        return BuiltGrammar(made.text, unenforced=(*grammar.unenforced, *made.unenforced))
    built = BuiltGrammar(to_lark(grammar), unenforced=lark_unenforced(grammar))
    if grammar.lark is not None and _reads_other_texts(grammar.lark[1]):
        return built  # a completion by its rules need not be one: there is no budget
    try:
        packed = pack(lark_rules(grammar))
        return built._replace(rules=packed, near=reach(unpack(packed)))
    except GrammarError:  # its automata are too large to be run beside the mask: there is no budget
        return built


def unenforced(prepared: PreparedRequest) -> tuple[Unenforced, ...]:
    """The keywords of the request's schemas that its constraint does not enforce: only the validator checks them.

    None without a constraint, and for a custom grammar, which has no schemas. Raises GlyphscopeError.
    """
    request = prepared.request
    if request.constraint == "off" or request.grammar is not None:
        return ()
    if request.native:  # the schemas are the same in any form of calls
        request = with_fields(request, native="", form={}, notation="json", shape="name-arguments")
    found = call_constraint(request, prepared.enforced).unenforced
    return tuple({(each.tool, each.pointer): each for each in found if each.keyword}.values())


def unenforced_words(found: Sequence[Unenforced], constraint: ConstraintKind) -> str:
    """A sentence about keywords that the constraint does not enforce; empty for none.

    `2 constraints are checked after, not masked: labels uniqueItems (ticket_create), …`.
    """
    if not found:
        return ""
    few = and_more([f"{_place(each)} ({each.tool})" for each in found], _NAMED)
    how = "not masked" if constraint == "mask" else "not in the grammar"
    verb = "is" if len(found) == 1 else "are"
    return f"{pluralize(len(found), 'constraint')} {verb} checked after, {how}: {few}."


def _place(found: Unenforced) -> str:
    """`labels uniqueItems`: the names on the way to a keyword."""
    return " ".join(step for step in steps_of(found.pointer) if step not in _SCHEMAS)


def _reads_other_texts(lark: str) -> bool:
    """Whether the lexer of a Lark text is known to reject texts of its rules, or these are only approximate."""
    return any(each.code in ("lexeme-lost", "approximate") for each in checked(LARK, lark).diagnostics)


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
