"""Questions of a server while a request runs, asked at the terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

from rich.text import Text

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.json_values import json_or_text
from glyphscope.base.shorten import json_excerpt, shorten
from glyphscope.base.visible import visible
from glyphscope.cli.load_options import opened
from glyphscope.cli.mcp.outcome import violations
from glyphscope.cli.options import model_option
from glyphscope.cli.output import diagnostics, print_note
from glyphscope.events import LoadOptions
from glyphscope.registry import Tool
from glyphscope.runs.strategies.server_sampling import answer_sampling
from glyphscope.tools.mcp import McpServer
from glyphscope.tools.mcp.questions import Answer, Question, SamplingRequest

SamplerOption: TypeAlias = Annotated[
    str | None, model_option("The model that may answer requests for sampling, with --ask.")
]
_POLL_SECONDS = 0.05
_ATTEMPTS = 3
"""The number of attempts to fill in a form with valid values before it is cancelled."""
_SHOWN = 4_000
"""The maximum characters of a server's text that are printed."""
_BY_HAND = "human"
"""The model's name in an answer that the user typed."""


class Sampler(NamedTuple):
    """The model that may answer sampling requests, and its load options."""

    model: str
    options: LoadOptions


_Found = TypeVar("_Found")


def answering(
    server: McpServer, work: Callable[[threading.Event], _Found], sampler: Sampler | None = None
) -> _Found:
    """The result of `work`, run in a thread while the server's questions are asked. Ctrl-C stops the request."""
    cancel = threading.Event()
    found: list[_Found] = []
    thread = threading.Thread(target=lambda: found.append(work(cancel)), name="request", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            for question in server.questions:
                question.answer(answer_to(question, sampler))
            thread.join(_POLL_SECONDS)
    finally:
        cancel.set()
        thread.join()
    return found[0]


def answer_to(question: Question, sampler: Sampler | None) -> Answer:
    words = _excerpt(question.message) or "for an answer from a model"
    print_note(f"? {question.server} asks: {words}", "bold yellow")
    try:
        if question.sampling is not None:
            return _sample(question.sampling, sampler)
        if question.kind == "link":
            print_note(f"  Open this address yourself: {visible(_excerpt(question.url), spaces=True)}")
            return Answer(action="accept" if _agrees("Answer that you did?") else "decline")
        return _fill_in(question)
    except EOFError:  # the terminal was closed
        print_note("  cancelled", "dim")
        return Answer(action="cancel")


def _fill_in(question: Question) -> Answer:
    if question.form is None:
        print_note(f"  ! declined, the form cannot be used: {question.problem}", "yellow")
        return Answer(action="decline")
    for finding in question.findings:
        print_note(f"  ! {finding}", "yellow")
    if not _agrees("Fill in the form?"):
        return Answer(action="decline")
    for _attempt in range(_ATTEMPTS):
        values = _fields(question.form)
        problems = violations(question.form, values)
        for words in problems:
            print_note(f"  ! {words}", "yellow")
        if not problems:
            return Answer(action="accept", content=values)
    print_note("  cancelled: the values violate the schema", "yellow")
    return Answer(action="cancel")


def _fields(form: Tool) -> dict[str, Any]:
    properties = form.parameters.get("properties", {})
    required = form.parameters.get("required", [])
    values: dict[str, Any] = {}
    for name, schema in properties.items():
        about = schema if isinstance(schema, dict) else {}
        choices = about.get("enum")
        facts = [str(about.get("type", "")), shorten(str(about.get("description", "")), 200)]
        if isinstance(choices, list):
            facts.append(f"one of {json_excerpt(choices, 400)}")
        if "default" in about:
            facts.append(f"default {json_excerpt(about['default'], 100)}")
        facts.append("required" if name in required else "optional")
        typed = _line(f"  {name} ({', '.join(fact for fact in facts if fact)}): ")
        if not typed:
            if "default" in about:
                values[name] = about["default"]
            continue
        values[name] = typed if about.get("type") == "string" else json_or_text(typed)
    return values


def _sample(request: SamplingRequest, sampler: Sampler | None) -> Answer:
    limits = [f"at most {request.max_tokens:,} tokens"]
    if request.temperature is not None:
        limits.append(f"temperature {request.temperature:g}")
    if request.stop:
        limits.append(f"stop at {json_excerpt(request.stop, 200)}")
    print_note(f"  sampling, {', '.join(limits)}")
    if request.system:
        print_note(f"  system: {_excerpt(request.system)}")
    for message in request.messages:
        for piece in message.content:
            words = _excerpt(piece.text) if piece.kind == "text" else f"[{piece.kind}, {piece.mime}]"
            print_note(f"  {message.role}: {words}")
    if sampler is not None and _agrees(f"Let {sampler.model} answer?"):
        generated = _generated(request, sampler)
        if generated is not None:
            return generated
    typed = _line("  Your answer (empty rejects the request): ")
    if not typed:
        return Answer(action="decline")
    return Answer(action="accept", text=typed, model=_BY_HAND)


def _generated(request: SamplingRequest, sampler: Sampler) -> Answer | None:
    """The model's answer, declined unless approved; None if the model fails."""
    try:
        with opened(sampler.model, options=sampler.options) as model:
            found = answer_sampling(model, request, threading.Event())
    except GlyphscopeError as error:
        print_note(f"  ✗ {error!s}", "bold red")
        return None
    print_note(f"  {found.model}: {found.text}", lines=True)
    return found if _agrees("Send this answer?") else Answer(action="decline")


def _excerpt(text: str) -> str:
    """A server's text, with a note if it is cut, because the user is about to approve it."""
    return shorten(text, _SHOWN, length=True)


def _agrees(question: str) -> bool:
    return _line(f"  {question} [y/N] ").lower() in ("y", "yes")


def _line(prompt: str) -> str:
    diagnostics().print(Text(visible(prompt)), end="")
    if sys.stdin is None:  # closed by the caller
        raise EOFError
    return input().strip()
