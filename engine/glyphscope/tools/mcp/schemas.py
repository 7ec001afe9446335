"""The output schema of a tool, and where an answer breaks it: checked by the engine whose patterns cannot hang."""

from __future__ import annotations

from typing import Any

from glyphscope.registry import normalise
from glyphscope.registry.check import check_schema
from glyphscope.registry.document import plain
from glyphscope.registry.pointer import to_pointer
from glyphscope.validation.checker import Checker

_MOST_PROBLEMS = 20
_WORDS = 300


class OutputSchema:
    """Raises ValueError, with the first mistake, for a schema that cannot be used."""

    def __init__(self, schema: Any) -> None:
        copy, problems = plain(schema)
        if problems:
            raise ValueError(problems[0].message)
        if faults := check_schema(copy):
            path, reason = faults[0]
            raise ValueError(f"{to_pointer(path) or '(whole schema)'}: {reason}")
        self._checker = Checker(normalise(copy))

    def problems(self, value: Any) -> tuple[str, ...]:
        """Where `value` breaks it: JSON Pointer and reason, the first few."""
        try:
            errors = self._checker.errors(value, _MOST_PROBLEMS)
        except RecursionError:
            return ("The structured content is nested too deep to be checked.",)
        return tuple(f"{to_pointer(tuple(e.absolute_path)) or '/'}: {e.message[:_WORDS]}" for e in errors)
