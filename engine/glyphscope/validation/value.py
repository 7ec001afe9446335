"""A bare value of a JSON Schema, judged while it is being written: a router's answer, arguments edited by hand."""

from __future__ import annotations

from typing import Any

from glyphscope.base.errors import Problem, RegistryError
from glyphscope.base.pointer import to_pointer
from glyphscope.events import Notation
from glyphscope.notation.scalars import OBJECT
from glyphscope.registry import normalise
from glyphscope.registry.check import check_schema
from glyphscope.validation.candidates import Candidate
from glyphscope.validation.levels import ObjectLevel
from glyphscope.validation.reasons import LocatedReason, Reason
from glyphscope.validation.schema import SchemaSet
from glyphscope.validation.streaming_validator import Explain, Limits, StreamingValidator
from glyphscope.validation.tools import final_verdict


class ValueValidator(StreamingValidator):
    """Judges a value of any kind, in pieces of any size; `rule` of a verdict points into the schema as draft 2020-12.

    The schema may be of any draft. `closed`: a top-level member that the schema does not name is rejected, as a tool's
    arguments are. A number or a bare word at the root is complete only at the end of the text, as it could continue.
    Messages call the value `subject`. Raises RegistryError, with all errors, for an invalid schema.
    """

    tool: None = None
    """Always None: a bare value does not name a tool."""

    def __init__(
        self,
        schema: Any,
        notation: Notation = "json",
        *,
        closed: bool = False,
        subject: str = "the value",
        explain: Explain | None = None,
        limits: Limits | None = None,
        at: int | None = None,
    ) -> None:
        """The text begins at the character `at`."""
        super().__init__(
            notation, self._root_candidates, limits=limits, subject=subject, explain=explain, at=at
        )
        problems = check_schema(schema)
        if problems:
            raise RegistryError(
                "Invalid JSON Schema.",
                problems=tuple(Problem(to_pointer(path), reason) for path, reason in problems),
            )
        self._schemas = SchemaSet(normalise(schema), closed=closed)
        self._member = "argument" if closed else "member"

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The complete value if it is an object, else None; `value` has a value of any kind."""
        return self.value if self.complete and isinstance(self.value, dict) else None

    def _object_level(self, path: str) -> ObjectLevel:
        level = super()._object_level(path)
        level.member = self._member
        return level

    def _root_candidates(self) -> list[Candidate]:
        specs = self._schemas.specs((self._schemas.top,))
        return [Candidate(self._schemas, spec) for spec in specs]

    def _syntax(self, start: int, end: int, text: str) -> None:
        kinds = {candidate.spec.kinds for candidate in self._root_candidates()}
        if self._levels or self.complete or self._scalar is not None or kinds != {OBJECT}:
            super()._syntax(start, end, text)
            return
        self._violate(
            Reason("LEADING_TEXT", f"{self._subject} must begin with '{{'", "", ("'{'",)), start, ""
        )
        self._read_no_further(start)

    def _final_verdict(self) -> LocatedReason | None:
        return final_verdict(self._schemas, self.value)
