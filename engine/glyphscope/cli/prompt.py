"""`glyphscope prompt`: the prompt as a model gets it, with the cost of each part."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer
from rich.text import Text

from glyphscope import events
from glyphscope.base.figures import percent, pluralize
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.conversation import conversation_members, opened_request
from glyphscope.cli.inputs import ANSWER_METAVAR, InputError, read_answer, read_registry
from glyphscope.cli.load_options import LoadingOption, opened
from glyphscope.cli.option_groups import pairs, with_groups
from glyphscope.cli.options import (
    ChatTemplateOption,
    JsonOption,
    LoopOption,
    MessagesOption,
    ModelOption,
    RegistryOption,
    SystemOption,
    TemplateVarOption,
)
from glyphscope.cli.output import TextTable, console, print_json, print_text
from glyphscope.cli.running import loop_settings
from glyphscope.cli.template_forms import read_chat_template
from glyphscope.models.opening import EMBEDDED
from glyphscope.prompting.changes import CacheLoss, Changes, advice, cache_loss, loss_words, prompt_changes
from glyphscope.prompting.costs import Cost, prompt_costs
from glyphscope.runs.strategies.running import first_prompt
from glyphscope.store.bundle import read_run

BORDERS = "A token that spans a boundary belongs to the part with the last character that it completes."
_SEEN = 60
_CONTROLS = "  ! has texts of control tokens"


class PromptReport(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt and its costs. `tokens` is None if the model does not count before it answers.

    `counted`: each part is counted by the tokens of the whole text or, if tokens cannot be aligned with the text, by
    counting the part's text with the text before it (`parts`). `cache` is for recorded runs.
    """

    model: str
    tokens: int | None
    counted: Literal["whole", "parts", "unknown"]
    text: str
    parts: tuple[events.PromptPart, ...]
    costs: list[dict[str, Any]]
    controls: tuple[events.ControlText, ...]
    advice: tuple[str, ...]
    note: str = ""
    changes: Changes | None = None
    cache: CacheLoss | None = None


@with_groups
def prompt(
    *,
    said: Annotated[
        str | None,
        typer.Argument(metavar="[PROMPT|-]", help="The user's message; - reads standard input."),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the prompt and its settings from a project, a recorded run or the JSON body of a request.",
        ),
    ] = None,
    model: ModelOption = EMBEDDED,
    registry: RegistryOption = None,
    notation: Annotated[
        events.AnyNotation | None,
        typer.Option(help="The notation of calls. Default: the project's, else glyph."),
    ] = None,
    shape: Annotated[
        events.Shape | None, typer.Option(help="The shape of calls. Default: the project's, else flat.")
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(metavar=ANSWER_METAVAR, help="The answer, if it is not a call. Default: the project's."),
    ] = None,
    strategy: Annotated[
        Literal["direct", "two-stage", "loop"] | None,
        typer.Option(
            help="The strategy; of the tool loop, the first prompt. Default: the project's, else direct."
        ),
    ] = None,
    loop: LoopOption = None,
    system: SystemOption = None,
    messages: MessagesOption = None,
    thinking: Annotated[
        events.Thinking | None,
        typer.Option(
            help="The switch for thinking in the model's chat template. Default: the project's, else auto."
        ),
    ] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The reasoning effort. Default: the project's, else auto."),
    ] = None,
    template_var: TemplateVarOption = None,
    chat_template: ChatTemplateOption = None,
    control_texts: Annotated[
        events.ControlTexts | None,
        typer.Option(
            help="How texts of users, tools and results that read like control tokens are encoded. Default: the "
            "project's, else tokens."
        ),
    ] = None,
    loading: LoadingOption,
    run: Annotated[
        Path | None,
        typer.Option(metavar="RUN.jsonl", help="The prompt of a recorded run, without a model."),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN.jsonl",
            help="Compare with this recorded run; with --run, show where the cache ended.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the prompt as the model receives it, with the tokens of each tool, argument, description, example and rule.

    Nothing is generated. The parts' tokens add up to the prompt's; the largest come first.
    """
    before = None if since is None else _prompt_of(since)[0]
    if run is not None:
        loading.refuse("A recorded prompt needs no model", "Leave them out, or leave out --run.")
        rendered, loss, name = _prompt_of(run, before)
    else:
        request = _request(said, project, registry, system, messages)
        chat: dict[str, Any] = {"thinking": thinking, "reasoning_effort": reasoning_effort, "shape": shape}
        chat |= {} if notation is None else events.notation_members(notation)
        chat["control_texts"] = control_texts
        chat["template_vars"] = None if template_var is None else pairs(template_var, "template_var")
        chat["chat_template"] = read_chat_template(chat_template) or None
        chat["strategy"] = strategy
        chat["loop"] = None if loop is None else loop_settings(loop, request.loop)
        chat["answer"] = None if answer is None else read_answer(answer)
        request = msgspec.structs.replace(request, **{k: v for k, v in chat.items() if v is not None})
        with opened(model, options=loading.options(model), quiet=as_json) as source:
            rendered, loss, name = first_prompt(request, source), None, source.info.name
    report = _report(rendered, name, before, loss)
    print_json(report) if as_json else _print(report, rendered)


def _prompt_of(
    file: Path, before: events.PromptRendered | None = None
) -> tuple[events.PromptRendered, CacheLoss | None, str]:
    """The first prompt of a record, its cache, and its model. Raises InputError if there is none."""
    recorded = read_run(file).events
    rendered = next((event for event in recorded if isinstance(event, events.PromptRendered)), None)
    if rendered is None:
        raise InputError(
            "The record contains no prompt.",
            where=str(file),
            hint="Record a whole run, with `glyphscope run --record`.",
        )
    read = [
        event
        for event in recorded
        if isinstance(event, events.PromptEvaluated) and event.stage == rendered.stage
    ]
    done = next((event for event in read if event.done == event.total), None)
    started = next((event for event in recorded if isinstance(event, events.RunStarted)), None)
    return rendered, cache_loss(rendered, done, before), started.model.name if started else ""


def _request(
    said: str | None,
    project: Path | None,
    registry: Path | None,
    system: str | None,
    messages: str | None,
) -> events.RunRequest:
    if project is not None:
        request = opened_request(project)
        words = said or (None if messages else request.prompt)
        changes = conversation_members(words, system, messages, None)
        if registry is not None:
            changes["registry"] = read_registry(registry).to_document()
        return msgspec.structs.replace(request, **{k: v for k, v in changes.items() if v is not None})
    return events.RunRequest(
        **conversation_members(said if messages else said or "", system, messages, None),
        registry=read_registry(registry).to_document(),
    )


def _report(
    rendered: events.PromptRendered, model: str, before: events.PromptRendered | None, loss: CacheLoss | None
) -> PromptReport:
    known = bool(rendered.tokens)
    return PromptReport(
        model=model,
        tokens=rendered.tokens if known else None,
        counted="whole" if rendered.lengths else "parts" if known else "unknown",
        text=rendered.text,
        parts=rendered.parts,
        costs=[_row(cost, known) for cost in prompt_costs(rendered)],
        controls=rendered.controls,
        advice=advice(rendered, loss),
        note=rendered.note,
        changes=None if before is None else prompt_changes(before, rendered),
        cache=loss,
    )


def _row(cost: Cost, known: bool) -> dict[str, Any]:
    """A row of the tree; `spans` are its characters in the text, start and end (exclusive)."""
    return {
        "title": cost.title,
        "kind": cost.kind,
        "of": cost.of,
        "tokens": cost.tokens if known else None,
        "controls": cost.controls,
        "spans": [(part.start, part.end) for part in cost.parts],
        "below": [_row(below, known) for below in cost.below],
    }


def _print(report: PromptReport, rendered: events.PromptRendered) -> None:
    out = console()
    print_text(report.text, lines=True)
    print_text()
    counted = f"of {report.tokens:,}" if report.tokens else "not counted"
    table = TextTable("tokens", "", f"{counted}, {report.model}", right=("tokens", ""))
    for cost in prompt_costs(rendered):
        for depth, row in cost.rows():
            tokens = f"{row.tokens:,}" if report.tokens else ""
            part = percent(row.tokens / report.tokens, 0) if report.tokens and not depth else ""
            title = "  " * depth + visible(row.title) + (_CONTROLS if row.controls else "")
            table.add_row(tokens, part, Text(title, "" if depth else "bold"))
    out.print(table)
    print_text(_counted_words(report))
    for line in (report.note, *report.advice):
        if line:
            print_text(line)
    if report.changes is not None:
        _print_changes(report.changes)
    if report.cache is not None:
        print_text(loss_words(report.cache))


def _counted_words(report: PromptReport) -> str:
    if report.counted == "unknown":
        return "An endpoint reports token counts only with its answer."
    if report.counted == "whole":
        return f"Counted in the whole text. {BORDERS}"
    return (
        "Each part is counted by what it adds to the part before it: this model does not report its tokens."
    )


def _print_changes(changes: Changes) -> None:
    """Print the removed and added pieces, and the counts."""
    print_text()
    if changes.is_same:
        print_text("The prompt is the same.")
    for piece in changes.pieces:
        if piece.kind != "same":
            mark, style = ("−", "red") if piece.kind == "removed" else ("+", "green")
            count = "" if piece.tokens is None else f"  ({pluralize(piece.tokens, 'token')})"
            shown = shorten(piece.text, 4 * _SEEN)
            print_text(f"{mark} {shown}{count}", style)
    counts = {kind: changes.tokens(kind) for kind in ("added", "removed", "same")}
    if None not in counts.values():
        words = (
            f"Tokens: {counts['added']:,} added, {counts['removed']:,} removed, {counts['same']:,} unchanged."
        )
        print_text(words)
