"""An answer from elsewhere, such as a log, as a run: judged by the tools, in the notation that fits it best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, get_args

from msgspec.structs import replace as with_fields

from glyphscope.base.errors import GlyphscopeError
from glyphscope.events import CALL, AnyEvent, RepairSettings, RunRequest, Shape
from glyphscope.models.scripted import ScriptedModel
from glyphscope.runs.prepared import PreparedRequest
from glyphscope.runs.settling import settle
from glyphscope.runs.strategies.running import run
from glyphscope.runs.strategies.turns import expected_answer
from glyphscope.turns.own import NAMED

NAME = "pasted answer"
"""The name of the model in such a run."""


class _Fit(NamedTuple):
    """How well an answer fits a notation: as a valid call, by a known tool, and up to which character."""

    valid: bool
    tool: bool
    char: int


def read_elsewhere(
    text: str, prepared: PreparedRequest, template: str | None = None
) -> tuple[tuple[AnyEvent, ...], RunRequest]:
    """The events of a run without a constraint whose answer is the text, and its request in the fitting notation.

    That is JSON or GLYPH in one of the shapes, alone or after other text; with a chat template (Jinja), also a form
    known by name, or that of the template. The tools and the prompt are those of `prepared`. Nothing is measured, as
    there is no model.
    """
    model = ScriptedModel(text, name=NAME, template=template)
    best: tuple[_Fit, PreparedRequest] | None = None
    for request in _requests(prepared.request, template):
        asked = replace(prepared, request=request)
        fit = _fit(text, asked, model)
        if fit is not None and (best is None or fit > best[0]):
            best = fit, asked
    asked = best[1] if best is not None else prepared
    return tuple(run(asked, model, clock=lambda: 0.0)), asked.request


def _requests(request: RunRequest, template: str | None) -> Iterator[RunRequest]:
    plain = with_fields(
        request, answer=CALL, native="", form={}, strategy="direct", constraint="off", grammar=None, stop_on="never",
        free_text=False, tool_choice="required", most_calls=1, relaxed=(), written=(), branch_of=None, stop=(),
        repair=RepairSettings(), dispatch=False, chat_template="", thinking="auto", template_vars={},
        reasoning_effort="auto", constrain_from="start", max_tokens=1_000_000,
    )  # fmt: skip
    for free in (False, True):
        for notation in ("json", "glyph"):  # which accepts JSON, too
            for shape in get_args(Shape):
                yield with_fields(plain, notation=notation, shape=shape, free_text=free)
    if template is not None:  # without one, no prompt can be rendered for these
        for native in NAMED:
            yield with_fields(plain, native=native, notation="json")
        yield with_fields(plain, native="auto", tool_choice="auto", most_calls=None)


def _fit(text: str, asked: PreparedRequest, model: ScriptedModel) -> _Fit | None:
    """None if such a request cannot be run."""
    settled = settle(asked, model)
    if settled.problems or settled.prepared is None:
        return None
    try:
        validator = expected_answer(settled.request).validator(settled.prepared.enforced)
    except GlyphscopeError:
        return None
    validator.feed(text)
    validator.finish()
    first = min((each.char for each in validator.violations), default=len(text))
    return _Fit(validator.valid and bool(validator.calls), validator.tool is not None, first)
