"""`glyphscope capture`: what an agent sends to its server, forwarded unchanged and recorded as runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from glyphscope.base.figures import byte_size, duration, percent, pluralize
from glyphscope.base.visible import visible
from glyphscope.capture import require_packages
from glyphscope.cli.breakpoints import PausedInTerminal
from glyphscope.cli.inputs import InputError
from glyphscope.cli.options import JsonOption, model_option
from glyphscope.cli.output import STATUS_MARKS, console, print_json, print_note
from glyphscope.cli.signals import closing_when_ended, collect_as_usual
from glyphscope.cli.streaming import on_first_interrupt
from glyphscope.models.opening import require_installed
from glyphscope.models.remote import read_address
from glyphscope.store.folders import places

if TYPE_CHECKING:
    from glyphscope.capture.recording import CapturedCall, Recorded


def capture(
    *,
    to: Annotated[
        str,
        typer.Option(metavar="URL", help="The server that the agent uses, such as http://127.0.0.1:8080."),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port for the agent; 0 for any free one.")
    ] = 4321,
    records: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The folder of the records. Default: captures, among your data."),
    ] = None,
    model: Annotated[
        str | None,
        model_option(
            "Write and count the prompts with this model's chat template and tokenizer, if the server has the same. "
            "The URL of a llama-server or vLLM: with its own."
        ),
    ] = None,
    stall: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=1, max=86400, help="End a request if the server sends nothing for so long."
        ),
    ] = 600.0,
    history: Annotated[
        bool, typer.Option("--history", help="Also add the runs to the history, which the window shows.")
    ] = False,
    hold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="all|violation|tool:NAME",
            help="Breakpoint: ask before sending on each request, each answer with an invalid call, or each answer "
            "that calls this tool. Repeatable.",
        ),
    ] = None,
    hold_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=1,
            max=86400,
            help="The longest wait at --hold; after it, the agent gets an error.",
        ),
    ] = 300.0,
    as_json: JsonOption = False,
) -> None:
    """Forward an agent's requests to its server, and record each as a run: what it sends, the verdict on each call, and
    what each prompt changed. Ctrl-C ends it.
    """
    require_packages()
    from glyphscope.capture.breakpoints import read_rules
    from glyphscope.capture.server import CaptureServer

    rules = read_rules(hold or ())
    if hold and not (sys.stdin is not None and sys.stdin.isatty()):
        raise InputError(
            "--hold asks in the terminal, and standard input is not one.",
            hint="Use a terminal, or Capture… in the window.",
        )
    if model:
        require_installed(model)
    address = read_address(to)
    folder = records or places().captures
    printed, asked = _Printed(as_json), PausedInTerminal()
    server = CaptureServer(
        address,
        folder,
        port=port,
        model=model or "",
        history=places().history if history else None,
        recorded=printed.add,
        note=print_note,
        stall=stall,
        hold=rules,
        pause_seconds=hold_limit,
        paused=asked.add,
        released=asked.remove,
    )
    asked.decide = server.decide
    print_note(
        f"Capturing for {address.root}: give your agent {server.url}/v1 as its address "
        f"(Anthropic, Ollama: {server.url})."
    )
    print_note(f"Requests and answers are recorded in {folder}, without keys. Ctrl-C ends the capture.")
    if not address.loopback:
        print_note(f"The requests leave this computer{'' if to.startswith('https') else ', unencrypted'}.")

    collect_as_usual()
    with closing_when_ended(), on_first_interrupt(server.stop), asked:
        server.run()
    print_note(f"{pluralize(printed.count, 'record')} in {folder}.")


class _Printed:
    """The records so far."""

    def __init__(self, as_json: bool) -> None:
        self._as_json, self.count = as_json, 0

    def add(self, recorded: Recorded) -> None:
        """Print a record. Called in the order of the ends."""
        self.count += 1
        if self._as_json:
            print_json(recorded)
            return
        for line in _lines(recorded):
            console().print(line)


def _lines(one: Recorded) -> Iterator[Text]:
    """A record for the terminal: its line, its calls, and what the prompt changed."""
    sizes = f"{byte_size(one.request_bytes)} → {byte_size(one.answer_bytes)}"
    facts = (one.words, ", ".join(_counts(one)), sizes, duration(one.seconds))
    yield Text(visible(f"{one.number:>6}  {one.model}  {' · '.join(facts)}"))
    for call in one.calls:
        yield _call_line(call)
    for wait in one.waits:
        yield Text(visible(f"        {wait}"))
    if one.change is not None:
        from glyphscope.capture.recording import change_words

        yield Text(visible(f"        {change_words(one.change)}"), "yellow" if one.change.broken else "dim")


def _counts(one: Recorded) -> Iterator[str]:
    if one.prompt_tokens is not None:
        cached = f", {percent(one.cached / one.prompt_tokens)} cached" if one.cached else ""
        yield f"{pluralize(one.prompt_tokens, 'token')} read{cached}"
    if one.tokens is not None:
        yield f"{one.tokens:,} written"
    tokens = "" if one.tools_tokens is None else f" ({one.tools_tokens:,} tokens)"
    yield f"{pluralize(one.tools, 'tool')}{tokens}"
    if one.messages_tokens is not None:
        yield f"messages ({one.messages_tokens:,} tokens)"


def _call_line(call: CapturedCall) -> Text:
    mark, style = STATUS_MARKS["holds" if call.valid else "impossible"]
    line = Text(f"        {mark} ", style)
    line.append(visible(call.tool or "a call without a known tool"), "default")
    if not call.valid and call.char is not None:
        line.append(visible(f" · {call.code} at character {call.char:,}: {call.message}"), "default")
    return line
