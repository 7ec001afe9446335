"""The mask-driven lab: an evaluation of the suite `mask-driven` whose calls an MCP server executes, in four files.

`MaskDrivenLab` makes the runs and an `Entry` for each; `write_lab` writes the transcript, the results, the timings and
the manifest. Each call is validated against `build_tool_call_schema`, the schema of `{"name": …, "arguments": …}`. The
masks are not made from that schema: the strategy is two-stage, so the name is decoded under a grammar of names, and
decides which schema masks the arguments.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from glyphscope.base.errors import GlyphscopeError, ModelError, StorageError, SuiteError
from glyphscope.base.inputs import storage_error
from glyphscope.base.json_values import json_file
from glyphscope.evals.matrix.plan import Matrix, Planned, plan_of
from glyphscope.evals.running.local_workers import run_samples
from glyphscope.evals.running.progress import Control
from glyphscope.evals.running.requests import request_for
from glyphscope.evals.running.worker_pool import FinishedSample
from glyphscope.evals.statistics import share, spread
from glyphscope.evals.suites.reading import load_suite
from glyphscope.events import ApprovalRule, ModelInfo, RunRequest, Sampling, ToolResult
from glyphscope.grammar.checking import validator_of
from glyphscope.models.interface import Model
from glyphscope.models.scripted import ScriptedModel
from glyphscope.registry import ToolRegistry
from glyphscope.registry.making import object_schema
from glyphscope.runs import NonInteractive, PreparedRequest, RunState, run_state
from glyphscope.runs.emitter import versions
from glyphscope.store import atomic_write
from glyphscope.store.files import own_file
from glyphscope.tools import ToolSource
from glyphscope.turns.parts import before_arguments

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SUITE = "mask-driven"
STUB = "stub with the expected calls"
CALL_SECONDS = 30.0
"""The time limit for the server to answer one call."""
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
"""How each figure of the timings is measured."""


class Timings(msgspec.Struct, frozen=True):
    """Milliseconds; `NOTES` describes how each is measured."""

    mask_construction: float
    generation: float
    parse: float
    dispatch: float
    total: float


class CacheHit(msgspec.Struct, frozen=True):
    """Whether each stage's mask was cached; None for a stage that did not begin."""

    name: bool | None = None
    arguments: bool | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt with its call, as in the transcript. `model_output_*` are the model's texts, None for a part that it
    did not reach. `tool_result` is the tool's text or JSON, `{"error": …}` if it failed or did not run, and None
    without a call. At most one of `parse_error`, `dispatch_error` and `tool_error` is not empty.
    """

    prompt: str
    model_output_str: str
    model_output_name: str | None
    model_output_args: str | None
    parsed_tool_call: dict[str, Any] | None
    tool_result: str | dict[str, Any] | None
    timings_ms: Timings
    expected_tool: str
    expected_args: dict[str, Any]
    mask_cache_hit: CacheHit
    tokens: int
    parse_error: str = ""
    dispatch_error: str = ""
    tool_error: str = ""

    @property
    def right_tool(self) -> bool:
        return self.model_output_name == self.expected_tool

    @property
    def right_call(self) -> bool:
        call = self.parsed_tool_call or {}
        return self.right_tool and call.get("arguments") == self.expected_args


def gold_model(suite: str = SUITE) -> ScriptedModel:
    """A model that answers each scenario with the call that it expects: the lab then only tests what is around a model.

    Raises SuiteError, also for a scenario that does not expect exactly one call.
    """
    turns: list[str] = []
    for scenario in load_suite(suite).scenarios:
        if len(scenario.expect.calls) != 1:
            raise SuiteError("The lab needs one expected call for each prompt.", where=scenario.id)
        (call,) = scenario.expect.calls
        turns += (json.dumps(call.tools[0]), json.dumps(call.arguments or {}, separators=(",", ":")) + "}")
    return ScriptedModel(turns=turns, name=STUB)


class MaskDrivenLab:
    """An evaluation of the suite `mask-driven` in one arm, whose calls a source of tools executes.

    Every sample is a separate run with the same seed; a trial runs all prompts before the next one begins.
    """

    def __init__(
        self, model: Model, source: ToolSource, sampling: Sampling, runs: int = 1, suite: str = SUITE
    ) -> None:
        """Raises GlyphscopeError if the source has no tools, SuiteError for errors in another suite."""
        self._model, self._source = model, source
        self.registry = ToolRegistry(tuple(source.tools()))
        if not self.registry.tools:
            raise GlyphscopeError("The server has no tools.", where=source.identity)
        matrix = Matrix(
            suites=(suite,),
            models=(model.info.name,),
            notations=("json",),
            shapes=("name-arguments",),
            orders=(None,),
            trials=runs,
            seed=sampling.seed,
        )
        samples = [replace(each, request=self._request(each, sampling)) for each in plan_of(matrix).samples()]
        self.samples = sorted(samples, key=lambda each: each.trial)
        self._call_validator = validator_of(
            build_tool_call_schema({tool.name: tool.parameters for tool in self.registry.allowed})
        )

    @property
    def request(self) -> RunRequest:
        """The first sample's; the others differ only in the prompt."""
        assert self.samples[0].request is not None
        return self.samples[0].request.request

    def entries(self) -> Generator[Entry, None, None]:
        """Yield each sample's entry when it is done. Raises ModelError if a run failed."""
        sources = {self._source.name: self._source}
        runs = run_samples(
            self.samples, self._model, lambda cancelled: NonInteractive(sources, cancelled), Control()
        )
        with closing(runs):
            yield from map(self._entry, runs)

    def _request(self, planned: Planned, sampling: Sampling) -> PreparedRequest:
        suite, name = planned.suite.suite, self._source.name
        request = request_for(planned.arm, suite, planned.scenario, self.registry, sampling)
        loop = msgspec.structs.replace(request.loop, max_tool_seconds=CALL_SECONDS)
        request = msgspec.structs.replace(
            request,
            dispatch=True,
            sources={tool.name: name for tool in self.registry.allowed},
            approvals=(ApprovalRule(source=name, action="allow"),),
            loop=loop,
            alternatives=0,
            evidence="none",
        )
        return PreparedRequest(request, self.registry)

    def _entry(self, made: FinishedSample) -> Entry:
        prompt, (expected,) = made.planned.scenario.prompt, made.planned.scenario.expect.calls
        state = run_state(made.runs[0])
        if state.failed is not None:
            raise ModelError(state.failed.message, where=f"the prompt {prompt!r}", hint=state.failed.hint)
        assert state.finished is not None
        text, name, arguments = self._outputs(state)
        began = time.perf_counter()
        call, parse_error = self._parsed(text)
        parse_ms = (time.perf_counter() - began) * 1000
        result = next(
            (event for stage in state.stages for event in stage.outline if isinstance(event, ToolResult)),
            None,
        )
        masks_ms, generation_ms = _mask_and_generation_ms(state)
        message = "" if result is None or result.ok else result.message or result.fault
        of_tool = result is not None and result.fault == "tool"
        return Entry(
            prompt=prompt,
            model_output_str=text,
            model_output_name=name,
            model_output_args=arguments,
            parsed_tool_call=call,
            tool_result=_result_json(result),
            timings_ms=Timings(
                mask_construction=masks_ms,
                generation=generation_ms,
                parse=parse_ms,
                dispatch=result.ms if result else 0.0,
                total=state.finished.total_ms + parse_ms,
            ),
            expected_tool=expected.tools[0],
            expected_args=expected.arguments or {},
            mask_cache_hit=_cache_hits(state),
            tokens=state.finished.tokens,
            parse_error=parse_error,
            dispatch_error="" if of_tool else message,
            tool_error=message if of_tool else "",
        )

    def _outputs(self, state: RunState) -> tuple[str, str | None, str | None]:
        """The model's texts: the whole call, its name, its arguments; for an invalid call, the parsed parts."""
        if state.call is None:
            named = state.stages[0].tool
            return "".join(stage.text for stage in state.stages), named.name if named else None, None
        call, request = state.call, self.request
        before = before_arguments(request.notation, request.shape, call.tool)
        return call.text, call.tool, call.text[len(before) : -1]

    def _parsed(self, text: str) -> tuple[dict[str, Any] | None, str]:
        """The call, parsed as any client would and validated; or the reason why there is none."""
        try:
            call = json.loads(text)
        except ValueError as error:
            return None, f"no JSON: {error}"
        violation = next(self._call_validator.iter_errors(call), None)
        return (call, "") if violation is None else (None, f"no call: {violation.message}")


def build_tool_call_schema(tool_schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of `{"name": …, "arguments": …}`, a call of exactly one of the tools: `parameters` by name.

    Each tool's schema gets its own `$id`, so that its `#/…` references still resolve within it.
    """
    return {
        "$schema": DIALECT,
        **object_schema({"name": {"enum": list(tool_schemas)}, "arguments": {"type": "object"}}),
        "oneOf": [
            {
                "properties": {
                    "name": {"const": name},
                    "arguments": {**schema, "$id": f"urn:tool:{quote(name, safe='')}"},
                }
            }
            for name, schema in tool_schemas.items()
        ],
    }


def _result_json(result: ToolResult | None) -> str | dict[str, Any] | None:
    if result is None:
        return None
    if not result.ok:
        return {"error": result.message or result.fault}
    text = "\n".join(piece.text for piece in result.content if piece.kind == "text")
    return text or result.structured


def _cache_hits(state: RunState) -> CacheHit:
    hits = {stage.name: stage.constraint.hit for stage in state.stages if stage.constraint is not None}
    return CacheHit(hits.get("name"), hits.get("arguments"))


def _mask_and_generation_ms(state: RunState) -> tuple[float, float]:
    """Both stages' milliseconds for masks (built and compiled), and for decoding without compiling: the engine compiles
    a mask during the generation, whose time includes it.
    """
    constraints = [stage.constraint for stage in state.stages if stage.constraint is not None]
    finished = (stage.finished for stage in state.stages if stage.kind != "tool")
    compiled = sum(each.compile_ms for each in constraints)
    built = sum(each.build_ms for each in constraints)
    return built + compiled, sum(each.ms for each in finished if each is not None) - compiled


def write_lab(
    folder: Path,
    lab: MaskDrivenLab,
    runs: Sequence[Sequence[Entry]],
    model: ModelInfo,
    *,
    server: str,
    command: str,
) -> list[Path]:
    """Write the files and return their paths. Each of `runs` has all prompts once; transcript and results are from the
    first one. Raises StorageError.
    """
    first = runs[0]
    documents: dict[str, Any] = {
        TRANSCRIPT: [_document(entry) for entry in first],
        RESULTS: results_of(first),
        TIMINGS: _timings(runs),
        MANIFEST: _manifest(lab, runs, model, server=server, command=command),
    }
    check_folder(folder)
    for name, document in documents.items():
        atomic_write(own_file(folder, name), json_file(document))
    return [folder / name for name in documents]


def check_folder(folder: Path) -> None:
    """Make the folder. Raises StorageError if files cannot be written; call it also before the long runs."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise storage_error(error, folder, "made") from error
    if not writable:
        raise StorageError("The folder cannot be written to.", where=str(folder), hint="Choose another one.")


def _document(entry: Entry) -> dict[str, Any]:
    """The entry for the transcript, without its empty errors."""
    document: dict[str, Any] = msgspec.to_builtins(entry)
    return {key: value for key, value in document.items() if not key.endswith("_error") or value}


def results_of(entries: Sequence[Entry]) -> dict[str, Any]:
    """The counts of one run's errors, and the shares (with intervals) of expected tools and expected calls."""
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


def _timings(runs: Sequence[Sequence[Entry]]) -> dict[str, Any]:
    return {
        "prompts": [_timed(entry) for entry in runs[0]],
        "summary": _summary(runs[0]),
        "further_runs": [
            {"summary": _summary(run), "prompts": [_timed(entry) for entry in run]} for run in runs[1:]
        ],
        "notes": NOTES,
    }


def _timed(entry: Entry) -> dict[str, Any]:
    times = {f"{name}_ms": getattr(entry.timings_ms, name) for name in Timings.__struct_fields__}
    hits = msgspec.to_builtins(entry.mask_cache_hit)
    return {"prompt": entry.prompt, **times, "mask_cache_hit": hits, "tokens": entry.tokens}


def _summary(entries: Sequence[Entry]) -> dict[str, Any]:
    spreads = {
        f"{name}_ms": msgspec.to_builtins(spread([getattr(e.timings_ms, name) for e in entries]))
        for name in Timings.__struct_fields__
    }
    hits = [hit for e in entries for hit in (e.mask_cache_hit.name, e.mask_cache_hit.arguments)]
    counts = {"hits": sum(hit is True for hit in hits), "masks": sum(hit is not None for hit in hits)}
    return {"n": len(entries), **spreads, "mask_cache_hits": counts}


def _manifest(
    lab: MaskDrivenLab, runs: Sequence[Sequence[Entry]], model: ModelInfo, *, server: str, command: str
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
        "prompts": len(runs[0]),
        "runs": len(runs),
    }
