"""The schema of a tool call's envelope: one layer above each tool's own schema.

It says what a parsed call must be; no mask is made of it. While a call is decoded its two stages replace the `oneOf`:
the name is chosen under a grammar of names, which then decides whose schema the arguments are held to. A `oneOf` in one
mask is the strategy direct.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec
from jsonschema import Draft202012Validator

from glyphscope import resources
from glyphscope.errors import GlyphscopeError, ModelError
from glyphscope.events import (
    ConstraintReady,
    RepairSettings,
    RunRequest,
    Sampling,
    StageFinished,
    default_order,
)
from glyphscope.models import Model
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState, reduce_event
from glyphscope.strategies import run
from glyphscope.tools import Outcome, ToolSource
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


PROMPTS = "labs/mask-driven.json"
CALL_SECONDS = 30.0
MAX_TOKENS = 200


class LabPrompt(msgspec.Struct, frozen=True):
    """What is asked, and the call that it asks for."""

    prompt: str
    expected_tool: str
    expected_args: dict[str, Any]


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


def lab_prompts() -> tuple[LabPrompt, ...]:
    """The twenty prompts that come with the program."""
    document = json.loads(resources.read_text(PROMPTS))
    return tuple(msgspec.convert(document["prompts"], list[LabPrompt]))


class MaskDrivenLab:
    """A model, a source of tools, and how a token is drawn. Every prompt is a run of its own with the same seed."""

    def __init__(self, model: Model, source: ToolSource, sampling: Sampling) -> None:
        """Raises GlyphscopeError where the source has no tools."""
        self._model, self._source = model, source
        self.registry = ToolRegistry(tuple(source.tools()))
        if not self.registry.tools:
            raise GlyphscopeError("The server has no tools.", where=source.identity)
        self.request = RunRequest(
            prompt="",
            registry=self.registry.to_document(),
            notation="json",
            shape="name-arguments",
            constraint="mask",
            order=default_order("mask"),
            strategy="two-stage",
            sampling=sampling,
            max_tokens=MAX_TOKENS,
            alternatives=0,
            evidence="none",
            repair=RepairSettings(attempts=0, extract=False),  # a text that does not parse is to be counted
        )
        self._envelope = Draft202012Validator(
            build_tool_call_schema({tool.name: tool.parameters for tool in self.registry.allowed})
        )

    def entries(self, prompts: Sequence[LabPrompt]) -> Generator[Entry, None, None]:
        """Each prompt's entry as it is done. Raises ModelError where a run failed: that is no answer of a model."""
        for prompt in prompts:
            yield self._entry(prompt)

    def _entry(self, asked: LabPrompt) -> Entry:
        began = time.perf_counter()
        state = self._generated(asked.prompt)
        text, name, arguments = self._outputs(state)
        parse_began = time.perf_counter()
        call, parse_error = self._parsed(text)
        parse_ms = _since(parse_began)
        outcome, dispatch_ms = None, 0.0
        if call is not None:
            dispatch_began = time.perf_counter()
            outcome = self._source.call(
                call["name"], call["arguments"], seconds=CALL_SECONDS, cancel=threading.Event()
            )
            dispatch_ms = _since(dispatch_began)
        built, generation = _spent(state)
        message = "" if outcome is None or outcome.ok else outcome.message or outcome.fault
        of_tool = outcome is not None and outcome.fault == "tool"
        return Entry(
            prompt=asked.prompt,
            model_output_str=text,
            model_output_name=name,
            model_output_args=arguments,
            parsed_tool_call=call,
            tool_result=_outcome_json(outcome),
            timings_ms=Timings(built, generation, parse_ms, dispatch_ms, _since(began)),
            expected_tool=asked.expected_tool,
            expected_args=asked.expected_args,
            mask_cache_hit=_hits(state),
            tokens=0 if state.finished is None else state.finished.tokens,
            parse_error=parse_error,
            dispatch_error="" if of_tool else message,
            tool_error=message if of_tool else "",
        )

    def _generated(self, prompt: str) -> RunState:
        request = msgspec.structs.replace(self.request, prompt=prompt, model=self._model.info.name)
        state = RunState()
        with closing(run(request, self._model)) as events:
            for event in events:
                reduce_event(state, event)
        if state.failed is not None:
            raise ModelError(state.failed.message, where=f"the prompt {prompt!r}", hint=state.failed.hint)
        return state

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


def _outcome_json(outcome: Outcome | None) -> str | dict[str, Any] | None:
    if outcome is None:
        return None
    if not outcome.ok:
        return {"error": outcome.message or outcome.fault}
    text = "\n".join(piece.text for piece in outcome.content if piece.kind == "text")
    return text or outcome.structured


def _constraints(state: RunState) -> dict[str, ConstraintReady]:
    return {stage.name: stage.constraint for stage in state.stages if stage.constraint is not None}


def _hits(state: RunState) -> CacheHit:
    found = {name: ready.hit for name, ready in _constraints(state).items()}
    return CacheHit(found.get("name"), found.get("arguments"))


def _spent(state: RunState) -> tuple[float, float]:
    """What both masks took, ours and the engine's, and what the generations took without the engine's part of it."""
    ready = _constraints(state).values()
    finished: list[StageFinished] = [stage.finished for stage in state.stages if stage.finished is not None]
    compiled = sum(each.compile_ms for each in ready)
    built = sum(each.build_ms for each in ready) + compiled
    return built, sum(each.ms for each in finished) - compiled


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
