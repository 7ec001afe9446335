"""Tokens as tables show them, with visible white space and incomplete characters as bytes; and a prompt's tokens."""

from __future__ import annotations

from glyphscope.events import Alternative, PromptRendered, TokenStep
from glyphscope.visible import visible
from glyphscope_gui.shared.language import tr

_SEEN = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"})


def token_text(data: bytes, text: str = "") -> str:
    """Return the token's bytes made visible: `·search`, `⏎`, `⟨E2 80⟩` for a part of a character, `⟨⟩` for none."""
    if not data:
        return _seen(text) or "⟨⟩"
    out, rest = [], data
    while rest:
        try:
            out.append(_seen(rest.decode("utf-8")))
            break
        except UnicodeDecodeError as error:
            out.append(_seen(rest[: error.start].decode("utf-8")))
            bad = rest[error.start : error.end]
            out.append(f"⟨{bad.hex(' ').upper()}⟩")
            rest = rest[error.end :]
    return "".join(out)


def _seen(text: str) -> str:
    return visible(text.translate(_SEEN), spaces=True)


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
