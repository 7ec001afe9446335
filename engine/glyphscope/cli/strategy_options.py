"""The options of `run` that belong to strategies, and the settings made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
import typer

from glyphscope.cli.inputs import InputError, read_text
from glyphscope.cli.option_groups import Given
from glyphscope.cli.output import print_note
from glyphscope.events import LoopSettings, RepairSettings, RouterSettings, RunRequest
from glyphscope.strategies.loop.presets import compose
from glyphscope.strategies.routing.candidates import read_router, router_preset, router_presets
from glyphscope.structs import ready
from glyphscope.text.json_values import json_or_text
from glyphscope.tools.approval import parse_approvals

_LISTS = frozenset({"allow", "deny", "transforms"})
"""Settings of the loop that are lists: --set also accepts them with commas."""
_CALLS = "no call is executed without --strategy loop or --dispatch"
_ASKS = "only --strategy route-execute has a router"
_REPAIRS = "the loop reports errors to the model itself, see max_invalid_turns"
"""Reasons why an option has no effect."""


@dataclass(frozen=True, kw_only=True)
class StrategyOptions:
    """How the prompt becomes a call, and how the call is executed."""

    repair: Given[RepairSettings]
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve",
            metavar="RULE",
            help="Approval rules: allow, TOOL=allow, SOURCE/*=deny … The first matching rule applies; without one, "
            "every call needs an approval.",
        ),
    ] = None
    mcp: Annotated[
        list[Path] | None,
        typer.Option("--mcp", metavar="FILE", help="MCP servers to use (the common mcpServers JSON)."),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", help="Start the servers' commands without confirmation.")] = (
        False
    )
    answer: Annotated[
        list[str] | None,
        typer.Option("--answer", metavar="TEXT", help="Answers to the router's questions, in order."),
    ] = None
    router: Annotated[
        str | None,
        typer.Option("--router", metavar="NAME|FILE", help="Rules, synonyms and known names of the router."),
    ] = None
    preset: Annotated[
        list[str] | None,
        typer.Option(
            "--preset", metavar="NAME", help="A preset of loop settings; repeatable, later ones win."
        ),
    ] = None
    loop: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One setting of the loop, such as max_turns=4."),
    ] = None

    @property
    def members(self) -> dict[str, Any]:
        """The members of the request. Raises InputError, PromptError and GlyphscopeError."""
        return {
            "router": _router_settings(self.router, self.answer or ()),
            "repair": self.repair.over(RepairSettings()),
            "loop": _loop_settings(self.preset or (), self.loop or ()),
            "approvals": parse_approvals(self.approve or ()),
        }

    def warn_of_unused(self, request: RunRequest) -> None:
        """Report options without an effect in the strategy, as a run would look as if they had one."""
        # the loop's sizes, times and lists of tools apply to every executed call
        executes = request.dispatch or request.strategy == "loop"
        routes = request.strategy == "route-execute"
        unused = (
            ("--set", self.loop, executes, _CALLS),
            ("--preset", self.preset, executes, _CALLS),
            ("--approve", self.approve, executes, _CALLS),
            ("--router", self.router, routes, _ASKS),
            ("--answer", self.answer, routes, _ASKS),
            ("--repair", self.repair.get("attempts"), request.strategy != "loop", _REPAIRS),
        )
        for name, value, is_used, why in unused:
            if value and not is_used:
                print_note(f"! {name} has no effect: {why}.", "yellow")


def _router_settings(name: str | None, answers: Sequence[str]) -> RouterSettings:
    """The bundled settings of that name, or those in a file, with the answers. Raises PromptError and InputError."""
    found = RouterSettings()
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


def _loop_settings(presets: Sequence[str], settings: Iterable[str]) -> LoopSettings:
    """The presets composed in order, then each `NAME=VALUE`, with JSON or plain text as value. Raises InputError."""
    loop = compose(presets)
    for text in settings:
        loop = _with(loop, text)
    return loop


def _with(loop: LoopSettings, text: str) -> LoopSettings:
    """The settings with one `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not equals or name not in loop.__struct_fields__:
        raise InputError(
            f"`{text}` is not a setting of the loop.",
            where="--set",
            hint=f"Write NAME=VALUE with one of: {', '.join(loop.__struct_fields__)}.",
        )
    given = json_or_text(value)
    if name in _LISTS and isinstance(given, str):
        given = [word.strip() for word in given.split(",") if word.strip()]
    fields = {**msgspec.structs.asdict(loop), name: given}
    try:
        return msgspec.convert(fields, ready(LoopSettings))
    except msgspec.ValidationError as error:
        choices = get_args(get_type_hints(LoopSettings)[name])
        words = all(isinstance(choice, str) for choice in choices)
        hint = f"Give one of: {', '.join(choices)}." if choices and words else "Give a value of that kind."
        raise InputError(f"`{text}`: {error}.", where="--set", hint=hint) from None
