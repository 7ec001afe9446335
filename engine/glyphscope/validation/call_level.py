"""The call's object while it is written: the tool's name beside the arguments, in each of the three shapes.

Until the name is known, every allowed tool is a candidate. So an argument that no tool has is rejected at once, and a
name is rejected at the first character after which no remaining tool fits the arguments so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from glyphscope.events import Notation
from glyphscope.notation.scalars import STRING
from glyphscope.validation import members
from glyphscope.validation.candidates import ANY_SCHEMA, Candidate, anything
from glyphscope.validation.levels import ObjectLevel
from glyphscope.validation.reasons import LocatedReason, Reason
from glyphscope.validation.spec import Spec, SpecPlace
from glyphscope.validation.tools import CallableTool, CallableTools

MAX_TOOLS_AT_ONCE = 64
"""With more allowed tools, arguments that come before the tool's name are judged only when the name is complete."""


class CallKeys(NamedTuple):
    """The keys of a call's object."""

    name: str
    arguments: str | None  # None if the arguments are members beside the name
    others: tuple[str, ...] = ()  # allowed, not judged
    relative: bool = False  # fields and paths are relative to the arguments, not to the call

    @property
    def path(self) -> str:
        """The JSON Pointer of the arguments."""
        return "" if self.arguments is None or self.relative else f"/{self.arguments}"


class CallLevel(ObjectLevel):
    """The open object of a call."""

    __slots__ = ("_choice_open", "_keys", "_notation", "_tools", "named", "naming", "tool")

    def __init__(self, tools: CallableTools, keys: CallKeys, notation: Notation) -> None:
        super().__init__(anything(), "", None)
        self.records = not keys.relative
        self.end_words = "the end of the call"
        self._tools = tools
        self._keys = keys
        self._notation = notation
        self._choice_open = True  # every allowed tool is possible, and `candidates` does not list them yet
        self.named = False  # the name's key was read
        self.naming = False  # the value being written is the name
        self.tool: CallableTool | None = None  # once its name is complete and allowed

    @property
    def arguments(self) -> dict[str, Any]:
        """The complete arguments so far."""
        given = self.value if self._keys.arguments is None else self.value.get(self._keys.arguments)
        return given if isinstance(given, dict) else {}

    # keys

    def _own_keys(self) -> list[str]:
        """The keys of the call's object, beside the arguments' names, that may still follow."""
        keys = [] if self.named else [self._keys.name]
        if self._keys.arguments is not None:
            keys.append(self._keys.arguments)
        return [key for key in (*keys, *self._keys.others) if key not in self.used]

    def _arguments_beside(self) -> bool:
        """Whether a tool's arguments can follow here, beside the name; if so, every tool becomes a candidate."""
        if self._keys.arguments is not None or not self._tools.allowed:
            return False
        self._list_tools()
        return True

    def any_name(self) -> bool:
        return False  # until the tool is known, every tool's names are possible

    def key_can_begin(self, prefix: str) -> bool:
        if any(key.startswith(prefix) for key in self._own_keys()):
            return True
        return self._arguments_beside() and super().key_can_begin(prefix)

    def key_possible(self, key: str) -> bool:
        return key in self._own_keys() or (self._arguments_beside() and super().key_possible(key))

    def end_key(self, key: str) -> None:
        self.key = key
        self._separated = False
        self.naming = key == self._keys.name and not self.named
        if self.naming:
            self.named = True
        else:
            self.used.add(key)

    def _why_no_key(self, prefix: str, *, whole: bool) -> Reason:
        own = [key for key in (self._keys.name, self._keys.arguments) if key]
        given = [key for key in own if (self.named if key == self._keys.name else key in self.used)]
        again = next((key for key in given if prefix and key.startswith(prefix)), None)
        if again and not (whole and again != prefix):
            return members.already_given(again)
        if self._keys.arguments is not None:
            begins = "is named" if whole else "begins with"
            return Reason("UNKNOWN_ARGUMENT", f"no key of the call {begins} '{prefix}'")
        if self._tools.allowed:
            return super()._why_no_key(prefix, whole=whole)
        return Reason("UNKNOWN_ARGUMENT", "no tool is allowed, so there are no arguments")

    def _names_from(self, begun: str, *, bare: bool = False) -> Iterator[str]:
        yield from (f"'{key}'" for key in self._own_keys() if key.startswith(begun))
        if self._arguments_beside():
            yield from super()._names_from(begun, bare=bare)

    def _end(self) -> tuple[str, ...]:
        return () if self._why_incomplete() is not None else super()._end()

    def separator(self) -> Reason | None:
        if self._own_keys() or not self.candidates:
            return None
        if self._keys.arguments is not None:
            return Reason("UNKNOWN_ARGUMENT", "no key of the call is left", "", self._end())
        return super().separator()

    # values

    def places(self, of: Candidate) -> tuple[SpecPlace, ...]:
        return (of.schemas.top,) if self.key == self._keys.arguments else super().places(of)

    def value_candidates(self) -> list[Candidate]:
        if self.naming:
            return [Candidate(ANY_SCHEMA, self._name_spec())]
        if self.key in self._keys.others:
            return anything()
        if self.key != self._keys.arguments:
            return super().value_candidates()
        self._list_tools()
        of_tools = [Candidate(c.schemas, c.spec, c) for c in self.candidates if c.tool is not None]
        return of_tools or super().value_candidates()

    def _list_tools(self) -> None:
        """Make every allowed tool a candidate, now that an argument narrows them; a tool that nothing fits has none."""
        if self._choice_open and len(self._tools.allowed) <= MAX_TOOLS_AT_ONCE:
            listed = [one for tool in self._tools.allowed.values() for one in tool_candidates(tool)]
            self.candidates = listed or self.candidates
        self._choice_open = False

    def _name_spec(self) -> Spec:
        """The names that are still possible, given the arguments before the name."""
        left = {c.tool.name for c in self.candidates if c.tool is not None}
        if not left:
            return self._tools.name_spec
        return Spec(kinds=STRING, enum=tuple(name for name in self._tools.allowed if name in left))

    def keep_parents(self, candidates: list[Candidate]) -> None:
        if not self.naming and self.key not in self._keys.others:
            super().keep_parents(candidates)

    def add(self, value: Any) -> Reason | None:
        if self.naming or self.key in self._keys.others:
            return None
        return super().add(value)

    def end_name(self) -> None:
        """The name is complete: no further tool becomes a candidate."""
        self.naming = self._choice_open = False

    def set_tool(self, tool: CallableTool | None) -> LocatedReason | None:
        """Judge by this tool only (None: not allowed). Returns why the arguments so far do not fit, None if they do."""
        self.tool = tool
        mine = [c for c in self.candidates if tool is not None and c.tool is tool]
        self.candidates = mine or ([] if tool is None else tool_candidates(tool)) or anything()
        return None if mine or tool is None else tool.fault(self.arguments)

    def close(self) -> Reason | None:
        reason = self._why_incomplete()
        if reason is not None or self._keys.arguments is not None:
            reason = reason and reason._replace(viable=self._missing())
            self.candidates = anything()
            return reason
        return super().close()

    def _why_incomplete(self) -> Reason | None:
        name, arguments = self._keys.name, self._keys.arguments
        if not self.named:
            keys = f"{name}=…" if self._notation == "glyph" else f'"{name}": …'
            message = f"the call names no tool ({keys})"
            return Reason("MISSING_TOOL", message)
        if arguments is not None and arguments not in self.used and self.tool is not None:
            return Reason("MISSING_REQUIRED", f"lacks '{arguments}'")
        return None


def tool_candidates(tool: CallableTool) -> list[Candidate]:
    """The alternatives of a tool's arguments."""
    return [Candidate(tool.schemas, spec, tool=tool) for spec in tool.specs]
