"""Prompts: their templates, messages and costs, and what changed since the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glyphscope.base.interfaces import interface

if TYPE_CHECKING:
    from glyphscope.prompting.changes import advice, cache_loss, loss_words, prompt_changes
    from glyphscope.prompting.costs import ITSELF, message_tokens, part_words, prompt_costs
    from glyphscope.prompting.message_list import (
        Conversation,
        parse_messages,
        read_calls,
        read_messages,
        result_problem,
        to_json,
        written_calls,
    )
    from glyphscope.prompting.messages import example_calls, render_messages
    from glyphscope.prompting.rendered import spelled, tool_parts
    from glyphscope.prompting.signature import signature_pieces
    from glyphscope.prompting.strategies import render_executor, render_router
    from glyphscope.prompting.template import MessagePart, PartText, presets, render
else:
    __getattr__ = interface(__name__)
