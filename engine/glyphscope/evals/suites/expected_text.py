"""An expected answer as a text: read in any notation that the program reads, checked by the tools, and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

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
from glyphscope.turns import AnswerValidator, Expected, TurnForm, TurnOptions
from glyphscope.validation.call import best_fit, call_judges

_HINT = 'Write it as in the transcript, or as JSON: {"name": …, "arguments": {…}}.'


class ExpectedTextError(GlyphscopeError):
    """A text that cannot be the expected answer. `char` is the character, from 0, at which that is certain."""

    def __init__(self, message: str, char: int = 0, hint: str = "") -> None:
        super().__init__(message, where=f"character {char}", hint=hint)
        self.char = char


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
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return ExpectedAnswer(calls=_of_judges(text, registry, form))
    except (ValueError, RecursionError):
        raise ExpectedTextError("Invalid JSON: nested too deep, or with too large a number.") from None
    return ExpectedAnswer(calls=tuple(_of_document(document, text, KnownTools(registry))))


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


def _of_judges(text: str, registry: ToolRegistry, form: TurnForm | None) -> tuple[ExpectedCall, ...]:
    """One call in GLYPH in any shape, or the calls of a turn in that form."""
    judges: Iterable[tuple[object, AnswerValidator]] = call_judges(registry)
    if form is not None:
        options = TurnOptions(most_calls=None, free_text=True)
        judges = chain(judges, [(form, Expected(form, options).validator(registry))])
    _way, judge = best_fit(text, judges)
    for each in judge.violations:
        hint = _HINT if each.code == "SYNTAX" or not each.char else ""
        raise ExpectedTextError(f"{each.code}: {each.message}.", each.char, hint)
    return tuple(ExpectedCall(tools=(call.tool or "",), arguments=call.arguments) for call in judge.calls)


def _of_document(document: Any, text: str, tools: KnownTools) -> Iterator[ExpectedCall]:
    """Calls in JSON, in any shape, in OpenAI's wrapper or as in a suite; one, or a list; if their tools accept them."""
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
        below, call, start = "/arguments", None, _char(text, pointer, "")
        if isinstance(item, dict) and isinstance(item.get("tools"), list):
            try:
                call = msgspec.convert(item, ready(ExpectedCall))
            except msgspec.ValidationError as error:
                raise ExpectedTextError(f"{error}.", start) from None
        elif (written := call_of(item)) is not None:
            below = written.below
            call = ExpectedCall(tools=(written.tool,), arguments=written.arguments)
        if call is None:
            raise ExpectedTextError("This is not a call.", start, _HINT)
        for path, reason in call_problems(call, tools, ()):
            raise ExpectedTextError(
                reason,
                start if path[0] == "tools" else _char(text, f"{pointer}{below}", to_pointer(path[1:])),
            )
        yield call


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
