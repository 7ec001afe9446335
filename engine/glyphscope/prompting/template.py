"""Rendering a user's template: sandboxed, strict, and with every piece knowing which part of the prompt it is.

A value that belongs to a part is a `PartText`. Where a template prints one, the marked rendering puts marks around it
that no text can contain, because they are drawn anew in each process; the parts are read off the marks. A template
that treats printed text as data (`{% filter %}`) could mangle marks: then it no longer equals the plain rendering, and
the text counts as one part.
"""

from __future__ import annotations

import re
import secrets
import traceback
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from glyphscope.errors import PromptError

MAX_CHARACTERS = 4_000_000
"""A rendered prompt is longer than this only by a mistake: no model's context holds it."""

_NONCE = str(secrets.randbits(60))
_OPEN, _MIDDLE, _CLOSE = f"\x02{_NONCE}\x1e", f"\x1e{_NONCE}\x02", f"\x03{_NONCE}\x03"
_MARKED = re.compile(f"{_OPEN}(.*?){_MIDDLE}(.*?){_CLOSE}", re.DOTALL)


class Part(NamedTuple):
    """A piece of a message: system, tools, examples or user, and its text."""

    name: str
    text: str


class PartText(str):
    """Text of the prompt that belongs to a part. Filters make plain text of it, which belongs to the template."""

    __slots__ = ("part",)
    part: str

    def __new__(cls, part: str, text: str) -> PartText:
        self = super().__new__(cls, text)
        self.part = part
        return self


class _Environment(ImmutableSandboxedEnvironment):
    """A template cannot reach files or code, change what it is given, or fill the memory by one multiplication."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
        sizes = [len(side) if isinstance(side, str | list | tuple) else side for side in (left, right)]
        if operator == "**" and abs(right) > 64:
            raise OverflowError("the exponent is too large")
        if sizes != [left, right] and sizes[0] * sizes[1] > MAX_CHARACTERS:
            raise OverflowError("the text is too long")
        return super().call_binop(context, operator, left, right)


def _mark(value: Any) -> Any:
    return f"{_OPEN}{value.part}{_MIDDLE}{value}{_CLOSE}" if isinstance(value, PartText) else value


@lru_cache(maxsize=2)
def _environment(marked: bool) -> _Environment:
    return _Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_mark if marked else None,
    )


def render(template: str, values: Mapping[str, Any], *, rest: str) -> list[Part]:
    """The parts in order; together they are the rendered text without white space around it.

    `rest` names the part of the template's own words. Raises PromptError with the line (from 1).
    """
    plain = _render(template, values, marked=False)
    parts = _parts(_render(template, values, marked=True), rest)
    if "".join(part.text for part in parts) != plain:
        parts = [Part(rest, plain)]
    return _stripped(_joined(parts))


def _render(template: str, values: Mapping[str, Any], *, marked: bool) -> str:
    try:
        pieces, length = [], 0
        for piece in _environment(marked).from_string(template).generate(values):
            length += len(piece)
            if length > MAX_CHARACTERS:
                raise OverflowError("the text is too long")
            pieces.append(piece)
    except jinja2.TemplateSyntaxError as error:
        raise _error(str(error.message), error.lineno, values) from None
    except Exception as error:  # whatever the expressions of a user's template raise
        raise _error(str(error) or type(error).__name__, _line(error), values) from error
    return "".join(pieces)


def _error(reason: str, line: int, values: Mapping[str, Any]) -> PromptError:
    *others, last = values
    return PromptError(
        f"The prompt's template cannot be rendered: {reason}.".replace("..", "."),
        where=f"line {line}" if line else "",
        hint=f"It knows {', '.join(others)} and {last}.",
    )


def _line(error: Exception) -> int:
    """The template's line that raised; jinja2 puts it into the traceback."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"
    ]
    return (lines[-1] if lines else None) or 0


def _parts(marked: str, rest: str) -> list[Part]:
    pieces = _MARKED.split(marked)  # own words, part, text, own words, part, text, … own words
    parts = [Part(rest, pieces[0])]
    for name, text, after in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
        parts += [Part(name, text), Part(rest, after)]
    return [part for part in parts if part.text]


def _joined(parts: list[Part]) -> list[Part]:
    """What separates two pieces of one part (a dash, a line end) is of that part; its neighbours become one piece."""
    joined: list[Part] = []
    for index, part in enumerate(parts):
        after = parts[index + 1].name if index + 1 < len(parts) else ""
        separates = joined and joined[-1].name == after and not any(map(str.isalnum, part.text))
        name = after if separates else part.name
        if joined and joined[-1].name == name:
            joined[-1] = Part(name, joined[-1].text + part.text)
        else:
            joined.append(Part(name, part.text))
    return joined


def _stripped(parts: list[Part]) -> list[Part]:
    """Without white space around the whole: chat templates take it away, and then nothing would be found again."""
    while parts and not parts[0].text.strip():
        parts = parts[1:]
    while parts and not parts[-1].text.strip():
        parts = parts[:-1]
    if parts:
        parts[0] = Part(parts[0].name, parts[0].text.lstrip())
        parts[-1] = Part(parts[-1].name, parts[-1].text.rstrip())
    return parts
