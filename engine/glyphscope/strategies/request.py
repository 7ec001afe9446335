"""From a run's request to the model's request: renders and prices the prompt, and builds the constraint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from glyphscope.errors import PromptError
from glyphscope.events import BEGUN, ConstraintKind, PromptRendered, RunRequest, Thinking
from glyphscope.grammar.builder.calls import GrammarOptions
from glyphscope.grammar.tree import Grammar
from glyphscope.models.interface import GenerateRequest, Model
from glyphscope.models.token_spans import token_lengths
from glyphscope.notation.chat_tool_format import ENDPOINTS_OWN
from glyphscope.prompting.messages import RenderedMessages, render_messages
from glyphscope.prompting.template import Part
from glyphscope.prompting.written_tools import tool_parts
from glyphscope.registry import ToolRegistry
from glyphscope.runs.prepared import PreparedRequest, request_of
from glyphscope.runs.settle import settle
from glyphscope.strategies.constraints import BuiltGrammar, call_constraint, constraint_schema, emitted, timed
from glyphscope.strategies.pricing import Span, part_spans, priced_by_counting, priced_by_tokens
from glyphscope.strategies.turns import text_only, triggers

_SAME = (
    "thinking", "tool_choice", "most_calls", "sampling", "max_tokens", "stop", "alternatives", "evidence",
    "reasoning_budget", "repeatable",
)  # fmt: skip
"""The fields of a run's request that the model's request has under the same names."""


def render_prompt(request: RunRequest, registry: ToolRegistry, model: Model) -> PromptRendered:
    """The text sent to the model, and the tokens of each of its parts. Raises PromptError and ModelError."""
    return priced_prompt(render_messages(request, registry), model, thinking=request.thinking)


def first_prompt(request: RunRequest | PreparedRequest, model: Model) -> PromptRendered:
    """The first prompt of a run of the request, with its costs, without running it. `cached` is not known yet, and 0.

    Raises PromptError for a strategy whose prompts depend on the model's answers, RegistryError and ModelError.
    """
    asked = request_of(request)
    if asked.strategy not in ("direct", "two-stage"):
        raise PromptError(
            f"The prompts of the strategy {asked.strategy} are made in a run.",
            hint="Run it: each stage reports its prompt.",
        )
    prepared = settle(request, model).accepted
    return render_prompt(prepared.request, prepared.offered, model)


def priced_prompt(
    messages: RenderedMessages, model: Model, begun: str = "", *, thinking: Thinking
) -> PromptRendered:
    """The messages in the model's chat template, with the tokens of each part. `thinking` is the request's.

    `begun` is the beginning of the assistant's answer; the default is the messages'. Raises PromptError and ModelError.
    """
    given = (messages.messages, messages.tools) if messages.tools else (messages.messages,)
    # other implementations of Model need to accept tools and thinking only if they are used
    switched: dict[str, Any] = {} if thinking == "auto" else {"thinking": thinking}
    prompt = model.render_chat(*given, **switched)
    text, tokens = prompt.text, prompt.tokens
    tools = [tool["function"] for tool in messages.tools]
    spans = list(part_spans(text, _with_tools(text, messages.parts, prompt.added, tools)))
    begun = begun or messages.begun
    if begun:
        spans.append(Span(BEGUN, len(text), len(text + begun)))
        if tokens:  # counted on the whole text, as a token may reach across the border
            tokens += model.count_tokens(text + begun) - model.count_tokens(text)
        text += begun
    lengths = token_lengths(text, tokens, model)
    if lengths:
        parts = priced_by_tokens(spans, lengths)
    else:  # an endpoint may not count tokens before the answer
        count = model.count_tokens if tokens or not text else lambda _text: 0
        parts = priced_by_counting(text, tokens, spans, count)
    return PromptRendered(text=text, tokens=tokens, cached=0, parts=parts, note=prompt.note, lengths=lengths)


def with_messages(
    generation: GenerateRequest, messages: RenderedMessages, begun: str = ""
) -> GenerateRequest:
    """The request with the messages of its prompt, which are sent to endpoints, as these apply their own templates."""
    return msgspec.structs.replace(
        generation,
        messages=tuple(messages.messages),
        tools=tuple(messages.tools),
        begun=begun or messages.begun,
    )


def generate_request(
    request: RunRequest,
    registry: ToolRegistry,
    prompt: str,
    options: GrammarOptions | None = None,
    *,
    after: str = "",
    names: Mapping[str, int] | None = None,
) -> GenerateRequest:
    """The request to the model, under the grammar of the request's answer, or of a part of a call (`options`).

    `names` is the result of `special_tokens`. `after` is the text after the part, as the part's last token may reach
    into it. Raises GrammarError if the constraint cannot be built: a run never continues without it.
    """
    schema = constraint_schema(request, registry, options) if not after else None
    return _generation(
        request, prompt, lambda: call_constraint(request, registry, options, after, names), schema
    )


def generate_under(
    request: RunRequest, prompt: str, grammar: Callable[[], Grammar], schema: dict[str, Any]
) -> GenerateRequest:
    """The request under any grammar, which is built only under a constraint; `schema` is the same for an endpoint."""
    given = schema if request.constraint == "endpoint" else None
    return _generation(request, prompt, lambda: timed(lambda: emitted(grammar(), request.constraint)), given)


def _generation(
    request: RunRequest,
    prompt: str,
    constraint: Callable[[], BuiltGrammar],
    schema: dict[str, Any] | None,
) -> GenerateRequest:
    asks_tools = request.native == ENDPOINTS_OWN  # enforced by the endpoint itself, as tool_choice
    kind: ConstraintKind = "off" if text_only(request) else request.constraint
    built = None if kind == "off" or asks_tools else constraint()
    given: dict[str, Any] = {name: getattr(request, name) for name in _SAME}
    if built is not None:
        given |= {name: getattr(built, name) for name in ("rules", "near", "build_ms")}
        given |= {"grammar": built.text, "triggers": triggers(request)}
    schema = None if asks_tools else schema
    return GenerateRequest(prompt=prompt, constraint=kind, schema=schema, **given)


def special_tokens(request: RunRequest, model: Model) -> Mapping[str, int]:
    """The ids of the model's special tokens by their texts; empty for a request whose grammar names none."""
    return model.vocabulary().names if request.form else {}


def _with_tools(
    text: str, pieces: Sequence[Part], added: str, tools: Sequence[dict[str, Any]]
) -> Sequence[Part]:
    """The pieces with `added`, which the template wrote for the tools, at its place in the order of the text."""
    if not added:
        return pieces
    start = text.find(added)
    # a piece that the template left out has -1, so it is before the tools
    before = next((n for n, piece in enumerate(pieces) if text.find(piece.text) > start), len(pieces))
    return (*pieces[:before], *tool_parts(added, tools), *pieces[before:])
