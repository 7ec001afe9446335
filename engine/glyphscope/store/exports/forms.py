"""All export forms of a run by name (`EXPORTS`, and those of plug-ins), and those that are parts of it: prompt, text of
the answer, calls and their results, and the conversation as OpenAI's messages. The larger forms are in files of their
names.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.plugins import PluginGroup
from glyphscope.events import CallReady, ConstraintKind, NativeForm, ToolResult, under_constraint
from glyphscope.models.remote.apis import API_NAMES
from glyphscope.models.remote.dialect import LLAMA_SERVER
from glyphscope.models.remote.fields import body_of, constraint_of, outgoing, with_written
from glyphscope.prompting.message_list import to_json
from glyphscope.prompting.messages import render_messages
from glyphscope.prompting.written_bodies import WRITTEN, unwritten, write_body
from glyphscope.runs import answer_messages, run_state
from glyphscope.runs.strategies.loop.history_policy import with_system
from glyphscope.runs.strategies.request import generate_request, with_messages
from glyphscope.store.exports.grammars import (
    gbnf,
    indented,
    json_schema,
    lark,
    openai_tools,
    response_format_of,
    structural_tag_of,
    structured_outputs,
)
from glyphscope.store.exports.pytest_file import pytest_file
from glyphscope.store.exports.recorded_run import RecordedRun
from glyphscope.store.exports.run_page import html_page
from glyphscope.turns.own import ENDPOINTS_OWN

ADDRESS = "http://localhost:8080"
"""The default address of llama-server."""
MAX_ONE_LINE = 100_000
"""Bytes; Linux limits arguments to 128 KiB. A longer body follows the line, as its standard input."""

_STRATEGIES = ("direct", "two-stage")
_OF_A_STREAM = ("stream", *LLAMA_SERVER.counting)


def curl_line(run: RecordedRun) -> str:
    """The command, quoted for a POSIX shell. Two stages become one request for a call.

    Raises GlyphscopeError for a strategy whose requests depend on answers, for a branch with a constraint, which a
    server enforces only from its own first token on, and if the prompt or the grammar cannot be built.
    """
    request = run.request
    if request.strategy not in _STRATEGIES:
        raise GlyphscopeError(
            f"A curl command is one request; the strategy {request.strategy} sends several, which depend on answers.",
            where="curl",
            hint="Export the grammar and the tools instead: gbnf, openai-tools.",
        )
    kind: ConstraintKind = "off" if request.constraint == "off" else "endpoint"
    # with the model's native notation, the server's template writes the tools and reads the calls
    native: NativeForm | Literal[""] = ENDPOINTS_OWN if request.native else ""
    request = msgspec.structs.replace(under_constraint(request, kind), strategy="direct", native=native)
    messages = render_messages(request, run.registry)
    generation = with_messages(generate_request(request, run.enforced, ""), messages)
    generation = with_written(msgspec.structs.replace(generation, written=request.written), LLAMA_SERVER)
    constraint = constraint_of(generation, LLAMA_SERVER)
    model = run.started.model.name
    body = body_of(generation, constraint, LLAMA_SERVER, model, logprobs=False)
    return _line(json.dumps({key: body[key] for key in body if key not in _OF_A_STREAM}))


def _line(body: str) -> str:
    """The command line; `body` is ASCII JSON on one line."""
    words = ["curl", "-sS", f"{ADDRESS}/v1/chat/completions", "-H", "Content-Type: application/json"]
    if len(body) <= MAX_ONE_LINE:
        return shlex.join([*words, "-d", body]) + "\n"
    return f"{shlex.join([*words, '--data-binary', '@-'])} <<'BODY'\n{body}\nBODY\n"


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


def request_body(api: str, run: RecordedRun) -> dict[str, Any]:
    """The body of a request to that API; see `prompting/written_bodies.py`. Two stages become one request for a call.

    Raises GlyphscopeError for strategies with several prompts.
    """
    if run.request.strategy == "route-execute":
        raise GlyphscopeError(
            "The strategy route-execute sends several prompts, which are not one request.",
            where=f"{api}-request",
            hint="Each prompt is in the record, as prompt_rendered.",
        )
    request = msgspec.structs.replace(run.request, native=ENDPOINTS_OWN, strategy="direct")
    asked = render_messages(request, run.registry).messages
    return write_body(api, request, asked, run.registry, run.started.model.name)


def _request(api: str, run: RecordedRun) -> str:
    return indented(request_body(api, run))


def request_note(form: str, run: RecordedRun) -> str:
    """The settings of a run that a request in that form does not have, in a sentence; empty if it has all of them."""
    api, _, kind = form.partition("-")
    left = unwritten(api, run.request, request_body(api, run)) if kind == "request" else []
    return f"Not in this request, as the API has no member for it: {', '.join(left)}." if left else ""


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


class RunForm(NamedTuple):
    """A form of one run. `make` raises GlyphscopeError, with a hint, if the run does not have it.

    For the window, which translates them: the `menu`'s text, the `ending` of its files and their `kind`, what it
    `holds` and leaves out, and the text of the menu that copies it, if that has it.
    """

    make: Callable[[RecordedRun], str]
    menu: str
    ending: str
    kind: str
    holds: str
    copied: str = ""


_TOOLS = "Contains the names and schemas of the tools; no prompt, answer or key."
_CALLS = "Contains the valid calls with their arguments; no prompt or key."

EXPORTS: dict[str, RunForm] = {
    "html": RunForm(
        lambda run: html_page([run]),
        "&HTML page…",
        ".html",
        "HTML pages",
        "Contains the record: the prompt, the answers and the results of tools; no key.",
    ),
    "gbnf": RunForm(gbnf, "&GBNF grammar…", ".gbnf", "GBNF grammars", _TOOLS),
    "lark": RunForm(lark, "&Lark grammar…", ".lark", "Lark grammars", _TOOLS),
    "json-schema": RunForm(json_schema, "&JSON Schema…", ".schema.json", "JSON Schemas", _TOOLS),
    "response-format": RunForm(
        response_format_of, "response_&format…", ".response-format.json", "Constraints of requests", _TOOLS
    ),
    "structured-outputs": RunForm(
        structured_outputs,
        "structured_&outputs (vLLM)…",
        ".structured-outputs.json",
        "Constraints of requests",
        _TOOLS,
    ),
    "structural-tag": RunForm(
        structural_tag_of,
        "structural_ta&g (SGLang, vLLM)…",
        ".structural-tag.json",
        "Constraints of requests",
        _TOOLS,
    ),
    "openai-tools": RunForm(openai_tools, "&OpenAI tools…", ".tools.json", "OpenAI tools", _TOOLS),
    "openai-messages": RunForm(
        openai_messages,
        "OpenAI &messages…",
        ".messages.json",
        "OpenAI messages",
        "Contains the system message, the conversation and the answer; no key.",
        "OpenAI &messages",
    ),
    "openai-tool-calls": RunForm(
        openai_tool_calls,
        "OpenAI tool &calls…",
        ".calls.json",
        "OpenAI tool calls",
        _CALLS,
        "OpenAI &tool calls",
    ),
    **{
        f"{name}-request": RunForm(
            partial(_request, name),
            f"Request for {title}…",
            f".{name}.json",
            f"Request for {title}",
            "Contains the conversation, the tools and the sampling as the API takes them; no answer, no key.",
        )
        for name in WRITTEN
        for _, _, title in [API_NAMES[name].title.partition(" ")]
    },
    "calls": RunForm(calls, "C&alls as JSON…", ".call.json", "Calls", _CALLS, "&Call as JSON"),
    "results": RunForm(
        results,
        "Tool &results…",
        ".results.json",
        "Tool results",
        "Contains the complete results of the tools; no prompt, no key.",
    ),
    "answer": RunForm(
        answer,
        "Text of the a&nswer…",
        ".txt",
        "Text",
        "Contains the answer as the model wrote it; no prompt or key.",
        "&Answer",
    ),
    "prompt": RunForm(
        prompt,
        "P&rompt…",
        ".prompt.txt",
        "Text",
        "Contains the first prompt with the tools, as sent to the model; no key.",
        "&Prompt",
    ),
    "pytest": RunForm(
        pytest_file,
        "&pytest file…",
        ".py",
        "Python files",
        "Contains the tools and each validated text; no prompt or key. Needs glyphscope and pytest.",
    ),
    "curl": RunForm(
        curl_line,
        "&curl line…",
        ".sh",
        "Shell scripts",
        "Contains the prompt and the tools, for a llama-server on this computer; no key.",
        "c&url command",
    ),
}


class RunExporter(NamedTuple):
    """A form in which a plug-in exports runs. `make` makes what programs use of any number of runs, with their contents
    (prompts, answers, arguments and results) on request; `text` writes it, `send` sends it to a receiver at a URL. All
    raise GlyphscopeError, also for a package that is not installed. The texts are as in `RunForm`.
    """

    make: Callable[[Sequence[RecordedRun], bool], Sequence[Any]]
    text: Callable[[Any], str]
    menu: str
    ending: str
    kind: str
    holds: str
    send: Callable[[Any, str], None] | None = None
    noun: str = "part"
    """For one of those that are made."""


EXPORTERS: PluginGroup[RunExporter] = PluginGroup("glyphscope.run_exporters", RunExporter)


def export_forms() -> tuple[str, ...]:
    """The names of all forms, also those of plug-ins."""
    return (*EXPORTS, *(name for name in EXPORTERS.names if name not in EXPORTS))


def exporter(form: str) -> RunExporter:
    """The plug-in for that form. Raises GlyphscopeError if there is none."""
    found = EXPORTERS.get(form)
    if found is None:
        raise GlyphscopeError(
            f"There is no form {form} of a run.", hint=f"There are {', '.join(export_forms())}."
        )
    return found


def form_named(form: str) -> RunForm | RunExporter:
    """The form of that name. Raises GlyphscopeError if there is none."""
    return EXPORTS.get(form) or exporter(form)


def export(run: RecordedRun, form: str) -> str:
    """The run in that form. Raises GlyphscopeError, with a hint, if the run does not have it."""
    if (own := EXPORTS.get(form)) is not None:
        return own.make(run)
    found = exporter(form)
    return found.text(found.make([run], False))
