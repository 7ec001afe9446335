"""The schema of a tool call's envelope: one layer above each tool's own schema.

It says what a parsed call must be; no mask is made of it. While a call is decoded its two stages replace the `oneOf`:
the name is chosen under a grammar of names, which then decides whose schema the arguments are held to. A `oneOf` in one
mask is the strategy direct.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

import msgspec
from jsonschema import Draft202012Validator

from glyphscope.errors import GlyphscopeError, ModelError
from glyphscope.evals.matrix.plan import Matrix, Planned, plan_of
from glyphscope.evals.running.crew import Crew, Made
from glyphscope.evals.running.progress import Control
from glyphscope.evals.running.requests import request_for
from glyphscope.evals.running.run_sample import run_sample
from glyphscope.events import ApprovalRule, ConstraintReady, RunRequest, Sampling, ToolResult
from glyphscope.models import Model
from glyphscope.registry import ToolRegistry
from glyphscope.runs import NonInteractive, PreparedRequest, RunState, run_state
from glyphscope.tools import ToolSource
from glyphscope.validation.split_call import before_arguments

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_tool_call_schema(tool_schemas: Mapping[str, Any]) -> dict[str, Any]:
    """`{"name": …, "arguments": …}` of exactly one of the tools, by name and `parameters`.

    A tool's schema keeps its references: it has an `$id` of its own, from which `#/…` is read. An argument that the
    tool does not name is left to its schema.
    """
    return {
        "$schema": DIALECT,
        "type": "object",
        "properties": {"name": {"enum": list(tool_schemas)}, "arguments": {"type": "object"}},
        "required": ["name", "arguments"],
        "additionalProperties": False,
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


SUITE = "mask-driven"
CALL_SECONDS = 30.0


class Timings(msgspec.Struct, frozen=True):
    """Milliseconds; `files.NOTES` says how each is measured."""

    mask_construction: float
    generation: float
    parse: float
    dispatch: float
    total: float


class CacheHit(msgspec.Struct, frozen=True):
    """Whether the masks of both stages were there already; None for a stage that did not begin."""

    name: bool | None = None
    arguments: bool | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt's way. `tool_result` is the tool's text, `{"error": …}` a refusal, None where there was no call.

    `parse_error`, `dispatch_error` and `tool_error` are empty where nothing went wrong; at most one is not.
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


@dataclass(frozen=True)
class LabRun:
    """All prompts once, in order."""

    entries: tuple[Entry, ...]


class MaskDrivenLab:
    """An evaluation of the suite `mask-driven` in one arm, whose calls a source of tools executes.

    Every sample is a run of its own with the same seed; a trial asks all prompts before the next one begins.
    """

    def __init__(
        self, model: Model, source: ToolSource, sampling: Sampling, runs: int = 1, suite: str = SUITE
    ) -> None:
        """Raises GlyphscopeError where the source has no tools, SuiteError for another suite's mistakes."""
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
        self._envelope = Draft202012Validator(
            build_tool_call_schema({tool.name: tool.parameters for tool in self.registry.allowed})
        )

    @property
    def request(self) -> RunRequest:
        """The first one; the others differ in the prompt."""
        assert self.samples[0].request is not None
        return self.samples[0].request.request

    def entries(self) -> Generator[Entry, None, None]:
        """Each sample's entry as it is done. Raises ModelError where a run failed: that is no answer of a model."""
        sources = {self._source.name: self._source}
        make = partial(run_sample, interact=lambda cancelled: NonInteractive(sources, cancelled))
        with Crew([self._model], self.samples, Control(), make) as crew:
            for made in crew.items():
                if isinstance(made, Made):
                    yield self._entry(made)

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

    def _entry(self, made: Made) -> Entry:
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
        built, generation = _spent(state)
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
                built, generation, parse_ms, result.ms if result else 0.0, state.finished.total_ms + parse_ms
            ),
            expected_tool=expected.tools[0],
            expected_args=expected.arguments or {},
            mask_cache_hit=_hits(state),
            tokens=state.finished.tokens,
            parse_error=parse_error,
            dispatch_error="" if of_tool else message,
            tool_error=message if of_tool else "",
        )

    def _outputs(self, state: RunState) -> tuple[str, str | None, str | None]:
        """What the model wrote: the whole call, its name, its arguments. A call that is none is what there is of it."""
        if state.call is None:
            named = state.stages[0].tool
            return "".join(stage.text for stage in state.stages), named.name if named else None, None
        call, request = state.call, self.request
        before = before_arguments(request.notation, request.shape, call.tool)
        return call.text, call.tool, call.text[len(before) : -1]

    def _parsed(self, text: str) -> tuple[dict[str, Any] | None, str]:
        """The call, read as any client would and held to the envelope; or why it is none."""
        try:
            call = json.loads(text)
        except ValueError as error:
            return None, f"no JSON: {error}"
        fault = next(self._envelope.iter_errors(call), None)
        return (call, "") if fault is None else (None, f"no call: {fault.message}")


def _result_json(result: ToolResult | None) -> str | dict[str, Any] | None:
    if result is None:
        return None
    if not result.ok:
        return {"error": result.message or result.fault}
    text = "\n".join(piece.text for piece in result.content if piece.kind == "text")
    return text or result.structured


def _constraints(state: RunState) -> dict[str, ConstraintReady]:
    return {stage.name: stage.constraint for stage in state.stages if stage.constraint is not None}


def _hits(state: RunState) -> CacheHit:
    found = {name: ready.hit for name, ready in _constraints(state).items()}
    return CacheHit(found.get("name"), found.get("arguments"))


def _spent(state: RunState) -> tuple[float, float]:
    """What both masks took, ours and the engine's, and what the generations took without the engine's part of it."""
    ready = _constraints(state).values()
    texts = (stage for stage in state.stages if stage.kind != "tool")
    finished = [stage.finished for stage in texts if stage.finished is not None]
    compiled = sum(each.compile_ms for each in ready)
    built = sum(each.build_ms for each in ready) + compiled
    return built, sum(each.ms for each in finished) - compiled
