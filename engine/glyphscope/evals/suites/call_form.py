"""An expected call, and further assertions, as forms of lines. Parts that a form cannot show stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec

from glyphscope.evals.suites.suite import Expectation, JudgeCheck, PathCheck, PythonCheck
from glyphscope.events import ExpectedCall

CheckKind: TypeAlias = Literal["equals", "one_of", "matches", "schema", "optional"]
"""Equal to a value; to one of a list; text that a regular expression matches; valid under a JSON Schema; any value, or
none."""


@dataclass(frozen=True)
class ArgumentCheck:
    """`value` is the value, the list, the pattern or the schema; None for `optional`."""

    name: str
    kind: CheckKind
    value: Any = None


@dataclass(frozen=True)
class CallChecks:
    """A call of `tool`. `others`: arguments without a check are allowed. `folded`: ignores case and white space."""

    tool: str
    checks: tuple[ArgumentCheck, ...] = ()
    others: bool = False
    folded: bool = False


def call_of(form: CallChecks) -> ExpectedCall:
    """The equivalent expectation. Arguments of a schema are required, whatever their values."""
    of = {
        kind: [each for each in form.checks if each.kind == kind] for kind in ("equals", "one_of", "optional")
    }
    below = {each.name: _schema_of(each) for each in form.checks if each.kind in ("matches", "schema")}
    exact = not form.others and bool(form.checks)
    equal = {each.name: each.value for each in of["equals"]}
    return ExpectedCall(
        tools=(form.tool,),
        arguments=equal if equal or (exact and not of["one_of"]) else None,
        match="exact" if exact or not (equal or of["one_of"]) else "subset",
        any_of={each.name: tuple(each.value) for each in of["one_of"]},
        optional=tuple([each.name for each in of["optional"]] + ([*below] if exact else [])),
        schema={"properties": below, "required": [*below]} if below else None,
        folded=form.folded,
    )


def form_of(call: ExpectedCall) -> CallChecks | None:
    """The equivalent form; None if there is none."""
    schema = call.schema or {}
    below: dict[str, Any] = schema.get("properties", {})
    checks = [
        *(ArgumentCheck(name, "equals", value) for name, value in (call.arguments or {}).items()),
        *(ArgumentCheck(name, "one_of", list(values)) for name, values in call.any_of.items()),
        *(_check_of(name, each) for name, each in below.items()),
        *(ArgumentCheck(name, "optional") for name in call.optional if name not in below),
    ]
    others = call.match == "subset" or (call.arguments is None and not call.any_of)
    form = CallChecks(call.tools[0] if call.tools else "", tuple(checks), others, call.folded)
    return form if _same(call_of(form), call) else None


def _same(one: ExpectedCall, other: ExpectedCall) -> bool:
    """Whether two calls are equivalent: beside `any_of`, no `arguments` and empty `arguments` are the same."""
    return _plain(one) == _plain(other)


def _plain(call: ExpectedCall) -> tuple[Any, ...]:
    exact = call.match == "exact" and (call.arguments is not None or bool(call.any_of))
    schema = {name: value for name, value in (call.schema or {}).items() if value}
    return (
        call.tools, call.arguments or {}, exact, call.any_of, set(call.optional), schema, call.unordered, call.folded,
    )  # fmt: skip


def _schema_of(check: ArgumentCheck) -> dict[str, Any]:
    return {"pattern": check.value} if check.kind == "matches" else check.value


def _check_of(name: str, schema: Any) -> ArgumentCheck:
    if isinstance(schema, dict) and [*schema] == ["pattern"]:
        return ArgumentCheck(name, "matches", schema["pattern"])
    return ArgumentCheck(name, "schema", schema)


AssertionKind: TypeAlias = Literal["path", "python", "judge"]
PathTest: TypeAlias = Literal["exists", "equals", "one_of", "matches", "schema", "count"]
"""The condition on the selected values: present, equal to a value, one of a list, matched by a regular expression,
valid under a JSON Schema, or a number of values."""

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
    """The equivalent lines; None if there are none, as for a path with several conditions."""
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
    """The line with the first of its conditions."""
    for test, member in _MEMBERS.items():
        value: Any = getattr(check, member)
        if value not in (msgspec.UNSET, (), None) or (member == "equals" and value is None):
            return AssertionLine("path", check.path, test, [*check.any_of] if test == "one_of" else value)
    return AssertionLine("path", check.path)
