"""What the model is told: prompt presets and users' templates, rendered over the registry."""

from glyphscope.prompting.messages import RenderedMessages, example_calls, render_messages
from glyphscope.prompting.presets import PromptPreset, presets
from glyphscope.prompting.signature import signature
from glyphscope.prompting.template import Part

__all__ = [
    "Part",
    "PromptPreset",
    "RenderedMessages",
    "example_calls",
    "presets",
    "render_messages",
    "signature",
]
