"""Assertions of promptfoo as expectations: checks of the calls or the text, and questions to a judge.

A call is checked by its name and arguments, in the form in which promptfoo's configurations read them from the answer:
`output[0].function.name`, `JSON.parse(output[0].function.arguments).city`. Any other code is not imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from glyphscope.evals.suites.imported import NotReadable
from glyphscope.evals.suites.suite import Expectation, ExpectedCall, JudgeCheck, PathCheck
from glyphscope.registry.patterns import bad_pattern
from glyphscope.text.shorten import shorten

ANSWER = "$.answer"
_NO_TOOLS = "The file has no tools: name them with --registry."
_FACTS = frozenset({"type", "value", "description"})
"""The members of an assertion that are imported; `transform` and `threshold` are for some types."""
_OF_TEXTS = frozenset({
    "equals", "contains", "icontains", "contains-any", "icontains-any", "contains-all", "icontains-all",
    "starts-with", "ends-with", "regex",
})  # fmt: skip
"""Types that compare the answer, or the part of a call that a transform reads from it."""
_NOT_OF_THE_ANSWER = frozenset(
    {
        "cost",
        "latency",
        "perplexity",
        "perplexity-score",
        "finish-reason",
        "trace-span-count",
        "trace-span-duration",
    }
)
_PLACE = r"output(?:\[(?P<index>\d+)\])?"
_NAME = re.compile(rf"{_PLACE}\.(?:function\.)?name")
_ARGUMENT = re.compile(
    rf"JSON\.parse\(\s*{_PLACE}\.(?:function\.)?arguments\s*\)"
    r"(?:\.(?P<member>[A-Za-z_$][\w$]*)|\[(?P<quoted>'[^'\\]*'|\"[^\"\\]*\")\])"
)
_COMPARED = re.compile(
    r"\s*(?P<left>.+?)\s*===?\s*(?P<right>'[^'\\]*'|\"[^\"\\]*\"|-?\d+(?:\.\d+)?|true|false|null)\s*;?\s*"
)


@dataclass
class Found:
    """The expectations of a test's assertions so far.

    `transform` is that of the test, for assertions without another; `path` is the place in the result that the present
    assertion is about. `any_call`: a valid call of any tool is required; `only`: no other calls than these are allowed.
    """

    tools: Sequence[str]
    calls: list[ExpectedCall] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    paths: list[PathCheck] = field(default_factory=list)
    rubrics: list[JudgeCheck] = field(default_factory=list)
    transform: Any = None
    path: str = ANSWER
    any_call: bool = False
    only: bool = False
    ordered: bool = False

    def expectation(self) -> Expectation:
        """The expectation. It allows other calls, unless an assertion lists all of them, or there are no tools."""
        calls = self.calls or ([ExpectedCall(tools=tuple(self.tools))] if self.any_call else [])
        return Expectation(
            calls=tuple(calls),
            ordered=self.ordered,
            extra_calls=bool(self.tools) and not self.only,
            forbidden=tuple(self.forbidden),
            paths=tuple(self.paths),
            judge=tuple(self.rubrics),
        )

    def add(self, assertion: dict[str, Any]) -> list[str]:
        """Add one assertion. Returns the names of its members that are not imported. Raises NotReadable."""
        kind = assertion.get("type")
        if not isinstance(kind, str):
            raise NotReadable("The assertion has no type.")
        negated = kind.startswith("not-")
        base = kind.removeprefix("not-")
        if base in _NOT_OF_THE_ANSWER:
            raise NotReadable(f"{kind} is not a check of the answer.")
        if base not in _READERS:
            raise NotReadable(f"There is no assertion of a suite like {kind}.")
        transform = assertion.get("transform", self.transform)
        if transform is not None and base not in _OF_TEXTS:
            raise NotReadable(f"A transform of {kind} is not expressible in a suite.")
        self.path = ANSWER if transform is None else self.part(transform)
        used = {*(_READERS[base](self, assertion, negated) or ()), "transform"}
        return sorted(assertion.keys() - _FACTS - used)

    def call(self, name: str, **members: Any) -> None:
        """Expect a call of that tool, the same one if an earlier assertion also names the tool."""
        call = ExpectedCall(tools=(name,), **members)
        bare = ExpectedCall(tools=(name,))
        if bare in self.calls:
            self.calls[self.calls.index(bare)] = call
        elif members or not any(each.tools == (name,) for each in self.calls):
            self.calls.append(call)

    def text(self, pattern: str, negated: bool) -> None:
        """Expect that the pattern is found, or if `negated` not found, in the answer in words."""
        if reason := bad_pattern(pattern):
            raise NotReadable(reason)
        whole = rf"^(?![\s\S]*(?:{pattern}))[\s\S]*$" if negated else pattern
        self.paths.append(PathCheck(path=self.path, pattern=whole))

    def part(self, code: Any) -> str:
        """The JSONPath of a part of a call that JavaScript reads from the answer. Raises NotReadable."""
        text = code.strip() if isinstance(code, str) else ""
        name, argument = _NAME.fullmatch(text), _ARGUMENT.fullmatch(text)
        if (name or argument) and not self.tools:
            raise NotReadable(_NO_TOOLS)
        if name is not None:
            return f"$.calls[{name['index'] or 0}].tool"
        if argument is not None:
            member = argument["member"] or argument["quoted"][1:-1]
            return f"$.calls[{argument['index'] or 0}].arguments[{json.dumps(member)}]"
        raise NotReadable(f"JavaScript is not run: {shorten(' '.join(text.split()), 60)}")


# -- the types of assertions: each returns the further members that it read ----------------------------------------


def _equals(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    value = assertion.get("value")
    if isinstance(value, list | dict):
        raise NotReadable("equals with an object compares the answer's JSON, which depends on the provider.")
    if negated:
        found.text(rf"^(?:{re.escape(_text(value))})$", negated=True)
    else:
        of_a_call = found.path != ANSWER
        found.paths.append(PathCheck(path=found.path, equals=value if of_a_call else _text(value)))


def _texts(
    flags: str, joined: str, before: str = "", after: str = ""
) -> Callable[[Found, dict[str, Any], bool], None]:
    """The reader of an assertion about texts in the answer: `any` of them, or `all`."""

    def read(found: Found, assertion: dict[str, Any], negated: bool) -> None:
        value = assertion.get("value")
        values = (
            [each.strip() for each in value.split(",")]
            if joined != "one" and isinstance(value, str)
            else value
        )
        texts = [_text(each) for each in (values if isinstance(values, list) else [values])]
        if not texts or (joined == "one" and len(texts) > 1):
            raise NotReadable("The assertion's value is not a text.")
        patterns = [flags + before + re.escape(text) + after for text in texts]
        if joined == "all" and not negated:
            for pattern in patterns:
                found.text(pattern, negated=False)
        elif joined == "all":
            raise NotReadable("not-…-all is not expressible in a suite.")
        else:
            any_of = "|".join(re.escape(text) for text in texts)
            found.text(f"{flags}{before}{any_of if len(texts) == 1 else f'(?:{any_of})'}{after}", negated)

    return read


def _regex(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    found.text(_text(assertion.get("value")), negated)


def _valid_call(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    if not found.tools:
        raise NotReadable(_NO_TOOLS)
    if negated:
        raise NotReadable("A suite cannot require an invalid call.")
    found.any_call = True


def _tools_called(found: Found, assertion: dict[str, Any], negated: bool) -> frozenset[str]:
    """`tool-call-f1` of 1: these tools, and no others."""
    value, threshold = assertion.get("value"), assertion.get("threshold", 1)
    names = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if negated or threshold != 1:
        raise NotReadable("Only a threshold of 1 is expressible in a suite: all of the tools, and no others.")
    for name in _names(found, names):
        found.call(name)
    found.only = True
    return frozenset({"threshold"})


def _tool_used(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    value = assertion.get("value")
    if isinstance(value, dict):
        raise NotReadable("Numbers of calls by a pattern are not expressible in a suite.")
    names = _names(found, value if isinstance(value, list) else [value])
    if negated:
        found.forbidden += names
    else:
        for name in names:
            found.call(name)


def _arguments_match(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    value = assertion.get("value")
    if negated or not isinstance(value, dict):
        raise NotReadable("The assertion has no name and arguments.")
    if unread := sorted(value.keys() - {"name", "args", "arguments", "mode"}):
        raise NotReadable(f"The member {unread[0]} of the value is not expressible in a suite.")
    (name,) = _names(found, [value.get("name")])
    arguments = value.get("args", value.get("arguments"))
    if not isinstance(arguments, dict):
        raise NotReadable("The arguments are not an object.")
    exact = value.get("mode", "partial") == "exact"
    found.call(name, arguments=arguments, match="exact" if exact else "subset")


def _sequence(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    value = assertion.get("value")
    steps = value.get("steps") if isinstance(value, dict) else value
    if negated or not isinstance(steps, list):
        raise NotReadable("The assertion has no steps.")
    found.calls += [ExpectedCall(tools=(name,)) for name in _names(found, steps)]
    found.ordered = True
    found.only = isinstance(value, dict) and value.get("mode") == "exact"


def _rubric(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    value = assertion.get("value")
    if negated or not isinstance(value, str) or value.startswith("file://"):
        raise NotReadable("The rubric is not a text.")
    found.rubrics.append(JudgeCheck(rubric=value))


def _script(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    """Read JavaScript that compares parts of a call with values."""
    value = assertion.get("value")
    if negated or not isinstance(value, str):
        raise NotReadable("JavaScript is not run.")
    paths = []
    for part in value.removeprefix("return ").split("&&"):
        compared = _COMPARED.fullmatch(part)
        if compared is None:
            raise NotReadable(f"JavaScript is not run: {shorten(' '.join(value.split()), 60)}")
        right = compared["right"]
        literal = right[1:-1] if right[0] in "'\"" else json.loads(right)
        paths.append(PathCheck(path=found.part(compared["left"]), equals=literal))
    found.paths += paths


_READERS: dict[str, Callable[[Found, dict[str, Any], bool], frozenset[str] | None]] = {
    "equals": _equals,
    "contains": _texts("", "one"),
    "icontains": _texts("(?i)", "one"),
    "contains-any": _texts("", "any"),
    "icontains-any": _texts("(?i)", "any"),
    "contains-all": _texts("", "all"),
    "icontains-all": _texts("(?i)", "all"),
    "starts-with": _texts("", "one", before="^"),
    "ends-with": _texts("", "one", after="$"),
    "regex": _regex,
    "is-valid-function-call": _valid_call,
    "is-valid-openai-function-call": _valid_call,
    "is-valid-openai-tools-call": _valid_call,
    "tool-call-f1": _tools_called,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-args-match": _arguments_match,
    "trajectory:tool-sequence": _sequence,
    "llm-rubric": _rubric,
    "javascript": _script,
}


def _names(found: Found, names: Any) -> list[str]:
    if not isinstance(names, list) or not names:
        raise NotReadable("The assertion names no tool.")
    for name in names:
        if name not in found.tools:
            raise NotReadable(f"{shorten(str(name), 60)} is not a tool of the file.")
    return names


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise NotReadable("The assertion's value is not a text.")
    text = str(value)
    if text.startswith("file://"):
        raise NotReadable("The assertion's value is in another file.")
    return text
