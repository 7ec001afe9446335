"""`glyphscope check --template`: read the output of models after a rendered prompt by the form of their template.

With `--readers`: show which readers of turns accept one answer.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from rich.text import Text

from glyphscope.base.errors import RegistryError
from glyphscope.base.shorten import shorten
from glyphscope.base.visible import visible
from glyphscope.cli.inputs import InputError, answer_lines, note_uncallable, read_text
from glyphscope.cli.output import TextTable, console, marked, print_json, print_text
from glyphscope.events import Thinking
from glyphscope.registry import ToolRegistry, parse_document
from glyphscope.turns import CallViolation, TurnForm, TurnTools, read_turn
from glyphscope.turns.readers import Reading, Resemblance, call_verdicts, readings, resemblance

_STATES: dict[Thinking, bool | None] = {"on": True, "off": False, "auto": None}
_MAX_REASON = 60


class CallAnswer(msgspec.Struct, frozen=True):
    """A call of a turn with its verdict. `arguments` is None if they cannot be read."""

    name: str
    arguments: dict[str, Any] | None
    valid: bool
    violations: list[CallViolation]


class TurnAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The output for a line. `looks_like` is absent unless the text has markers of another notation."""

    content: str
    reasoning: str
    calls: list[CallAnswer]
    complete: bool
    strict: bool
    looks_like: Resemblance | None = None


def check_turns(form: TurnForm, lines: str, default: ToolRegistry | None, *, readers: bool) -> bool:
    """Answer each line. Returns whether all turns are complete and all their calls valid.

    With `readers`, each answer has another member: every reader's reading of the text (`turns.readers.Reading`).
    Raises InputError.
    """
    known: dict[str, TurnTools] = {}
    noted: set[str] = set()

    def answer(place: str, text: str, line: dict[str, Any]) -> bool:
        thinking, tools = _read_line(line, place, default, known)
        turn = _answer_of(text, form, tools, thinking)
        if readers:
            others = readings(text, form, tools.registry, thinking)
            print_json({**msgspec.to_builtins(turn), "readers": others})
        else:
            print_json(turn)
        for call in turn.calls:
            if not call.valid:
                note_uncallable(tools.registry.get(call.name), noted)
        return turn.complete and all(call.valid for call in turn.calls)

    return answer_lines(lines, answer)


def _answer_of(text: str, form: TurnForm, tools: TurnTools, thinking: bool | None) -> TurnAnswer:
    """The turn with a verdict on each call; each violation is at the first deciding character."""
    turn = read_turn(text, form, tools, thinking)
    verdicts = call_verdicts(text, turn, form, tools, thinking)
    calls = [
        CallAnswer(call.name, call.arguments, not violations, violations)
        for call, violations in zip(turn.calls, verdicts)
    ]
    like = resemblance(text, turn, tools)
    return TurnAnswer(turn.content, turn.reasoning, calls, turn.complete, turn.strict, like)


def _read_line(
    line: dict[str, Any], place: str, default: ToolRegistry | None, known: dict[str, TurnTools]
) -> tuple[bool | None, TurnTools]:
    thinking, tools = line.get("thinking"), line.get("tools")
    if thinking is not None and not isinstance(thinking, bool):
        raise InputError(f'"thinking" is {thinking!r}; it can be true, false or null.', where=place)
    key = "" if tools is None else json.dumps(tools)
    if key not in known:
        known[key] = TurnTools(_registry(tools, default, place))
    return thinking, known[key]


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


def show_readers(
    form: TurnForm, file: str, registry: ToolRegistry, thinking: Thinking, *, as_json: bool
) -> bool:
    """Show each reader's reading of the text in a file. Returns whether the strict reading of the form accepts it.

    Raises InputError.
    """
    text = read_text(file)
    all_readings = readings(text, form, registry, _STATES[thinking])
    if as_json:
        print_json({"readers": all_readings})
    else:
        _print(text, all_readings)
    return all_readings[0].reads


def _print(text: str, all_readings: tuple[Reading, ...]) -> None:
    out = console()
    out.print(marked(text, all_readings[0].left_at, out.width))
    table = TextTable("reader", "accepts it", "calls", "deviates at")
    shown = [each for each in all_readings if each.reads or each.kind != "other"]
    for each in shown:
        words = "text" if not each.calls else "✓"
        mark = Text(words, style="green") if each.reads else Text("✗", style="red")
        table.add_row(each.reader, mark, _call_words(each), _left_words(each))
    out.print(table)
    if rest := len(all_readings) - len(shown):
        print_text(f"{rest} other notations find no call in it.", "dim")


def _call_words(reading: Reading) -> str:
    """The calls that were found, with a mark for invalid ones."""
    names = [f"{visible(call.name)}{'' if call.valid else ' (not valid)'}" for call in reading.calls]
    more = f", … {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more if names else "none"


def _left_words(reading: Reading) -> str:
    """Where and why the text left the form."""
    if reading.left_at is None:
        return "" if reading.complete else "incomplete"
    return f"character {reading.left_at}: {shorten(visible(reading.left_why), _MAX_REASON)}"
