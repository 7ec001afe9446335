"""An answer from elsewhere, such as a log, as a run: judged by the tools, in the notation that fits it best."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from msgspec.structs import replace as with_fields

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import CALL, AnyEvent, RepairSettings, RunRequest
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.settling import settle
from glyphscope.runs.strategies.running import run
from glyphscope.runs.strategies.turns import expected_answer
from glyphscope.turns import AnswerValidator
from glyphscope.turns.own import NAMED
from glyphscope.validation.call import WRITTEN, best_fit, wrapped_calls

NAME = "pasted answer"
"""The name of the model in such a run."""


def read_elsewhere(
    text: str, prepared: PreparedRequest, template: str | None = None
) -> tuple[tuple[AnyEvent, ...], RunRequest]:
    """The events of a run without a constraint whose answer is the text, and its request in the fitting notation.

    That is JSON or GLYPH in one of the shapes, alone or after other text; with a chat template (Jinja), also a form
    known by name, or that of the template. Of a call as an API gives it, the answer is the call in it. The tools and
    the prompt are those of `prepared`. Nothing is measured, as there is no model.
    """
    model = ScriptedModel(text, name=NAME, template=template)
    with suppress(LookupError):  # no call can be written of any tool: the run says so
        found, judge = best_fit(text, _judges(prepared, model, template))
        wrapped = None if judge.valid and judge.calls else wrapped_calls(text)
        if wrapped is not None and len(wrapped.calls) == 1:
            return read_elsewhere(wrapped.calls[0], prepared, template)
        prepared = replace(prepared, request=found)
    return tuple(run(prepared, model, clock=lambda: 0.0)), prepared.request


def _judges(
    prepared: PreparedRequest, model: ScriptedModel, template: str | None
) -> Iterator[tuple[RunRequest, AnswerValidator]]:
    """The requests that can be run, one for each notation, with their validators."""
    for request in _requests(prepared.request, template):
        settled = settle(replace(prepared, request=request), model)
        if settled.prepared is not None and not settled.problems:
            with suppress(GlyphscopeError):
                yield request, expected_answer(settled.request).validator(settled.prepared.enforced)


def _requests(request: RunRequest, template: str | None) -> Iterator[RunRequest]:
    plain = with_fields(
        request, answer=CALL, native="", form={}, strategy="direct", constraint="off", grammar=None, stop_on="never",
        free_text=False, tool_choice="required", most_calls=1, relaxed=(), written=(), branch_of=None, stop=(),
        repair=RepairSettings(), dispatch=False, chat_template="", thinking="auto", template_vars={}, extra_body={},
        reasoning_effort="auto", constrain_from="start", max_tokens=1_000_000,
    )  # fmt: skip
    for free in (False, True):
        for notation, shape in WRITTEN:
            yield with_fields(plain, notation=notation, shape=shape, free_text=free)
    if template is not None:  # without one, no prompt can be rendered for these
        for native in NAMED:
            yield with_fields(plain, native=native, notation="json")
        yield with_fields(plain, native="auto", tool_choice="auto", most_calls=None)
