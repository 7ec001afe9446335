"""The tokens of a run and of its prompt in words."""

from __future__ import annotations

from glyphscope.events import Alternative, PromptRendered, TokenStep
from glyphscope.text.tokens import token_text
from glyphscope_gui.shared.language import tr


def step_text(step: TokenStep) -> str:
    return tr("⟨end⟩") if step.end and not step.text else token_text(step.data, step.text)


NOT_ASKED = tr("probabilities were not recorded")
"""For a token whose evidence was not requested."""


def numbered(id: int, *, piece: bool = False) -> str:
    """Return `Token id 12`; an endpoint may not report the id, and a chunk of its stream may be several tokens."""
    if piece:
        return tr("A chunk of the stream, possibly several tokens")
    return tr("Token id {id}", id=id) if id >= 0 else tr("Token")


def is_masked(alternative: Alternative) -> bool:
    """Whether the constraint is known to mask the alternative; endpoints do not report that."""
    return alternative.allowed is False


def cached_words(prompt: PromptRendered) -> str:
    """The number and source of the prompt's tokens that were not evaluated; empty if all were."""
    if prompt.restored:
        return tr(", {restored:,} restored from disk", restored=prompt.restored)
    return tr(", {cached:,} from the cache", cached=prompt.cached) if prompt.cached else ""
