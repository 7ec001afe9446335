"""The places in a prompt about a field: its argument's description, its tool's example, the rule of the format.

Whether the prompt states a constraint is looked up in its text, so that "the prompt never says 100" is a fact.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.pointer import follow, steps_of, to_pointer
from glyphscope.events import PromptRendered, RunRequest
from glyphscope.explain.constraint_attribution import Attribution
from glyphscope.grammar import example_arguments
from glyphscope.notation import shape_keys, write_call
from glyphscope.prompting.signature import argument_types
from glyphscope.registry import Tool, ToolRegistry
from glyphscope.registry.keywords import names_with
from glyphscope.runs.answer_notes import says

PlaceKind: TypeAlias = Literal["description", "example", "format", "tool"]

_STATED = names_with(lambda keyword: keyword.said and keyword.about != "object")
"""Keywords whose value can be searched for in a prompt."""


@dataclass(frozen=True)
class PromptPlace:
    """A part of the prompt. `of` is the JSON Pointer of its source, `/search/parameters/properties/query/description`,
    as in `PromptPart`; empty for the rule of the format. `text` is that source's text, empty if it has none.

    `states`: whether the prompt states the constraint that masked the first choice; None if none is known, or if it
    cannot be searched for. `shown`: whether `text` is in the prompt; None if the prompt is not recorded.
    """

    kind: PlaceKind
    of: str
    text: str
    states: bool | None = None
    shown: bool | None = None


def prompt_places(
    path: str,
    tool: str,
    request: RunRequest,
    registry: ToolRegistry,
    prompt: PromptRendered | None,
    attribution: Attribution | None = None,
) -> tuple[PromptPlace, ...]:
    """The places for the field at `path` of a call of `tool`, the most likely cause first."""
    found = registry.get(tool)
    text = None if prompt is None else prompt.text
    argument = _argument(path, request)
    if argument is None and attribution is not None and found is not None:
        argument = ""  # a constraint of the tool rejected an argument's name, or the end of the call
    if found is None or argument is None:
        return (PromptPlace("format", "", ""),)
    example = _example(found, request)
    example_place = PromptPlace("example", to_pointer((tool,)), example, shown=_in(example, text))
    if not argument:
        of = to_pointer((tool, "description"))
        return (PromptPlace("tool", of, found.description, shown=_in(found.description, text)), example_place)
    name = _named(attribution, argument)
    schema = found.parameters.get("properties", {}).get(name)
    description = str(schema.get("description", "")) if isinstance(schema, dict) else ""
    of = to_pointer((tool, "parameters", "properties", name, "description"))
    states = _states_constraint(found, name, description, attribution, text)
    place = PromptPlace("description", of, description, states, _in(description, text))
    return (place, example_place) if example else (place,)


def _argument(path: str, request: RunRequest) -> str | None:
    """The name of the argument that the field is in; "" for the field of the tool's name, None outside fields."""
    steps = steps_of(path)
    keys = shape_keys(request.shape)
    if not steps:
        return None
    if steps[0] == keys.name_key and len(steps) == 1:
        return ""
    if keys.args_key is None:
        return steps[0]
    return steps[1] if steps[0] == keys.args_key and len(steps) > 1 else None


def _named(attribution: Attribution | None, argument: str) -> str:
    """The argument that the rejecting constraint belongs to; `argument` if it belongs to none."""
    if attribution is None:
        return argument
    steps = steps_of(attribution.pointer)
    return steps[1] if len(steps) > 2 and steps[0] == "properties" else argument


def _example(tool: Tool, request: RunRequest) -> str:
    """The tool's example call, as in prompts; empty if there is none."""
    arguments = example_arguments(tool.parameters)
    if arguments is None:
        return ""
    try:
        style: Any = "glyph" if request.notation == "glyph" else "json"
        return write_call(tool.name, arguments, style=style, shape=request.shape)
    except GlyphscopeError:
        return ""


def _in(words: str, text: str | None) -> bool | None:
    """Whether the prompt's text contains the words; None without that text."""
    return None if text is None else bool(words) and words in text


def _states_constraint(
    tool: Tool, name: str, description: str, attribution: Attribution | None, text: str | None
) -> bool | None:
    """Whether the argument's description or its type in the signature states the constraint, and is in the prompt."""
    if (
        attribution is None
        or text is None
        or attribution.tool != tool.name
        or attribution.keyword not in _STATED
    ):
        return None
    found = follow(tool.parameters, attribution.pointer)
    if found is None:
        return None
    values = found[1] if isinstance(found[1], list) else [found[1]]
    stated = [
        words
        for words in (description, argument_types(tool).get(name, ""))
        if words and _contains(words, text)
    ]
    value = re.escape(json.dumps(found[1], ensure_ascii=False))
    in_json = re.search(rf'"{attribution.keyword}"\s*:\s*{value}(?![\d.])', text)
    return bool(in_json) or any(all(says(words, value) for value in values) for words in stated)


def _contains(words: str, text: str) -> bool:
    """Whether the words are in the text, without a digit right after them."""
    return re.search(rf"{re.escape(words)}(?!\d)", text) is not None
