"""The prompts of strategies with stages: choosing a tool, writing its call, repairing it.

Their presets are a separate list, as none of them is a prompt of the direct strategy. Each is the system message,
except for the repair prompt, which is the user's next turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from glyphscope.base.errors import PromptError, find_named
from glyphscope.base.pointer import to_pointer
from glyphscope.base.shorten import shorten
from glyphscope.events import Message, NameCandidate, Notation, RunRequest
from glyphscope.prompting.messages import (
    RenderedMessages,
    compose,
    system_parts,
    template_values,
    up_to_prompt,
)
from glyphscope.prompting.template import STRATEGIES, MessagePart, PartText, presets, render
from glyphscope.registry import ToolRegistry

ATTEMPT, REPAIR = "attempt", "repair"
"""The names of the parts of a repair's prompt: the failed text, and the message about it."""

MAX_SHOWN = 4000
"""Characters of a failed attempt in a repair's prompt: a long one fails early, and would fill the context."""


class Exchange(NamedTuple):
    """A question of the router: its whole answer as written, the question in it, and the user's answer."""

    written: str
    question: str
    answer: str


def strategy_presets() -> Mapping[str, str]:
    """The templates of these prompts by name."""
    return presets(STRATEGIES)


def strategy_preset(name: str) -> str:
    """The template of that name. Raises PromptError if there is none."""
    return find_named(strategy_presets(), name, f'prompt preset "{name}" for a stage', error=PromptError)


def render_router(
    request: RunRequest,
    registry: ToolRegistry,
    candidates: Sequence[NameCandidate] = (),
    exchanges: Sequence[Exchange] = (),
    *,
    may_ask: bool = True,
) -> RenderedMessages:
    """The router's prompt: the names of the allowed tools only. Raises PromptError."""
    settings = request.router
    names = [tool.name for tool in registry.allowed]
    values = {
        "tools": [_tool(name) for name in names],
        "rules": [PartText("rules", rule, f"rule {n}") for n, rule in enumerate(settings.rules, 1)],
        "synonyms": [
            {
                "tool": PartText("tools", name, to_pointer((name,))),
                "phrases": PartText("tools", _quoted(settings.synonyms[name]), to_pointer((name,))),
            }
            for name in names
            if settings.synonyms.get(name)
        ],
        "candidates": _named(candidates),
        "may_ask": may_ask,
        "multi_intent": settings.multi_intent,
    }
    return compose(
        ("system", system_parts(request, _template(settings.router, settings.router_system), values)),
        *up_to_prompt(request),
        *_turns((each.written, each.answer) for each in exchanges),
    )


def render_executor(
    request: RunRequest,
    registry: ToolRegistry,
    candidates: Sequence[NameCandidate] = (),
    exchanges: Sequence[Exchange] = (),
) -> RenderedMessages:
    """The executor's prompt: the only tool of `registry` with its whole JSON Schema. Raises PromptError."""
    (tool,) = registry.allowed
    settings = request.router
    values = template_values(request, registry)
    values = {
        "tool": values["tools"][0],
        "schema": PartText(
            "tools", json.dumps(tool.parameters, ensure_ascii=False), to_pointer((tool.name,))
        ),
        "candidates": _named(candidates),
        **values,
    }
    return compose(
        ("system", system_parts(request, _template(settings.executor, settings.executor_system), values)),
        *up_to_prompt(request),
        *_turns((each.question, each.answer) for each in exchanges),
    )


def render_repair(
    request: RunRequest, asked: RenderedMessages, notation: Notation, text: str, error: str
) -> RenderedMessages:
    """The prompt `asked`, then the failed text as the assistant's turn, and the repair message.

    Without a text, the message is part of the last turn, as chat templates need alternating roles. Raises PromptError.
    """
    settings = request.repair
    values: Mapping[str, Any] = {
        "notation": notation,
        "answer": request.answer.kind,
        "error": PartText(REPAIR, error.rstrip(".")),
        "attempt": PartText(ATTEMPT, text),
    }
    words = render(_template(settings.preset, settings.template), values, rest=REPAIR)
    if text or not asked.messages:
        shown = asked.begun + shorten(text, MAX_SHOWN + 1)
        more = compose(("assistant", [MessagePart(ATTEMPT, shown)]), ("user", words))
        return replace(asked, messages=(*asked.messages, *more.messages), parts=(*asked.parts, *more.parts))
    *before, last = asked.messages
    added = [MessagePart(REPAIR, "\n\n"), *words] if words else []
    both = Message(last.role, last.content + "".join(part.text for part in added))
    return replace(asked, messages=(*before, both), parts=(*asked.parts, *added))


def _turns(asked: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[MessagePart]]]:
    """Two messages for each question: the assistant's question, and the answer."""
    for question, answer in asked:
        yield "assistant", [MessagePart("asked", question)]
        yield "user", [MessagePart("user", answer)]


def _tool(name: str) -> dict[str, PartText]:
    """A tool as the router's template sees it: its name, the name as words, and the name in JSON."""
    words = re.sub(r"[\W_]+", " ", name).strip()
    forms = {"name": name, "words": words or name, "json": json.dumps(name, ensure_ascii=False)}
    return {form: PartText("tools", text, to_pointer((name,))) for form, text in forms.items()}


def _template(name: str, own: str | None) -> str:
    return strategy_preset(name) if own is None else own


def _quoted(phrases: Sequence[str]) -> str:
    return ", ".join(json.dumps(phrase, ensure_ascii=False) for phrase in phrases)


def _named(candidates: Sequence[NameCandidate]) -> list[dict[str, Any]]:
    """The candidates as templates see them, each name once."""
    found = {(one.name, one.kind): one for one in candidates}
    return [
        {
            **msgspec.structs.asdict(one),
            "name": PartText("candidates", one.name),
            "kind": PartText("candidates", one.kind),
        }
        for one in found.values()
    ]
