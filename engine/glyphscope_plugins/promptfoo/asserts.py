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

from glyphscope.base.shorten import shorten
from glyphscope.evals.suites.imported import NotReadable, schema_of_answers
from glyphscope.evals.suites.rules import pattern_problem
from glyphscope.evals.suites.suite import Expectation, JudgeCheck, PathCheck
from glyphscope.events import Answer, ExpectedCall, FinalText
from glyphscope_plugins.promptfoo.templates import js_json, js_text

ANSWER, VALUE = "$.answer", "$.value"
_NO_TOOLS = "The file has no tools: name them with --registry."
_FACTS = frozenset({"type", "value", "description"})
"""The members of an assertion that are imported; `transform` and `threshold` are for some types."""
_OF_TEXTS = frozenset({
    "equals", "contains", "icontains", "contains-any", "icontains-any", "contains-all", "icontains-all",
    "starts-with", "regex",
})  # fmt: skip
"""Types that compare the answer, or the part of a call that a transform reads from it."""
ASSERTIONS = frozenset({
    "agent-rubric", "answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any",
    "contains-html", "contains-json", "contains-sql", "contains-xml", "context-faithfulness",
    "context-recall", "context-relevance", "conversation-relevance", "cost", "equals", "factuality",
    "finish-reason", "g-eval", "gleu", "guardrails", "icontains", "icontains-all", "icontains-any",
    "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call",
    "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript", "latency",
    "levenshtein", "llm-rubric", "pi", "meteor", "model-graded-closedqa", "model-graded-factuality",
    "moderation", "perplexity", "perplexity-score", "python", "regex", "rouge-n", "ruby", "similar",
    "similar:cosine", "similar:dot", "similar:euclidean", "starts-with", "tool-call-f1", "skill-used",
    "trajectory:goal-success", "trajectory:tool-args-match", "trajectory:step-count",
    "trajectory:tool-sequence", "trajectory:tool-used", "trace-error-spans", "trace-span-count",
    "trace-span-duration", "search-rubric", "webhook", "word-count",
})  # fmt: skip
"""All types of promptfoo 0.123: a cell of a table with another word before a colon is a text."""
_NOT_OF_THE_ANSWER = frozenset({
    "cost", "latency", "perplexity", "perplexity-score", "finish-reason", "trace-span-count", "trace-span-duration",
})  # fmt: skip
_PLACE = r"output(?:\[(?P<index>\d+)\])?"
_NAME = re.compile(rf"{_PLACE}\.(?:function\.)?name")
_ARGUMENT = re.compile(
    rf"JSON\.parse\(\s*{_PLACE}\.(?:function\.)?arguments\s*\)"
    r"(?:\.(?P<member>[A-Za-z_$][\w$]*)|\[(?P<quoted>'[^'\\]*'|\"[^\"\\]*\")\])"
)
_STEPS = r"(?:\.[A-Za-z_$][\w$]*|\[\d+\]|\['[^'\\]*'\]|\[\"[^\"\\]*\"\])+"
_OF_VALUE = re.compile(rf"(?P<whole>JSON\.parse\(\s*output\s*\)|output)(?P<steps>{_STEPS})")
_COMPARED = re.compile(
    r"\s*(?P<left>.+?)\s*===?\s*(?P<right>'[^'\\]*'|\"[^\"\\]*\"|-?\d+(?:\.\d+)?|true|false|null)\s*;?\s*"
)

_ANY_JSON = Answer("schema", "{}")

_NOT_IN_JAVASCRIPT = re.compile(r"(?:[^\\]|\\.)*?(\\[upP]\{|\(\?P|\(\?[a-z-]+[:)])", re.DOTALL)
"""Of the patterns that suites can have: those of the flag `u`, which promptfoo does not set, and of other engines."""


@dataclass
class Found:
    """The expectations of a test's assertions so far.

    `transform` is that of the test, for assertions without another; `path` is the place in the result that the present
    assertion is about. `answer` is the form of an answer that is not a call, `final` the right one. `any_call`: a valid
    call of any tool is required; `only`: no other calls than these are allowed.
    """

    tools: Sequence[str]
    calls: list[ExpectedCall] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    paths: list[PathCheck] = field(default_factory=list)
    rubrics: list[JudgeCheck] = field(default_factory=list)
    transform: Any = None
    path: str = ANSWER
    answer: Answer | None = None
    final: FinalText | None = None
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
            final=self.final,
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

    def must_be(self, schema: Any) -> None:
        """Expect a value of a schema as the answer, besides those of earlier assertions. Raises NotReadable."""
        if self.tools:
            raise NotReadable(
                "JSON as the answer is not expressible in a suite with tools, whose answers are calls."
            )
        answer = schema_of_answers(schema)
        if self.answer is None or self.answer == _ANY_JSON:
            self.answer = answer
        elif answer not in (self.answer, _ANY_JSON):
            raise NotReadable("A second schema of one answer is not expressible in a suite.")

    def text(self, pattern: str, negated: bool, flags: str = "") -> None:
        """Expect that the pattern is found, or if `negated` not found, in the answer in words; `flags` begin it."""
        if reason := pattern_problem(pattern):
            raise NotReadable(reason)
        whole = rf"^(?![\s\S]*(?:{pattern}))[\s\S]*$" if negated else pattern
        self.paths.append(PathCheck(path=self.path, pattern=flags + whole))

    def part(self, code: Any) -> str:
        """The JSONPath of a part of a call that JavaScript reads from the answer. Raises NotReadable."""
        text = code.strip() if isinstance(code, str) else ""
        value = _OF_VALUE.fullmatch(text)
        if value is not None and not self.tools and (value["whole"] != "output" or self.answer is not None):
            self.must_be({})
            return VALUE + value["steps"]
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
    if isinstance(value, list | dict) and not (found.tools or negated or found.final or found.path != ANSWER):
        found.must_be({})
        found.final = FinalText(equals=value)
        return
    if isinstance(value, list | dict) or value is None:
        what = "null" if value is None else "an object" if isinstance(value, dict) else "a list"
        raise NotReadable(f"equals with {what} compares the answer's JSON, which depends on the provider.")
    text = _compared(js_text(value))
    if negated:
        found.text(rf"^(?:{re.escape(text)})$", negated=True)
    elif found.path == ANSWER:
        found.paths.append(PathCheck(path=found.path, equals=text))
    else:
        found.paths.append(_equal(found.path, text))


def _equal(path: str, text: str) -> PathCheck:
    """The check that a part of a call is this text, as promptfoo compares it: 3 and "3" are equal."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, str | list | dict) or js_json(value) != text:
        return PathCheck(path=path, equals=text)
    return PathCheck(path=path, any_of=(value, text))


def _texts(
    flags: str, joined: str, before: str = "", *, numbers: bool = True
) -> Callable[[Found, dict[str, Any], bool], None]:
    """The reader of an assertion about texts in the answer: `any` of them, or `all`. Without `numbers`, only a text."""

    def read(found: Found, assertion: dict[str, Any], negated: bool) -> None:
        value = assertion.get("value")
        if joined == "one":
            texts = [_text(value, numbers=numbers)]
        else:
            values = split_values(value) if isinstance(value, str) else value
            if not isinstance(values, list) or not values:
                raise NotReadable("The assertion's value is not a list of texts.")
            texts = [_compared("null" if each is None else js_text(each)) for each in values]
        if joined == "all" and not negated:
            for text in texts:
                found.text(before + re.escape(text), negated=False, flags=flags)
        elif joined == "all":
            raise NotReadable("not-…-all is not expressible in a suite.")
        else:
            any_of = "|".join(re.escape(text) for text in texts)
            found.text(f"{before}{any_of if len(texts) == 1 else f'(?:{any_of})'}", negated, flags)

    return read


_FIELD = re.compile(r'[\s,]*(?:"((?:\\["\\]|""|[^"])*)"\s*(?=,|\Z)|([^",\s][^,]*))')


def split_values(text: str) -> list[str]:
    """The texts between commas; one in double quotes has its commas. Raises NotReadable for a quote without an end."""
    found, place = [], 0
    while text[place:].strip(" \t\r\n,"):
        field = _FIELD.match(text, place)
        if field is None:
            raise NotReadable("A quote in the assertion's list of texts has no end.")
        quoted = re.sub(r'\\(["\\])|""', lambda match: match[1] or '"', field[1] or "")
        found.append(quoted if field[2] is None else field[2].strip())
        place = field.end()
    return found


def _regex(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    pattern = _text(assertion.get("value"), numbers=False)
    if (other := _NOT_IN_JAVASCRIPT.match(pattern)) is not None:
        raise NotReadable(f"JavaScript rejects {other[1]} in a regular expression, or reads it otherwise.")
    found.text(pattern, negated)


def _is_json(found: Found, assertion: dict[str, Any], negated: bool) -> None:
    schema = assertion.get("value")
    if negated:
        raise NotReadable("A suite cannot require an answer that is not JSON.")
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError):
            raise NotReadable("The assertion's schema is in another file, or is not JSON.") from None
    found.must_be({} if schema is None else schema)


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
    "starts-with": _texts("", "one", before="^", numbers=False),
    "regex": _regex,
    "is-json": _is_json,
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


def _text(value: Any, *, numbers: bool) -> str:
    """The text of a value. Raises NotReadable for any other value, as promptfoo fails for it."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float) if numbers else str):
        kind = "a text or a number" if numbers else "a text"
        raise NotReadable(f"The assertion's value is not {kind}.")
    return _compared(js_text(value))


def _compared(text: str) -> str:
    """The text with which the answer is compared. Raises NotReadable."""
    if not text:
        raise NotReadable("The assertion's value is empty.")
    if text.startswith("file://"):
        raise NotReadable("The assertion's value is in another file.")
    return text
