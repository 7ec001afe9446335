"""Test of what a server enforces: it is asked for answers that break a constraint, without it and under it.

Each trial is two runs whose prompt asks for a text that the constraint excludes. A keyword of JSON Schema is tested
against the same schema without it, so that only this keyword can make the difference; any other constraint, against no
constraint. If the answer without it breaks it, and the one under it does not, the server enforces it here. If no answer
breaks it, nothing is shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.base.errors import find_named
from glyphscope.events import Answer, RunRequest, Sampling, Strict
from glyphscope.models.interface import Model
from glyphscope.registry import ToolRegistry, make_tool
from glyphscope.runs import outcome_of, run_state
from glyphscope.runs.state import RunState
from glyphscope.runs.strategies import run
from glyphscope.validation.value import ValueValidator

MAX_TOKENS = 100
"""Tokens of each answer."""
_SYSTEM = "Write exactly the text that you are asked for, and nothing else."
_GOOD = frozenset({"valid", "valid answer"})
_CUT = frozenset({"length", "cut-off", "cancelled", "unfinished"})

Found: TypeAlias = Literal["enforced", "not enforced", "rejected", "no field", "not shown"]


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A constraint by `name`, and a request that asks for a text that breaks it. `control` is the request without that
    constraint; its value is judged by `schema`, or the whole answer if that is None.
    """

    name: str
    request: RunRequest
    control: RunRequest
    schema: dict[str, Any] | None = None


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """`without` and `under` are the answers without the constraint and under it.

    `rejected`: the server did not take the request, with `why` in its words; `no field`: it was not sent, as the server
    has no field for it; `not shown`: the model broke it in neither answer, or an answer has no end. `sent` is the note
    on how the constraint was sent.
    """

    name: str
    found: Found
    without: str = ""
    under: str = ""
    sent: str = ""
    why: str = ""


@cache
def trials() -> dict[str, Trial]:
    """All trials by name: keywords of JSON Schema, the other kinds of answers, and calls."""
    text, number = {"type": "string"}, {"type": "integer"}
    keywords = [
        ("type", _object(number), _object({}), '{"value": "five"}'),
        ("enum", _object({"enum": ["red", "blue"]}), _object(text), '{"value": "green"}'),
        ("maximum", _object({**number, "maximum": 100}), _object(number), '{"value": 500}'),
        ("maxLength", _object({**text, "maxLength": 5}), _object(text), '{"value": "elephant"}'),
        ("pattern", _object({**text, "pattern": "^[A-Z]{3}$"}), _object(text), '{"value": "abc1"}'),
        ("format", _object({**text, "format": "date"}), _object(text), '{"value": "tomorrow"}'),
        (
            "maxItems",
            _object({"type": "array", "items": number, "maxItems": 2}),
            _object({"type": "array", "items": number}),
            '{"value": [1, 2, 3, 4]}',
        ),
        ("required", _object(number), {**_object(number), "required": []}, "{}"),
        (
            "additionalProperties",
            _object(number),
            {**_object(number), "additionalProperties": True},
            '{"value": 1, "extra": 2}',
        ),
    ]
    found = [
        Trial(
            name=name, request=_answer(_schema(one), asked), control=_answer(_schema(less), asked), schema=one
        )
        for name, one, less, asked in keywords
    ]
    for name, answer, asked in (
        ("regex", Answer("regex", "[0-9]{4}"), "hello"),
        ("choice", Answer("choice", "yes\nno"), "perhaps"),
        ("grammar", Answer("gbnf", 'root ::= "a" | "b"'), "c"),
    ):
        request = _answer(answer, asked)
        found.append(Trial(name=name, request=request, control=_free(request)))
    request = _calls(_object(number), "Do not call a tool. Answer with the word hello.")
    found.append(Trial(name="a call", request=request, control=_free(request)))
    for name, one, less, asked in keywords[1:3]:
        asked = f"Call the tool record with these arguments: {asked}"
        request, control = _calls(one, asked), _calls(less, asked)
        found.append(Trial(name=f"{name} of a call", request=request, control=control, schema=one))
    return {trial.name: trial for trial in found}


def requests_of(names: Sequence[str]) -> int:
    """The number of requests of these trials."""
    return 2 * len(names)


def ask(
    model: Model,
    names: Sequence[str] = (),
    *,
    strict: Strict = "auto",
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[TrialResult]:
    """The results of these trials (default: all), until `cancelled` returns True. Raises GlyphscopeError for an unknown
    name.
    """
    known = trials()
    for trial in [find_named(known, name, f"trial {name!r}") for name in names or known]:
        control = _run(trial.control, model, strict)
        if cancelled():
            return
        bound = _run(trial.request, model, strict)
        if cancelled():
            return
        yield _result(trial, control, bound)


def _run(request: RunRequest, model: Model, strict: Strict) -> RunState:
    return run_state(run(msgspec.structs.replace(request, strict=strict), model))


def _result(trial: Trial, control: RunState, bound: RunState) -> TrialResult:
    made = TrialResult(
        name=trial.name,
        found="not shown",
        without=_text(control),
        under=_text(bound),
        sent=" ".join(bound.notes),
    )
    if bound.failed is not None:
        ignored = bound.failed.code == "CONSTRAINT_IGNORED"
        found: Found = "not enforced" if ignored else "rejected"
        return msgspec.structs.replace(made, found=found, why=bound.failed.message)
    if "nothing enforces it" in made.sent:
        return msgspec.structs.replace(made, found="no field")
    after = outcome_of(bound)
    if after in _CUT:
        return made
    if after not in _GOOD:
        return msgspec.structs.replace(made, found="not enforced")
    why = "" if control.failed is None else control.failed.message
    return msgspec.structs.replace(
        made, found="enforced" if _breaks(trial, control) else "not shown", why=why
    )


def _breaks(trial: Trial, control: RunState) -> bool:
    """Whether the answer without the constraint breaks it. One without an end, or in prose, breaks no keyword."""
    outcome = outcome_of(control)
    if control.failed is not None or outcome in _CUT:
        return False
    if trial.schema is None:
        return outcome not in _GOOD
    if outcome not in _GOOD:
        return False
    validator = ValueValidator(trial.schema)
    validator.feed(_text(control) if control.call is None else json.dumps(control.call.arguments))
    validator.finish()
    return not validator.valid


def _text(state: RunState) -> str:
    return "".join(stage.text for stage in state.stages)


def _object(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"value": value},
        "required": ["value"],
        "additionalProperties": False,
    }


def _request(prompt: str, **more: Any) -> RunRequest:
    return RunRequest(
        prompt=prompt, constraint="mask", stop_on="never", sampling=Sampling(temperature=0.0), max_tokens=MAX_TOKENS,
        evidence="none", alternatives=0, **more,
    )  # fmt: skip


def _schema(schema: dict[str, Any]) -> Answer:
    return Answer("schema", json.dumps(schema))


def _free(request: RunRequest) -> RunRequest:
    return msgspec.structs.replace(request, constraint="off")


def _answer(answer: Answer, text: str) -> RunRequest:
    empty = ToolRegistry().to_document()
    return _request(
        f"Write this text: {text}", registry=empty, system=_SYSTEM, answer=answer, notation="json"
    )


def _calls(schema: dict[str, Any], prompt: str) -> RunRequest:
    tool = make_tool("record", "Record a value.", schema)
    return _request(prompt, registry=ToolRegistry((tool,)).to_document(), native="auto")
