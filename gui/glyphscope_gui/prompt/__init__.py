"""The panel of the prompt: its parts, the rendered text, and token costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope_gui.prompt.conversation import ConversationEditor
    from glyphscope_gui.prompt.costs import CostRows
    from glyphscope_gui.prompt.dock import MESSAGES, RENDERED, TEMPLATE, PromptDock
    from glyphscope_gui.prompt.presenter import PromptPresenter
    from glyphscope_gui.prompt.rendered_prompt import PromptChanges, RenderedPromptView
    from glyphscope_gui.prompt.watch import PromptWatch, ShownPrompt
else:
    __getattr__ = interface(__name__)
