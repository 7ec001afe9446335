"""An assertion about a call, whose failure names the field, the character, and the values that were possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glyphscope.api.checking import check_call
from glyphscope.api.runs import Run
from glyphscope.api.tools import ToolLike
from glyphscope.evals.scoring.matching import Values
from glyphscope.events import Notation, Shape, Violation
from glyphscope.validation.call import CheckError
from glyphscope.visible import visible

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
