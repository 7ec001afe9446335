"""The samples of a result for other programs: as CSV, a table with a row each, or in the formats of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.plugins import PluginGroup
from glyphscope.evals.matrix.arms import Arm
from glyphscope.evals.results.folder import ResultFolder
from glyphscope.evals.results.manifest import Manifest
from glyphscope.evals.results.sample import Sample
from glyphscope.evals.results.summary import csv_lines
from glyphscope.events.encoding import encode_json
from glyphscope.store import atomic_file

_AXES = Arm.__struct_fields__
KINDS: dict[str, str] = {
    "arm": "string", **dict.fromkeys(_AXES, "string"), "repair": "int64",
    "suite": "string", "scenario": "string", "trial": "int64", "seed": "int64", "group": "string", "level": "string",
    "control": "bool_", "answered": "bool_", "ok": "bool_", "parsed": "bool_", "valid": "bool_", "right_tool": "bool_",
    "right_arguments": "bool_", "reason": "string", "code": "string", "path": "string", "detail": "string",
    "calls": "string", "text": "string", "outcome": "string", "prompt_tokens": "int64", "instructions": "int64",
    "decoded": "int64", "forced": "int64", "stopped_at": "int64", "saved": "int64", "first_token_ms": "float64",
    "total_ms": "float64", "judge_model": "string", "judge_pass": "bool_", "judge_reason": "string",
    "judge_prompt": "string", "judged": "string", "run": "string", "time": "string",
}  # fmt: skip
"""Columns with pyarrow's names of their types. `reason`, `code`, `path` and `detail` belong to the first failure;
`calls` is JSON; the judge's columns belong to its deciding verdict, and `judged` has all verdicts as JSON; `run` is
the first record's path in the result's folder."""
COLUMNS = tuple(KINDS)


class Exported(NamedTuple):
    """The number of samples, and the files with them."""

    samples: int
    files: tuple[Path, ...]


class SampleExporter(NamedTuple):
    """A format with that `title` in dialogs. `write` raises GlyphscopeError, also if a package is not installed."""

    title: str
    write: Callable[[ResultFolder, Path], Exported]


EXPORTERS: PluginGroup[SampleExporter] = PluginGroup("glyphscope.sample_exporters", SampleExporter)
"""By the extension of their files, without the dot."""


def export_samples(folder: ResultFolder, out: Path) -> Exported:
    """Write all samples in the format of the file's extension: as one table, or in several files.

    In CSV, unknown values are empty cells, and texts that are spreadsheet formulas get an apostrophe.

    Raises GlyphscopeError for an unknown extension, and if a package that the format needs is not installed;
    StorageError and RecordError for a result that cannot be read or a file that cannot be written.
    """
    ending = out.suffix.lower().removeprefix(".")
    if ending == "csv":
        samples = folder.samples()
        lines = csv_lines(COLUMNS, _rows(folder.manifest, samples))
        with atomic_file(out) as file:
            file.writelines(line.encode("utf-8", "replace") for line in lines)
        return Exported(len(samples), (out,))
    exporter = EXPORTERS.get(ending)
    if exporter is None:
        known = [f".{name}" for name in EXPORTERS.names]
        raise GlyphscopeError(
            f"Unknown format of samples: {out.suffix or 'no file extension'}.",
            where=str(out),
            hint=f"End the file's name with {', '.join(['.csv', *known])}.",
        )
    return exporter.write(folder, out)


def sample_columns(manifest: Manifest, samples: Iterable[Sample]) -> dict[str, list[Any]]:
    """The table of the samples by column; None for unknown values."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row in _rows(manifest, samples):
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return columns


def _rows(manifest: Manifest, samples: Iterable[Sample]) -> Iterator[list[Any]]:
    arms = {arm.id: arm for arm in manifest.arms}
    return (_row(sample, arms.get(sample.arm)) for sample in samples)


def _row(sample: Sample, arm: Arm | None) -> list[Any]:
    failure = sample.failures[0] if sample.failures else None
    judged = sample.judged[-1] if sample.judged else None  # a verdict that does not pass is the last
    special: dict[str, Any] = {
        **({name: getattr(arm, name) for name in _AXES} if arm is not None else dict.fromkeys(_AXES)),
        **{name: getattr(failure, name, "") for name in ("reason", "code", "path", "detail")},
        "judge_model": judged.model if judged else "",
        "judge_pass": judged.passed if judged else None,
        "judge_reason": (judged.reason or judged.error) if judged else "",
        "judge_prompt": judged.prompt if judged else "",
        "judged": encode_json(sample.judged).decode("utf-8", "replace") if judged else "",
        "calls": encode_json(sample.calls).decode("utf-8", "replace"),
        "prompt_tokens": sample.prompt_tokens or None,
        "run": sample.runs[0] if sample.runs else "",
    }
    if arm is not None and arm.strategy is None:
        special["strategy"] = "suite"
    if arm is not None:
        special["answer"] = "suite" if arm.answer is None else arm.answer.description
    row = [special[name] if name in special else getattr(sample, name) for name in COLUMNS]
    return [each.encode("utf-8", "replace").decode() if isinstance(each, str) else each for each in row]
