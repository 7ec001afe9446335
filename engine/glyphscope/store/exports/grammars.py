"""The constraint of a run's calls as GBNF, Lark and JSON Schema, and its tools in OpenAI's form.

They are built as for the run itself. For a run without a constraint, they describe the rules by which its calls are
validated; for a strategy that generates a call in parts, they describe whole calls.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from glyphscope.base.errors import GrammarError
from glyphscope.base.visible import escaped
from glyphscope.events import ConstraintKind, ToolsDeferred
from glyphscope.grammar.builder.json_schema import call_schema, response_format, structural_tag
from glyphscope.registry import to_openai
from glyphscope.runs.deferral import first_offered
from glyphscope.runs.relaxation import enforced_answer
from glyphscope.runs.strategies.constraints import call_constraint
from glyphscope.runs.strategies.loop.guards import calls_per_turn
from glyphscope.runs.strategies.loop.tool_loop import TurnPlan, plan_expects, plan_request
from glyphscope.store.exports.recorded_run import RecordedRun
from glyphscope.turns.answers import schema_of
from glyphscope.turns.own import ENDPOINTS_OWN


def gbnf(run: RecordedRun) -> str:
    """For llama.cpp. Raises GrammarError."""
    return _constraint(run, "gbnf")


def lark(run: RecordedRun) -> str:
    """For llguidance. Raises GrammarError."""
    return _constraint(run, "mask")


def json_schema(run: RecordedRun) -> str:
    """The run's calls as one JSON Schema, regardless of their notation, or that of its answer. Raises GrammarError."""
    return indented(_schema(run))


def response_format_of(run: RecordedRun) -> str:
    """The `response_format` of Chat Completions with that schema. Raises GrammarError, also for another notation."""
    _require_json(run, "response-format")
    return indented({"response_format": response_format(_schema(run))})


def structured_outputs(run: RecordedRun) -> str:
    """The `structured_outputs` of vLLM: the schema of JSON, the grammar of other notations. Raises GrammarError."""
    made = {"json": _schema(run)} if run.request.notation == "json" else {"grammar": gbnf(run)}
    return indented({"structured_outputs": made})


def structural_tag_of(run: RecordedRun) -> str:
    """The structural tag of vLLM and SGLang. Raises GrammarError."""
    _require_json(run, "structural-tag")
    if not run.request.answer.is_call:
        raise GrammarError("A structural tag is made of tools.", hint="Export the run as response-format.")
    return indented(structural_tag(run.enforced, run.request.shape, free_text=run.request.free_text))


def _require_json(run: RecordedRun, form: str) -> None:
    if run.request.native or run.request.notation != "json":
        raise GrammarError(
            f"{form} constrains JSON only; the calls of this run have another notation.",
            where=form,
            hint="Export it as structured-outputs, gbnf or json-schema.",
        )


def _schema(run: RecordedRun) -> dict[str, Any]:
    answer = run.request.answer
    if answer.kind == "schema":
        schema: dict[str, Any] = schema_of(enforced_answer(run.request))
        return schema
    if not answer.is_call:
        raise GrammarError(
            f"The answer of this run has no schema ({answer}).",
            where="json-schema",
            hint="Export it as gbnf or lark.",
        )
    return call_schema(run.enforced, run.request.shape)


def openai_tools(run: RecordedRun) -> str:
    """The `tools` of a chat completion request."""
    return indented(to_openai(run.registry, "chat"))


def constraint_note(run: RecordedRun) -> str:
    """How the grammars differ from the run's constraint; empty if they do not."""
    request = run.request
    if request.constraint == "off":
        return "The run had no constraint: its grammars are those of the calls it was judged by."
    if request.strategy in ("two-stage", "route-execute"):
        return f"The strategy {request.strategy} asked for the call in parts: its grammars are those of whole calls."
    if request.relaxed:
        taken = ", ".join(f"{one.tool}:{one.pointer}" for one in request.relaxed)
        return f"Relaxed in this run, so in its registry but not in its grammars: {taken}."
    return ""


def _constraint(run: RecordedRun, kind: ConstraintKind) -> str:
    if run.request.native == ENDPOINTS_OWN:
        raise GrammarError(
            "The calls of this run were an endpoint's own, constrained by its tools' schemas: they have no grammar.",
            hint="Export them as openai-tools or json-schema.",
        )
    request, expected, tools = run.request, None, run.enforced
    if request.strategy == "loop" and request.grammar is None:  # the first turn
        words = request.loop.tool_use != "enforced"
        tools = first_offered(tools, next((e for e in run.events if isinstance(e, ToolsDeferred)), None))
        plan = TurnPlan(tools, calls_per_turn(request.loop), words=words, last=False)
        request = plan_request(request, plan)
        expected = plan_expects(request, plan)
    return call_constraint(replace(request, constraint=kind), tools, expected).text


def indented(value: Any) -> str:
    """The value as indented JSON in which every character is visible, with a line end."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"
