"""The work of `glyphscope run`: send a prompt to a model and show its answer, token by token, or with several seeds how
its answers are distributed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import typer
from rich.live import Live
from rich.text import Text

from glyphscope import events
from glyphscope.base.errors import meant
from glyphscope.base.figures import percent
from glyphscope.base.json_values import json_or_text
from glyphscope.base.shorten import listed, shorten
from glyphscope.base.structs import ready
from glyphscope.base.visible import visible
from glyphscope.cli import output
from glyphscope.cli.conversation import conversation_members, opened_request, recorded_state, rest_of
from glyphscope.cli.inputs import InputError, expecting, note_unenforced, read_registry, read_text
from glyphscope.cli.interaction import TerminalInteraction
from glyphscope.cli.load_options import opened
from glyphscope.cli.run_options import RunOptions, SamplingOptions, StrategyOptions
from glyphscope.cli.run_printer import RunView
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.cli.sources import open_sources
from glyphscope.cli.streaming import BAD_REQUEST, interrupted, interruptible, recorded, run_all
from glyphscope.cli.template_forms import read_chat_template
from glyphscope.evals.answers import Distribution, Divergence, SeedResults, divergence_words, option_words
from glyphscope.evals.matrix.profiles import profile as profile_named
from glyphscope.evals.matrix.profiles import run_profiles
from glyphscope.evals.matrix.seeds import RequestPlan, distinct_seeds, seeds_of
from glyphscope.evals.results.words import rate_words
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.models.interface import Model
from glyphscope.registry import parse_document
from glyphscope.runs import RunState, reduce_event, run_state
from glyphscope.runs.endings import is_unexpected, outcome_of
from glyphscope.runs.strategies import run as run_request
from glyphscope.runs.strategies.loop.presets import compose
from glyphscope.runs.strategies.routing.candidates import read_router, router_preset, router_presets
from glyphscope.store import RecordWriter
from glyphscope.tools.approval import parse_approvals

_LISTS = frozenset({"allow", "deny", "transforms"})
"""Settings of the loop that are lists: --set also accepts them with commas."""
_CALLS = "no call is executed without --strategy loop or --dispatch"
_ASKS = "only --strategy route-execute has a router"
_REPAIRS = "the loop reports errors to the model itself, see max_invalid_turns"
"""Reasons why an option has no effect."""


def run_prompt(options: RunOptions) -> None:
    """Run the prompt, and end the command with its exit code. Raises GlyphscopeError."""
    given, how, sampling, as_json = options.given, options.how, options.sampling, options.as_json
    load = options.loading.options(options.model)
    usual = events.RunRequest(prompt="", registry={})
    constraint = given.get("constraint", usual.constraint)
    members = {
        "order": events.default_order(constraint),
        **given,
        **events.notation_members(given.get("notation", usual.notation)),
    }
    own, template = _own_grammar(options.grammar, constraint), read_chat_template(options.chat_template)
    before = None if options.continued is None else recorded_state(options.continued)
    opened_project = None if options.project is None else opened_request(options.project)
    base = before.started.request if before is not None and before.started is not None else opened_project
    own_tools = read_registry(options.registry)
    if base is not None and options.registry is None:
        own_tools = parse_document(base.registry, str(options.continued or options.project))
    _warn_of_unused(how, given.over(usual))
    request = events.RunRequest(
        **conversation_members(options.prompt, options.system, options.messages, before, opened_project),
        registry=own_tools.to_document(),
        model=options.model,
        grammar=own,
        chat_template=template,
        **{**_strategy_members(how), **members},
        sampling=_sampling(sampling, events.ModelInfo(name=options.model)),
    )
    if base is not None:
        named = {
            "answer": "answer" in given,
            "grammar": bool(options.grammar),
            "chat_template": bool(options.chat_template),
            "router": bool(how.router or how.reply),
        }
        named |= {"loop": bool(how.preset or how.loop), "stop": "stop" in given}
        request = msgspec.structs.replace(
            request, **rest_of(base, {**named, "sampling": sampling.profile is not None})
        )
        if sampling.profile is None:
            request = msgspec.structs.replace(request, sampling=sampling.given.over(request.sampling))
    seeds = sampling.seeds
    if seeds is not None:
        seeds_to_run(seeds, request)  # rejected before a model is opened
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        writer = (
            stack.enter_context(RecordWriter(options.record)) if options.record and seeds is None else None
        )
        tools = stack.enter_context(
            closing(
                open_sources(
                    how.mcp or (),
                    own_tools,
                    own=options.registry is not None or base is not None,
                    yes=how.yes,
                )
            )
        )
        request = msgspec.structs.replace(
            request, registry=tools.registry.to_document(), sources=tools.by_tool
        )
        request = expecting(request, options.expect)
        source = stack.enter_context(
            opened(options.model, options=load, prompts=options.stored.cache, quiet=as_json)
        )
        if sampling.profile is not None:  # recommendations depend on the model itself
            request = msgspec.structs.replace(request, sampling=_sampling(sampling, source.info))
        if seeds is not None:
            raise typer.Exit(
                print_distribution(
                    request, seeds_to_run(seeds, request), source, options.record, as_json=as_json
                )
            )
        note_unenforced(request)
        interaction = TerminalInteraction(tools.sources)
        # closed here, not by the garbage collector: the model stops, and Ctrl-C has its previous effect
        generation = stack.enter_context(closing(run_request(request, source, interaction)))
        shown = stack.enter_context(closing(interruptible(generation, source, interaction)))
        state = show(recorded(shown, writer), as_json=as_json)
    raise typer.Exit(exit_code(state))


def _strategy_members(how: StrategyOptions) -> dict[str, Any]:
    """The members of the request. Raises InputError, PromptError and GlyphscopeError."""
    return {
        "router": _router_settings(how.router, how.reply or ()),
        "repair": how.repair.over(events.RepairSettings()),
        "loop": loop_settings(how.loop or (), compose(how.preset or ())),
        "approvals": parse_approvals(how.approve or ()),
    }


def _sampling(given: SamplingOptions, model: events.ModelInfo) -> events.Sampling:
    """The profile's settings for a model, with the given ones. Raises GlyphscopeError."""
    base = events.Sampling()
    if given.profile is not None:
        base = profile_named(given.profile, run_profiles()).of(model, base.seed)
    return given.given.over(base)


def _warn_of_unused(how: StrategyOptions, request: events.RunRequest) -> None:
    """Report options without an effect in the strategy, as a run would look as if they had one."""
    # the loop's sizes, times and lists of tools apply to every executed call
    executes = request.dispatch or request.strategy == "loop"
    routes = request.strategy == "route-execute"
    unused = (
        ("--set", how.loop, executes, _CALLS),
        ("--preset", how.preset, executes, _CALLS),
        ("--approve", how.approve, executes, _CALLS),
        ("--router", how.router, routes, _ASKS),
        ("--reply", how.reply, routes, _ASKS),
        ("--repair", how.repair.get("attempts"), request.strategy != "loop", _REPAIRS),
    )
    for name, value, is_used, why in unused:
        if value and not is_used:
            output.print_note(f"! {name} has no effect: {why}.", "yellow")


def _router_settings(name: str | None, answers: Sequence[str]) -> events.RouterSettings:
    """The bundled settings of that name, or those in a file, with the answers. Raises PromptError and InputError."""
    found = events.RouterSettings()
    if name is not None:
        known = name in router_presets() and not Path(name).exists()
        if not known and name != "-" and not Path(name).exists():
            bundled = ", ".join(router_presets())
            raise InputError(
                "There is no such file, and no bundled router of that name.",
                where=name,
                hint=f"Check the path; bundled are: {bundled}.",
            )
        found = router_preset(name) if known else read_router(read_text(name), name)
    return msgspec.structs.replace(found, answers=tuple(answers) or found.answers)


def loop_settings(settings: Iterable[str], loop: events.LoopSettings) -> events.LoopSettings:
    """The settings with each `NAME=VALUE` changed, with JSON or plain text as value. Raises InputError."""
    for text in settings:
        loop = _with(loop, text)
    return loop


def _with(loop: events.LoopSettings, text: str) -> events.LoopSettings:
    """The settings with one `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals or name not in loop.__struct_fields__:
        raise InputError(
            f"`{text}` is not a setting of the loop.",
            where="--set",
            hint=f"{meant(name, loop.__struct_fields__)} Write NAME=VALUE with one of: "
            f"{', '.join(loop.__struct_fields__)}.".lstrip(),
        )
    given = json_or_text(value)
    if name in _LISTS and isinstance(given, str):
        given = [word.strip() for word in given.split(",") if word.strip()]
    fields = {**msgspec.structs.asdict(loop), name: given}
    try:
        return msgspec.convert(fields, ready(events.LoopSettings))
    except msgspec.ValidationError as error:
        choices = get_args(get_type_hints(events.LoopSettings)[name])
        words = all(isinstance(choice, str) for choice in choices)
        hint = f"Give one of: {', '.join(choices)}." if choices and words else "Give a value of that kind."
        raise InputError(f"`{text}`: {error}.", where="--set", hint=hint) from None


_BAR = 20
_MAX_LENGTH = 96
_MAX_DIVERGENCES = 8
_MAX_SEEDS = 12
"""The maximum number of seeds of a group that are listed."""


def seeds_to_run(text: str, request: events.RunRequest) -> tuple[int, ...]:
    """The seeds that are worth running. Raises InputError for a request that executes tools, and GlyphscopeError."""
    if request.dispatch or request.strategy == "loop":
        raise InputError(
            "With --seeds every tool would run once for each seed.",
            where="--seeds",
            hint="Omit --dispatch and --strategy loop.",
        )
    return distinct_seeds(seeds_of(text), request)


def print_distribution(
    request: events.RunRequest, seeds: tuple[int, ...], model: Model, records: Path | None, *, as_json: bool
) -> int:
    """Run, print, and return the exit code: 0 if every run ended with a valid answer, as expected."""
    if request.sampling.temperature <= 0:
        output.print_note("At temperature 0 all seeds give the same tokens: one run.")
    samples, results, states = RequestPlan({"seed": request}, seeds).samples, SeedResults(), []
    for planned, state in run_all(samples, model, records, quiet=as_json):
        results.add(planned, state)
        states.append(state)
    result = results.report()
    output.print_json(result) if as_json else _print(result)
    if interrupted(states, samples):
        return INTERRUPTED
    right = all(group.ok and not group.difference for group in result.groups)
    return 0 if result.n and not result.failed and right else 1


def _print(result: Distribution) -> None:
    table = output.TextTable("runs", "share", "", "answer", "first difference", right=("runs", "share"))
    for group in result.groups:
        divergence = None if group.divergence is None else result.divergences[group.divergence]
        mark = "✗" if not group.ok else "≠" if group.difference else "✓"
        label = visible(group.label)
        bar = "█" * max(round(group.share.share * _BAR), 1)
        table.add_row(
            str(group.share.correct),
            rate_words(group.share),
            bar,
            f"{mark} {shorten(label, _MAX_LENGTH)}",
            "" if divergence is None else f"character {divergence.char:,}",
        )
        seeds = listed([*map(str, group.seeds)], _MAX_SEEDS)
        table.add_row("", "", "", Text(f"  seed {seeds}", style="dim"), "")
        if group.difference:
            words = f"  not the expected one: {visible(group.difference)}"
            table.add_row("", "", "", Text(words, style="yellow"), "")
    output.console().print(table)
    for divergence in result.divergences[:_MAX_DIVERGENCES]:
        output.print_text(f"At {divergence_words(divergence)}:")
        output.console().print(_options(divergence))
    if len(result.divergences) > _MAX_DIVERGENCES:
        output.print_text(
            f"{len(result.divergences) - _MAX_DIVERGENCES} further differences: --json lists them."
        )
    for line in result.words:
        output.print_text(line)


def _options(divergence: Divergence) -> output.TextTable:
    numbers = ("sampled", "raw", "final")
    table = output.TextTable("  token", *numbers, right=numbers, header_style="dim")
    for option in divergence.options:
        sampled = f"{option.sampled} of {divergence.runs}"
        table.add_row(f"  {option_words(option)}", sampled, percent(option.raw), percent(option.final))
    return table


def _own_grammar(file: Path | None, constraint: events.ConstraintKind) -> str | None:
    """The text of the grammar file, read before any model is opened. Raises GrammarError with its errors."""
    if file is None:
        return None
    if constraint == "off":
        raise InputError(
            "A grammar has no effect without a constraint.",
            hint="Use --constraint mask or --constraint gbnf.",
        )
    text = read_text(str(file))
    load_gbnf(text, where=str(file))
    return text


def show(shown: Iterable[events.AnyEvent], *, as_json: bool) -> RunState:
    """Print the events, as JSON lines or live, and return the run after them."""
    state = RunState()
    if as_json:
        for event in shown:
            output.print_line(output.seen_json(events.encode_event(event)))
            reduce_event(state, event)
        return state
    out, view = output.console(), RunView(state)
    if not out.is_terminal:
        run_state(shown, state)
        out.print(view)
        return state
    with Live(view, console=out, refresh_per_second=12, vertical_overflow="visible"):
        run_state(shown, state)
    return state


def exit_code(state: RunState) -> int:
    """0 for a valid call that is as expected, 1 for another one or none, 2 if the request could not be run, 130 for an
    interrupted run.
    """
    if state.failed is not None:
        return 2 if state.failed.code in BAD_REQUEST else 1
    if state.outcome == "cancelled":
        return INTERRUPTED
    return 0 if state.outcome == "valid" and not is_unexpected(outcome_of(state)) else 1
