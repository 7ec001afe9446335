"""The assertions of an expectation as lines of a form. What a line cannot show stays as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.evals.suites.suite import Expectation, JudgeCheck, PathCheck, PythonCheck

AssertionKind: TypeAlias = Literal["path", "python", "judge"]
PathTest: TypeAlias = Literal["exists", "equals", "one_of", "matches", "schema", "count"]
"""What the selected values must be: there, equal to a value, one of a list, matched by a regular expression, valid
under a JSON Schema, or so many."""

_MEMBERS: dict[PathTest, str] = {
    "equals": "equals", "one_of": "any_of", "matches": "pattern", "schema": "schema", "count": "count",
}  # fmt: skip


@dataclass(frozen=True)
class AssertionLine:
    """`target` is the JSONPath, the function or the rubric; `test` and `value` are a path's."""

    kind: AssertionKind
    target: str
    test: PathTest = "exists"
    value: Any = None


def with_assertions(expect: Expectation, lines: Sequence[AssertionLine]) -> Expectation:
    """The expectation with exactly these assertions."""
    return msgspec.structs.replace(
        expect,
        paths=tuple(_path(line) for line in lines if line.kind == "path"),
        python=tuple(PythonCheck(function=line.target) for line in lines if line.kind == "python"),
        judge=tuple(JudgeCheck(rubric=line.target) for line in lines if line.kind == "judge"),
    )


def assertion_lines(expect: Expectation) -> tuple[AssertionLine, ...] | None:
    """The lines that say the same; None where there are none, as of a path with several conditions."""
    lines = (
        *(_line(check) for check in expect.paths),
        *(AssertionLine("python", check.function) for check in expect.python),
        *(AssertionLine("judge", check.rubric) for check in expect.judge),
    )
    return lines if with_assertions(expect, lines) == expect else None


def _path(line: AssertionLine) -> PathCheck:
    if line.test == "exists":
        return PathCheck(path=line.target)
    value: Any = tuple(line.value) if line.test == "one_of" else line.value
    condition: dict[str, Any] = {_MEMBERS[line.test]: value}
    return PathCheck(path=line.target, **condition)


def _line(check: PathCheck) -> AssertionLine:
    """By the first of its conditions."""
    for test, member in _MEMBERS.items():
        value: Any = getattr(check, member)
        if value not in (msgspec.UNSET, (), None) or (member == "equals" and value is None):
            return AssertionLine("path", check.path, test, [*check.any_of] if test == "one_of" else value)
    return AssertionLine("path", check.path)
