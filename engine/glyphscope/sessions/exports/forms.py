"""All export forms of a run by name (`EXPORTS`), and those that are parts of it: prompt, text of the answer, calls and
their results, and the conversation as OpenAI's messages. The larger forms are in files of their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.events import CallReady, ToolResult
from glyphscope.models.remote.fields import outgoing
from glyphscope.prompting.message_list import to_json
from glyphscope.prompting.messages import render_messages
from glyphscope.runs import answer_messages, run_state
from glyphscope.sessions.exports.curl_line import curl_line
from glyphscope.sessions.exports.grammars import gbnf, indented, json_schema, lark, openai_tools
from glyphscope.sessions.exports.html_page import html_page
from glyphscope.sessions.exports.pytest_file import pytest_file
from glyphscope.sessions.exports.recorded_run import RecordedRun
from glyphscope.sessions.exports.spans import run_spans, spans_json
from glyphscope.strategies.loop.history_policy import with_system

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
    "otel",
]

_TIMING = ("type", "t", "stage")
"""The members of an event that are not part of a result."""


def answer(run: RecordedRun) -> str:
    """The final answer of a conversation, or else the last text that the model wrote, unchanged."""
    state = run_state(run.events)
    found = state.answer or state.last_with_text
    if found is None or not found.text:
        raise GlyphscopeError("The run contains no text of the model.", where="answer")
    return found.text


def calls(run: RecordedRun) -> str:
    """The valid call as JSON, or a list if there are several."""
    found = [{"name": call.tool, "arguments": call.arguments} for call in _calls(run, "calls")]
    return indented(found[0] if len(found) == 1 else found)


def openai_tool_calls(run: RecordedRun) -> str:
    """The `tool_calls` of an assistant's message; ids are invented if the run has none."""
    return indented(
        [
            {
                "id": call.call or f"call_{number}",
                "type": "function",
                "function": {
                    "name": call.tool,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for number, call in enumerate(_calls(run, "openai-tool-calls"), 1)
        ]
    )


def openai_messages(run: RecordedRun) -> str:
    """The `messages` of a chat completion request. Results of calls that are text are user messages, because that API
    accepts a tool's message only for a call that it knows.

    Raises GlyphscopeError for a strategy with several prompts, and the errors of rendering the prompt.
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


def results(run: RecordedRun) -> str:
    """The complete results of all tool calls as a list: content and structured content as sent by the tool, and `told`,
    the text that the model got.
    """
    found = [event for event in run.events if isinstance(event, ToolResult)]
    if not found:
        raise GlyphscopeError(
            "The run has no result of a tool.",
            where="results",
            hint="Only runs that execute their calls have results: --strategy loop, or --dispatch.",
        )
    plain = [msgspec.to_builtins(event) for event in found]
    return indented([{key: value for key, value in each.items() if key not in _TIMING} for each in plain])


def prompt(run: RecordedRun) -> str:
    """The first prompt, exactly as the model got it."""
    if run.prompt is None:
        raise GlyphscopeError("The run ended before its prompt was rendered.", where="prompt")
    return run.prompt.text


def _calls(run: RecordedRun, form: str) -> list[CallReady]:
    found = [event for event in run.events if isinstance(event, CallReady)]
    if not found:
        raise GlyphscopeError(
            "The run has no valid call.", where=form, hint="Export or copy the answer instead."
        )
    return found


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
    "otel": lambda run: spans_json(run_spans([run])),
}


def export(run: RecordedRun, form: ExportForm) -> str:
    """The run in that form. Raises GlyphscopeError, with a hint, if the run does not have it."""
    return EXPORTS[form](run)
