"""Parts of a run by themselves: its prompt, the text of its answer, its calls and their results."""

from __future__ import annotations

import json

import msgspec

from glyphscope.errors import GlyphscopeError
from glyphscope.events import CallReady, ToolResult
from glyphscope.runs import run_state
from glyphscope.sessions.exports.grammars import indented
from glyphscope.sessions.exports.recorded_run import RecordedRun

_TIMING = ("type", "t", "stage")


def answer(run: RecordedRun) -> str:
    """The final answer of a conversation, or else the last text that the model wrote, as it wrote it."""
    state = run_state(run.events)
    found = state.answer or state.last_with_text
    if found is None or not found.text:
        raise GlyphscopeError("The run contains no text of the model.", where="answer")
    return found.text


def calls(run: RecordedRun) -> str:
    """The valid call as JSON, or a list of them where there are several."""
    found = [{"name": call.tool, "arguments": call.arguments} for call in _calls(run, "calls")]
    return indented(found[0] if len(found) == 1 else found)


def openai_tool_calls(run: RecordedRun) -> str:
    """The `tool_calls` of an assistant's message; their ids are made up where the run has none."""
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


def results(run: RecordedRun) -> str:
    """The results of all tool calls, complete, as a list: content and structured content as the tool sent them, and
    `told`, the text that the model got.
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
    """The first prompt, word for word as the model got it."""
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
