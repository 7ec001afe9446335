"""The source of a prompt's tokens that were not evaluated."""

from __future__ import annotations

from glyphscope.events import PromptRendered
from glyphscope_gui.shared.language import tr


def cached_words(prompt: PromptRendered) -> str:
    """To be put behind the number of tokens; empty where all of them were evaluated."""
    if prompt.restored:
        return tr(", {restored:,} restored from disk", restored=prompt.restored)
    return tr(", {cached:,} from the cache", cached=prompt.cached) if prompt.cached else ""
