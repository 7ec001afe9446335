"""All options of `glyphscope run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from glyphscope import events
from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption
from glyphscope.cli.option_groups import Given
from glyphscope.cli.options import (
    ChatTemplateOption,
    ContinueOption,
    ExpectOption,
    JsonOption,
    LoopOption,
    McpOption,
    MessagesOption,
    ModelOption,
    ProjectOption,
    RegistryOption,
    SystemOption,
    YesOption,
)
from glyphscope.models.opening import EMBEDDED


@dataclass(frozen=True, kw_only=True)
class StrategyOptions:
    """How the prompt becomes a call, and how the call is executed."""

    repair: Given[events.RepairSettings]
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve",
            metavar="RULE",
            help="Approval rules: allow, TOOL=allow, SOURCE/*=deny … The first matching rule applies; without one, "
            "every call needs an approval.",
        ),
    ] = None
    mcp: McpOption = None
    yes: YesOption = False
    reply: Annotated[
        list[str] | None,
        typer.Option("--reply", metavar="TEXT", help="Answers to the router's questions, in order."),
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
    loop: LoopOption = None


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """The options for sampling given on the command line; None for the others."""

    profile: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Sampling settings by name, under those given here: see `glyphscope eval profiles`.",
        ),
    ] = None
    given: Given[events.Sampling]
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Run with each of these seeds (1-20, or 1,3,7-9) and show how often each answer occurs.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """All options of a run."""

    prompt: Annotated[
        str | None,
        typer.Argument(metavar="PROMPT|-", help="The user's message; - reads standard input."),
    ] = None
    model: ModelOption = EMBEDDED
    registry: RegistryOption = None
    given: Given[events.RunRequest]
    grammar: Annotated[
        Path | None,
        typer.Option(metavar="G.gbnf", help="GBNF file that replaces the registry's grammar."),
    ] = None
    chat_template: ChatTemplateOption = None
    how: StrategyOptions
    expect: ExpectOption = None
    system: SystemOption = None
    messages: MessagesOption = None
    continued: ContinueOption = None
    project: ProjectOption = None
    sampling: SamplingOptions
    loading: LoadingOption
    stored: StoredPromptsOption
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN.jsonl", help="Record the run in this file. With --seeds, a folder: seed-1.jsonl …"
        ),
    ] = None
    as_json: JsonOption = False
