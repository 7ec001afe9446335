"""The four files of a lab: every prompt's way, what came of all, what it took, and what it was run with."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from glyphscope.errors import StorageError
from glyphscope.evals.labs.mask_driven import Entry, LabRun, MaskDrivenLab, Timings
from glyphscope.evals.statistics import share, spread
from glyphscope.events import ModelInfo
from glyphscope.inputs import storage_error
from glyphscope.runs.emitter import versions
from glyphscope.sessions import atomic_write

TRANSCRIPT, RESULTS, TIMINGS, MANIFEST = "transcript.json", "results.json", "timings.json", "manifest.json"

NOTES = {
    "mask_construction_ms": "both stages: from schema to grammar text, and the mask compiled from it in the model's "
    "process; each 0 where it was kept",
    "generation_ms": "both stages: evaluating what is new of the prompt, and decoding; from the request to the last "
    "token, without compiling masks",
    "parse_ms": "json.loads of the whole call, and its envelope checked by jsonschema",
    "dispatch_ms": "round trip to the MCP server over stdio: request, tool, answer, output schema",
    "total_ms": "from the prompt to the tool's answer; more than the sum, by rendering prompts and judging tokens",
    "percentiles": "interpolated between the two nearest samples",
    "first_prompt": "has no cache of any kind to begin with: its prompt is evaluated whole",
}


def write_lab(
    folder: Path,
    lab: MaskDrivenLab,
    runs: Sequence[LabRun],
    model: ModelInfo,
    *,
    server: str,
    command: str,
) -> list[Path]:
    """Writes the files; the transcript and the results are the first run's. Each whole or not at all.

    Raises StorageError.
    """
    first = runs[0].entries
    documents: dict[str, Any] = {
        TRANSCRIPT: [_entry(entry) for entry in first],
        RESULTS: _results(first),
        TIMINGS: _timings(runs),
        MANIFEST: _manifest(lab, runs, model, server=server, command=command),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(error, folder, "made") from error
    written = []
    for name, document in documents.items():
        path = folder / name
        atomic_write(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
        written.append(path)
    return written


def check_folder(folder: Path) -> None:
    """Raises StorageError where the files cannot be written, before twenty prompts are answered."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise storage_error(error, folder, "made") from error
    if not writable:
        raise StorageError("The folder cannot be written to.", where=str(folder), hint="Choose another one.")


def _entry(entry: Entry) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(entry)
    return {key: value for key, value in document.items() if not (key.endswith("_error") and value == "")}


def _results(entries: Sequence[Entry]) -> dict[str, Any]:
    n = len(entries)
    by_tool = {
        tool: share(sum(e.right_tool for e in of), len(of))
        for tool in sorted({entry.expected_tool for entry in entries})
        if (of := [entry for entry in entries if entry.expected_tool == tool])
    }
    document: dict[str, Any] = msgspec.to_builtins(
        {
            "total_prompts": n,
            "parse_failures": sum(bool(entry.parse_error) for entry in entries),
            "dispatch_failures": sum(bool(entry.dispatch_error) for entry in entries),
            "tool_errors": sum(bool(entry.tool_error) for entry in entries),
            "tool_choice": share(sum(entry.right_tool for entry in entries), n),
            "whole_call": share(sum(entry.right_call for entry in entries), n),
            "tool_choice_by_tool": by_tool,
        }
    )
    return document


def _timings(runs: Sequence[LabRun]) -> dict[str, Any]:
    return {
        "prompts": [_timed(entry) for entry in runs[0].entries],
        "summary": _summary(runs[0].entries),
        "further_runs": [
            {"summary": _summary(run.entries), "prompts": [_timed(entry) for entry in run.entries]}
            for run in runs[1:]
        ],
        "notes": NOTES,
    }


def _timed(entry: Entry) -> dict[str, Any]:
    times = {f"{name}_ms": getattr(entry.timings_ms, name) for name in Timings.__struct_fields__}
    hits = msgspec.to_builtins(entry.mask_cache_hit)
    return {"prompt": entry.prompt, **times, "mask_cache_hit": hits, "tokens": entry.tokens}


def _summary(entries: Sequence[Entry]) -> dict[str, Any]:
    told: dict[str, Any] = {"n": len(entries)}
    for name in Timings.__struct_fields__:
        told[f"{name}_ms"] = msgspec.to_builtins(spread([getattr(e.timings_ms, name) for e in entries]))
    hits = [hit for e in entries for hit in (e.mask_cache_hit.name, e.mask_cache_hit.arguments)]
    told["mask_cache_hits"] = {
        "hits": sum(hit is True for hit in hits),
        "masks": sum(hit is not None for hit in hits),
    }
    return told


def _manifest(
    lab: MaskDrivenLab, runs: Sequence[LabRun], model: ModelInfo, *, server: str, command: str
) -> dict[str, Any]:
    request = lab.request
    return {
        "lab": "mask-driven",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "server": server,
        "versions": versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "seed": request.sampling.seed,
        "sampling": msgspec.to_builtins(request.sampling),
        "max_tokens": request.max_tokens,
        "strategy": request.strategy,
        "constraint": request.constraint,
        "notation": request.notation,
        "shape": request.shape,
        "prompt_preset": request.preset,
        "model": msgspec.to_builtins(model),
        "model_sha256": model.sha256,
        "quantisation": model.quantisation,
        "registry_digest": lab.registry.digest,
        "tools": [tool.name for tool in lab.registry.allowed],
        "prompts": len(runs[0].entries),
        "runs": len(runs),
    }
