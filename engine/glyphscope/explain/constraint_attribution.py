"""The constraint of a schema that rejects a masked text, found by relaxing it, not by guessing.

A constraint is the reason if the grammar without it, and with everything else, accepts the text. So the answer can be
verified: a branch that relaxes that pointer accepts the text. There is no answer where no single constraint is the
reason (the notation's syntax, the list of tools, two constraints at once), where a run enforces the schema's order of
keys and the text has another, or where a key is repeated: `unrelated` reports these, as no constraint of the schema
rejects them.

`Attributor` relaxes the candidates one by one; the functions below it list them, from the inside to the outside.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.events import ArgumentOrder, RunRequest, violations_of
from glyphscope.grammar.match.earley import Limits, MatchCancelled, MatchLimit, State
from glyphscope.grammar.match.report import Compiled, compile_grammar
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import follow, follow_reference, to_pointer
from glyphscope.runs.relaxation import parts_of, relaxed
from glyphscope.strategies.constraints import answer_grammar
from glyphscope.strategies.turns import answer_validator
from glyphscope.text.figures import duration

SECONDS = 3.0
"""For one text. A grammar of one tool takes some milliseconds."""
_CONTROL = re.compile(
    r"<\|[^<>\s]{1,40}\|>|</?s>|<(?:bos|eos|pad|unk|mask|eot|start_of_turn|end_of_turn)>|\[/?INST\]"
)
_TRIES = 40
"""Constraints that are relaxed, one by one."""
_CACHED = 48
"""Grammars, and places in them, that are not made again."""
_OTHERS = 8
"""Constraints of other alternatives that are tried, to find out whether one alternative alone is meant."""
_REQUIRED = 16
"""Required names that are tried one by one."""
_DEPTH = 4
"""References, allOf and alternatives that are followed from a place."""

_ORDER = (
    "enum", "const", "pattern", "format", "maxLength", "minLength", "maximum", "exclusiveMaximum", "minimum",
    "exclusiveMinimum", "multipleOf", "maxItems", "minItems", "required", "additionalProperties", "maxProperties",
    "minProperties", "not", "items", "anyOf", "oneOf", "propertyNames", "unevaluatedProperties", "x-grammar", "type",
)  # fmt: skip
"""Of one place, what says most about the text first: almost anything goes without a type."""


Unrelated: TypeAlias = Literal["", "order", "duplicate"]


class Attribution(NamedTuple):
    """The constraint: `keyword` at JSON Pointer `pointer` of the `parameters` of `tool`, as `relaxed` takes it."""

    tool: str
    pointer: str
    keyword: str


class Attributor:
    """Finds the reasons of one run, enforced by `registry`. Not for two threads at once."""

    def __init__(self, request: RunRequest, registry: ToolRegistry) -> None:
        self._request = request
        self._registry = registry
        self._cancel: Callable[[], bool] | None = None
        self._tool = lru_cache(1)(self._find_tool)
        self._grammar = lru_cache(_CACHED)(self._compile)
        self._state = lru_cache(_CACHED)(self._start)

    def knows_tool(self, before: str) -> bool:
        """Whether a tool is known after `before`, so that its schema can reject a text."""
        return self._tool(before) is not None

    def unrelated(self, before: str, text: str, *, cancel: Callable[[], bool] | None = None) -> Unrelated:
        """The reason to reject `text` after `before` other than a constraint of the schema; empty where it may be one.

        "order": the run enforces the schema's order of keys. "duplicate": the key, or one it may become, was given.
        Raises MatchCancelled and MatchLimit.
        """
        self._cancel = cancel
        tool = self._tool(before)
        if tool is None or not text:
            return ""
        if self._is_order(tool, before, text):
            return "order"
        return "duplicate" if self._is_duplicate(tool, before, text) else ""

    def find(self, before: str, text: str, *, cancel: Callable[[], bool] | None = None) -> Attribution | None:
        """Why `text` is not possible after `before`, which the grammar takes.

        Raises MatchCancelled, and MatchLimit where it takes too long to find out.
        """
        self._cancel = cancel
        until = time.monotonic() + SECONDS
        tool = self._tool(before)
        if tool is None or not text or is_control(text):
            return None
        here = self._state(tool, "", before, self._request.order)
        if here is None or not here.alive:
            return None
        after = here.feed(text, cancel=cancel)
        if after.alive or self._is_duplicate(tool, before, text):
            return None
        candidates = _limited(self._candidates(tool, before, text, here, after))
        for place, pointer in enumerate(candidates):
            if time.monotonic() > until:
                raise MatchLimit(
                    f"Which constraint rejects the text was not found in {duration(SECONDS)}.",
                    hint="Look at the argument's constraints one by one.",
                )
            if self._lets_through(tool, pointer, before, text):
                choice = _choice_of(pointer)
                others = [other for other in candidates[place + 1 :] if _of_another(pointer, other, choice)]
                if any(self._lets_through(tool, other, before, text) for other in others[:_OTHERS]):
                    pointer = choice  # each alternative rejects it for a different reason
                return Attribution(tool, pointer, parts_of(pointer).keyword)
        return None

    def _candidates(self, tool: str, before: str, text: str, here: State, after: State) -> Iterator[str]:
        """The verdict's own word first, then what applies where the text fails, from the inside to the outside."""
        only = self._only(tool)
        schema = only.tools[0].parameters
        validator = answer_validator(self._request, only)
        for violation in violations_of([*validator.feed(before), *validator.feed(text)]):
            if violation.rule:
                yield from _with_names(schema, violation.rule)
            elif violation.code == "UNKNOWN_ARGUMENT":
                yield "/additionalProperties"
        for state in (after, here):
            origins = [rule.origin for rule in reversed(state.active_rules())]
            origins = [one.origin for one in state.expectations()] + origins
            for origin in dict.fromkeys(origin for origin in origins if origin is not None):
                yield from _constraints_at(schema, origin.pointer)
                yield from origin.text_keywords
        yield from _constraints_at(schema, "")

    def _lets_through(self, tool: str, pointer: str, before: str, text: str) -> bool:
        """Whether the grammar without that one constraint accepts the text."""
        if self._cancel is not None and self._cancel():
            raise MatchCancelled("The reason is no longer needed.")
        return self._accepts(self._state(tool, pointer, before, self._request.order), text)

    def _accepts(self, state: State | None, text: str) -> bool:
        return state is not None and state.alive and state.feed(text, cancel=self._cancel).alive

    def _is_duplicate(self, tool: str, before: str, text: str) -> bool:
        validator = answer_validator(self._request, self._only(tool))
        validator.feed(before)
        found = violations_of(validator.feed(text))
        return bool(found) and found[0].code == "DUPLICATE_ARGUMENT"

    def _is_order(self, tool: str, before: str, text: str) -> bool:
        order = self._request.order
        if order == "any":
            return False
        here, free = self._state(tool, "", before, order), self._state(tool, "", before, "any")
        return here is not None and not self._accepts(here, text) and self._accepts(free, text)

    def _only(self, tool: str) -> ToolRegistry:
        found = self._registry.get(tool)
        assert found is not None, "it was called"
        return replace(self._registry, tools=(found,))

    # cached

    def _find_tool(self, before: str) -> str | None:
        """The tool that is called by then, if it is known: no schema applies before."""
        if self._request.grammar is not None:
            return None
        validator = answer_validator(self._request, self._registry)
        validator.feed(before)
        tool = self._registry.get(validator.tool or "")
        return tool.name if tool is not None and tool.enabled else None

    def _start(self, tool: str, pointer: str, before: str, order: ArgumentOrder) -> State | None:
        """After `before`, without the constraint at the pointer; None where that cannot be taken out."""
        grammar = self._grammar(tool, pointer, order)
        return None if grammar is None else grammar.start(Limits()).feed(before, cancel=self._cancel)

    def _compile(self, tool: str, pointer: str, order: ArgumentOrder) -> Compiled | None:
        request = msgspec.structs.replace(self._request, order=order)
        try:
            registry = self._only(tool)
            if pointer:
                registry = relaxed(registry, tool, pointer)
            return compile_grammar(answer_grammar(request, registry))
        except GlyphscopeError:
            return None


def is_control(text: str) -> bool:
    """Whether it looks like a control token of a model, which no keyword of a schema accepts."""
    return _CONTROL.fullmatch(text) is not None


def _choice_of(pointer: str) -> str:
    """The pointer of the innermost `anyOf` or `oneOf` in an alternative of which it is; empty for none."""
    steps = pointer.split("/")
    for place in range(len(steps) - 2, 0, -1):
        if steps[place] in ("anyOf", "oneOf") and steps[place + 1].isdigit():
            return "/".join(steps[: place + 1])
    return ""


def _of_another(one: str, other: str, choice: str) -> bool:
    """Whether the other pointer is the same keyword's in another alternative of that choice: almost anything is
    accepted where another keyword is taken out of another alternative, such as its type.
    """
    if not choice or _choice_of(other) != choice:
        return False
    start = len(choice) + 1
    branch = one[start:].split("/")[0] != other[start:].split("/")[0]
    return branch and parts_of(one).keyword == parts_of(other).keyword


def _limited(pointers: Iterator[str]) -> list[str]:
    """Each once, the first ones."""
    found: dict[str, None] = {}
    for pointer in pointers:
        found[pointer] = None
        if len(found) >= _TRIES:
            break
    return list(found)


def _with_names(schema: Any, pointer: str) -> Iterator[str]:
    """The pointer; of a `required`, that of each name before."""
    if pointer.endswith("/required"):
        found = follow(schema, pointer)
        names = found[1] if found is not None and isinstance(found[1], list) else []
        yield from (pointer + to_pointer((name,)) for name in names[:_REQUIRED])
    yield pointer


def _constraints_at(schema: Any, pointer: str) -> Iterator[str]:
    """The constraints of a place, and of what applies there with it, by the way through its references."""
    # where the schema is, the pointer to it through references (which is the one to relax), references so far
    waiting = [(pointer, pointer, 0)]
    for place, way, depth in waiting:  # grows
        found = follow(schema, place)
        if found is None or not isinstance(found[1], dict):
            continue
        node = found[1]
        for keyword in _ORDER:
            if keyword == "required" and keyword in node:
                yield from (way + to_pointer(("required", name)) for name in node["required"][:_REQUIRED])
            if keyword in node or (keyword == "additionalProperties" and (not place or "properties" in node)):
                yield f"{way}/{keyword}"
        if depth >= _DEPTH:
            continue
        reference = node.get("$ref")
        target = follow_reference(schema, reference) if isinstance(reference, str) else None
        if target is not None:
            waiting.append((to_pointer(target[0]), f"{way}/$ref", depth + 1))
        for keyword in ("allOf", "anyOf", "oneOf"):
            inner = [f"/{keyword}/{index}" for index in range(len(node.get(keyword, ())))]
            waiting += [(place + step, way + step, depth + 1) for step in inner]
