"""The forms that a run is exported to, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from glyphscope.sessions.exports.answers import answer, calls, openai_tool_calls, prompt, results
from glyphscope.sessions.exports.curl_line import curl_line
from glyphscope.sessions.exports.grammars import gbnf, json_schema, lark, openai_tools
from glyphscope.sessions.exports.messages import openai_messages
from glyphscope.sessions.exports.pytest_file import pytest_file
from glyphscope.sessions.exports.recorded_run import RecordedRun

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
}


def export(run: RecordedRun, form: ExportForm) -> str:
    """The text. Raises GlyphscopeError with what to do where the run has none of that form."""
    return EXPORTS[form](run)
