"""Which one constraint of a schema refuses a text that the grammar strikes: found by relaxing it, not by guessing.

A constraint is the reason where the grammar without it, and with everything else, goes on with the text. So what is
told can be tried: a branch that relaxes that very pointer takes the text. Where no single constraint is the reason
(the notation's syntax, the list of tools, two constraints at once) there is none. Nor is there where a run enforces the
schema's order of keys and the text has another, or where a key is given again: `unrelated` says so, as no constraint of
the schema refuses it.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.events import ArgumentOrder, RunRequest, Violation, violations_of
from glyphscope.grammar.match import Compiled, Limits, MatchCancelled, MatchLimit, State, compile_grammar
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
_KEPT = 48
_OTHERS = 8
"""Constraints of other alternatives that are tried, to tell whether one alternative alone is meant."""
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
    """Finds the reasons of one run. `registry` is what holds it. Not for two threads at once."""

    def __init__(self, request: RunRequest, registry: ToolRegistry) -> None:
        self._request = request
        self._registry = registry
        self._held: OrderedDict[tuple[str, str, ArgumentOrder], Compiled | None] = OrderedDict()
        self._states: OrderedDict[tuple[str, str, ArgumentOrder], State | None] = OrderedDict()
        self._before: tuple[str, str | None] = ("", None)

    def find(self, before: str, text: str, *, cancel: Callable[[], bool] | None = None) -> Attribution | None:
        """Why `text` cannot stand after `before`, which the grammar takes.

        Raises MatchCancelled, and MatchLimit where it takes too long to tell.
        """
        until = time.monotonic() + SECONDS
        tool = self._tool(before)
        if tool is None or not text or is_control(text):
            return None
        here = self._state(tool, "", before, cancel)
        if here is None or not here.alive:
            return None
        after = here.feed(text, cancel=cancel)
        if after.alive or self._is_duplicate(tool, before, text):
            return None
        candidates = _limited(self._candidates(tool, before, text, here, after))
        for place, pointer in enumerate(candidates):
            if time.monotonic() > until:
                raise MatchLimit(
                    f"Which constraint refuses the text was not found in {duration(SECONDS)}.",
                    hint="Look at the argument's constraints one by one.",
                )
            if self._lets_through(tool, pointer, before, text, cancel):
                choice = _choice_of(pointer)
                others = [
                    other
                    for other in candidates[place + 1 :]
                    if choice and _choice_of(other) == choice and _of_another(pointer, other, choice)
                ]
                if any(self._lets_through(tool, other, before, text, cancel) for other in others[:_OTHERS]):
                    pointer = choice  # each alternative refuses it for a reason of its own
                return Attribution(tool, pointer, parts_of(pointer).keyword)
        return None

    def unrelated(self, before: str, text: str, *, cancel: Callable[[], bool] | None = None) -> Unrelated:
        """What refuses `text` after `before` where it is no constraint of the schema; empty where it may be one.

        "order": the run enforces the schema's order of keys. "duplicate": the key, or what it begins like, was given.
        Raises MatchCancelled and MatchLimit.
        """
        tool = self._tool(before)
        if tool is None or not text:
            return ""
        if self._is_order(tool, before, text, cancel):
            return "order"
        return "duplicate" if self._is_duplicate(tool, before, text) else ""

    def _is_duplicate(self, tool: str, before: str, text: str) -> bool:
        validator = answer_validator(self._request, self._only(tool))
        validator.feed(before)
        found = violations_of(validator.feed(text))
        return bool(found) and found[0].code == "DUPLICATE_ARGUMENT"

    def _is_order(self, tool: str, before: str, text: str, cancel: Callable[[], bool] | None) -> bool:
        if self._request.order == "any":
            return False
        here, free = (self._state(tool, "", before, cancel, order) for order in (self._request.order, "any"))
        if here is None or free is None or here.feed(text, cancel=cancel).alive:
            return False
        return free.alive and free.feed(text, cancel=cancel).alive

    def _lets_through(
        self, tool: str, pointer: str, before: str, text: str, cancel: Callable[[], bool] | None
    ) -> bool:
        """Whether the grammar without that one constraint goes on with the text."""
        if cancel is not None and cancel():
            raise MatchCancelled("The reason is no longer needed.")
        free = self._state(tool, pointer, before, cancel)
        return free is not None and free.alive and free.feed(text, cancel=cancel).alive

    def speaks(self, before: str) -> bool:
        """Whether a tool is known after `before`, whose schema could refuse anything."""
        return self._tool(before) is not None

    def _tool(self, before: str) -> str | None:
        """The tool that is called by then, if it is known: no schema speaks before."""
        if self._request.grammar is not None:
            return None
        if self._before[0] != before or not before:
            validator = answer_validator(self._request, self._registry)
            validator.feed(before)
            self._before = (before, validator.tool)
        tool = self._registry.get(self._before[1] or "")
        return tool.name if tool is not None and tool.enabled else None

    def _only(self, tool: str) -> ToolRegistry:
        found = self._registry.get(tool)
        assert found is not None, "it was called"
        return replace(self._registry, tools=(found,))

    def _state(
        self,
        tool: str,
        pointer: str,
        before: str,
        cancel: Callable[[], bool] | None,
        order: ArgumentOrder | None = None,
    ) -> State | None:
        """After `before`, without the constraint at the pointer; None where that cannot be taken out.

        `order` is that of the arguments, the request's own unless it is given.
        """
        order = order or self._request.order
        key = (pointer, before, order)
        if key not in self._states:
            compiled = self._compiled(tool, pointer, order)
            start = None if compiled is None else compiled.start(Limits())
            self._states[key] = None if start is None else start.feed(before, cancel=cancel)
            while len(self._states) > _KEPT:
                self._states.popitem(last=False)
        return self._states[key]

    def _compiled(self, tool: str, pointer: str, order: ArgumentOrder) -> Compiled | None:
        key = (tool, pointer, order)
        if key not in self._held:
            request = msgspec.structs.replace(self._request, order=order)
            try:
                registry = self._only(tool)
                if pointer:
                    registry = relaxed(registry, tool, pointer)
                grammar = answer_grammar(request, registry)
                self._held[key] = compile_grammar(grammar)
            except GlyphscopeError:
                self._held[key] = None
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        return self._held[key]

    def _candidates(self, tool: str, before: str, text: str, here: State, after: State) -> Iterator[str]:
        """The verdict's own word first, then what holds where the text fails, from the inside to the outside."""
        schema = self._only(tool).tools[0].parameters
        validator = answer_validator(self._request, self._only(tool))
        found = [*validator.feed(before), *validator.feed(text)]
        for event in found:
            if isinstance(event, Violation) and event.rule:
                yield from _with_names(schema, event.rule)
            elif isinstance(event, Violation) and event.code == "UNKNOWN_ARGUMENT":
                yield "/additionalProperties"
        for state in (after, here):
            origins = [rule.origin for rule in reversed(state.active_rules())]
            origins = [one.origin for one in state.expectations()] + origins
            for origin in dict.fromkeys(origin for origin in origins if origin is not None):
                yield from _constraints_at(schema, origin.pointer)
                yield from (pointer for pointer in origin.text_keywords)
        yield from _constraints_at(schema, "")


def is_control(text: str) -> bool:
    """Whether it is written as models write their control tokens, which are no text: no keyword lets them through."""
    return _CONTROL.fullmatch(text) is not None


def _choice_of(pointer: str) -> str:
    """The pointer of the innermost `anyOf` or `oneOf` in an alternative of which it stands; empty for none."""
    steps = pointer.split("/")
    for place in range(len(steps) - 2, 0, -1):
        if steps[place] in ("anyOf", "oneOf") and steps[place + 1].isdigit():
            return "/".join(steps[: place + 1])
    return ""


def _of_another(one: str, other: str, choice: str) -> bool:
    """Whether the other pointer is the same keyword's in another alternative of that choice: almost anything goes
    through where another keyword is taken out of another alternative, such as its type.
    """
    start = len(choice) + 1
    branch = one[start:].split("/")[0] != other[start:].split("/")[0]
    return branch and parts_of(one).keyword == parts_of(other).keyword


def _limited(pointers: Iterator[str]) -> list[str]:
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
    """The constraints of a place, and of what holds there with it, by the way through its references."""
    waiting = [(pointer, pointer, 0)]
    for place, way, depth in waiting:  # grows
        found = follow(schema, place)
        if found is None or not isinstance(found[1], dict):
            continue
        held = found[1]
        for keyword in _ORDER:
            if keyword == "required" and keyword in held:
                yield from (way + to_pointer(("required", name)) for name in held["required"][:_REQUIRED])
            if keyword in held or (keyword == "additionalProperties" and (not place or "properties" in held)):
                yield f"{way}/{keyword}"
        if depth >= _DEPTH:
            continue
        reference = held.get("$ref")
        target = follow_reference(schema, reference) if isinstance(reference, str) else None
        if target is not None:
            waiting.append((to_pointer(target[0]), f"{way}/$ref", depth + 1))
        for keyword in ("allOf", "anyOf", "oneOf"):
            inner = [f"/{keyword}/{index}" for index in range(len(held.get(keyword, ())))]
            waiting += [(place + step, way + step, depth + 1) for step in inner]
