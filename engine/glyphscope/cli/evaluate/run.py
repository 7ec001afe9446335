"""`glyphscope eval run`: the options as a matrix, which is evaluated into a new or resumed folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.figures import pluralize
from glyphscope.base.inputs import files_below
from glyphscope.base.structs import ready
from glyphscope.base.visible import visible
from glyphscope.cli.evaluate.report import show_result
from glyphscope.cli.inputs import InputError
from glyphscope.cli.load_options import LoadingOption, StoredPromptsOption
from glyphscope.cli.option_groups import Given, Varied, with_groups
from glyphscope.cli.options import FilesBelowOption, JsonOption, McpOption, YesOption
from glyphscope.cli.output import diagnostics, print_note
from glyphscope.cli.signals import INTERRUPTED, closing_when_ended
from glyphscope.cli.sources import allowed_servers
from glyphscope.cli.streaming import on_first_interrupt
from glyphscope.evals.matrix.arms import LONG, OFFERED, Arm, axes_of, first_value, values_of
from glyphscope.evals.matrix.needs import needs_of
from glyphscope.evals.matrix.plan import Matrix, Plan, plan_of, typed_text
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import MANIFEST, ResultFolder, list_results
from glyphscope.evals.results.report import publish
from glyphscope.evals.running.evaluation import evaluate, newest_result
from glyphscope.evals.running.place import MAX_JOBS, SamplesPlace, read_place
from glyphscope.evals.running.progress import (
    Begun,
    Control,
    EvaluationEnded,
    ModelMissing,
    ModelOpened,
    ProgressWords,
    SampleDone,
    WorkerJoined,
    WorkerLeft,
)
from glyphscope.evals.running.progress import Progress as ProgressEvent
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.evals.suites.imported import NOT_IMPORTED
from glyphscope.evals.suites.reading import STARTER
from glyphscope.models.opening import EMBEDDED, require_installed
from glyphscope.models.remote import is_address
from glyphscope.store import load_project
from glyphscope.store.named_models import NamedModels, downloaded_file, fixed_batch
from glyphscope.store.project import SUFFIX

# typer accepts several values of a list of choices only as an Enum
Levels = StrEnum("Levels", ["simple", "typical", "extreme"])


@with_groups
def run(
    *,
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE…", help="Bundled suites by name, or suite files. [starter]"),
    ] = None,
    more_suites: Annotated[
        list[str] | None, typer.Option("--suite", "-s", metavar="SUITE…", help="The same as an option.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="DIR", help="The parent folder of the result, which is named by the time."
        ),
    ] = Path("eval-results"),
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="M…", help="GGUF files, `embedded`, URLs of endpoints."),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar=f"P{SUFFIX}",
            help="Take prompt, template and sampling from a project, for suites that do not exclude it, and its "
            "notation, constraint and template settings where no option varies them.",
        ),
    ] = None,
    axes: Varied[Arm],
    level: Annotated[list[Levels] | None, typer.Option(help="Only scenarios of these levels.")] = None,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="ID…", help="Only these scenarios; * matches any text.")
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            "--filter", metavar="TEXT", help="Only scenarios with these words in id, group or prompt."
        ),
    ] = "",
    first: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only the first N of these scenarios of each suite."),
    ] = None,
    numbers: Given[Matrix],
    on: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="The place of the samples: local:N runs N of them in parallel, each with a separate model; "
            "dask://HOST:PORT runs them on the workers of a Dask scheduler. [local:1]",
        ),
    ] = "",
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MAX_JOBS, metavar="N", help="The same as --on local:N.")
    ] = None,
    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The model that decides the suites' rubrics: a GGUF file, `embedded`, the URL of an endpoint. "
            "[each suite's own]",
        ),
    ] = "",
    allow_python: Annotated[
        bool,
        typer.Option(
            "--allow-python",
            help="Run the Python functions that the suites name. They may do anything that you may: read them first.",
        ),
    ] = False,
    mcp: McpOption = None,
    keep_servers: Annotated[
        bool,
        typer.Option(
            "--keep-servers",
            help="Do not start an MCP server again after a sample that called it: samples may see what others changed.",
        ),
    ] = False,
    yes: YesOption = False,
    below: FilesBelowOption = None,
    loading: LoadingOption,
    stored: StoredPromptsOption,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the newest result of this matrix below DIR.")
    ] = False,
    retry: Annotated[
        bool,
        typer.Option(
            "--retry", help="With --resume: repeat samples whose model crashed or could not be reached."
        ),
    ] = False,
    fail_under: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Exit code 1 if a configuration's share of ok samples is lower."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run suites with models: every combination of the options is a configuration, with the same seeds in each.

    Without a suite, `starter` runs without a constraint and under the mask: 17 prompts, under two minutes with the
    embedded model. Writes samples, records of all runs, figures and a report. --resume continues an interrupted
    evaluation.
    """
    suites = [*(suites or ()), *(more_suites or ())] or [STARTER]
    given: dict[str, tuple[Any, ...]] = {values_of(name): (first_value(name),) for name in OFFERED}
    own = load_project(project).project.request if project is not None else None
    if own is not None:
        given |= {**axes_of(own), "profiles": ("project",)}
    if suites == [STARTER]:
        given["constraints"] = ("off", "mask")
    for name, values in axes.items():
        given[values_of(name)] = tuple(
            typed_text(name, each) if name in LONG and each else each for each in values
        )
    chosen = {"levels": [str(each) for each in level or ()], "scenarios": scenario or []}
    place = _place(on, jobs)
    models = [_model_name(name, place) for name in model or [EMBEDDED]]
    members = {**given, **chosen, "suites": suites, "models": models}
    judge = _model_name(judge, place) if judge else ""
    matrix = msgspec.convert(
        {**members, **numbers, "first": first or 0, "jobs": place.jobs, "search": search, "judge": judge},
        ready(Matrix),
    )
    for name in matrix.models:
        _require_installed(name, place)
    options = {name: loading.options(name) for name in matrix.models}
    servers = ToolServers(allowed_servers(mcp, yes=yes), keep=keep_servers) if mcp else None
    if servers is not None:
        matrix = msgspec.structs.replace(matrix, servers=servers.identities, keep_servers=keep_servers)
    with files_below(*(below or ())):
        plan = plan_of(matrix, own)
        # an earlier result, which lacks the axis for the order of arguments, has the schema's order
        earlier = msgspec.structs.replace(matrix, orders=("schema",))
        plans = (plan, plan_of(earlier, own)) if resume and "order" not in axes else (plan,)
    for loaded in plan.suites:
        for note in loaded.suite.notes:
            if note.startswith(NOT_IMPORTED):
                print_note(f"{loaded.suite.name}: {note}")
    if own is None:
        print_note("Prompt, template: each suite's own. Sampling: " + ", ".join(matrix.profiles) + ".")
    for note in plan.notes:
        print_note(note)
    for name in dict.fromkeys(needs_of(plan).judges.values()):
        _require_installed(name, place)
        options.setdefault(name, (LoadingOption() if is_address(name) else loading).options(name))
    before = None
    if resume:
        plan, before = _before(out, plans)
    begun = ResultFolder.open(before).manifest.models if before is not None else {}
    options = {name: fixed_batch(name, each, begun.get(name)) for name, each in options.items()}
    control = Control()
    folder, missing = out, 0
    with ExitStack() as stack:
        stack.enter_context(closing_when_ended())
        stack.enter_context(on_first_interrupt(control.stop))
        view = stack.enter_context(ProgressView(plan, quiet=as_json))
        progress = evaluate(
            plan,
            out,
            workers=place.workers(
                NamedModels(options, prompt_cache_mb=stored.prompt_cache_mb), matrix.sequences, servers
            ),
            resume=before,
            again=retry,
            control=control,
            allow_python=allow_python,
        )
        for event in stack.enter_context(closing(progress)):
            view.show(event)
            if isinstance(event, Begun | EvaluationEnded):
                folder = event.folder
            elif isinstance(event, ModelMissing):
                missing += 1
    summary = publish(folder)
    show_result(folder, summary, as_json=as_json)
    if control.stopped.is_set():
        print_note(f"Stopped. Resume with the same command and --resume. Finished samples are in {folder}.")
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(1 if missing or not _is_good(summary, fail_under) else 0)


def _is_good(summary: Summary, least: float | None) -> bool:
    """Whether there were answers, and each arm had enough correct answers to prompts that need tools."""
    answered = sum(arm.tools.answered + (arm.control.answered if arm.control else 0) for arm in summary.arms)
    asked = [arm.tools for arm in summary.arms if arm.tools.n]
    return answered > 0 and (
        least is None or all(tools.answered and tools.ok.share >= least for tools in asked)
    )


def _place(on: str, jobs: int | None) -> SamplesPlace:
    """Raises InputError where both options are given, GlyphscopeError for an invalid place."""
    if on and jobs is not None:
        raise InputError("--on and --jobs exclude each other.", hint=f"--jobs {jobs} is --on local:{jobs}.")
    return read_place(on or f"local:{jobs or 1}")


def _model_name(name: str, place: SamplesPlace) -> str:
    """The file of a downloaded model, wherever workers are to open it."""
    try:
        return downloaded_file(name)
    except ModelError:
        if not place.is_local:  # its workers look for it among their downloaded models
            return name
        raise


def _require_installed(name: str, place: SamplesPlace) -> None:
    if place.is_local:
        require_installed(name)


def _before(out: Path, plans: Sequence[Plan]) -> tuple[Plan, Path | None]:
    """The plan and the result to resume: `out` itself, or the newest result below it of one of the plans."""
    if (out / MANIFEST).is_file():
        digest = ResultFolder.open(out).manifest.digest
        return next((plan for plan in plans if plan.digest == digest), plans[0]), out
    for plan in plans:
        if (found := newest_result(plan, out)) is not None:
            return plan, found
    if list_results(out):
        raise GlyphscopeError(
            "No result has this matrix.",
            where=str(out),
            hint="Use the options of the result to resume, or omit --resume.",
        )
    print_note("There is no result to resume; starting a new one.")
    return plans[0], None


class ProgressView:
    """The progress of `evaluate`: a bar on a terminal, otherwise a line per sample; `quiet` shows neither."""

    def __init__(self, plan: Plan, *, quiet: bool) -> None:
        self._plan = plan
        self._out: Console = diagnostics()
        self._quiet = quiet
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            TimeElapsedColumn(),
            console=self._out,
            disable=quiet or not self._out.is_terminal,
        )
        self._task: TaskID | None = None
        self._words = ProgressWords()

    def __enter__(self) -> ProgressView:
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._bar.stop()

    def show(self, event: ProgressEvent) -> None:
        words = self._words
        words.add(event)
        match event:
            case Begun(folder=folder, manifest=manifest, done=done):
                there = f", {done:,} of them already done" if done else ""
                self._say(
                    f"{pluralize(manifest.planned, 'sample')}{there}: "
                    f"{pluralize(len(manifest.arms), 'configuration')}, "
                    f"{pluralize(sum(suite.scenarios for suite in manifest.suites), 'scenario')}, "
                    f"{pluralize(manifest.trials, 'trial')}. Into {folder}"
                )
                self._task = self._bar.add_task(words.words, total=words.planned, completed=done, left="")
            case ModelMissing(name=name, why=why):
                self._say(f"{name} was skipped: {why}", "bold red")
            case ModelOpened(name=name, problems=problems):
                for problem in problems:
                    self._say(f"{name} cannot run {problem}", "bold red")
            case WorkerJoined(address=address):
                self._say(f"The worker {address} joined.")
            case WorkerLeft(address=address, why=why) if address:
                self._say(f"The worker {address} left: {why}", "bold red")
            case SampleDone(sample=sample, done=done) if not self._out.is_terminal:
                mark = "✓" if sample.ok else "✗"
                why = f" {sample.failures[0].reason}" if sample.failures else ""
                self._say(f"{mark} {done}/{self._plan.cost.samples} {words.last}{why}")
            case _:
                pass
        if self._task is not None:
            self._bar.update(self._task, completed=words.done, description=words.words, left=words.rest)

    def _say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._bar.console.print(Text(visible(text), style))
