"""The constraint of a schema that rejects a masked text, found by relaxing constraints one by one.

A constraint is the reason if the grammar accepts the text without this one constraint; a branch that relaxes its
pointer verifies this. There is no such constraint if two reject the text, or if the notation's syntax or the list of
tools does; `unrelated` reports the order of keys and a repeated key as reasons.

`Attributor` relaxes the candidates; the functions below it list them, innermost first.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration
from glyphscope.base.pointer import follow, to_pointer
from glyphscope.events import ArgumentOrder, Relaxed, RunRequest, violations_of
from glyphscope.grammar import MatchCancelled, MatchLimit, MatchLimits, State, compile_grammar
from glyphscope.grammar.builder.tools import SCHEMA
from glyphscope.grammar.match.report import Compiled
from glyphscope.grammar.text_grammar import open_rules
from glyphscope.registry import ToolRegistry
from glyphscope.registry.facts import Whole, implicit, in_place
from glyphscope.registry.keywords import CHOICES, COMBINATIONS, CUSTOM, KEYWORDS, keyword_indices
from glyphscope.runs.relaxation import ANSWER, parts_of, relaxed
from glyphscope.runs.strategies.turns import answer_validator, expected_answer

SECONDS = 3.0
"""The time limit for one text: each try compiles a grammar of one tool, which takes a few milliseconds."""
_CONTROL = re.compile(
    r"<\|[^<>\s]{1,40}\|>|</?s>|<(?:bos|eos|pad|unk|mask|eot|start_of_turn|end_of_turn)>|\[/?INST\]"
)
_TRIES = 40
"""The maximum number of constraints that are relaxed for one text."""
_CACHED = 48
"""The size of each cache, above `_TRIES`: the next text at the same place needs the same grammars."""
_OTHERS = 8
"""The most constraints of other alternatives that are tried, to decide whether the whole choice is the reason."""
_REQUIRED = 16
"""The maximum number of required names that are tried one by one."""
_DEPTH = 4
"""The most references, allOf and alternatives that are followed from a place."""

_TRIED = tuple(
    name for name, keyword in KEYWORDS.items()
    if keyword.relaxable and not (keyword.unenforced or keyword.part_of or name in ("$ref", "allOf"))
)  # fmt: skip
"""The keywords of one place that are tried, in the order of the table."""

_FOLLOWED = {"$ref", *COMBINATIONS}

Unrelated: TypeAlias = Literal["", "order", "duplicate"]


class Attribution(NamedTuple):
    """The constraint `keyword` at the JSON Pointer `pointer` into the `parameters` of `tool`, as used by `relaxed`; for
    a rule, `rule NAME`.
    """

    tool: str
    pointer: str
    keyword: str


class Attributor:
    """Finds the reasons in one run under `registry`. In every method `before` is the answer's text up to the rejected
    `text`. Not thread-safe.
    """

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
        """A reason other than a constraint of the schema; empty if it may be a constraint.

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
        """The constraint that rejects `text` after `before`, which the grammar accepts; None if no single one does.

        Raises MatchCancelled, and MatchLimit after `SECONDS`.
        """
        self._cancel = cancel
        until = time.monotonic() + SECONDS
        tool = self._tool(before)
        if tool is None or not text or is_control_token(text):
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
                _, keyword, rule = parts_of(pointer)
                is_rule = tool == ANSWER or (keyword == CUSTOM and rule)
                return Attribution(tool, pointer, f"rule {rule or keyword}" if is_rule else keyword)
        return None

    def _candidates(self, tool: str, before: str, text: str, here: State, after: State) -> Iterator[str]:
        """Pointers to the validator's violations, then to the constraints where the text fails, innermost first."""
        only = self._only(tool)
        schema = only.tools[0].parameters if only.tools else {}
        validator = answer_validator(self._request, only)
        for violation in violations_of([*validator.feed(before), *validator.feed(text)]) if schema else ():
            if parts_of(violation.rule).keyword == CUSTOM:
                continue  # its rules come first
            if violation.rule:
                yield from _with_names(schema, violation.rule)
            elif violation.code == "UNKNOWN_ARGUMENT":
                yield "/additionalProperties"
        for state in (after, here):
            if tool == ANSWER:
                names = [one.rule for one in state.expectations()] + open_rules(state)
                yield from (to_pointer((name,)) for name in dict.fromkeys(names))
                continue
            origins = [rule.origin for rule in reversed(state.active_rules())]
            origins = [one.origin for one in state.expectations()] + origins
            for origin in dict.fromkeys(origin for origin in origins if origin is not None):
                if parts_of(origin.pointer).keyword == CUSTOM:
                    yield origin.pointer
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
        if tool == ANSWER:
            return self._registry
        found = self._registry.get(tool)
        assert found is not None, "it was called"
        return replace(self._registry, tools=(found,))

    # computed once each: `_tool`, `_state` and `_grammar` are the caches of these

    def _find_tool(self, before: str) -> str | None:
        """The tool that `before` calls, or the answer's schema or rules; None while it is unknown or not enabled."""
        if not has_parts(self._request):
            return None
        if not self._request.answer.has_schema:
            return ANSWER
        if not self._request.answer.is_call:
            return SCHEMA
        validator = answer_validator(self._request, self._registry)
        validator.feed(before)
        tool = self._registry.get(validator.tool or "")
        return tool.name if tool is not None and tool.enabled else None

    def _start(self, tool: str, pointer: str, before: str, order: ArgumentOrder) -> State | None:
        """The state after `before`, without the constraint at the pointer; None if that cannot be relaxed."""
        grammar = self._grammar(tool, pointer, order)
        return None if grammar is None else grammar.start(MatchLimits()).feed(before, cancel=self._cancel)

    def _compile(self, tool: str, pointer: str, order: ArgumentOrder) -> Compiled | None:
        request = msgspec.structs.replace(self._request, order=order)
        try:
            registry = self._only(tool)
            if pointer and request.answer.is_call:
                registry = relaxed(registry, tool, pointer)
            elif pointer:
                more = (*request.relaxed, Relaxed(tool, pointer))
                request = msgspec.structs.replace(request, relaxed=more)
            return compile_grammar(expected_answer(request).grammar(registry))
        except GlyphscopeError:
            return None


def has_parts(request: RunRequest) -> bool:
    """Whether what constrains the request has keywords or rules that can be relaxed."""
    return request.grammar is None and request.answer.kind not in ("regex", "choice")


def is_control_token(text: str) -> bool:
    """Whether the text looks like a control token of a model, which no keyword of a schema accepts."""
    return _CONTROL.fullmatch(text) is not None


def _choice_of(pointer: str) -> str:
    """The innermost `anyOf` or `oneOf` that the pointer passes through; empty for none."""
    steps = pointer.split("/")[1:]
    passed = [index for index in keyword_indices(steps[:-1]) if steps[index] in CHOICES]
    return "/".join(["", *steps[: passed[-1] + 1]]) if passed else ""


def _of_another(one: str, other: str, choice: str) -> bool:
    """Whether both point to the same keyword in different alternatives of that choice. Other keywords do not count:
    without the `type` of another alternative, almost anything is accepted.
    """
    if not choice or _choice_of(other) != choice:
        return False
    start = len(choice) + 1
    branch = one[start:].split("/")[0] != other[start:].split("/")[0]
    return branch and parts_of(one).keyword == parts_of(other).keyword


def _limited(pointers: Iterator[str]) -> list[str]:
    """The first `_TRIES` pointers, each once."""
    found: dict[str, None] = {}
    for pointer in pointers:
        found[pointer] = None
        if len(found) >= _TRIES:
            break
    return list(found)


def _with_names(schema: Any, pointer: str) -> Iterator[str]:
    """The pointer; before a pointer to `required`, the pointers to its names."""
    if pointer.endswith("/required"):
        found = follow(schema, pointer)
        names = found[1] if found is not None and isinstance(found[1], list) else []
        yield from (pointer + to_pointer((name,)) for name in names[:_REQUIRED])
    yield pointer


def _constraints_at(schema: Any, pointer: str) -> Iterator[str]:
    """The pointers to the constraints of a place, and to all that its references and alternatives apply to it."""
    found = follow(schema, pointer)
    # each: the schema, the pointer to it through references (the one to relax), the steps so far
    waiting = [(Whole(found[1], pointer), pointer, 0)] if found is not None else []
    for at, way, depth in waiting:  # grows
        if not isinstance(at.schema, dict):
            continue
        present = {*at.schema, *implicit(at.schema, whole=not at.pointer)}
        yield from (
            way + to_pointer(("required", name)) for name in at.schema.get("required", ())[:_REQUIRED]
        )
        yield from (f"{way}/{keyword}" for keyword in _TRIED if keyword in present)
        if depth < _DEPTH:
            inner = in_place(schema, at)
            waiting += [
                (one, way + to_pointer(steps), depth + 1) for steps, one in inner if steps[0] in _FOLLOWED
            ]
