"""A call in two parts: the tool's name, then that tool's arguments. Each is validated in its place in the whole call.

The validator of calls first reads the text before the part, so reasons, codes and paths are the same as for a whole
call. Characters count from the part's first.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from glyphscope.events import (
    FieldChanged,
    FieldClosed,
    FieldOpened,
    Notation,
    RunEvent,
    Shape,
    ToolKnown,
    Violation,
)
from glyphscope.notation.shapes import shape_keys
from glyphscope.notation.write import glyph_key, write_value
from glyphscope.registry import ToolRegistry
from glyphscope.turns.own_text import call_opening
from glyphscope.validation.call import CallValidator
from glyphscope.validation.streaming_validator import JudgedCall

_ENVELOPE: Shape = "name-arguments"
"""The shape in which arguments are requested and judged if the request's shape has no key for them."""


def after_name(notation: Notation, shape: Shape) -> str:
    """The text of a call between the name and its arguments as an object: `,"args":`.

    The flat shape has no key for them and uses the key of the shape name-arguments: `,"arguments":`.
    """
    key = shape_keys(shape).args_key or shape_keys(_ENVELOPE).args_key
    assert key is not None
    return f",{write_value(key, 'json')}:" if notation == "json" else f" {glyph_key(key)}="


def before_arguments(notation: Notation, shape: Shape, tool: str) -> str:
    """The text of a call before its arguments as an object: `{"tool":"search","args":`."""
    return call_opening(notation, shape) + write_value(tool, notation) + after_name(notation, shape)


def whole_call(notation: Notation, shape: Shape, tool: str, arguments: str) -> tuple[str, int]:
    """The call composed of both parts in the shape, and the character at which the arguments' text begins in it.

    The arguments' text is unchanged, except that in the flat shape its members follow the name, and a comma or a space
    replaces the brace.
    """
    if shape_keys(shape).args_key is not None:
        before = before_arguments(notation, shape, tool)
        return before + arguments + "}", len(before)
    before = call_opening(notation, shape) + write_value(tool, notation)
    inside = arguments.lstrip().removeprefix("{")
    empty = inside.lstrip().startswith("}")
    separator = "" if empty else ("," if notation == "json" else " ")
    return before + separator + inside, len(before) + len(separator) - (len(arguments) - len(inside))


class _PartValidator:
    """A validator of calls that has read the text before the part. The part ends where the member at `path` does."""

    turn = None
    content = reasoning = ""

    def __init__(
        self, registry: ToolRegistry, notation: Notation, shape: Shape, before: str, key: str
    ) -> None:
        """Raises NotationError if the registry has a tool that the shape cannot write."""
        self._validator = CallValidator(registry, notation, shape, at=-len(before))
        self._validator.feed(before)
        self._validator.raise_floor(0)
        self._path = f"/{key}"
        self._token = -1
        self._end: int | None = None  # after the part
        self.violations: list[Violation] = []

    @property
    def complete(self) -> bool:
        """Whether the part is written to its end."""
        return self._end is not None

    @property
    def tool(self) -> str | None:
        """The tool that is called, allowed or not; None while its name is not complete."""
        return self._validator.tool

    def feed(self, text: str | bytes, token: int | None = None) -> list[RunEvent]:
        """The verdicts that the next piece of the text decides."""
        self._token = self._token + 1 if token is None else token
        return self._filtered(self._validator.feed(text, self._token))

    def finish(self) -> list[RunEvent]:
        """The verdicts at the end of the text."""
        return self._filtered(self._validator.finish())

    def _filtered(self, found: list[RunEvent]) -> list[RunEvent]:
        """The events of the part, which are recorded."""
        out: list[RunEvent] = []
        for event in found:
            if (own := self._own_event(event)) is not None:
                out.append(own)
            if isinstance(own, Violation):
                self.violations.append(own)
            if isinstance(event, FieldClosed) and event.path == self._path and self._end is None:
                self._end = event.end
        return out

    def _own_event(self, event: RunEvent) -> RunEvent | None:
        """The event, if it is one of the part."""
        return event


class NameValidator(_PartValidator):
    """Judges the tool's name, generated after `call_opening`; text after the name in its last token is ignored."""

    arguments: dict[str, Any] | None = None
    """Always None: a name has no arguments."""
    calls: tuple[JudgedCall, ...] = ()

    def __init__(self, registry: ToolRegistry, notation: Notation, shape: Shape) -> None:
        """Raises NotationError if the registry has a tool that the shape cannot write."""
        super().__init__(registry, notation, shape, call_opening(notation, shape), shape_keys(shape).name_key)

    @property
    def valid(self) -> bool:
        """Whether an allowed tool was named."""
        return self.complete and self._validator.tool_allowed and not self.violations

    def _own_event(self, event: RunEvent) -> RunEvent | None:
        return event if not self.complete or isinstance(event, ToolKnown) else None


class ArgumentsValidator(_PartValidator):
    """Judges the arguments of one tool as an object, generated after `before_arguments`.

    `complete` at the object's last brace. A closing brace of the call may follow; anything else is trailing text.
    """

    def __init__(self, registry: ToolRegistry, notation: Notation, shape: Shape, tool: str) -> None:
        flat = shape_keys(shape).args_key is None
        own: Shape = _ENVELOPE if flat else shape
        key = shape_keys(own).args_key or ""
        super().__init__(registry, notation, own, before_arguments(notation, own, tool), key)
        self._dropped = self._path if flat else ""  # prefix of paths that the request's shape does not have

    @property
    def valid(self) -> bool:
        """Whether the call is complete and nothing was wrong; known after `finish`."""
        return self._validator.valid

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The arguments of the complete call; None before `finish`, unless the call was closed in the text."""
        return self._validator.arguments

    @property
    def calls(self) -> tuple[JudgedCall, ...]:
        """The call of the arguments, whose text ends at the object's last brace."""
        if self.tool is None or self.arguments is None or self._end is None:
            return ()
        return (JudgedCall(self.tool, self.arguments, 0, self._end, self.complete, tuple(self.violations)),)

    def finish(self) -> list[RunEvent]:
        """The verdicts at the end: the call is closed on the model's behalf, and jsonschema gives the final verdict."""
        closed: list[RunEvent] = []
        if self._end is not None and not self._validator.complete:
            # this brace is not in the text: its violations are reported at the text's last character
            closed = self._filtered(self._validator.feed("}", self._token))
            last = self._end - 1
            closed = [replace(each, char=last) if isinstance(each, Violation) else each for each in closed]
        return closed + super().finish()

    def _own_event(self, event: RunEvent) -> RunEvent | None:
        if not self._dropped or not isinstance(event, FieldOpened | FieldChanged | FieldClosed | Violation):
            return event
        if event.path == self._dropped and not isinstance(event, Violation):
            return None  # a key that the request's shape does not have
        return replace(event, path=event.path.removeprefix(self._dropped))
