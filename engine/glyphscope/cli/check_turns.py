"""`glyphscope check --template`: what models wrote after a rendered prompt, read by the form of their template."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from glyphscope.cli.inputs import InputError, read_json_lines
from glyphscope.cli.output import print_json
from glyphscope.cli.template_forms import read_template
from glyphscope.errors import RegistryError
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.turns import CallViolation, Turn, TurnForm, TurnTools, form_of, judge, read_turn
from glyphscope.turns.readers import readings


class CallAnswer(msgspec.Struct, frozen=True):
    """A call of a turn with its verdict. `arguments` None: they cannot be read."""

    name: str
    arguments: dict[str, Any] | None
    valid: bool
    violations: list[CallViolation]


class TurnAnswer(msgspec.Struct, frozen=True):
    """What is printed for a line."""

    content: str
    reasoning: str
    calls: list[CallAnswer]
    complete: bool
    strict: bool


def check_turns(template: str, lines: str, default: ToolRegistry | None, *, readers: bool = False) -> bool:
    """Answers each line; whether all turns are complete and all their calls valid.

    With `readers` each answer has a member more: what every reader makes of the text (`turns.readers.Reading`).
    Raises InputError, RegistryError and PromptError, each with its place.
    """
    renderer = read_template(template)
    form, _ = form_of(renderer, renderer.ends)
    known: dict[str, TurnTools] = {}
    fine = True
    for place, line in read_json_lines(lines):
        text, thinking, tools = _read_line(line, place, default, known)
        answer = answer_of(read_turn(text, form, tools, thinking), tools)
        if readers:
            others = readings(text, form, tools.registry, thinking)
            print_json({**msgspec.to_builtins(answer), "readers": others})
        else:
            print_json(answer)
        fine = fine and answer.complete and all(call.valid for call in answer.calls)
    return fine


def answer_of(turn: Turn, tools: TurnTools) -> TurnAnswer:
    """The turn with a verdict on each call."""
    calls = []
    for call in turn.calls:
        violations = judge(call, tools)
        calls.append(CallAnswer(call.name, call.arguments, not violations, violations))
    return TurnAnswer(turn.content, turn.reasoning, calls, turn.complete, turn.strict)


def _read_line(
    line: dict[str, Any], place: str, default: ToolRegistry | None, known: dict[str, TurnTools]
) -> tuple[str, bool | None, TurnTools]:
    text, thinking, tools = line.get("text"), line.get("thinking"), line.get("tools")
    if not isinstance(text, str):
        raise InputError('Each line has its "text", a string.', where=place)
    if thinking is not None and not isinstance(thinking, bool):
        raise InputError(f'"thinking" is {thinking!r}; it can be true, false or null.', where=place)
    key = "" if tools is None else json.dumps(tools)
    if key not in known:
        known[key] = TurnTools(_registry(tools, default, place))
    return text, thinking, known[key]


def _registry(tools: Any, default: ToolRegistry | None, place: str) -> ToolRegistry:
    if tools is None:
        return default or ToolRegistry()
    if not isinstance(tools, list):
        raise InputError(
            '"tools" is a list of tools, in OpenAI\'s form or as name and parameters.', where=place
        )
    if not tools:
        return ToolRegistry()
    try:
        return parse_document(tools, place)
    except RegistryError as error:
        error.where = place
        raise


__all__ = ["CallAnswer", "TurnAnswer", "TurnForm", "answer_of", "check_turns"]
