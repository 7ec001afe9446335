"""`glyphscope explain`: the mask impact of a run (`explain RUN`), the parts of its prompt that decided it
(`explain prompt`), and the tools that the model confuses (`explain tools`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.progress import BarColumn, Progress, TextColumn
from typer.core import TyperGroup

from glyphscope.base.figures import percent
from glyphscope.base.shorten import excerpt
from glyphscope.cli.branch import explain as mask
from glyphscope.cli.branch import options_of
from glyphscope.cli.inputs import InputError
from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption, opened
from glyphscope.cli.option_groups import with_groups
from glyphscope.cli.options import JsonOption, model_option, out_option
from glyphscope.cli.output import TextTable, console, diagnostics, print_json, print_text
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.cli.streaming import on_first_interrupt
from glyphscope.explain.ablation import words
from glyphscope.explain.ablation.choice import written_choice
from glyphscope.explain.ablation.pairs import ToolPair, tool_pairs
from glyphscope.explain.ablation.scoring import AblationProgress, Report, ablate_prompt
from glyphscope.explain.ablation.types import OMISSION_KINDS, ChoiceKind, OmissionEffect, PromptAblation
from glyphscope.models.interface import Model
from glyphscope.models.remote import is_address
from glyphscope.runs import RunState, run_state
from glyphscope.store.bundle import read_run
from glyphscope.store.exports.influence_page import influence_page
from glyphscope.store.files import atomic_write
from glyphscope.store.named_models import RECORDED


class _Part(StrEnum):
    """`OmissionKind`: typer accepts several values of a choice only as an Enum."""

    TOOL = "tool"
    DESCRIPTION = "description"
    EXAMPLE = "example"
    MESSAGE = "message"
    SENTENCE = "sentence"


_MOST = 3
"""Effects that are described in sentences."""
_MAX_PROMPT = 80
"""Characters of a user's prompt in a table."""


class _WithMask(TyperGroup):
    """`explain RUN` is `explain mask RUN`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["mask", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_WithMask,
    help="Explain runs: the mask impact (`explain RUN`), the parts of the prompt (`explain prompt RUN`), and the tools "
    "that are confused (`explain tools RUN…`).",
    rich_markup_mode=None,
)
app.command("mask")(mask)


@app.command()
@with_groups
def prompt(
    *,
    file: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A record of `glyphscope run --record`, or a .glyphrun bundle."),
    ],
    tool: Annotated[
        bool, typer.Option("--tool", help="Explain the choice of the tool. Default, if the answer names one.")
    ] = False,
    field: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Explain the value of this field, as in /query."),
    ] = None,
    token: Annotated[
        int | None, typer.Option(metavar="N", help="Explain the token with this index, from 0.")
    ] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Explain the whole answer.")] = False,
    call: Annotated[int, typer.Option(min=0, metavar="N", help="The call of --tool or --field, from 0.")] = 0,
    part: Annotated[
        list[_Part] | None,
        typer.Option(help="Leave out only parts of this kind; repeatable. Default: all kinds."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="TIMES",
            help="Evaluate at most so many times the prompt's tokens: parts with little influence are only estimated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, out_option("Write an HTML page with the coloured prompt to this file.")
    ] = None,
    model: Annotated[str | None, model_option("The model of the run. Default: its recorded path.")] = None,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    as_json: JsonOption = False,
) -> None:
    """Show what in the prompt decided: each tool, description, example, message and sentence is left out in turn, and
    what was written is scored again. Nothing is generated.

    Probabilities are those among the tokens that the run's constraint allows; without one, the model's own. Ctrl-C ends
    with the effects so far, and exit code 130.
    """
    named: tuple[tuple[ChoiceKind, bool], ...] = (
        ("tool", tool), ("field", field is not None), ("token", token is not None), ("answer", answer)
    )  # fmt: skip
    chosen = [kind for kind, given in named if given]
    if len(chosen) > 1:
        raise InputError(
            "One choice is explained at a time.", hint="Give one of --tool, --field, --token and --answer."
        )
    state = run_state(read_run(file).events)
    choice = written_choice(
        state, chosen[0] if chosen else None, token=token or 0, path=field or "", call=call
    )
    with _scoring(state, model, loading, stored, quiet=as_json) as (source, report, ended):
        found = ablate_prompt(
            state,
            source,
            choice,
            kinds=[each for each in OMISSION_KINDS if not part or each in part],
            budget=budget,
            report=report,
            stopped=ended.is_set,
        )
    if out is not None:
        atomic_write(out, influence_page(found).encode("utf-8", "replace"))
    print_json(_as_json(found)) if as_json else _print(found)
    raise typer.Exit(INTERRUPTED if ended.is_set() else 0)


@app.command()
@with_groups
def tools(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Records of one model that called a tool, one for each prompt."),
    ],
    model: Annotated[str | None, model_option("The model of the runs. Default: its recorded path.")] = None,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    as_json: JsonOption = False,
) -> None:
    """Show the pairs of tools that the model confuses for the prompts of these runs, and the parts that separate them.

    The called tool and each other one are offered alone, under a mask of only these two. A pair is confused if the
    called tool has less than 90%; then the descriptions and examples are left out in turn. Exit code 1 if any is.
    """
    states = [run_state(read_run(file).events) for file in files]
    pairs: list[ToolPair] = []
    with _scoring(states[0], model, loading, stored, quiet=as_json) as (source, report, ended):
        for state in states:
            pairs += tool_pairs(state, source, report=report, stopped=ended.is_set)
    pairs.sort(key=lambda pair: pair.probability)
    print_json({"pairs": [_pair_as_json(pair) for pair in pairs]}) if as_json else _print_pairs(pairs)
    raise typer.Exit(INTERRUPTED if ended.is_set() else int(any(pair.is_confused for pair in pairs)))


@contextmanager
def _scoring(
    state: RunState, model: str | None, loading: LoadingOption, stored: StoredPromptsOption, *, quiet: bool
) -> Iterator[tuple[Model, Report, threading.Event]]:
    """The open model of the run, where progress is reported, and the event that Ctrl-C sets."""
    started = state.begun
    name = model or started.request.model or started.model.path
    if name.startswith(RECORDED) or is_address(name):
        raise InputError(
            "Only a model in a file can score what was written.",
            where=name,
            hint="Name the model that wrote the run with --model.",
        )
    options = loading.options(name, options_of(started.model) if model is None else None)
    ended = threading.Event()
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        source = stack.enter_context(opened(name, options=options, prompts=stored.cache, quiet=quiet))
        stack.enter_context(on_first_interrupt(lambda: _stop(ended, source)))
        bar = stack.enter_context(_bar(quiet=quiet))
        task = bar.add_task("scoring", total=0)

        def report(progress: AblationProgress) -> None:
            bar.update(task, completed=progress.done, total=progress.total)

        yield source, report, ended


def _stop(ended: threading.Event, model: Model) -> None:
    ended.set()
    model.cancel()


def _bar(*, quiet: bool) -> Progress:
    out = diagnostics()
    counts = TextColumn("{task.completed:,.0f}/{task.total:,.0f} tokens")
    return Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), counts, console=out, transient=True,
        disable=quiet or not out.is_terminal,
    )  # fmt: skip


def _print(found: PromptAblation) -> None:
    for line in words.head_words(found):
        print_text(line, "bold")
    changed = [effect for effect in found.ranked if words.is_changed(found, effect)]
    figures = ("probability", "log-probability")
    table = TextTable("left out", *figures, "best other token", "tokens", right=(*figures, "tokens"))
    for effect in changed:
        table.add_row(*_row(found, effect))
    if changed:
        console().print(table)
    for effect in sorted(changed, key=lambda each: -abs(found.change(each) or 0.0))[:_MOST]:
        print_text(words.effect_words(found, effect))
    same = [
        words.omission_name(effect.omission) for effect in found.ranked if not words.is_changed(found, effect)
    ]
    if same:
        print_text(f"Without each of these, nothing changes: {', '.join(same)}.")
    for effect in found.effects:
        if effect.problem:
            print_text(words.effect_words(found, effect))
    if not found.effects:
        print_text("The prompt has no parts of these kinds.")
    print_text(words.cost_words(found))
    if found.note:
        print_text(found.note)


def _row(found: PromptAblation, effect: OmissionEffect) -> tuple[str, ...]:
    assert effect.known is not None, "it has a change"
    about = "" if effect.score is not None else "≈ "
    return (
        words.omission_name(effect.omission),
        about + percent(words.shown_probability(found, effect.known)),
        f"{about}{found.change(effect):+.2f}",
        words.other_words(found, effect.known.decision(found.base)),
        f"{effect.tokens:,}",
    )


def _print_pairs(pairs: Sequence[ToolPair]) -> None:
    table = TextTable("called", "other", "probability", "prompt", right=("probability",))
    for pair in pairs:
        table.add_row(pair.called, pair.other, percent(pair.probability), excerpt(pair.prompt, _MAX_PROMPT))
    console().print(table)
    confused = [pair for pair in pairs if pair.is_confused]
    if not confused:
        print_text("No pair is confused.")
    for pair in confused:
        print_text(words.pair_words(pair))


def _pair_as_json(pair: ToolPair) -> dict[str, Any]:
    named = {name: getattr(pair, name) for name in ("called", "other", "prompt", "probability")}
    return {**named, "confused": pair.is_confused, **_as_json(pair.ablation)}


def _as_json(found: PromptAblation) -> dict[str, Any]:
    return {
        **{
            name: getattr(found, name)
            for name in ("run", "constraint", "tokens", "evaluated", "ms", "note", "complete")
        },
        "model": msgspec.to_builtins(found.model),
        "choice": asdict(found.choice),
        "forced": found.is_forced,
        "base": _score(found.base, None),
        "parts": [
            {
                **asdict(effect.omission),
                "name": words.omission_name(effect.omission),
                "tokens": effect.tokens,
                "change": found.change(effect),
                "problem": effect.problem,
                "score": None if effect.score is None else _score(effect.score, found.base),
                "estimate": None if effect.estimate is None else _score(effect.estimate, found.base),
            }
            for effect in found.effects
        ],
    }


def _score(score: Any, base: Any) -> dict[str, Any]:
    return {
        "raw": score.raw,
        "masked": score.masked,
        "probability": score.probability,
        "decision": asdict(score.decision(base)),
        "tokens": [asdict(token) for token in score.tokens],
    }
