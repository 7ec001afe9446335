"""All forms of a run by name; and its conversation as OpenAI's list of messages: its prompt, and the model's answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from glyphscope.errors import GlyphscopeError
from glyphscope.models.remote.fields import outgoing
from glyphscope.prompting.message_list import to_json
from glyphscope.prompting.messages import render_messages
from glyphscope.runs import answer_messages, run_state
from glyphscope.sessions.exports.answers import answer, calls, openai_tool_calls, prompt, results
from glyphscope.sessions.exports.curl_line import curl_line
from glyphscope.sessions.exports.grammars import gbnf, json_schema, lark, openai_tools
from glyphscope.sessions.exports.html_page import html_page
from glyphscope.sessions.exports.pytest_file import pytest_file
from glyphscope.sessions.exports.recorded_run import RecordedRun
from glyphscope.strategies.loop.history_policy import with_system


def openai_messages(run: RecordedRun) -> str:
    """The `messages` of a chat completion request. Results of calls that are text are user messages, as that API takes
    a tool's only for a call that it knows.

    Raises GlyphscopeError for a strategy with several prompts, and what rendering the prompt raises.
    """
    request = run.request
    if request.strategy == "route-execute":
        raise GlyphscopeError(
            "The strategy route-execute sends several prompts, which are not one list of messages.",
            where="openai-messages",
            hint="Each prompt is in the record, as prompt_rendered.",
        )
    if request.strategy == "loop":
        request = with_system(request)
    asked = render_messages(request, run.registry).messages
    messages = (*asked, *answer_messages(run_state(run.events), run.request))
    return to_json(outgoing(messages)[0])


ExportForm: TypeAlias = Literal[
    "gbnf",
    "lark",
    "json-schema",
    "openai-tools",
    "openai-messages",
    "openai-tool-calls",
    "calls",
    "results",
    "answer",
    "prompt",
    "pytest",
    "curl",
    "html",
]

EXPORTS: dict[ExportForm, Callable[[RecordedRun], str]] = {
    "gbnf": gbnf,
    "lark": lark,
    "json-schema": json_schema,
    "openai-tools": openai_tools,
    "openai-messages": openai_messages,
    "openai-tool-calls": openai_tool_calls,
    "calls": calls,
    "results": results,
    "answer": answer,
    "prompt": prompt,
    "pytest": pytest_file,
    "curl": curl_line,
    "html": lambda run: html_page([run]),
}


def export(run: RecordedRun, form: ExportForm) -> str:
    """The text. Raises GlyphscopeError with what to do where the run has none of that form."""
    return EXPORTS[form](run)
