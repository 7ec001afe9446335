"""A bare value of a JSON Schema, judged while it is being written: a router's answer, a part of a call."""

from __future__ import annotations

from typing import Any, ClassVar

from glyphscope.errors import Problem, RegistryError
from glyphscope.events import Notation, RunEvent
from glyphscope.notation.scalars import OBJECT
from glyphscope.registry import normalise
from glyphscope.registry.check import check_schema
from glyphscope.registry.pointer import step_of
from glyphscope.validation.candidates import Candidate
from glyphscope.validation.reasons import Reason
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.spec import ANYTHING
from glyphscope.validation.streaming_validator import Judge, Limits
from glyphscope.validation.tools import final_word

_ANY = SchemaSet(True)


class ValueValidator(Judge):
    """Feed it a value of any kind in any chunking; the verdicts' `rule` points into the schema, normalised to 2020-12.

    The schema is of any draft. `closed`: a member of the value itself that nothing in the schema names is refused, as
    a tool's arguments are. A number or a bare word at the root is complete only with the text, as it could go on.
    Raises RegistryError, with every mistake, where the schema is none.
    """

    WHOLE: ClassVar[str] = "the value"

    def __init__(
        self, schema: Any, notation: Notation = "json", *, closed: bool = False, limits: Limits | None = None
    ) -> None:
        super().__init__(notation, limits=limits or Limits(), calls=False)
        problems = check_schema(schema)
        if problems:
            raise RegistryError(
                "Invalid JSON Schema.",
                problems=tuple(
                    Problem("".join(f"/{step_of(str(step))}" for step in path), reason)
                    for path, reason in problems
                ),
            )
        self._schemas = SchemaSet(normalise(schema), closed=closed)

    def finish(self) -> list[RunEvent]:
        """Judge the end of the text; members that are open there reach to it."""
        events = super().finish()
        self._grow_open_fields(self.chars)
        return events

    @property
    def valid(self) -> bool:
        """Whether the value is complete and nothing was wrong."""
        return self.complete and not self.violations

    @property
    def tool(self) -> str | None:
        """A bare value names no tool."""
        return None

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The complete value, if it is an object; whatever it is, it is `value`."""
        return self.value if self.complete and isinstance(self.value, dict) else None

    def _root_candidates(self) -> list[Candidate]:
        specs = self._schemas.specs((self._schemas.top,))
        return [Candidate(self._schemas, spec, None) for spec in specs]

    def _begin(self, start: int) -> None:
        super()._begin(start)
        if not self._levels and not self._candidates:
            self._violate(Reason("CONSTRAINT_OTHER", "is of a schema that nothing satisfies"), start, "")
            self._candidates = [Candidate(_ANY, ANYTHING, None)]

    def _syntax(self, start: int, end: int, text: str) -> None:
        kinds = {candidate.spec.kinds for candidate in self._root_candidates()}
        if self._levels or self.complete or self._scalar is not None or kinds != {OBJECT}:
            super()._syntax(start, end, text)
            return
        self._violate(Reason("LEADING_TEXT", f"{self.WHOLE} must begin with '{{'", "", "'{'"), start, "")
        self._read_no_further(start)

    def _document_end(self, start: int, end: int, text: str) -> None:
        super()._document_end(start, end, text)
        if self.violations:
            return
        try:
            verdict = final_word(self._schemas, self.value)
        except RecursionError:
            self._stop("LIMIT_EXCEEDED", "the value is nested too deeply to be checked", end - 1)
            return
        if verdict is not None:
            self._violate(verdict[0], end - 1, verdict[1])
