"""Lint of a chat template, the comparison of two, by the conversations of `turns/conversations.py`, and the proof of a
`response_template`: in a process with limits.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from glyphscope.base.errors import PromptError
from glyphscope.base.lines import Lines
from glyphscope.models.templates import TemplateSource, limited_work
from glyphscope.models.turn_forms import TemplateRenderer, renderer_of
from glyphscope.turns.derive import form_of
from glyphscope.turns.lint import RenderedConversation, TemplateLint, find_faults, render_conversations
from glyphscope.turns.markup import common_prefix
from glyphscope.turns.response_export import ResponseProof, export_response, prove_response
from glyphscope.turns.response_template import parse_response_template

T = TypeVar("T")

_ASSUMED_BEGIN = "<s>"
"""The `bos_token` assumed for a template file, which does not name one."""


class ConversationPair(msgspec.Struct, frozen=True):
    """A conversation as two templates write it, or what they raise. `at` is the first character that differs, from 0,
    and `line` and `column` its place in both, from 1; None and 0 if they are the same.
    """

    key: str
    title: str
    first: RenderedConversation
    second: RenderedConversation
    at: int | None = None
    line: int = 0
    column: int = 0

    @property
    def same(self) -> bool:
        return self.at is None


def lint_template(template: TemplateSource) -> TemplateLint:
    """The faults of a template. Takes a tenth of a second, after the process has started.

    Raises PromptError, also for a template that needs too much time or memory, and Stopped.
    """
    return limited_work(faults_of, template)


def compare_templates(first: TemplateSource, second: TemplateSource) -> tuple[ConversationPair, ...]:
    """Every conversation as both templates write it, each in the form of messages that it accepts.

    A template from a text file, without special tokens, gets the other's. Raises PromptError and Stopped.
    """
    if not first.ends:
        first = _with_tokens_of(first, second)
    elif not second.ends:
        second = _with_tokens_of(second, first)
    sides = zip(limited_work(_rendered, first), limited_work(_rendered, second))
    return tuple(_pair(*side) for side in sides)


def prove_response_template(
    template: TemplateSource, data: dict[str, Any] | None, turns: int
) -> tuple[dict[str, Any], ResponseProof]:
    """The `response_template` in `data`, or for None that of the form derived from the template, and its proof by so
    many random turns. Raises PromptError, also for a form that none can express, and Stopped.
    """
    return limited_work(_response_proved, template, data, turns)


def _response_proved(
    template: TemplateSource, data: dict[str, Any] | None, turns: int
) -> tuple[dict[str, Any], ResponseProof]:
    renderer = renderer_of(template)
    form, derived = form_of(renderer, renderer.ends)
    made = export_response(form) if data is None else data
    checked = parse_response_template(made, template.where)
    return made, _whole(prove_response(renderer, derived, form, checked, turns), renderer)


def _with_tokens_of(template: TemplateSource, other: TemplateSource) -> TemplateSource:
    return msgspec.structs.replace(template, bos=other.bos, eos=other.eos, ends=other.ends)


def faults_of(template: TemplateSource) -> TemplateLint:
    """As `lint_template`, in this process."""
    begin = template.bos if template.ends else template.bos or _ASSUMED_BEGIN
    renderer = renderer_of(msgspec.structs.replace(template, bos=begin))
    return _whole(find_faults(renderer, begin), renderer)


def _rendered(template: TemplateSource) -> tuple[RenderedConversation, ...]:
    renderer = renderer_of(template)
    _, derived = form_of(renderer)
    return _whole(render_conversations(renderer, derived.dialect), renderer)


def _whole(result: T, renderer: TemplateRenderer) -> T:
    """The result, unless a limit ended the renderings. Raises PromptError."""
    if renderer.stopped:
        raise PromptError("The template was stopped: its renderings take too long.")
    return result


def _pair(first: RenderedConversation, second: RenderedConversation) -> ConversationPair:
    one, other = ((each.raised or each.text) for each in (first, second))
    if one == other and bool(first.raised) == bool(second.raised):
        return ConversationPair(first.key, first.title, first, second)
    at = len(common_prefix(one, other))
    return ConversationPair(first.key, first.title, first, second, at, *Lines(one).place(at))
