"""From a run's request to the model's request: renders and prices the prompt, and builds the constraint.

For the cost of each part of a prompt, its pieces are located in the rendered text, and the tokens divided among them.

The whole text is tokenized once, and every token belongs to one part, so the parts add up to the total. A token across
a border belongs to the part of the last character that it completes; one that completes none, to the part of the
character whose byte it is. A token that begins the sequence belongs to the first part.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from glyphscope import events
from glyphscope.grammar.tree import Grammar
from glyphscope.models.interface import GenerateRequest, Model, Vocabulary
from glyphscope.prompting.messages import SYSTEM_PROMPT, RenderedMessages, render_messages
from glyphscope.prompting.rendered import TOOLS, control_texts, encode, spelled, token_lengths, tool_parts
from glyphscope.prompting.template import LINE, MessagePart
from glyphscope.registry import ToolRegistry
from glyphscope.runs.strategies.constraints import (
    BuiltGrammar,
    call_constraint,
    constraint_schema,
    emitted,
    timed,
)
from glyphscope.runs.strategies.turns import text_only, triggers
from glyphscope.turns import Expected
from glyphscope.turns.own import ENDPOINTS_OWN

TEMPLATE = "template"
"""The name of the part that the chat template writes between the others."""
_OF = ("/", LINE, SYSTEM_PROMPT)
"""The beginnings of `of` in pieces that are searched for together with their neighbours."""
_FOREIGN = ("user", "history", "result", "candidates")
"""The names of parts that are texts of users, tools and results; also those of tools, if they belong to one."""
_SHORT = 8
"""Characters of a text so short that a chat template may contain it by chance."""
_MAX_COUNTED = 400
"""Parts that are counted one by one if the places of tokens are unknown; beyond it, each tool is one part."""


class PromptSpan(NamedTuple):
    """The characters `start` to `end` (exclusive) of the text; `name` and `of` as in `PromptPart`."""

    name: str
    start: int
    end: int
    of: str = ""


def part_spans(text: str, pieces: Sequence[MessagePart]) -> Iterator[PromptSpan]:
    """The pieces in the rendered text, with the chat template's own text between them: together the whole text.

    Neighbours from one template are searched for together, as a single bracket would be found anywhere. A piece that
    the chat template changed, other than by trimming white space, is not found and counts as the template's text.
    """
    at = 0
    for name, inside in _together(pieces):
        if (locate := inside[0].locate) is not None:
            for found in locate(text, at, _next_place(text, at, pieces, inside[0])):
                if found.start > at:
                    yield PromptSpan(TEMPLATE, at, found.start)
                yield PromptSpan(name, found.start, found.end, found.of)
                at = found.end
            continue
        whole = "".join(piece.text for piece in inside)
        start = _find(text, whole, at)
        cut = 0
        if start < 0 and (short := whole.strip()) and short != whole:
            start, cut = text.find(short, at), len(whole) - len(whole.lstrip())
            whole = short
        if start < 0:
            continue
        if start > at:
            yield PromptSpan(TEMPLATE, at, start)
        at = start + len(whole)
        place = start - cut
        for piece in inside:
            begin, place = max(place, start), place + len(piece.text)
            if min(place, at) > begin:
                yield PromptSpan(name, begin, min(place, at), piece.of)
    if at < len(text):
        yield PromptSpan(TEMPLATE, at, len(text))


def _find(text: str, whole: str, at: int) -> int:
    """The index of the piece from `at` on, or -1. A short piece is searched for as a whole word, if there is one."""
    if len(whole) <= _SHORT and whole[:1].isalnum() and whole[-1:].isalnum():
        found = re.compile(rf"(?<!\w){re.escape(whole)}(?!\w)").search(text, at)
        if found is not None:
            return found.start()
    return text.find(whole, at) if whole else -1


def _next_place(text: str, at: int, pieces: Sequence[MessagePart], piece: MessagePart) -> int:
    """The index of the next piece that is found after `piece`, which ends before it; otherwise the text's end."""
    place = next(n for n, one in enumerate(pieces) if one is piece)
    for one in pieces[place + 1 :]:
        if (words := one.text.strip()) and (found := text.find(words, at)) >= 0:
            return found
    return len(text)


def _together(pieces: Sequence[MessagePart]) -> Iterator[tuple[str, list[MessagePart]]]:
    """Neighbouring pieces of one template (of a tool, a line, the system prompt) together; all others separately."""
    for (name, is_of), group in groupby(pieces, key=lambda piece: (piece.name, piece.of.startswith(_OF))):
        inside = list(group)
        yield from [(name, inside)] if is_of else ((name, [piece]) for piece in inside)


def priced_by_tokens(spans: Sequence[PromptSpan], lengths: Sequence[int]) -> tuple[events.PromptPart, ...]:
    """The cost of each span by the characters that each token completes: `lengths`, one number per token."""
    prices = [0] * len(spans)
    starts = [span.start for span in spans]
    at = 0
    for number, length in enumerate(lengths):
        at += length
        place = at - 1 if length else at
        if spans:
            prices[0 if number == 0 and not length else max(0, bisect_right(starts, place) - 1)] += 1
    return _parts(spans, prices)


def priced_by_counting(
    text: str, tokens: int, spans: Sequence[PromptSpan], count_tokens: Callable[[str], int]
) -> tuple[events.PromptPart, ...]:
    """The cost of each span as the tokens that it adds to the previous span, if only counts of tokens are known.

    The difference from `tokens`, the total, has no text (the token that begins a sequence): the first part gets it. If
    the parts count more than the total, because tokens span their boundaries, the first ones get less.
    """
    if len(spans) > _MAX_COUNTED:
        spans = list(_whole_tools(spans))
    prices: list[int] = []
    before = 0
    for span in spans:
        counted = count_tokens(text[before : span.start]) if span.start > before else 0
        prices.append(max(0, count_tokens(text[before : span.end]) - counted))
        before = span.start
    rest = tokens - sum(prices)
    for place, price in enumerate(prices):
        prices[place] = max(0, price + rest)
        rest -= prices[place] - price
    return _parts(spans, prices)


def _parts(spans: Sequence[PromptSpan], prices: Sequence[int]) -> tuple[events.PromptPart, ...]:
    return tuple(
        events.PromptPart(span.name, span.start, span.end, price, span.of)
        for span, price in zip(spans, prices)
    )


def _whole_tools(spans: Sequence[PromptSpan]) -> Iterator[PromptSpan]:
    """The spans, with neighbouring spans of the same tool joined."""
    for (name, of), group in groupby(
        spans, key=lambda span: (span.name, "/".join(span.of.split("/", 2)[:2]))
    ):
        inside = list(group)
        yield PromptSpan(name, inside[0].start, inside[-1].end, of)


_SAME = (
    "chat", "extra_body", "tool_choice", "most_calls", "sampling", "max_tokens", "stop", "alternatives", "evidence",
    "reasoning_budget", "repeatable",
)  # fmt: skip
"""The fields of a run's request that the model's request has under the same names."""


def render_prompt(request: events.RunRequest, registry: ToolRegistry, model: Model) -> events.PromptRendered:
    """The text sent to the model, and the tokens of each of its parts. Raises PromptError and ModelError."""
    return priced_prompt(render_messages(request, registry), model, request)


def priced_prompt(
    messages: RenderedMessages, model: Model, request: events.RunRequest, begun: str = ""
) -> events.PromptRendered:
    """The messages in the model's chat template, with the tokens of each part. `request` has the prompt's settings.

    `begun` is the beginning of the assistant's answer; the default is the messages'. Raises PromptError and ModelError.
    """
    given = (messages.messages, messages.tools) if messages.tools else (messages.messages,)
    # other implementations of Model need to accept tools and options only if they are used
    switched: dict[str, Any] = {} if request.chat == events.DEFAULT_CHAT else {"chat": request.chat}
    prompt = model.render_chat(*given, **switched)
    text, tokens = prompt.text, prompt.tokens
    tools = [tool["function"] for tool in messages.tools]
    spans = list(part_spans(text, _with_tools(text, messages.parts, prompt.added, tools)))
    begun = begun or messages.begun
    pieces = () if begun else prompt.pieces
    if begun and prompt.pieces:
        tokens = 0  # a token may reach across the border, and each count is a request
    if begun:
        spans.append(PromptSpan(events.BEGUN, len(text), len(text + begun)))
        if tokens:  # counted on the whole text, as a token may reach across the border
            tokens += model.count_tokens(text + begun) - model.count_tokens(text)
        text += begun
    foreign = tuple((span.start, span.end) for span in spans if _is_foreign(span))
    controls = control_texts(text, foreign, model, plain=request.control_texts == "plain")
    plain = tuple((each.start, each.end) for each in controls if each.plain)
    if plain and tokens:
        tokens += len(encode(text, model, plain)) - len(model.tokenize(text))
    if pieces:
        lengths = spelled(text, range(len(pieces)), Vocabulary(pieces))
    else:
        lengths = token_lengths(text, tokens, model, plain)
    if lengths:
        parts = priced_by_tokens(spans, lengths)
    else:  # an endpoint may not count tokens before the answer
        count = model.count_tokens if tokens or not text else lambda _text: 0
        parts = priced_by_counting(text, tokens, spans, count)
    return events.PromptRendered(
        text=text,
        tokens=tokens,
        cached=0,
        parts=parts,
        note=prompt.note,
        lengths=lengths,
        controls=controls,
    )


def _is_foreign(span: PromptSpan) -> bool:
    """Whether it is a text of a user, a tool or a result, without markers that the chat template writes around it."""
    if span.name == TOOLS:
        return bool(span.of)
    return span.name in _FOREIGN and ", call " not in span.of


def with_messages(
    generation: GenerateRequest, messages: RenderedMessages, begun: str = "", plain: events.Spans = ()
) -> GenerateRequest:
    """The request with the messages of its prompt, which are sent to endpoints, as these apply their own templates, and
    with the characters of the prompt in which control tokens are `plain` text.
    """
    return msgspec.structs.replace(
        generation,
        messages=tuple(messages.messages),
        tools=tuple(messages.tools),
        begun=begun or messages.begun,
        plain=plain,
    )


def generate_request(
    request: events.RunRequest,
    registry: ToolRegistry,
    prompt: str,
    expected: Expected | None = None,
    *,
    after: str = "",
    names: Mapping[str, int] | None = None,
) -> GenerateRequest:
    """The request to the model, under the grammar of the request's answer, or of what is `expected` instead.

    `names` is the result of `special_tokens`. `after` is the text after the part, as the part's last token may reach
    into it. Raises GrammarError if the constraint cannot be built: a run never continues without it.
    """
    schema = constraint_schema(request, registry, expected) if not after else None
    made = _generation(
        request, prompt, lambda: call_constraint(request, registry, expected, after, names), schema
    )
    whole = expected is None and not request.free_text and request.constrain_from != "call"
    return msgspec.structs.replace(made, answer=request.answer) if whole else made


def generate_under(
    request: events.RunRequest, prompt: str, grammar: Callable[[], Grammar], schema: dict[str, Any]
) -> GenerateRequest:
    """The request under any grammar, which is built only under a constraint; `schema` is the same for an endpoint."""
    given = schema if request.constraint == "endpoint" else None
    return _generation(request, prompt, lambda: timed(lambda: emitted(grammar(), request.constraint)), given)


def _generation(
    request: events.RunRequest,
    prompt: str,
    constraint: Callable[[], BuiltGrammar],
    schema: dict[str, Any] | None,
) -> GenerateRequest:
    asks_tools = request.native == ENDPOINTS_OWN  # enforced by the endpoint itself, as tool_choice
    kind: events.ConstraintKind = "off" if text_only(request) else request.constraint
    built = None if kind == "off" or asks_tools else constraint()
    given: dict[str, Any] = {name: getattr(request, name) for name in _SAME}
    if built is not None:
        given |= {name: getattr(built, name) for name in ("rules", "near", "build_ms")}
        given |= {"grammar": built.text, "triggers": triggers(request)}
    schema = None if asks_tools else schema
    return GenerateRequest(prompt=prompt, constraint=kind, schema=schema, **given)


def special_tokens(request: events.RunRequest, model: Model) -> Mapping[str, int]:
    """The ids of the model's special tokens by their texts; empty for a request whose grammar names none."""
    return model.vocabulary().names if request.form else {}


def _with_tools(
    text: str, pieces: Sequence[MessagePart], added: str, tools: Sequence[dict[str, Any]]
) -> Sequence[MessagePart]:
    """The pieces with `added`, which the template wrote for the tools, at its place in the order of the text."""
    if not added:
        return pieces
    start = text.find(added)
    # a piece that the template left out has -1, so it is before the tools
    before = next((n for n, piece in enumerate(pieces) if text.find(piece.text) > start), len(pieces))
    return (*pieces[:before], *tool_parts(added, tools), *pieces[before:])
