"""Prompts: presets and users' templates, rendered with the registry."""

from glyphscope.prompting.messages import RenderedMessages, example_calls, render_messages
from glyphscope.prompting.presets import PromptPreset, presets
from glyphscope.prompting.strategies import (
    Exchange,
    render_executor,
    render_repair,
    render_router,
    strategy_preset,
    strategy_presets,
)
from glyphscope.prompting.template import Part

__all__ = [
    "Exchange",
    "Part",
    "PromptPreset",
    "RenderedMessages",
    "example_calls",
    "presets",
    "render_executor",
    "render_messages",
    "render_repair",
    "render_router",
    "strategy_preset",
    "strategy_presets",
]
