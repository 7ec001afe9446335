"""A tool call, judged while it is being written.

The generic judge decides the arguments; what is added here is the call around them: the tool's name, the keys of the
three shapes, GLYPH's head form, and that arguments may come before the name. Until the name is known every allowed
tool is a candidate, so an argument that no tool has is refused at once, and a name is refused at the first character
after which no tool is left that could have the arguments given.
"""

from __future__ import annotations

from typing import Any

import msgspec

from glyphscope.events import Code, FieldClosed, Notation, Shape, Status, ToolKnown
from glyphscope.notation.read_glyph import is_head
from glyphscope.notation.scalars import STRING
from glyphscope.notation.shapes import shape_keys
from glyphscope.registry import ToolRegistry
from glyphscope.registry.pointer import step_of
from glyphscope.validation.candidates import Candidate, Level
from glyphscope.validation.reasons import Reason, one_of, values_in_words
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import ANYTHING, Spec
from glyphscope.validation.streaming_validator import Judge, Limits
from glyphscope.validation.tools import CallableTool, tools_of


class CheckError(msgspec.Struct, frozen=True):
    """A violation, as `events.Violation` has it."""

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
    """The verdict on one text. `arguments` is None unless the call is complete."""

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


# With more allowed tools than this, arguments that come before the name wait for the name to be judged.
MOST_TOOLS_AT_ONCE = 64

_ANY = SchemaSet(True)


class ToolCandidate(Candidate):
    """A candidate for the whole call."""

    __slots__ = ("tool",)

    def __init__(self, tool: CallableTool, spec: Any) -> None:
        super().__init__(tool.schemas, spec, None)
        self.tool = tool


class CallValidator(Judge):
    """Feed it a call in any chunking; it answers with field events and violations, and `report()` sums up.

    Raises NotationError when the registry has a tool that the shape cannot write.
    """

    def __init__(
        self, registry: ToolRegistry, notation: Notation, shape: Shape, *, limits: Limits | None = None
    ) -> None:
        super().__init__(notation, limits=limits or Limits(), calls=True)
        self._tools = tools_of(registry, shape)
        self._name_key, self._args_key = shape_keys(shape)
        self.tool: str | None = None
        self.tool_allowed = False
        self.tool_char: int | None = None
        self._named = False  # the name's key was read
        self._naming = False  # the value that is being written is the name
        self._args_given = False
        self._open_choice = True  # every allowed tool is still a candidate, and none was looked at
        self._headed = False
        self._head: list[str] = []
        self._head_start = -1
        self._head_refused = False
        self._name_refused = False

    @property
    def valid(self) -> bool:
        """Whether the call is complete and nothing was wrong."""
        return self.complete and not self.violations

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The complete arguments; None while the call is not complete."""
        if not self.complete or not isinstance(self.value, dict):
            return None
        if self._headed or self._args_key is None:
            return self.value
        given = self.value.get(self._args_key)
        return given if isinstance(given, dict) else None

    def report(self) -> CheckReport:
        self._grow_open_fields(self.chars)
        return CheckReport(
            complete=self.complete,
            valid=self.valid,
            tool=self.tool,
            tool_allowed=self.tool_allowed,
            tool_char=self.tool_char,
            arguments=self.arguments,
            errors=[
                CheckError(v.code, v.message, v.path, v.char, v.token, v.rule, v.viable)
                for v in self.violations
            ],
            fields=[CheckField(*field) for field in self.fields],
            chars=self.chars,
            tokens=self._token + 1,
        )

    # the call's own object

    @property
    def _at_top(self) -> bool:
        return len(self._levels) == 1

    def _root_candidates(self) -> list[Candidate]:
        if self._headed:
            return self._candidates_of_tool() or [Candidate(_ANY, ANYTHING, None)]
        return [Candidate(_ANY, ANYTHING, None)]

    def _candidates_of_tool(self) -> list[Candidate]:
        tool = self._tools.allowed.get(self.tool or "")
        return [] if tool is None else [ToolCandidate(tool, spec) for spec in tool.specs]

    def _look_at_tools(self) -> None:
        """The call's candidates, now that something depends on which tools are left."""
        if not self._open_choice:
            return
        self._open_choice = False
        if 0 < len(self._tools.allowed) <= MOST_TOOLS_AT_ONCE:
            self._levels[0].candidates = [
                ToolCandidate(tool, spec) for tool in self._tools.allowed.values() for spec in tool.specs
            ]

    def _own_key(self, prefix: str) -> bool:
        """Whether one of the call's own keys, not yet given, begins so."""
        if self._headed:
            return False
        if not self._named and self._name_key.startswith(prefix):
            return True
        return self._args_key is not None and not self._args_given and self._args_key.startswith(prefix)

    @property
    def _enveloped(self) -> bool:
        """Whether the call's object holds only its own keys."""
        return self._args_key is not None and not self._headed

    def _key_can_begin(self, prefix: str) -> bool:
        if not self._at_top:
            return super()._key_can_begin(prefix)
        if self._own_key(prefix):
            return True
        if self._enveloped or not (self._headed or self._tools.allowed):
            return False
        self._look_at_tools()
        return super()._key_can_begin(prefix)

    def _key_reason(self, name: str, *, whole: bool) -> Reason:
        mine = (
            self._named and self._name_key.startswith(name or " ") and not (whole and name != self._name_key)
        )
        if not (self._at_top and (self._enveloped or mine)):
            return super()._key_reason(name, whole=whole)
        own = [key for key in (self._name_key, self._args_key) if key]
        given = [key for key, seen in zip(own, (self._named, self._args_given), strict=False) if seen]
        viable = one_of(f"'{key}'" for key in own if key not in given) or "the end of the call"
        again = next((key for key in given if name and key.startswith(name)), None)
        if again and not (whole and again != name):
            return Reason("DUPLICATE_ARGUMENT", f"'{again}' was given already", "", viable)
        return Reason("UNKNOWN_ARGUMENT", f"no key of the call begins with '{name}'", "", viable)

    def _name_reason(self, level: Level, prefix: str, *, whole: bool = False) -> Reason:
        if self._tools.allowed or self._headed or not self._at_top:
            return super()._name_reason(level, prefix, whole=whole)
        viable = "" if self._named else f"'{self._name_key}'"
        return Reason("UNKNOWN_ARGUMENT", "no tool is allowed, so there are no arguments", "", viable)

    def _takes_none(self, level: Level) -> str:
        if self.tool is None or level is not self._levels[int(self._enveloped)]:
            return super()._takes_none(level)
        return f"the tool '{self.tool}' takes no arguments"

    def _key_end(self, start: int, end: int, text: str) -> None:
        key = "".join(self._pieces)
        self._check_repeated(whole=True)
        if not self._at_top or self._headed:
            super()._key_end(start, end, text)
        elif key == self._name_key and not self._named:
            self._named = self._naming = True
            self._levels[0].key = key
        elif key == self._args_key and not self._args_given:
            self._args_given = True
            self._levels[0].key = key
        elif self._enveloped:
            self._levels[0].key = key
            if self._key_judged:
                self._refuse_key(key, start)
        else:
            if self._key_judged and not self._tools.allowed:
                self._refuse_key(key, start)
            elif self._key_judged:
                self._look_at_tools()
            super()._key_end(start, end, text)

    def _another_member(self, level: Level, at: int) -> None:
        if self._at_top and (self._own_key("") or not self._levels[0].candidates):
            return
        if self._at_top and self._enveloped:
            viable = "the end of the call"
            self._violate(Reason("UNKNOWN_ARGUMENT", "no key of the call is left", "", viable), at, "")
            return
        super()._another_member(level, at)

    def _member_candidates(self, level: Level) -> list[Candidate]:
        if not self._at_top or self._headed:
            return super()._member_candidates(level)
        if self._naming:
            return [Candidate(_ANY, self._name_spec(), None)]
        if level.key != self._args_key:
            return super()._member_candidates(level)
        self._look_at_tools()
        top = [c for c in level.candidates if isinstance(c, ToolCandidate)]
        return [Candidate(c.schemas, c.spec, c) for c in top] or super()._member_candidates(level)

    def _end(self, value: Any, end: int, at: int) -> None:
        if not (self._at_top and self._naming):
            super()._end(value, end, at)
            return
        self._close_field(self._levels[0], value, end)
        self._naming = False
        self._tool_named(value, at)

    def _object_close(self, start: int, end: int, text: str) -> None:
        if self._at_top and not self._headed:
            self._close_call(start)
        super()._object_close(start, end, text)

    def _close_call(self, at: int) -> None:
        top = self._levels[0]
        lacking = None
        if not self._named:
            keys = f"{self._name_key}=…" if self.notation == "glyph" else f'"{self._name_key}": …'
            lacking = Reason(
                "MISSING_TOOL", f"the call names no tool ({keys})", "", one_of(self._tools.allowed)
            )
        elif self._args_key is not None and not self._args_given and self.tool_allowed:
            lacking = Reason("MISSING_REQUIRED", f"lacks '{self._args_key}'", "", f"'{self._args_key}'")
        if lacking is not None:
            self._violate(lacking, at, "")
        if lacking is not None or self._enveloped:
            top.candidates = [Candidate(_ANY, ANYTHING, None)]

    # the tool's name

    def _name_spec(self) -> Spec:
        """The names that are left, given the arguments that came before."""
        left = {c.tool.name for c in self._levels[0].candidates if isinstance(c, ToolCandidate)}
        if not left:
            return self._tools.name_spec
        return Spec(kinds=STRING, enum=tuple(name for name in self._tools.allowed if name in left))

    def _tool_named(self, name: Any, at: int) -> None:
        """The name is complete: from here on only this tool is judged."""
        self._open_choice = False
        if not isinstance(name, str):
            return
        tool = self._tools.allowed.get(name)
        self.tool, self.tool_allowed, self.tool_char = name, tool is not None, at
        self._out.append(ToolKnown(name=name, allowed=tool is not None, char=at))
        if not self._levels:
            return
        top = self._levels[0]
        if tool is None:
            top.candidates = [Candidate(_ANY, ANYTHING, None)]
            return
        mine: list[Candidate] = [c for c in top.candidates if isinstance(c, ToolCandidate) and c.tool is tool]
        top.candidates = mine or self._candidates_of_tool() or [Candidate(_ANY, ANYTHING, None)]
        if not mine and not self._name_refused:
            fault = tool.fault(self._arguments_so_far())
            if fault is not None:
                self._violate(fault[0], at, f"{self._arguments_path}/{step_of(fault[1])}")

    @property
    def _arguments_path(self) -> str:
        return f"/{self._args_key}" if self._enveloped else ""

    def _arguments_so_far(self) -> dict[str, Any]:
        value = self._levels[0].value
        given = value.get(self._args_key, {}) if self._enveloped else value
        return given if isinstance(given, dict) else {}

    def _violate(self, reason: Reason, at: int, path: str) -> None:
        if self._naming and self._at_top and reason.code == "CONSTRAINT_ENUM":
            self._name_refused = True
            typed = self._scalar.text if self._scalar else "".join(self._pieces)
            check = self._strings[0] if self._strings else None
            prefix = typed[: check.count + 1] if check is not None else typed
            reason, path = self._why_no_tool(prefix, path)
        super()._violate(reason, at, path)

    def _why_no_tool(self, prefix: str, path: str) -> tuple[Reason, str]:
        """Why no tool's name begins with `prefix`: it is none, or its arguments were wrong already."""
        for name, tool in self._tools.allowed.items():
            if name.startswith(prefix) and self._levels:
                fault = tool.fault(self._arguments_so_far())
                if fault is not None:
                    return fault[0], f"{self._arguments_path}/{step_of(fault[1])}"
        viable = values_in_words(name for name in self._tools.allowed if name.startswith(prefix[:-1]))
        disabled = next(
            (name for name in sorted(self._tools.known) if prefix and name.startswith(prefix)), None
        )
        if disabled is not None and disabled not in self._tools.allowed:
            return Reason("UNKNOWN_TOOL", f"'{disabled}' is not on the allow list", "", viable), path
        return Reason("UNKNOWN_TOOL", f"no allowed tool is named '{prefix}' or begins so", "", viable), path

    # GLYPH's head form

    def _head_text(self, start: int, end: int, text: str) -> None:
        if self._head_start < 0:
            self._head_start = start
        before = "".join(self._head)
        self._head.append(text)
        if self._head_refused:
            return
        for size in range(1, len(text) + 1):
            prefix = before + text[:size]
            if not any(name.startswith(prefix) for name in self._tools.allowed):
                self._refuse_head(prefix, start + size - 1)
                return

    def _refuse_head(self, prefix: str, at: int) -> None:
        """A word before any brace: a tool's name if it begins as tools' names here do, prose otherwise."""
        self._head_refused = True
        if len(prefix) == 1 and not any(_alike(prefix, name[:1]) for name in self._tools.known):
            self._violate(self._text_before(prefix), at, "")
            return
        reason, _ = self._why_no_tool(prefix, "")
        if len(prefix) == 1:
            reason = reason._replace(viable=self._openings)
        self._violate(reason, at, f"/{self._name_key}")

    def _head_end(self, start: int, end: int, text: str) -> None:
        self._headed = True
        self._open_field(f"/{self._name_key}", self._head_start)
        field = self.fields[-1]
        field[2] = self._head_start + len(text)
        field[3] = "impossible" if self._head_refused or text not in self._tools.allowed else "holds"
        self._field = None
        self._out.append(
            FieldClosed(path=field[0], start=field[1], end=field[2], status=field[3], value=text)
        )
        if text not in self._tools.allowed and not self._head_refused:
            reason, path = self._why_no_tool(text, field[0])
            self._violate(reason, start, path)
        self._tool_named(text, start)

    def _leading_text(self, start: int, end: int, text: str) -> None:
        if not self._head_refused:
            head = "".join(self._head)
            after = f"'{text}' appears where '{{' must follow '{head}'"
            reason = Reason("LEADING_TEXT", after, "", "'{'") if head else self._text_before(text)
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
    def _openings(self) -> str:
        """All that a call can begin with, in words."""
        return one_of(("'{'", *self._head_names))

    # the end

    def _document_end(self, start: int, end: int, text: str) -> None:
        super()._document_end(start, end, text)
        tool = self._tools.allowed.get(self.tool or "")
        arguments = self.arguments
        if self.violations or tool is None or arguments is None:
            return
        try:
            verdict = tool.final_word(arguments)
        except RecursionError:
            self._stop("LIMIT_EXCEEDED", "the arguments are nested too deeply to be checked", end - 1)
            return
        if verdict is not None:
            self._violate(verdict[0], end - 1, f"{self._arguments_path}{verdict[1]}")

    def _text_ended(self) -> None:
        if self._levels or self._head:
            super()._text_ended()
        else:
            self._violate(
                Reason("NO_TOOL_CALL", "the text holds no tool call", "", self._openings), self.chars, ""
            )


def _alike(a: str, b: str) -> bool:
    """Whether two characters begin words of one style: both upper case, both lower case, both neither."""
    return (a.isupper(), a.islower()) == (b.isupper(), b.islower())
