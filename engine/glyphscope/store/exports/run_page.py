"""Recorded runs as one HTML page that shows them token by token, without a network or other files.

The page contains the records, which the script of packaging/page/ reads, and the facts that it cannot compute: the
constraints in words, the reasons why alternatives were not possible, the calls' sizes in each notation. Foreign text is
data, never markup, and the page's policy allows only its own script and style. Without scripts, it is a summary.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from glyphscope.base import resources
from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.figures import duration_ms, pluralize
from glyphscope.base.model_names import ModelName, opened_name
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import one_line, visible
from glyphscope.events import AUTO, AnyEvent, BranchPoint, FinalAnswer, ModelInfo, Status, written_pairs
from glyphscope.explain.masked import masked_reasons
from glyphscope.explain.relaxing import WholeVerdict, verdict_words
from glyphscope.notation.read import parse_value
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import call_sizes, sum_of, value_sizes
from glyphscope.prompting.costs import KINDS
from glyphscope.prompting.signature import argument_types
from glyphscope.registry import ToolRegistry
from glyphscope.runs import RunState, run_state
from glyphscope.runs.answer_notes import answer_notes
from glyphscope.runs.deferral import stage_registry
from glyphscope.runs.endings import EndStatus, RunEnd, end_of
from glyphscope.runs.event_rows import describe
from glyphscope.runs.sampling import limits_in_words, sampling_words
from glyphscope.runs.stage_words import stage_words
from glyphscope.runs.state import StageState
from glyphscope.runs.strategies.decode import stopping_on
from glyphscope.store.exports.recorded_run import RecordedRun
from glyphscope.store.records import encode_record

MAX_RUNS = 4
"""The maximum number of runs side by side on one page."""
_FOLDER = "page"
"""The folder of the templates, and of the style and script built by packaging/page/."""
_MAX_NAME = 120
_SIGNS: dict[EndStatus, str] = {"holds": "✓", "open": "◌", "differs": "≠", "impossible": "✕"}


def html_page(runs: Sequence[RecordedRun]) -> str:
    """The page. Raises GlyphscopeError for no runs or too many."""
    if not 1 <= len(runs) <= MAX_RUNS:
        raise GlyphscopeError(
            f"A page shows 1 to {MAX_RUNS} runs, not {len(runs)}.",
            where="html",
            hint="Give fewer runs, or make several pages.",
        )
    states = [run_state(run.events) for run in runs]
    data = [run_data(run, state) for run, state in zip(runs, states)]
    for run, each in zip(runs, data):
        if (point := run.request.branch_of) is not None:
            each["settings"].append(("Branch of", _branch_words(point, runs)))
    settings = [dict(each["settings"]) for each in data]
    names = dict.fromkeys(name for each in settings for name in each)
    differing = [name for name in names if len({each.get(name) for each in settings}) > 1]
    for each in data:
        each["differing"] = differing
    return filled_page(
        "page.jinja",
        title=shorten(data[0]["name"], _MAX_NAME) + (f" and {len(runs) - 1} more" if runs[1:] else ""),
        data={"runs": data},
        records=[run.events for run in runs],
        runs=[run_summary(run, state, each) for run, state, each in zip(runs, states, data)],
    )


def _branch_words(point: BranchPoint, runs: Sequence[RecordedRun]) -> str:
    """The run by its place on the page, or by its id, and the first token that differs."""
    places = {run.started.run: f"run {index}" for index, run in enumerate(runs, 1)}
    return f"{places.get(point.run) or shorten(one_line(point.run), 40)}, from token {point.token:,}"


def filled_page(
    template: str,
    *,
    title: str,
    data: dict[str, Any],
    records: Sequence[Sequence[AnyEvent]] = (),
    templates: jinja2.Environment | None = None,
    **content: object,
) -> str:
    """A page of the folder with the style and the script, and without any other: `data` are its blocks of JSON by id,
    `records` the events of the runs on it, and `content` what the template shows. `templates` is an environment of
    `page_templates` with more filters.
    """
    style, script = (resources.read_text(f"{_FOLDER}/page.{kind}") for kind in ("css", "js"))
    return (
        (templates or page_templates())
        .get_template(template)
        .render(
            title=title,
            style=Markup(style),
            script=Markup(script),
            style_digest=block_digest(style),
            script_digest=block_digest(script),
            data={
                name: _inert(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
                for name, value in data.items()
            },
            records=[_inert(encode_record(events).decode()) for events in records],
            **content,
        )
    )


def _inert(text: str) -> Markup:
    """JSON that cannot close or comment out its HTML element, as `<` occurs only in strings."""
    return Markup(text.replace("<", r"\u003c"))


def block_digest(text: str) -> str:
    """The digest of a style or a script, by which a page's policy allows it."""
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def page_templates(finalize: Callable[[Any], Any] | None = None) -> jinja2.Environment:
    """The templates; `finalize` changes each value that they show."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: resources.read_text(f"{_FOLDER}/{name}")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )


# the data of a run


def run_data(run: RecordedRun, state: RunState, *, reasons: bool = True) -> dict[str, Any]:
    """The parts of a run that the page's script could not compute; `state` is that of all its events. Without the
    `reasons` of alternatives, which take most of the time, it is a millisecond.
    """
    request, end = run.request, _end(run, state)
    name_key, args_key = (None, None) if request.native == "template" else shape_keys(request.shape)
    try:
        registry = run.enforced
    except GlyphscopeError:  # runs with an unusable registry are also recorded
        registry = None
    return {
        "name": one_line(request.prompt)[:1000] or "A run",
        "model": _model_name(run.started.model).name,
        "words": end.words,
        "hint": " ".join(filter(None, (end.hint, *answer_notes(state)))),
        "status": end.status,
        "sampling": sampling_words(request.sampling),
        "tools": {} if registry is None else _constraints(registry),
        "allowed": 0 if registry is None else len(registry.allowed),
        "name_path": f"/{name_key}" if name_key else "",
        "args_path": f"/{args_key}" if args_key else "",
        "settings": list(_settings(run)),
        "differing": [],
        "parts": _part_names(state),
        "stages": [_stage(run, state, registry if reasons else None, stage) for stage in state.stages],
        "worked_ms": state.worked_ms,
        "rows": dict(_rows(run.events)),
    }


def _rows(events: Sequence[AnyEvent]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events in words, by their places in the record."""
    for index, event in enumerate(events):
        if (row := describe(event)) is not None:
            words = {"title": row.title, "words": row.words, "mark": row.mark}
            yield str(index), words | ({"of": row.of, "adds": row.adds} if row.of else {})


def _part_names(state: RunState) -> dict[str, str]:
    """The names of the parts of its prompts, where they are others than those in the events."""
    prompts = (stage.prompt for stage in state.stages if stage.prompt is not None)
    used = {part.name for prompt in prompts for part in prompt.parts}
    return {name: KINDS[name] for name in sorted(used) if KINDS.get(name, name) != name}


def _constraints(registry: ToolRegistry) -> dict[str, dict[str, str]]:
    return {
        tool.name: {
            name: words if name in tool.parameters.get("required", ()) else f"{words}, optional"
            for name, words in argument_types(tool).items()
        }
        for tool in registry.tools
    }


def _stage(
    run: RecordedRun, state: RunState, registry: ToolRegistry | None, stage: StageState
) -> dict[str, Any]:
    data: dict[str, Any] = {"words": stage_words(stage, over=True)}
    if stage.earlier.deferred is not None and (offered := stage_registry(state, stage)) is not None:
        data["allowed"] = len(offered.allowed)
    if registry is not None and (reasons := masked_reasons(run.request, registry, stage)):
        data["reasons"] = {str(index): each._asdict() for index, each in reasons.items()}
    with suppress(GlyphscopeError):  # a call that the shape cannot write, extracted from a text
        if stage.calls:
            sizes = sum_of([call_sizes(call.tool, call.arguments, run.request.shape) for call in stage.calls])
            data["sizes"] = [msgspec.to_builtins(size) for size in sizes]
        elif run.request.answer.kind == "schema":
            for event in run.events:
                if isinstance(event, FinalAnswer) and event.stage == stage.name:
                    sizes = tuple(value_sizes(parse_value(event.text, run.request.notation)))
                    data["sizes"] = [msgspec.to_builtins(size) for size in sizes]
    return data


def _model_name(model: ModelInfo) -> ModelName:
    return opened_name(model.path, model.name, model.quantisation)


def _end(run: RecordedRun, state: RunState) -> RunEnd:
    """How the run ended. A call that is valid with relaxed constraints has the whole registry's verdict beside it."""
    end = end_of(state)
    if not run.request.relaxed or (end.status != "holds" and end.outcome != "valid relaxed"):
        return end
    try:
        whole = WholeVerdict(run.request, run.prepared.registry, state)
    except GlyphscopeError as error:
        hint = f"The whole registry cannot judge it: {one_line(str(error))}"
        return replace(end, hint=hint, status="open")
    status: Status = "open" if whole.valid is not False else "impossible"
    return replace(end, hint=" ".join(verdict_words(whole)), status=status)


def _settings(run: RecordedRun) -> Iterator[tuple[str, str]]:
    request, model = run.request, run.started.model
    yield "Prompt", shorten(one_line(request.prompt), _MAX_NAME)
    yield "Model", " ".join(_model_name(model)).strip()
    if model.sha256:
        yield "Model’s SHA-256", model.sha256
    yield "Notation", f"native ({request.native})" if request.native else request.notation
    if not request.answer.is_call:
        yield "Answer", shorten(str(request.answer), _MAX_NAME)
    elif request.native != "template":
        yield "Shape", request.shape
    yield "Constraint", request.constraint + (", custom grammar" if request.grammar is not None else "")
    yield "Strategy", request.strategy
    if request.constraint != "off":
        if request.answer.has_schema:
            yield "Order of arguments", request.order
        yield "Constrained from", request.constrain_from
    if request.strategy == "loop":
        yield "Tool use", request.loop.tool_use
        yield "Turns", f"at most {request.loop.max_turns}"
    elif request.answer.is_call:
        yield "Tool choice", request.tool_choice
        yield (
            "Calls per answer",
            "unlimited" if request.most_calls is None else f"at most {request.most_calls}",
        )
    if request.thinking != "auto":
        yield "Thinking", request.thinking
    if request.reasoning_effort != AUTO:
        yield "Reasoning effort", request.reasoning_effort
    if request.template_vars:
        yield "Template variables", shorten(", ".join(written_pairs(request.template_vars)), _MAX_NAME)
    if request.strict != AUTO:
        yield "Strict tools", request.strict
    if request.extra_body:
        yield "Extra fields", shorten(", ".join(written_pairs(request.extra_body)), _MAX_NAME)
    if request.chat_template:
        own = "{" in request.chat_template
        yield (
            "Chat template",
            "another than the model’s" if own else shorten(request.chat_template, _MAX_NAME),
        )
    if request.control_texts != "tokens":
        yield "Control tokens in texts", request.control_texts
    if request.reasoning_budget is not None:
        yield "Reasoning budget", pluralize(request.reasoning_budget, "token")
    yield "Sampling", sampling_words(request.sampling)
    yield "Seed", str(request.sampling.seed)
    yield "Limits", limits_in_words(request)
    yield "Stops on", stopping_on(request)
    preset = request.preset if request.answer.is_call else "answer"
    yield "Prompt preset", preset if request.system is None else "own template"
    if request.system_prompt:
        yield "System prompt", shorten(one_line(request.system_prompt), _MAX_NAME)
    if request.history:
        yield "Earlier messages", str(len(request.history))
    if request.expected is not None:
        yield "Expected", str(request.expected)
    if request.relaxed:
        yield "Relaxed", ", ".join(f"{one.tool}:{one.pointer}" for one in request.relaxed)
    if request.repair.attempts:
        yield "Repairs", f"at most {request.repair.attempts}"
    try:
        registry = run.prepared.registry
        digest = shorten(registry.digest, 13)
        yield "Registry", f"{pluralize(len(registry.tools), 'tool')}, SHA-256 {digest}"
    except GlyphscopeError as error:
        yield "Registry", f"unusable: {one_line(str(error))}"


# the summary for readers without scripts


def run_summary(run: RecordedRun, state: RunState, data: dict[str, Any]) -> dict[str, Any]:
    """The run as the templates show it; `data` is that of `run_data`."""
    stages = [
        {
            "title": one_line(stage.title or stage.kind),
            "text": visible(stage.text, lines=True),
            "fields": [
                (visible(field.path), visible(stage.text[field.start or 0 : field.end]), field.status)
                for call in stage.written.values()
                for field in call.fields.values()
            ],
            "rows": [
                (visible(row.title), visible(row.words))
                for row in map(describe, stage.outline)
                if row is not None
            ],
            "violations": [
                f"{each.code} at character {each.char}: {visible(each.message)}" for each in stage.violations
            ],
        }
        for stage in state.stages
    ]
    worked = state.worked_ms
    return {
        "name": data["name"],
        "sign": _SIGNS[data["status"]],
        "ending": visible(" ".join(part for part in (data["words"], data["hint"]) if part)),
        "prompt": visible(run.request.prompt, lines=True),
        "settings": [(name, visible(value)) for name, value in data["settings"]],
        "recorded": visible(run.started.time),
        "tokens": pluralize(state.token_count, "token"),
        "time": "" if worked is None else duration_ms(worked),
        "stages": stages,
    }
