"""From a run's request to the model's: the prompt, rendered and priced, and the constraint, built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from glyphscope.calling.constraints import BuiltGrammar, call_constraint, emitted, timed
from glyphscope.events import BEGUN, PromptPart, PromptRendered, RunRequest
from glyphscope.grammar import Grammar, GrammarOptions
from glyphscope.models import GenerateRequest, Model
from glyphscope.prompting import Part, RenderedMessages, render_messages
from glyphscope.registry import ToolRegistry

TEMPLATE = "template"
"""The part's name for what the chat template writes between the others."""


def render_prompt(
    request: RunRequest, registry: ToolRegistry, model: Model, begun: str = ""
) -> PromptRendered:
    """The text that goes to the model, and what each part of it costs. Raises PromptError and ModelError.

    `begun` is what the assistant's answer begins with already.
    """
    return priced_prompt(render_messages(request, registry), model, begun)


def priced_prompt(messages: RenderedMessages, model: Model, begun: str = "") -> PromptRendered:
    """Those messages in the model's chat template, each part with its price.

    `begun` is what the assistant's answer begins with already, in place of what the messages say of it.
    Raises PromptError and ModelError.
    """
    given = (messages.messages, messages.tools) if messages.tools else (messages.messages,)
    prompt = model.render_chat(*given)
    text, tokens = prompt.text, prompt.tokens
    pieces = _with_tools(text, messages.parts, prompt.added)
    parts = prompt_parts(text, tokens, pieces, model.count_tokens)
    begun = begun or messages.begun
    if begun:
        # by the whole, as a token may reach over the border
        more = model.count_tokens(text + begun) - model.count_tokens(text)
        parts = (*parts, PromptPart(BEGUN, len(text), len(text + begun), more))
        text, tokens = text + begun, tokens + more
    return PromptRendered(text=text, tokens=tokens, cached=0, parts=parts, note=prompt.note)


def generate_request(
    request: RunRequest,
    registry: ToolRegistry,
    prompt: str,
    options: GrammarOptions | None = None,
    *,
    after: str = "",
) -> GenerateRequest:
    """What the model is asked for, under the grammar of the registry's calls, or of a part of them (`options`).

    `after` is what comes after the part, which its last token may write already.
    Raises GrammarError where the constraint cannot be built: no run goes without it.
    """
    return _generation(request, prompt, lambda: call_constraint(request, registry, options, after))


def generate_under(request: RunRequest, prompt: str, grammar: Callable[[], Grammar]) -> GenerateRequest:
    """The same under a grammar of any kind, which is made only if the request has a constraint."""
    return _generation(request, prompt, lambda: timed(lambda: emitted(grammar(), request.constraint)))


def _generation(request: RunRequest, prompt: str, constraint: Callable[[], BuiltGrammar]) -> GenerateRequest:
    built = None if request.constraint == "off" else constraint()
    return GenerateRequest(
        prompt=prompt,
        constraint=request.constraint,
        grammar=None if built is None else built.text,
        sampling=request.sampling,
        max_tokens=request.max_tokens,
        alternatives=request.alternatives,
        evidence=request.evidence,
        build_ms=0.0 if built is None else built.build_ms,
    )


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


def _with_tools(text: str, pieces: Sequence[Part], added: str) -> Sequence[Part]:
    """The pieces, and among them what the template wrote for the tools, in the order of the text."""
    if not added:
        return pieces
    start = text.find(added)
    before = 0
    for piece in pieces:
        place = text.find(piece.text)
        if place < 0 or place > start:
            break
        before += 1
    return (*pieces[:before], Part("tools", added), *pieces[before:])


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
