"""Checks, while an answer is streamed, whether the endpoint enforces the constraint that it was sent.

A grammar is exact: the first character that it excludes proves that it was not enforced. Engines differ in the keywords
of JSON Schema that they enforce (a number's range, a pattern), but all of them enforce JSON syntax, types, names and
enumerations, and only these are proof. Other violations are left to the validator.
"""

from __future__ import annotations

from typing import Any, Protocol

from glyphscope.errors import ConstraintIgnored
from glyphscope.events import Violation
from glyphscope.grammar.gbnf.check import load_gbnf
from glyphscope.grammar.match.earley import MatchLimit
from glyphscope.grammar.match.report import compile_grammar
from glyphscope.models.interface import GenerateRequest
from glyphscope.models.remote.fields import Constraint
from glyphscope.validation.value import ValueValidator

_ENFORCED_BY_ALL = frozenset(
    {"SYNTAX", "LEADING_TEXT", "TRAILING_TEXT", "TYPE_MISMATCH", "CONSTRAINT_ENUM", "UNKNOWN_ARGUMENT"}
)
_SHOWN = 60
HINT = (
    "Name the server's dialect in the address (?dialect=…), or use --constraint off to see the model alone."
)


class _Reader(Protocol):
    def feed(self, text: str) -> int | None:
        """The index of the first excluded character; None while there is none."""

    def may_end(self) -> bool:
        """Whether the text may end here."""


class Watch:
    """Reads one answer. Raises ConstraintIgnored at the first proof that the constraint was ignored."""

    def __init__(self, request: GenerateRequest, constraint: Constraint, title: str) -> None:
        self._constraint, self._title = constraint, title
        self._reader = _reader(request, constraint)
        self._text = ""
        self._called = False
        self._last = ""

    def feed(self, text: str) -> None:
        """The next piece of the answer's text."""
        if self._reader is None:
            return
        self._text += text
        excluded = self._reader.feed(text)
        if excluded is not None:
            twice = (
                " The piece before it was the same: it may send pieces twice." if text == self._last else ""
            )
            beginning = self._text[max(0, excluded - 20) : excluded]
            raise self._ignored(
                f"at character {excluded} it wrote {self._text[excluded : excluded + _SHOWN]!r}"
                + (f" after {beginning!r}" if beginning else "")
                + f", which what was sent in {self._constraint.field} excludes.{twice}"
            )
        self._last = text

    def called(self) -> None:
        """The endpoint sent a call."""
        self._called = True

    def end(self) -> None:
        """The answer ended by itself, not at its length."""
        if self._constraint.enforced == "tools" and not self._called:
            raise self._ignored("it answered without a call, though tool_choice was required.")
        if self._reader is not None and not self._reader.may_end():
            shown = f" after {self._text[-_SHOWN:]!r}" if self._text else " before its first character"
            raise self._ignored(f"its text ended{shown}, where the constraint allows no end.")

    def _ignored(self, how: str) -> ConstraintIgnored:
        return ConstraintIgnored(f"The endpoint ({self._title}) ignored the constraint: {how}", hint=HINT)


class _GrammarReader:
    def __init__(self, text: str) -> None:
        self._state = compile_grammar(load_gbnf(text, where="the grammar sent")).start()
        self._read = True

    def feed(self, text: str) -> int | None:
        if not self._read:
            return None
        try:
            self._state = self._state.feed(text)
        except MatchLimit:  # too ambiguous to follow; the validator judges the text anyway
            self._read = False
            return None
        return self._state.failed_at

    def may_end(self) -> bool:
        return not self._read or self._state.accepted


class _SchemaReader:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._validator = ValueValidator(schema)
        self._wrong = False

    def feed(self, text: str) -> int | None:
        for event in self._validator.feed(text):
            if isinstance(event, Violation) and not self._wrong:
                self._wrong = True
                if event.code in _ENFORCED_BY_ALL:
                    return event.char
        return None

    def may_end(self) -> bool:
        return self._wrong or self._validator.complete


def _reader(request: GenerateRequest, constraint: Constraint) -> _Reader | None:
    if constraint.enforced == "grammar" and request.grammar is not None:
        return _GrammarReader(request.grammar)
    if constraint.enforced == "schema" and request.schema is not None:
        return _SchemaReader(request.schema)
    return None
