"""An evaluation: suites run with models, and its samples as a data frame."""

from __future__ import annotations

import html
import importlib
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec

from glyphscope import events
from glyphscope.api.bars import progress_bar
from glyphscope.api.runs import Run, recorded
from glyphscope.api.tools import AnswerLike, answer_of
from glyphscope.base.errors import GlyphscopeError, ModelError
from glyphscope.base.inputs import files_below
from glyphscope.base.structs import ready
from glyphscope.evals.matrix.arms import ArmNotation, Workarounds, axes_of
from glyphscope.evals.matrix.plan import Matrix, plan_of
from glyphscope.evals.results.export import export_samples, sample_columns
from glyphscope.evals.results.figures import Summary
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.report import REPORT, publish
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.words import ARM_TITLES, arm_cells, arm_labels
from glyphscope.evals.running import evaluation as running
from glyphscope.evals.running.place import SamplesPlace, read_place
from glyphscope.evals.running.progress import ModelMissing, Progress, ProgressWords
from glyphscope.evals.running.tool_servers import ToolServers
from glyphscope.store import load_project
from glyphscope.store.named_models import NamedModels, fixed_batch
from glyphscope.tools.mcp import read_servers

_FRAMES = ("pandas", "polars")
"""The libraries of data frames, the preferred one first."""


class Axes(TypedDict, total=False):
    """The settings to vary, and the number of samples (`glyphscope eval run --help` describes them). Other members of
    `Matrix` are accepted too.
    """

    notations: Sequence[ArmNotation]
    answers: Sequence[AnswerLike | None]
    shapes: Sequence[events.Shape]
    constraints: Sequence[events.ConstraintKind]
    strategies: Sequence[events.Strategy | None]
    repairs: Sequence[int]
    profiles: Sequence[str]
    workarounds: Sequence[Workarounds]
    thinking: Sequence[events.Thinking]
    reasoning_efforts: Sequence[str]
    template_vars: Sequence[str]
    system_prompts: Sequence[str | None]
    chat_templates: Sequence[str | None]
    control_texts: Sequence[events.ControlTexts]
    constrain_from: Sequence[events.ConstrainFrom]
    orders: Sequence[events.ArgumentOrder | None]
    levels: Sequence[str]
    scenarios: Sequence[str]
    search: str
    first: int
    trials: int
    seed: int
    jobs: int
    sequences: int
    keep_servers: bool
    savings: float
    judge: str


class Evaluation:
    """The result of an evaluation, in its folder."""

    def __init__(self, path: str | Path) -> None:
        """Raises StorageError and RecordError for a folder that has no result."""
        self._folder = ResultFolder.open(Path(path))

    @property
    def path(self) -> Path:
        return self._folder.path

    @property
    def report(self) -> Path:
        """The HTML report, which `summary` writes."""
        return self.path / REPORT

    @cached_property
    def summary(self) -> Summary:
        """The figures of each arm, with intervals and paired comparisons; also written to the folder."""
        return publish(self.path)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """All samples, each read from the folder when it is used. Raises StorageError and RecordError, also then."""
        return self._folder.samples()

    def run(self, sample: Sample, turn: int = 1) -> Run:
        """The recorded run of a sample, or of one of its turns. Raises RecordError and StorageError."""
        return recorded(self._folder.record(sample.runs[turn - 1]).events)

    def columns(self) -> dict[str, list[Any]]:
        """The samples by column, as in the CSV export; None for unknown values."""
        return sample_columns(self._folder.manifest, self.samples)

    def to_frame(self) -> Any:
        """The samples as a data frame of pandas, or of Polars if pandas is not installed: one row per sample.

        Raises GlyphscopeError if neither is installed.
        """
        installed = next((name for name in _FRAMES if find_spec(name) is not None), "")
        if not installed:
            raise GlyphscopeError(
                "No library of data frames is installed.", hint="Install one: pip install pandas, or polars."
            )
        return importlib.import_module(installed).DataFrame(self.columns())

    def export(self, out: str | Path) -> tuple[Path, ...]:
        """Write the samples as `glyphscope eval export` does, in the format of the file's extension: a table (`.csv`,
        `.parquet`), or logs of Inspect (`.eval`, `.json`). Returns the files' paths.

        Raises GlyphscopeError, also if the package for that format is not installed.
        """
        return export_samples(self._folder, Path(out)).files

    def __repr__(self) -> str:
        return f"<Evaluation {self.path.name}: {len(self.samples):,} samples>"

    def _repr_html_(self) -> str:
        """The shares of each arm, with their 95% intervals."""
        labels = arm_labels(self._folder.manifest.arms)
        rows = [_row(ARM_TITLES, "th"), *(_row(arm_cells(arm, labels), "td") for arm in self.summary.arms)]
        return f"<table>{''.join(rows)}</table>"


def evaluate(
    suites: str | Path | Iterable[str | Path] = "starter",
    models: str | Iterable[str] = "embedded",
    *,
    out: str | Path = "eval-results",
    options: events.LoadOptions = events.DEFAULT_LOAD,
    on: str = "",
    resume: bool = False,
    project: str | Path | None = None,
    below: str | Path | Iterable[str | Path] = (),
    mcp: str | Path | Iterable[str | Path] = (),
    progress: bool | Callable[[Progress], None] | None = None,
    **axes: Unpack[Axes],
) -> Evaluation:
    """Run suites (names of bundled ones, or files) with every combination of the axes, and save a result below `out`.

    `on` is the place of the samples: `local:N` (the same as `jobs=N`), or `dask://HOST:PORT` of a Dask scheduler.
    `resume` continues the newest result of the same settings, if there is one. `project` is the file of a project whose
    prompt, template and sampling are used, and its notation and constraint unless they are varied. `below`
    are folders whose files the suites may also name, beside those below their own. `mcp` are files of MCP
    servers, which are started and execute calls; samples share them with `keep_servers`. `progress` shows a bar on
    stderr (None: in terminals and notebooks), or is called with each report (`SampleDone` has a sample). Interrupting
    it keeps the samples so far. A model that cannot be opened is left out, with a warning. Raises SuiteError,
    ModelError where no model can be opened, StorageError, GlyphscopeError for an invalid setting, and TypeError for an
    unknown one.
    """
    if unknown := sorted(set(axes) - (set(Matrix.__struct_fields__) - {"suites", "models"})):
        raise TypeError(f"evaluate() has no setting {unknown[0]!r}")
    if on and "jobs" in axes:
        raise TypeError("evaluate() takes either on or jobs")
    place = read_place(on) if on else SamplesPlace(axes.get("jobs", 1))
    axes["jobs"] = place.jobs
    own = load_project(Path(project)).project.request if project is not None else None
    of_project = {} if own is None else {**axes_of(own), "profiles": ("project",)}
    given = {"suites": _texts(suites), "models": _texts(models), "orders": (None,), **of_project, **axes}
    found = [
        config for file in _texts(mcp) for config in read_servers(Path(file)).servers if not config.disabled
    ]
    servers = ToolServers(found, keep=axes.get("keep_servers", False)) if found else None
    given["servers"] = servers.identities if servers is not None else ()
    given["answers"] = [None if each is None else answer_of(each) for each in axes.get("answers", (None,))]
    try:
        matrix = msgspec.convert(given, ready(Matrix))
    except msgspec.ValidationError as error:
        raise GlyphscopeError(f"Invalid setting of an evaluation: {error}.") from None
    with files_below(*map(Path, _texts(below))):
        plan, folder = plan_of(matrix, own), Path(out)
    before = running.newest_result(plan, folder) if resume else None
    begun = ResultFolder.open(before).manifest.models if before is not None else {}
    fixed = {name: fixed_batch(name, options, begun.get(name)) for name in matrix.models}
    reports = running.evaluate(
        plan,
        folder,
        resume=before,
        workers=place.workers(NamedModels(fixed, usual=options), matrix.sequences, servers),
    )
    missing: dict[str, str] = {}
    words = ProgressWords()
    bar = progress_bar(False if callable(progress) else progress, "samples")
    with closing(reports), bar as show:
        for report in reports:
            folder = getattr(report, "folder", folder)
            if isinstance(report, ModelMissing):
                missing[report.name] = report.why
            words.add(report)
            show(words.done, words.planned, ", ".join(filter(None, (words.words, words.rest))))
            if callable(progress):
                progress(report)
    if len(missing) == len(matrix.models):
        raise ModelError(next(iter(missing.values())), where=next(iter(missing)))
    for name, why in missing.items():
        warnings.warn(f"{name} is left out: {why}", stacklevel=2)
    return Evaluation(folder)


def _texts(names: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
    return (str(names),) if isinstance(names, str | Path) else tuple(map(str, names))


def _row(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
