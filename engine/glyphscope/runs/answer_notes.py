"""Notes on a valid answer that make it doubtful: values that are copied from the prompt's examples or from the schema,
and the same words over and over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

from glyphscope.base.errors import GlyphscopeError
from glyphscope.base.shorten import excerpt
from glyphscope.base.translate import Translate, english
from glyphscope.events import QuestionAnswered, RunRequest, ToolResult
from glyphscope.grammar import example_arguments
from glyphscope.notation import write_call
from glyphscope.registry import Tool
from glyphscope.runs.state import RunState, StageState
from glyphscope.validation.matching import Values, shown

MAX_COPIED = 3
"""Copied values that are named; the fields show all."""
MAX_WORDS, LONGEST = 1000, 20
"""The last words of a text, or signs of a word, that are searched for repetitions, and the most of a repeated part."""
LEAST_TIMES, LEAST_WORDS, LEAST_SIGNS = 4, 12, 60
"""The fewest repetitions that are noted, and the fewest words or signs that they have together."""


class Copied(NamedTuple):
    """An argument of the call with that index whose value is that of the tool's example in the prompt, or the default
    of its schema, and occurs neither in the user's messages nor in the results of earlier calls.
    """

    call: int
    name: str
    value: Any
    source: Literal["example", "default"]

    def words(self, tr: Translate = english) -> str:
        """`the example's value`."""
        return tr("the example’s value") if self.source == "example" else tr("the schema’s default")


def copied_values(state: RunState, stage: StageState) -> tuple[Copied, ...]:
    """The copied texts and numbers of a stage's calls, in order; none if its tools or its prompt are not known."""
    request = None if state.started is None else state.started.request
    registry = state.whole_registry
    if request is None or registry is None or not stage.calls:
        return ()
    said = [request.prompt, *(each.content for each in request.history if each.role in ("user", "tool"))]
    for before in takewhile(lambda each: each is not stage, state.stages):
        said += [event.sent or event.message for event in before.outline if isinstance(event, ToolResult)]
        said += [event.answer or "" for event in before.outline if isinstance(event, QuestionAnswered)]
    asked = "\n".join(said)
    found: list[Copied] = []
    for call in stage.calls:
        if (tool := registry.get(call.tool)) is None:
            continue
        example, values = _example(tool, request, stage), Values()
        properties = tool.parameters.get("properties", {})
        for name, value in call.arguments.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float) or says(asked, value):
                continue
            schema = properties.get(name)
            schema = schema if isinstance(schema, dict) else {}
            if "const" in schema or len(schema.get("enum", (1, 2))) == 1:  # the only possible value
                continue
            if name in example and values.same(example[name], value):
                found.append(Copied(call.call_index, name, value, "example"))
            elif "default" in schema and values.same(schema["default"], value):
                found.append(Copied(call.call_index, name, value, "default"))
    return tuple(found)


def answer_notes(state: RunState, tr: Translate = english) -> tuple[str, ...]:
    """The notes on the answer of an ended run, in sentences; empty for most."""
    notes: list[str] = []
    copied = [each for stage in state.stages for each in copied_values(state, stage)]
    for each in copied[:MAX_COPIED]:
        value = f"{each.name}={shown(each.value)}"
        if each.source == "example":
            notes.append(tr("{value} is the example’s value, and is not in the request.", value=value))
        else:
            notes.append(tr("{value} is the schema’s default, and is not in the request.", value=value))
    if len(copied) > MAX_COPIED:
        notes.append(tr("%n more value(s) are copied.", "", len(copied) - MAX_COPIED))
    last = state.last_with_text
    if last is not None and (again := repetition(last.text)) is not None:
        words, times = again
        notes.append(
            tr("The words “{words}” are repeated {times:,} times.", words=excerpt(words), times=times)
        )
    elif last is not None and (again := repeated_signs(last.text)) is not None:
        signs, times = again
        notes.append(tr("“{text}” is repeated {times:,} times.", text=excerpt(signs), times=times))
    return tuple(notes)


def repetition(text: str) -> tuple[str, int] | None:
    """The words that a text repeats one time after the other, and how often, if that is a large part of it."""
    found = _repeated(text.split(), LEAST_WORDS)
    return None if found is None else (" ".join(found[0]), found[1])


def repeated_signs(text: str) -> tuple[str, int] | None:
    """The same for the signs of its longest word, which a loop of the model can make; not for a line of one mark."""
    found = _repeated([*max(text.split(), key=len, default="")], LEAST_SIGNS)
    part = "" if found is None else "".join(found[0])
    return None if found is None or not any(map(str.isalnum, part)) else (part, found[1])


def _repeated(whole: Sequence[str], least: int) -> tuple[Sequence[str], int] | None:
    """The part that comes again and again, and how often; `least`: the fewest items that these have together."""
    items = whole[-MAX_WORDS:]
    best: tuple[int, int, int] = (0, 0, 0)  # covered items, minus the size of the part, its place
    for size in range(1, min(LONGEST, len(items) // LEAST_TIMES) + 1):
        start = 0
        for place in range(size, len(items) + 1):
            if place == len(items) or items[place] != items[place - size]:
                covered = place - start
                if covered >= max(LEAST_TIMES * size, least):
                    best = max(best, (covered - covered % size, -size, start))
                start = place - size + 1
    covered, size, start = best
    if not covered:
        return None
    part, place = items[start : start - size], len(whole) - len(items) + start
    times = covered // -size
    while place >= len(part) and whole[place - len(part) : place] == part:  # also before the searched items
        times, place = times + 1, place - len(part)
    return part, times


def says(words: str, value: Any) -> bool:
    """Whether the value is in the words, and not as a part of another word or number; case does not matter."""
    said = re.escape(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))
    if isinstance(value, str | bool) or value is None:
        return re.search(rf"(?<![\w-]){said}(?![\w-])", words, re.IGNORECASE) is not None
    return re.search(rf"(?<!\d)(?<!\d\.){said}(?!\d|\.\d)", words) is not None


def _example(tool: Tool, request: RunRequest, stage: StageState) -> dict[str, Any]:
    """The arguments of the tool's example in the stage's prompt; empty if it has none."""
    arguments = example_arguments(tool.parameters, tool.input_examples)
    if arguments is None or stage.prompt is None:
        return {}
    try:
        written = write_call(tool.name, arguments, style=request.notation, shape=request.shape)
    except GlyphscopeError:
        return {}
    return arguments if written in stage.prompt.text else {}
