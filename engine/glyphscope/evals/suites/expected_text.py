"""An expected answer as a text: read in any notation that the program reads, checked by the tools, and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_args

import msgspec

from glyphscope.base.errors import GlyphscopeError, NotationError
from glyphscope.base.pointer import to_pointer
from glyphscope.base.structs import ready
from glyphscope.evals.suites.registries import KnownTools
from glyphscope.evals.suites.rules import call_problems, unanswerable
from glyphscope.events import CALL, Answer, ExpectedAnswer, ExpectedCall, FinalText, Notation, Shape
from glyphscope.notation import parse_value, write_call, write_value
from glyphscope.notation.shapes import call_of
from glyphscope.registry import ToolRegistry
from glyphscope.registry.places import find_places
from glyphscope.turns import TurnForm, TurnTools, call_violations, read_turn
from glyphscope.validation.call import CallValidator

_HINT = 'Write it as in the transcript, or as JSON: {"name": …, "arguments": {…}}.'


class ExpectedTextError(GlyphscopeError):
    """A text that cannot be the expected answer. `char` is the character, from 0, at which that is certain."""

    def __init__(self, message: str, char: int = 0, hint: str = "") -> None:
        super().__init__(message, where=f"character {char}", hint=hint)
        self.char = char


class _OtherNotation(ExpectedTextError):
    """A text that another notation may read."""


class _Written(NamedTuple):
    """A call, its first character, and the character of a place in its arguments, by the place's JSON Pointer."""

    call: ExpectedCall
    start: int
    place: Callable[[str], int]


_Reader: TypeAlias = Callable[[str, ToolRegistry], Iterator[_Written]]


def read_expected(
    text: str, registry: ToolRegistry, answer: Answer = CALL, form: TurnForm | None = None
) -> ExpectedAnswer:
    """The expected answer that the text describes: a call in GLYPH or JSON in any shape, in OpenAI's wrapper, as in a
    suite, or in the `form` of a model's turns; several as a JSON list; for another `answer`, that text or value.

    Raises ExpectedTextError for what no answer could be.
    """
    if not text.strip():
        raise ExpectedTextError("There is no expected answer.", hint=_HINT if answer.is_call else "")
    if not answer.is_call:
        return ExpectedAnswer(final=FinalText(equals=_value(text, answer)))
    readers: list[_Reader] = [_of_json, _of_glyph, *([partial(_of_turn, form)] if form is not None else [])]
    errors: list[ExpectedTextError] = []
    for read in readers:
        try:
            return ExpectedAnswer(calls=tuple(_checked(read(text, registry), KnownTools(registry))))
        except _OtherNotation as error:
            errors.append(error)
    raise max(reversed(errors), key=lambda error: error.char)


def expected_text(expected: ExpectedAnswer, notation: Notation, shape: Shape) -> str:
    """A text that `read_expected` reads as this answer."""
    if not expected.calls:
        right = next(iter(expected.final.right), "") if expected.final is not None else ""
        return right if isinstance(right, str) else write_value(right, notation)
    first = expected.calls[0]
    if len(expected.calls) == 1 and first.is_plain and first.arguments is not None:
        try:
            return write_call(first.tools[0], first.arguments, style=notation, shape=shape)
        except NotationError:  # the flat shape has no place for an argument of that name
            return write_call(first.tools[0], first.arguments, style=notation, shape="name-arguments")
    calls = [
        {"name": call.tools[0], "arguments": call.arguments} if call.is_plain else msgspec.to_builtins(call)
        for call in expected.calls
    ]
    return json.dumps(calls if len(calls) > 1 else calls[0], ensure_ascii=False)


def _checked(written: Iterable[_Written], tools: KnownTools) -> Iterator[ExpectedCall]:
    """The calls, if their tools accept them."""
    for call, start, place in written:
        for path, reason in call_problems(call, tools, ()):
            raise ExpectedTextError(reason, start if path[0] == "tools" else place(to_pointer(path[1:])))
        yield call


def _of_glyph(text: str, registry: ToolRegistry) -> Iterator[_Written]:
    """One call in GLYPH, in the shape that reads most of it."""
    errors = []
    for shape in get_args(Shape):
        validator = CallValidator(registry, "glyph", shape)
        validator.feed(text)
        validator.finish()
        report = validator.report()
        if report.valid and report.tool is not None:
            yield _Written(
                ExpectedCall(tools=(report.tool,), arguments=report.arguments), 0, lambda _pointer: 0
            )
            return
        errors += [(error.char, error) for error in report.errors[:1]]
    char, error = max(errors, key=lambda each: each[0])
    hint = _HINT if error.code == "SYNTAX" or not char else ""
    raise _OtherNotation(f"{error.code}: {error.message}.", char, hint)


def _of_json(text: str, _registry: ToolRegistry) -> Iterator[_Written]:
    """Calls in JSON, in any shape, in OpenAI's wrapper or as in a suite; one, or a list."""
    try:
        document: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise _OtherNotation(f"Invalid JSON: {error.msg}.", error.pos, _HINT) from None
    except (ValueError, RecursionError):
        raise ExpectedTextError("Invalid JSON: nested too deep, or with too large a number.") from None
    listed = document.get("tool_calls", document) if isinstance(document, dict) else document
    root = "/tool_calls" if listed is not document else ""
    items = (
        {f"{root}/{index}": item for index, item in enumerate(listed)}
        if isinstance(listed, list)
        else {"": listed}
    )
    if not items:
        raise ExpectedTextError("There is no call in this list.", 0, _HINT)
    for pointer, item in items.items():
        below, call = "/arguments", None
        if isinstance(item, dict) and isinstance(item.get("tools"), list):
            try:
                call = msgspec.convert(item, ready(ExpectedCall))
            except msgspec.ValidationError as error:
                raise ExpectedTextError(f"{error}.", _char(text, pointer, "")) from None
        elif (written := call_of(item)) is not None:
            below = written.below
            call = ExpectedCall(tools=(written.tool,), arguments=written.arguments)
        if call is None:
            raise ExpectedTextError("This is not a call.", _char(text, pointer, ""), _HINT)
        yield _Written(call, _char(text, pointer, ""), partial(_char, text, f"{pointer}{below}"))


def _char(text: str, base: str, pointer: str) -> int:
    """The first character of the value at a pointer into the text, or of the nearest one around it."""
    return find_places(text, [base + pointer])[0].start


def _value(text: str, answer: Answer) -> Any:
    """The answer as a value of its schema, in JSON or GLYPH, or as a text."""
    value: Any = text.strip()
    if answer.kind == "schema":
        try:
            value = parse_value(text, "json")
        except NotationError:
            try:
                value = parse_value(text, "glyph")
            except NotationError as error:
                raise ExpectedTextError(f"{error.message}") from None
    if reason := unanswerable(value, answer, folded=False):
        raise ExpectedTextError(reason)
    return value


def _of_turn(form: TurnForm, text: str, registry: ToolRegistry) -> Iterator[_Written]:
    """The calls of a turn in the notation of a chat template."""
    tools = TurnTools(registry)
    turn = read_turn(text, form, tools)
    if not turn.calls:
        raise _OtherNotation("There is no call in the notation of the model.", turn.left_at or 0)
    for call in turn.calls:
        for violation in call_violations(call, tools):
            raise ExpectedTextError(f"{violation.code}: {violation.message}.", violation.char)
        written = ExpectedCall(tools=(call.name,), arguments=call.arguments)
        yield _Written(written, call.start, lambda _pointer: 0)
