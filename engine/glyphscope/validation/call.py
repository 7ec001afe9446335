"""A tool call, judged while it is being written.

This extends the validator of values by the call around the arguments. Either the tool's name is a member of the call's
object (`call_level`): its value is judged like any other, and `_end` is called when it is complete. Or the name is
before the brace, in GLYPH's head form, for which the reader has separate events (`_head_text`, `_head_end`). Both paths
lead to `_name_ended`; from there on the arguments are judged by that tool's schema.

To change why a name is an unknown tool: `_why_no_tool`; the text before a call: `_reject_head`, `_leading_text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol, TypeVar, get_args

import msgspec

from glyphscope.base.json_values import as_object
from glyphscope.base.structs import ready
from glyphscope.events import Code, Notation, RunEvent, Shape, Status, ToolKnown, Violation
from glyphscope.grammar.shapes import fitting_shape
from glyphscope.notation import structure as s
from glyphscope.notation.read_glyph import is_head
from glyphscope.notation.shapes import shape_keys
from glyphscope.registry import ToolRegistry
from glyphscope.registry.places import find_places
from glyphscope.validation.call_level import CallKeys, CallLevel, tool_candidates
from glyphscope.validation.candidates import Candidate, anything
from glyphscope.validation.levels import ObjectLevel
from glyphscope.validation.reasons import LocatedReason, Reason, no_tool, values_in_words
from glyphscope.validation.streaming_validator import JudgedCall, Limits, StreamingValidator
from glyphscope.validation.tools import tools_of


class CheckError(msgspec.Struct, frozen=True):
    """A violation, with the fields of `events.Violation`."""

    code: Code
    message: str
    path: str
    char: int
    token: int
    rule: str
    viable: str


class CheckField(msgspec.Struct, frozen=True):
    """A member of the call: the characters `start` to `end` (exclusive) are its value."""

    path: str
    start: int
    end: int
    status: Status


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one text. `arguments` is None unless the call is complete.

    `tool_char` is the character at which the tool's name was complete. `stopped_at` is the number of characters read if
    the caller stopped at a violation. `chars` and `tokens` are counts.
    """

    complete: bool
    valid: bool
    tool: str | None
    tool_allowed: bool
    tool_char: int | None
    arguments: dict[str, Any] | None
    errors: list[CheckError]
    fields: list[CheckField]
    chars: int
    tokens: int
    stopped_at: int | None = None


class CallValidator(StreamingValidator):
    """Judges a call, fed in pieces of any size: returns field events and violations, and a summary (`report`)."""

    def __init__(
        self,
        registry: ToolRegistry,
        notation: Notation,
        shape: Shape,
        *,
        keys: CallKeys | None = None,
        limits: Limits | None = None,
        at: int = 0,
    ) -> None:
        """`shape` is the `fitting_shape` or becomes it; `keys` replace the shape's keys; the text begins at `at`."""
        super().__init__(
            notation,
            self._root_candidates,
            limits=limits,
            calls=True,
            subject="the call",
            explain=self._explain_name,
            at=at,
        )
        shape = fitting_shape(registry, shape)
        self._tools = tools_of(registry)
        self._keys = keys or CallKeys(*shape_keys(shape))
        self.tool: str | None = None  # its complete name, allowed or not
        self.tool_allowed = False
        self.tool_char: int | None = None  # at which the name was complete
        self._call: CallLevel | None = None  # the call's object, unless a head names the tool
        self._name_rejected = False  # a violation of the name was already reported
        self._head = ""  # the name before the brace, or the text in its place
        self._head_start = -1
        self._headed = False  # the head is complete: the object that follows is the arguments
        self._head_rejected = False  # a violation of the head was already reported
        self._handlers |= {
            s.HEAD_TEXT: self._head_text,
            s.HEAD_END: self._head_end,
            s.LEADING_TEXT: self._leading_text,
        }

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The complete arguments; None while the call is not complete."""
        if not self.complete or not isinstance(self.value, dict):
            return None
        if self._call is None or self._keys.arguments is None:
            return self.value
        given = self.value.get(self._keys.arguments)
        return given if isinstance(given, dict) else None

    @property
    def calls(self) -> Sequence[JudgedCall]:
        """The call as all of the text, once it can be read."""
        if self.tool is None or self.arguments is None:
            return ()
        found = tuple(self.violations)
        return (JudgedCall(self.tool, self.arguments, 0, self.chars, self.complete, found),)

    def report(self) -> CheckReport:
        """The verdict on the text so far."""
        self._fields.grow(self.chars)
        return CheckReport(
            complete=self.complete,
            valid=self.valid,
            tool=self.tool,
            tool_allowed=self.tool_allowed,
            tool_char=self.tool_char,
            arguments=self.arguments,
            errors=msgspec.convert(self.violations, ready(list[CheckError]), from_attributes=True),
            fields=msgspec.convert(self.fields, ready(list[CheckField]), from_attributes=True),
            chars=self.chars,
            tokens=self._token + 1,
        )

    # the objects of the call and of its arguments

    def _root_candidates(self) -> list[Candidate]:
        tool = self._tools.allowed.get(self.tool or "") if self._headed else None
        return anything() if tool is None else tool_candidates(tool) or anything()

    def _object_level(self, path: str) -> ObjectLevel:
        if not self._levels and not self._headed:
            self._call = CallLevel(self._tools, self._keys, self.notation)
            return self._call
        level = super()._object_level(path)
        around = 0 if self._headed or self._keys.arguments is None else 1
        if len(self._levels) == around:
            level.end_words = "the end of the arguments" if around else "the end of the call"
        if self.tool is not None and len(self._levels) == around:
            level.no_members_message = f"the tool '{self.tool}' takes no arguments"
        return level

    @property
    def _arguments_path(self) -> str:
        return "" if self._headed else self._keys.path

    # the tool's name

    def _end(self, value: Any, end: int, at: int) -> None:
        call = self._levels[0] if len(self._levels) == 1 else None
        super()._end(value, end, at)
        if isinstance(call, CallLevel) and call.naming:
            call.end_name()
            if isinstance(value, str):
                self._name_ended(value, at)

    def _name_ended(self, name: str, at: int) -> None:
        tool = self._tools.allowed.get(name)
        self.tool, self.tool_allowed, self.tool_char = name, tool is not None, at
        self._tool_known(ToolKnown(name=name, allowed=tool is not None, char=at))
        if self._call is None or self._stopped:
            return
        self._call.no_members_message = f"the tool '{name}' takes no arguments"
        fault = self._call.set_tool(tool)
        if fault is not None and not self._name_rejected:
            self._violate(fault.reason, at, self._arguments_path + fault.path)

    def _tool_known(self, event: ToolKnown) -> None:
        self._out.append(event)

    def _explain_name(self, reason: Reason, path: str, name: str, possible: int | None) -> LocatedReason:
        """Report a name that is not in the list as an unknown tool, not as a wrong value."""
        naming = self._call is not None and self._call.naming and len(self._levels) == 1
        if not naming or reason.code != "CONSTRAINT_ENUM":
            return LocatedReason(reason, path)
        self._name_rejected = True
        whole = possible is not None and possible >= len(name)
        return self._why_no_tool(name if possible is None else name[: possible + 1], path, whole=whole)

    def _why_no_tool(self, prefix: str, path: str, *, whole: bool = False) -> LocatedReason:
        """Why no tool's name begins with `prefix` or, if `whole`, is equal to it: no tool has the name, or the
        arguments before the name do not fit.
        """
        begun = prefix if whole else prefix[:-1]
        arguments = self._call.arguments if self._call is not None and self._levels else {}
        faults = {
            name: tool.fault(arguments) if arguments else None
            for name, tool in self._tools.allowed.items()
            if name.startswith(begun)
        }
        viable = values_in_words(name for name, fault in faults.items() if fault is None)
        for name, fault in faults.items():
            if fault is not None and (name == prefix if whole else name.startswith(prefix)):
                reason = fault.reason._replace(viable=viable)
                return LocatedReason(reason, self._arguments_path + fault.path)
        disabled = next(
            (name for name in sorted(self._tools.known) if prefix and name.startswith(prefix)), None
        )
        if disabled is not None and disabled not in self._tools.allowed:
            message = f"'{disabled}' is not on the allow list"
        else:
            message = no_tool(prefix, whole=whole)
        return LocatedReason(Reason("UNKNOWN_TOOL", message, "", viable), path)

    # GLYPH's head form

    def _head_text(self, start: int, end: int, text: str) -> None:
        if self._head_rejected:
            return
        if not self._head:
            self._head_start = start
        before, self._head = self._head, self._head + text
        for size in range(1, len(text) + 1):
            prefix = before + text[:size]
            if not any(name.startswith(prefix) for name in self._tools.allowed):
                self._reject_head(prefix, start + size - 1)
                return

    def _reject_head(self, prefix: str, at: int) -> None:
        """Reject a word before any brace: as a tool's name if it begins like the names of tools here, else as prose."""
        self._head_rejected = True
        if len(prefix) == 1 and not any(_alike(prefix, name[:1]) for name in self._tools.known):
            self._violate(self._text_before(prefix), at, "")
            return
        reason = self._why_no_tool(prefix, "").reason
        if len(prefix) == 1:
            reason = reason._replace(viable=self._openings)
        self._violate(reason, at, f"/{self._keys.name}")

    def _head_end(self, start: int, end: int, text: str) -> None:
        self._headed = True
        path = f"/{self._keys.name}"
        allowed = text in self._tools.allowed
        self._out.append(self._fields.open(path, self._head_start))
        if self._head_rejected or not allowed:
            self._fields.mark_impossible()
        self._out.append(self._fields.close(self._head_start + len(text), text))
        if not allowed and not self._head_rejected:
            self._violate(self._why_no_tool(text, path, whole=True).reason, start, path)
        self._name_ended(text, start)

    def _leading_text(self, start: int, end: int, text: str) -> None:
        if not self._head_rejected:
            after = f"'{text}' appears where '{{' must follow '{self._head}'"
            reason = Reason("LEADING_TEXT", after, "", ("'{'",)) if self._head else self._text_before(text)
            self._violate(reason, start, "")

    def _text_before(self, text: str) -> Reason:
        begins = "'{' or the name of a tool" if self._head_names else "'{'"
        message = f"'{text}' appears before the call, which must begin with {begins}"
        return Reason("LEADING_TEXT", message, "", self._openings)

    @property
    def _head_names(self) -> tuple[str, ...]:
        """The tools that can be called by GLYPH's head form."""
        if self.notation != "glyph":
            return ()
        return tuple(name for name in self._tools.allowed if is_head(name))

    @property
    def _openings(self) -> tuple[str, ...]:
        """Everything that a call can begin with, in words."""
        return ("'{'", *self._head_names)

    # the end

    def _final_verdict(self) -> LocatedReason | None:
        tool = self._tools.allowed.get(self.tool or "")
        arguments = self.arguments
        verdict = None if tool is None or arguments is None else tool.final_verdict(arguments)
        return None if verdict is None else verdict._replace(path=self._arguments_path + verdict.path)

    def _text_ended(self) -> None:
        if self._levels or self._head:
            super()._text_ended()
        else:
            reason = Reason("NO_TOOL_CALL", "the text holds no tool call", "", self._openings)
            self._violate(reason, self.chars, "")


def _alike(a: str, b: str) -> bool:
    """Whether two characters begin words in the same style: both upper case, both lower case, or both neither."""
    return (a.isupper(), a.islower()) == (b.isupper(), b.islower())


# the notation of a text from elsewhere


class Judge(Protocol):
    """Judges a text of calls while it is written."""

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """The verdicts that the next piece of the text decides; bytes may end inside a character."""

    def finish(self) -> list[RunEvent]:
        """The verdicts at the end of the text."""

    @property
    def valid(self) -> bool:
        """Whether the text is complete and without violations."""

    @property
    def violations(self) -> Sequence[Violation]:
        """All violations so far."""

    @property
    def tool(self) -> str | None:
        """The first call's tool, once it is known."""

    @property
    def calls(self) -> Sequence[JudgedCall]:
        """The calls, in order."""


WRITTEN: tuple[tuple[Notation, Shape], ...] = tuple(product(("json", "glyph"), get_args(Shape)))
"""The notations and shapes of a call; GLYPH is last, as it accepts JSON, too."""
Way = TypeVar("Way")
AnyJudge = TypeVar("AnyJudge", bound=Judge)


def call_judges(registry: ToolRegistry) -> Iterator[tuple[tuple[Notation, Shape], CallValidator]]:
    """A validator of one call in each notation and shape, for `best_fit`. Raises NotationError."""
    for notation, shape in WRITTEN:
        yield (notation, shape), CallValidator(registry, notation, shape)


def best_fit(text: str, judges: Iterable[tuple[Way, AnyJudge]]) -> tuple[Way, AnyJudge]:
    """The first judge for which the text is valid calls, after reading it, with what it is paired with.

    If there is none, the one that knows a tool, or otherwise the one that rejects the text latest. Raises
    LookupError without judges.
    """
    best: tuple[tuple[bool, bool, int], Way, AnyJudge] | None = None
    for way, judge in judges:
        judge.feed(text)
        judge.finish()
        first = min((each.char for each in judge.violations), default=len(text))
        fit = judge.valid and bool(judge.calls), judge.tool is not None, first
        if best is None or fit > best[0]:
            best = fit, way, judge
        if fit[0]:
            break
    if best is None:
        raise LookupError
    return best[1:]


class WrappedCalls(NamedTuple):
    """The calls in a text of an API, each as `{"name": …, "arguments": …}` with the characters that were written."""

    api: str
    calls: tuple[str, ...]


def wrapped_calls(text: str) -> WrappedCalls | None:
    """The calls in JSON as an API gives them: one, a list, or those of a message or answer; None for another text."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    items = dict(_wrappers(document))
    found = [each for pointer, item in items.items() if (each := _in_wrapper(pointer, item)) is not None]
    if not found or (isinstance(document, list) and len(found) < len(items)):
        return None
    places = find_places(text, [pointer for _, _, pointer in found])
    calls = []
    for (_, name, _), place in zip(found, places, strict=True):
        written = text[place.start : place.end]
        if written[0] == '"':  # OpenAI writes them as JSON in a string
            written = json.loads(written) or "{}"
        calls.append(f'{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": {written}}}')
    return WrappedCalls(found[0][0], tuple(calls))


_LISTS = ("tool_calls", "content", "output", "choices")
"""The members of a message or an answer with calls, in OpenAI's APIs and Anthropic's."""
_MOST_AROUND = 4
"""The maximum number of objects around a call: an answer, its choices, their message, its calls."""


def _wrappers(document: Any, pointer: str = "", around: int = 0) -> Iterator[tuple[str, Any]]:
    """The items of a document that may be calls, by pointer."""
    inner = as_object(document).get("message")
    key = next((key for key in _LISTS if isinstance(as_object(document).get(key), list)), "")
    if around > _MOST_AROUND or not (isinstance(document, list) or isinstance(inner, dict) or key):
        yield pointer, document
    elif isinstance(inner, dict):
        yield from _wrappers(inner, f"{pointer}/message", around + 1)
    else:
        listed = document[key] if key else document
        for index, item in enumerate(listed):
            yield from _wrappers(
                item, f"{pointer}/{key}/{index}" if key else f"{pointer}/{index}", around + 1
            )


_TYPES = {"function_call": ("OpenAI Responses", "arguments"), "tool_use": ("Anthropic Messages", "input")}


def _in_wrapper(pointer: str, item: Any) -> tuple[str, str, str] | None:
    """The API of a call, its tool, and the pointer of its arguments."""
    call = as_object(item)
    if isinstance(call.get("function"), dict):
        api, key, call, pointer = (
            "OpenAI Chat Completions",
            "arguments",
            call["function"],
            f"{pointer}/function",
        )
    elif isinstance(kind := call.get("type"), str) and kind in _TYPES:
        api, key = _TYPES[kind]
    else:
        return None
    name, arguments = call.get("name"), call.get(key)
    return (
        (api, name, f"{pointer}/{key}")
        if isinstance(name, str) and isinstance(arguments, dict | str)
        else None
    )
