"""Calls and grammars without a model: whether a text is a call of the tools, the grammar of all such texts, and an
assertion whose failure names the field, the character, and the values that were possible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from glyphscope.api.runs import Run
from glyphscope.api.tools import ToolLike, Tools
from glyphscope.base.pointer import step_of
from glyphscope.base.visible import visible
from glyphscope.events import ArgumentOrder, FieldClosed, Notation, RunEvent, Shape, Violation, default_order
from glyphscope.grammar.builder.json_schema import call_schema
from glyphscope.grammar.gbnf.emit.emit import emit_gbnf
from glyphscope.grammar.lark.emit import to_lark
from glyphscope.notation.shapes import shape_keys
from glyphscope.turns import TurnOptions, build_call_grammar
from glyphscope.validation.call import CallValidator, CheckError, CheckReport
from glyphscope.validation.matching import Values


def check_call(
    text: str, tools: ToolLike = "default", *, notation: Notation = "json", shape: Shape = "name-arguments"
) -> CheckReport:
    """The verdict on a text: whether it is a call, its tool and arguments, and each violation with its character.

    Raises RegistryError, and NotationError if the shape cannot write one of the tools.
    """
    validator = CallValidator(Tools(tools).registry, notation, shape)
    validator.feed(text)
    validator.finish()
    return validator.report()


class Verdict(NamedTuple):
    """The verdict on a call so far. `tool` is None until its name is complete; `allowed` is then whether it may be
    called. `fields` has the complete arguments without a violation, by name. A `valid` call is complete.
    """

    tool: str | None
    allowed: bool | None
    fields: Mapping[str, Any]
    violations: tuple[Violation, ...]
    complete: bool
    valid: bool


class Validator:
    """Judges one call while it is written: `push` each piece of its text, of any size.

    A violation comes with the character that decides it, so that a model can be stopped there. Raises RegistryError,
    and NotationError if the shape cannot write one of the tools.
    """

    def __init__(
        self, tools: ToolLike = "default", *, notation: Notation = "json", shape: Shape = "name-arguments"
    ) -> None:
        self._validator = CallValidator(Tools(tools).registry, notation, shape)
        self._keys = shape_keys(shape)
        self._fields: dict[str, Any] = {}

    def push(self, text: str) -> Verdict:
        """The verdict after this piece."""
        return self._verdict(self._validator.feed(text))

    def end(self) -> Verdict:
        """The verdict on the whole text: what is missing at its end is a violation too."""
        return self._verdict(self._validator.finish())

    def _verdict(self, events: Sequence[RunEvent]) -> Verdict:
        for event in events:
            if isinstance(event, FieldClosed) and event.status == "holds":
                steps = [step_of(step) for step in event.path.split("/")[1:]]
                inside = len(steps) == 2 and steps[0] == self._keys[1]
                if inside or (len(steps) == 1 and steps[0] not in self._keys):
                    self._fields[steps[-1]] = event.value
        read = self._validator
        allowed = None if read.tool is None else read.tool_allowed
        found = tuple(read.violations)
        return Verdict(read.tool, allowed, dict(self._fields), found, read.complete, read.valid)


def build_grammar(
    tools: ToolLike = "default",
    *,
    to: Literal["gbnf", "lark", "json-schema"] = "gbnf",
    notation: Notation = "json",
    shape: Shape = "name-arguments",
    order: ArgumentOrder | None = None,
    free_text: bool = False,
) -> str:
    """The grammar of every call of the tools: GBNF for llama.cpp, Lark for llguidance, or a JSON Schema.

    `order` is the order of arguments; by default any for Lark, otherwise the schema's. Raises RegistryError and
    GrammarError.
    """
    registry = Tools(tools).registry
    usual = default_order("mask" if to == "lark" else "gbnf")
    if to == "json-schema":
        return json.dumps(call_schema(registry, shape), indent=2, ensure_ascii=False)
    options = TurnOptions(free_text=free_text, order=order or usual)
    grammar = build_call_grammar(registry, notation, shape, options)
    return to_lark(grammar) if to == "lark" else emit_gbnf(grammar).text


_AROUND = 40
"""Characters of an answer that are shown before a violation, and after it."""


def assert_tool_call(
    answer: Run | str,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    tools: ToolLike = "default",
    notation: Notation = "json",
    shape: Shape = "name-arguments",
) -> dict[str, Any]:
    """Assert that the answer is a valid call of this tool, with these arguments if given. Returns its arguments.

    Numbers are compared by value. `tools`, `notation` and `shape` apply to a text; a run has its own. Raises
    AssertionError, and GlyphscopeError for a run that failed.
    """
    __tracebackhide__ = True
    violations: tuple[Violation | CheckError, ...]
    if isinstance(answer, Run):
        text, violations, made, given = answer.text, answer.violations, answer.tool, answer.arguments
    else:
        report = check_call(answer, tools, notation=notation, shape=shape)
        text, violations = answer, tuple(report.errors)
        made, given = (report.tool, report.arguments) if report.valid else (None, None)
    if made is None or given is None:
        raise AssertionError("\n".join(["the answer is not a valid call", *_explained(text, violations)]))
    if made != tool:
        raise AssertionError(f"the call is of {made}, not of {tool}: {visible(text)}")
    difference = None if arguments is None else Values().difference(dict(arguments), given)
    if difference is not None:
        raise AssertionError(f"{tool}: {difference.words}\n  {visible(text)}")
    return given


def _explained(text: str, violations: tuple[Violation | CheckError, ...]) -> list[str]:
    if not violations:
        return [f"  {visible(text)}" if text else "  it is empty"]
    lines = []
    for each in violations:
        possible = f"; possible: {each.viable}" if each.viable else ""
        path = f" {each.path}" if each.path else ""
        lines.append(f"{each.code} at character {each.char:,}{path}: {each.message}{possible}")
    char = violations[0].char
    before = visible(text[max(char - _AROUND, 0) : char])
    return [*lines, f"  {before}{visible(text[char : char + _AROUND])}", f"  {' ' * len(before)}^"]
