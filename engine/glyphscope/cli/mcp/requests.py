"""`glyphscope mcp call`, `request`, `resources`, `prompts` and `complete`: requests to a server by hand."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.json_values import json_or_text
from glyphscope.base.shorten import json_excerpt, listed, shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.mcp.outcome import (
    ArgumentsOption,
    OutOption,
    first_line,
    print_outcome,
    print_progress,
    print_violations,
    read_arguments,
    violations,
)
from glyphscope.cli.mcp.servers import ConfigArgument, ServerOptions, print_failure
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, model_option
from glyphscope.cli.output import console, diagnostics, print_json, print_note
from glyphscope.events import LoadOptions
from glyphscope.registry import Tool
from glyphscope.runs.strategies.server_sampling import answer_sampling
from glyphscope.tools.mcp import McpServer
from glyphscope.tools.mcp.offers import Completion, Offer
from glyphscope.tools.mcp.questions import Answer, Question, SamplingRequest
from glyphscope.tools.mcp.server import Updates

# -- questions of the server while a request runs ----------------------------------------------------------------

SamplerOption: TypeAlias = Annotated[
    str | None, model_option("The model that may answer requests for sampling, with --ask.")
]
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


@with_groups
def call(
    *,
    config: ConfigArgument,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.")],
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    model: SamplerOption = None,
    loading: LoadingOption,
    out: OutOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for the call, in seconds.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Call one tool and print the result. Exit code 1 if the tool or the server returns an error.

    Arguments that violate the tool's schema are reported and sent anyway: the server decides.
    --out saves the content of the result to a file, binary content too.

    With --ask the server can request your input (elicitation) and a model's answer (sampling);
    with --model that model answers after you approve it, and you approve its answer before it is sent.
    """
    if model is None:
        loading.refuse("No model is loaded without --model", "Name the model, or omit the options.")
    sampler = None if model is None else Sampler(model, loading.options(model))
    given = read_arguments(arguments)
    with chosen.opened(config) as source:
        known = next((each for each in source.tools() if each.name == tool), None)
        if known is not None:
            print_violations(known, given)
        outcome = answering(
            source,
            lambda cancel: source.call(
                tool, given, seconds=seconds, cancel=cancel, progress=None if as_json else print_progress
            ),
            sampler,
        )
    print_outcome(outcome, as_json=as_json, out=out)
    if outcome.fault == "unknown":
        names = listed([each.name for each in source.tools()], _NAMED)
        print_note(f"  do: Choose one that it has: {visible(names) or 'there is none'}.")
        raise typer.Exit(2)
    if not outcome.ok:
        raise typer.Exit(1)


@with_groups
def request(
    *,
    config: ConfigArgument,
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="For example ping, tools/list or completion/complete."),
    ],
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit for the answer, in seconds.")] = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Send one request with --arguments as its params, and print the result as JSON, unchanged.

    Exit code 1 if the server answers with an error, or not in time.
    """
    given = read_arguments(arguments)
    with chosen.opened(config) as source:
        outcome = answering(
            source,
            lambda cancel: source.request(
                method, given, seconds=seconds, cancel=cancel, progress=None if as_json else print_progress
            ),
        )
    if outcome.ok:
        print_json(outcome.structured)
        return
    print_outcome(outcome, as_json=as_json)
    raise typer.Exit(1)


# -- the commands ------------------------------------------------------------------------------------------------

_POLL_SECONDS = 0.05
_NAMED = 40
"""The maximum number of tools or prompts that an error names."""
SecondsOption = Annotated[
    float, typer.Option(min=0.1, help="Time limit for the server's answer, in seconds.")
]


@with_groups
def resources(
    *,
    config: ConfigArgument,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="The resource to read, or a template.")
    ] = None,
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    watch: Annotated[
        int | None,
        typer.Option(
            "--watch",
            min=0,
            metavar="N",
            help="Subscribe to the resource, and print it again after each of the next N updates; 0: until Ctrl-C.",
        ),
    ] = None,
    out: OutOption = None,
    seconds: SecondsOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """List the resources and resource templates of a server, or read one.

    A template is filled in with --arguments. A link in a resource is printed as text and never opened.
    --out saves the content to a file, binary content too.
    """
    given = _read_texts(arguments)
    for option, value in (("--watch", watch), ("--out", out)):
        if uri is None and value is not None:
            raise InputError(f"{option} needs the URI of a resource.", hint=f"List them without {option}.")
    with chosen.opened(config) as source:
        _wait_for_offers(source, seconds)
        known = (*source.offers.resources, *source.offers.templates)
        if uri is None:
            _list(source, known, "resources", as_json=as_json)
            return
        offer = _find_offer(known, uri)
        if offer is None:  # a server may have more than it lists
            offer = Offer(kind="template" if "{" in uri else "resource", address=uri)
        fetch = partial(_fetch, source, offer, given, seconds=seconds, as_json=as_json, out=out)
        if watch is None:
            fetch()
            return
        address = offer.request(given)[1]["uri"]
        _subscribe(source, address, seconds)
        fetch()
        for _update in _updates(source, address, watch):
            fetch()


@with_groups
def prompts(
    *,
    config: ConfigArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The prompt to get.")] = None,
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    seconds: SecondsOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """List the prompts of a server, or get one with --arguments: its messages."""
    given = _read_texts(arguments)
    with chosen.opened(config) as source:
        _wait_for_offers(source, seconds)
        known = source.offers.prompts
        if name is None:
            _list(source, known, "prompts", as_json=as_json)
            return
        offer = _find_offer(known, name)
        if offer is None:
            names = listed([each.address for each in known], _NAMED)
            hint = f"Choose one of: {visible(names)}." if names else "The server lists no prompts."
            raise InputError(f"The server has no prompt {name}.", where=source.name, hint=hint)
        _fetch(source, offer, given, seconds=seconds, as_json=as_json)


def _wait_for_offers(server: McpServer, seconds: float) -> None:
    """Wait, at most that long, until the server's lists are read."""
    until = time.monotonic() + seconds
    while not server.offers.is_complete and server.state == "ready" and time.monotonic() < until:
        time.sleep(0.02)


def _list(server: McpServer, offers: Sequence[Offer], kind: str, *, as_json: bool) -> None:
    problems = [words for of, words in server.offers.problems if of == kind]
    if server.offers.kinds >= {kind} and kind not in server.offers.listed:
        problems.append("The list was not returned in time.")
    if as_json:
        print_json({kind: offers, "problems": problems})
    else:
        table = Table.grid(padding=(0, 2))
        for offer in offers:
            names = ", ".join(f"{each.name}*" if each.required else each.name for each in offer.arguments)
            words = first_line(offer.description or offer.title)
            table.add_row(*map(visible, (offer.address, names, offer.mime)), words)
        if offers:
            console().print(table)
        elif not problems:
            print_note(f"The server lists no {kind}.", "yellow")
        for words in problems:
            print_note(f"! {words}", "yellow")
    if problems and not offers:
        raise typer.Exit(1)


def _find_offer(offers: Sequence[Offer], address: str) -> Offer | None:
    """The entry with that URI, template or name; None if there is none."""
    return next((offer for offer in offers if offer.address == address), None)


def _fetch(
    server: McpServer,
    offer: Offer,
    given: dict[str, str],
    *,
    seconds: float,
    as_json: bool,
    out: Path | None = None,
) -> None:
    if offer.arguments:
        print_violations(offer.form, given)
    method, params = offer.request(given)
    outcome = answering(
        server,
        lambda cancel: server.fetch(
            method, params, seconds=seconds, cancel=cancel, progress=None if as_json else print_progress
        ),
    )
    print_outcome(outcome, as_json=as_json, out=out)
    if not outcome.ok:
        raise typer.Exit(1)


def _subscribe(server: McpServer, uri: str, seconds: float) -> None:
    outcome = answering(server, lambda cancel: server.subscribe(uri, seconds=seconds, cancel=cancel))
    if not outcome.ok:
        print_outcome(outcome, as_json=False)
        raise typer.Exit(1)


def _updates(server: McpServer, uri: str, most: int) -> Iterator[int]:
    """Yield at each update of a subscribed resource, at most `most` times (0: no limit); simultaneous ones are one."""
    seen = count = 0
    while server.state == "ready" and (not most or count < most):
        times = server.subscriptions.get(uri, Updates()).times
        if times > seen:
            seen, count = times, count + 1
            yield count
        time.sleep(_POLL_SECONDS)
    if server.state != "ready":
        print_failure(server)
        raise typer.Exit(1)


def _read_texts(arguments: str) -> dict[str, str]:
    """The object of --arguments, whose values are strings, as MCP requires here. Raises InputError."""
    given = read_arguments(arguments)
    odd = next((name for name, value in given.items() if not isinstance(value, str)), None)
    if odd is not None:
        hint = "Put it in quotes."
        raise InputError(f"The value of {odd} is not a string.", where="--arguments", hint=hint)
    return given


@with_groups(only=("server", "yes", "ask"))
def complete(
    *,
    config: ConfigArgument,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|TEMPLATE", help="A prompt, or the URI template of resources."),
    ],
    argument: Annotated[str, typer.Argument(metavar="ARGUMENT", help="The argument to complete.")],
    value: Annotated[str, typer.Argument(metavar="[TEXT]", help="The beginning of its value.")] = "",
    arguments: ArgumentsOption = "{}",
    chosen: ServerOptions,
    seconds: SecondsOption = 60.0,
    as_json: JsonOption = False,
) -> None:
    """Print the values that a server proposes for an argument of a prompt or resource template, one per line.

    Other arguments that are known are given with --arguments.
    """
    others = _read_texts(arguments)
    with chosen.opened(config) as source:
        _wait_for_offers(source, seconds)
        known = (*source.offers.prompts, *source.offers.templates)
        offer = _find_offer(known, name) or Offer(kind="template" if "{" in name else "prompt", address=name)
        names = [each.name for each in offer.arguments]
        if names and argument not in names:
            hint = f"Choose one of: {visible(', '.join(names))}."
            raise InputError(f"{name} has no argument {argument}.", where=source.name, hint=hint)
        completion = answering(
            source,
            lambda cancel: source.complete(
                offer, argument, value, others=others, seconds=seconds, cancel=cancel
            ),
        )
    _print(completion, as_json=as_json)
    if completion.problem:
        raise typer.Exit(1)


def _print(completion: Completion, *, as_json: bool) -> None:
    if as_json:
        print_json({"ok": not completion.problem, **msgspec.to_builtins(completion)})
        return
    for each in completion.values:
        console().print(visible(each), soft_wrap=True)
    if completion.problem:
        print_note(f"✗ {completion.problem}", "bold red")
    elif completion.has_more:
        total = f" {completion.total:,} in total." if completion.total else ""
        print_note(f"There are more.{total}", "dim")
    elif not completion.values:
        print_note("The server proposes no values.", "yellow")
