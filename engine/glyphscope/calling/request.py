"""From a run's request to the model's: the prompt, rendered and priced, and the constraint, built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from glyphscope.events import PromptPart, PromptRendered, RunRequest
from glyphscope.grammar import GrammarOptions, build_call_grammar, emit_gbnf, to_lark
from glyphscope.grammar.gbnf.load import load_gbnf
from glyphscope.models import GenerateRequest, Model
from glyphscope.prompting import render_messages
from glyphscope.registry import ToolRegistry

TEMPLATE = "template"
"""The part's name for what the chat template writes between the others."""


def render_prompt(request: RunRequest, registry: ToolRegistry, model: Model) -> PromptRendered:
    """The text that goes to the model, and what each part of it costs. Raises PromptError and ModelError."""
    messages = render_messages(request, registry)
    prompt = model.render_chat(messages.messages)
    return PromptRendered(
        text=prompt.text,
        tokens=prompt.tokens,
        cached=0,
        parts=prompt_parts(prompt.text, prompt.tokens, messages.parts, model.count_tokens),
        note=prompt.note,
    )


def generate_request(request: RunRequest, registry: ToolRegistry, prompt: str) -> GenerateRequest:
    """What the model is asked for. Raises GrammarError where the constraint cannot be built: no run goes without it."""
    return GenerateRequest(
        prompt=prompt,
        constraint=request.constraint,
        grammar=_constraint(request, registry),
        sampling=request.sampling,
        max_tokens=request.max_tokens,
        alternatives=request.alternatives,
        evidence=request.evidence,
    )


def _constraint(request: RunRequest, registry: ToolRegistry) -> str | None:
    """Lark for the mask, GBNF for llama.cpp's own sampler, and nothing at all, not even built, for `off`.

    A grammar in the request is in GBNF and holds in place of the registry's. It is read and checked before any engine
    sees it. Whether what comes of it is a valid call is the registry's to say in any case.
    """
    if request.constraint == "off":
        return None
    if request.grammar is None:
        options = GrammarOptions(free_text=request.free_text)
        made = build_call_grammar(registry, request.notation, request.shape, options)
        return to_lark(made) if request.constraint == "mask" else emit_gbnf(made).text
    own = load_gbnf(request.grammar)
    return to_lark(own) if request.constraint == "mask" else request.grammar


def prompt_parts(
    text: str, tokens: int, pieces: Sequence[tuple[str, str]], count_tokens: Callable[[str], int]
) -> tuple[PromptPart, ...]:
    """The pieces found again in the rendered text, with the template's own pieces between them.

    A part's price is what it adds to the part before it, so a token over a border belongs to the part where it ends,
    and the cost of counting grows with the text, not with text times parts. What the parts then lack to `tokens`, the
    price of the whole, stands for no text (the token that begins a sequence), and the first part pays for it.
    A piece that the chat template changed, and that is not in the text as it was given, counts as the template's.
    """
    spans = list(_spans(text, pieces))
    prices: list[int] = []
    before = 0
    for _, start, end in spans:
        prices.append(
            count_tokens(text[before:end]) - (count_tokens(text[before:start]) if start > before else 0)
        )
        before = start
    if prices:
        prices[0] += tokens - sum(prices)
    return tuple(PromptPart(name, start, end, price) for (name, start, end), price in zip(spans, prices))


def _spans(text: str, pieces: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, int]]:
    """Each part's name, start and end; together they are the whole text."""
    at = 0
    for name, piece in pieces:
        start = text.find(piece, at) if piece else -1
        if start < 0:
            continue
        if start > at:
            yield TEMPLATE, at, start
        at = start + len(piece)
        yield name, start, at
    if at < len(text):
        yield TEMPLATE, at, len(text)
