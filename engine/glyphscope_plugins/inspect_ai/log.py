"""A result as logs of Inspect (inspect_ai), for its reader and its viewer: one for each suite and arm."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from glyphscope.base.errors import GlyphscopeError, RecordError
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.export import Exported, SampleExporter
from glyphscope.evals.results.figures import SCORES
from glyphscope.evals.results.folder import ResultFolder, safe_name
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.table import ReadList, Samples
from glyphscope.evals.suites.reading import parse_suite
from glyphscope.evals.suites.suite import Scenario
from glyphscope.events import ModelInfo
from glyphscope.events.encoding import whole_text
from glyphscope.store import atomic_file
from glyphscope.store.exports import RecordedRun
from glyphscope.store.files import own_file
from glyphscope_plugins.inspect_ai.sample import (
    Document,
    error_document,
    sample_document,
    sampling_document,
    stable_id,
    sum_usage,
    valid_time,
)


def export_inspect(folder: ResultFolder, out: Path) -> Exported:
    """Write the logs: `out` itself for one, otherwise `NAME.SUITE.ARM.eval` beside it. One log is in memory at a time,
    as inspect_ai writes it whole.

    Raises GlyphscopeError if inspect_ai is not installed, StorageError, and RecordError for a damaged result.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        raise GlyphscopeError(
            "Logs of Inspect need inspect_ai, which is not installed.",
            where=str(out),
            hint="Install it (pip install 'glyphscope[inspect]'), or export CSV.",
        )
    samples = folder.samples()
    logs = _Logs(folder, samples)
    parts = [(suite.name, arm) for suite in folder.manifest.suites for arm in folder.manifest.arms]
    paths = []
    for suite, arm in parts:
        name = f"{out.stem}.{safe_name(suite)}.{safe_name(arm.id)}{out.suffix}"
        paths.append(out if len(parts) == 1 else own_file(out.parent, name))
        with atomic_file(paths[-1]) as file:
            _write(file, logs.log(suite, arm), out.suffix.lower(), str(folder.path))
    return Exported(len(samples), tuple(paths))


def _validated(kind: Any, document: Document, where: str) -> Any:
    """The document as inspect_ai's model. Raises RecordError if a damaged result has a value that it cannot have."""
    from pydantic import ValidationError

    try:
        return kind.model_validate(_clean(document))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RecordError(
            f"The result does not fit into a log of Inspect: {place}: {first['msg']}.",
            where=where,
            hint="It was changed, or not written by Glyphscope. Export CSV.",
        ) from None


def _write(file: BinaryIO, document: Document, ending: str, where: str) -> None:
    """Write the log as inspect_ai does, with inspect_ai's own figures of the scores. Raises RecordError."""
    from inspect_ai.log import EvalLog, recompute_metrics, write_eval_log_async

    log = _validated(EvalLog, document, where)
    if log.samples:
        recompute_metrics(log)
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(1) as thread:
        path = Path(place) / f"log{ending}"
        # in a thread without an event loop: with a notebook's loop, inspect_ai would patch asyncio
        thread.submit(asyncio.run, write_eval_log_async(log, path)).result()
        with open(path, "rb") as written:
            shutil.copyfileobj(written, file)


def _clean(value: Any) -> Any:
    """The document without lone surrogates, which a model can write and UTF-8 cannot encode."""
    match value:
        case str():
            return whole_text(value)
        case dict():
            return {_clean(key): _clean(each) for key, each in value.items()}
        case list() | tuple():
            return [_clean(each) for each in value]
    return value


class _Logs:
    """The logs of a result, as documents in Inspect's format of version 2."""

    def __init__(self, folder: ResultFolder, samples: Samples) -> None:
        self._folder = folder
        self._samples = samples
        self._scenarios: dict[str, dict[str, Scenario]] = {}

    def log(self, suite: str, arm: Arm) -> Document:
        """The log, whose samples are inspect_ai's already, which need less memory than their documents."""
        from inspect_ai.log import EvalSample

        manifest = self._folder.manifest
        info = manifest.models.get(arm.model)
        model = arm.id.partition(".")[0] if info is None else f"{info.kind}/{info.name}"
        used = next(each for each in manifest.suites if each.name == suite)
        missing = manifest.missing.get(arm.model, "")
        made: list[EvalSample] = []
        usages: list[Document] = []
        last = ""
        for sample in self._of(suite, arm.id):
            sampled = self._sample(sample, model)
            usages.append(sampled["model_usage"].get(model, {}))
            last = max(last, sample.time)
            made.append(_validated(EvalSample, sampled, str(self._folder.path)))
        document: Document = {
            "version": 2,
            "status": "error" if missing else "success" if manifest.finished else "cancelled",
            "eval": {
                "eval_id": stable_id(manifest.digest, manifest.started, suite, arm.id),
                "run_id": stable_id(manifest.digest, manifest.started),
                "task_id": stable_id(suite, used.digest, arm.id),
                "created": valid_time(manifest.started).isoformat(),
                "task": suite,
                "task_version": used.digest[:12] or 0,
                "task_args": msgspec.to_builtins(arm),
                "dataset": {
                    "name": suite,
                    "samples": used.scenarios,
                    "sample_ids": list(dict.fromkeys(each.id for each in made)),
                    "shuffled": False,
                },
                "model": model,
                "model_base_url": info.path if info is not None and info.kind == "remote" else None,
                "model_args": _facts(info),
                "model_generate_config": sampling_document(manifest.profiles.get(arm.id)),
                "config": {"epochs": manifest.trials, "epochs_reducer": ["mean"], "fail_on_error": False},
                "packages": manifest.versions,
                "scorers": [
                    {"name": measure, "metrics": [{"name": "accuracy"}, {"name": "stderr"}]}
                    for measure in SCORES
                ],
                "metadata": {
                    "about": used.about,
                    "seed": manifest.seed,
                    "machine": msgspec.to_builtins(manifest.machine),
                },
            },
            "plan": {
                "name": "glyphscope",
                "steps": [{"solver": "glyphscope", "params": msgspec.to_builtins(arm)}],
            },
            "stats": {
                "started_at": valid_time(manifest.started).isoformat(),
                "completed_at": valid_time(manifest.finished or last or manifest.started).isoformat(),
                "model_usage": {model: usage} if made and (usage := sum_usage(usages)) else {},
            },
            "samples": made,
        }
        if missing:
            document["error"] = error_document(missing)
        return document

    def _of(self, suite: str, arm: str) -> Iterable[Sample]:
        """The samples of a log, in the order of their lines."""
        table = self._samples.table
        cells = (n for n, cell in enumerate(table.cells) if (cell.suite, cell.arm) == (suite, arm))
        rows = table.of_cells(cells)
        rows = rows.where(rows["start"].argsort())
        return ReadList(rows.places, lambda places: self._samples.at(table.rows[places]))

    def _sample(self, sample: Sample, model: str) -> Document:
        judged = [(each, run) for each in sample.judged for run in self._recorded([each.run])]
        return sample_document(
            sample, self._scenario(sample), model, list(self._recorded(sample.runs)), judged
        )

    def _recorded(self, names: Iterable[str]) -> Iterator[RecordedRun]:
        """The records of those names that exist: a folder may have been copied without them."""
        for name in names:
            if self._folder.has_record(name):
                yield RecordedRun(self._folder.record(name).events, str(self._folder.path / name))

    def _scenario(self, sample: Sample) -> Scenario | None:
        """The scenario as it was used; None if its suite is missing in the folder."""
        if sample.suite not in self._scenarios:
            try:
                suite = parse_suite(self._folder.suite(sample.suite), where=sample.suite)
                self._scenarios[sample.suite] = {each.id: each for each in suite.scenarios}
            except GlyphscopeError:
                self._scenarios[sample.suite] = {}
        return self._scenarios[sample.suite].get(sample.scenario)


def _facts(info: ModelInfo | None) -> Document:
    """The facts about a model that figures depend on."""
    if info is None:
        return {}
    names = ("sha256", "quantisation", "architecture", "parameters", "context", "bytes", "server", "load")
    return {name: value for name in names if (value := msgspec.to_builtins(getattr(info, name)))}


LOG = SampleExporter("Inspect", export_inspect)
LOG_AS_JSON = SampleExporter("Inspect as JSON", export_inspect)
