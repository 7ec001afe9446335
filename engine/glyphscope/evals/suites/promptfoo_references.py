"""References within a configuration of promptfoo, such as `$ref: '#/assertionTemplates/short'`."""

from __future__ import annotations

from typing import Any

from glyphscope.errors import SuiteError
from glyphscope.registry.pointer import steps_of
from glyphscope.text.shorten import shorten

_SCHEMAS = frozenset({"parameters", "input_schema", "inputSchema", "parametersJsonSchema", "schema"})
"""Members whose references are a schema's own."""
_MAX_VALUES, _MAX_LEVELS = 1_000_000, 200


def resolved(document: dict[str, Any], where: str) -> dict[str, Any]:
    """The document with the values that its references lead to; members beside a reference replace those of the value.

    Raises SuiteError for a reference that leads nowhere in the document, to itself, or to too many values.
    """
    copy = _Resolving(document, where).value(document)
    assert isinstance(copy, dict)
    return copy


class _Resolving:
    def __init__(self, document: dict[str, Any], where: str) -> None:
        self._document, self._where, self._left = document, where, _MAX_VALUES

    def value(self, value: Any, level: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or level > _MAX_LEVELS:
            raise SuiteError("Its references lead to too many values, or to themselves.", where=self._where)
        if isinstance(value, list):
            return [self.value(each, level + 1) for each in value]
        if not isinstance(value, dict) or not value:
            return value  # also a date, which is an object without members
        members = {
            key: each if key in _SCHEMAS else self.value(each, level + 1)
            for key, each in value.items()
            if key != "$ref"
        }
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return members if "$ref" not in value else value
        target = self.value(self._target(reference), level + 1)
        return {**target, **members} if isinstance(target, dict) and members else target

    def _target(self, reference: str) -> Any:
        found: Any = self._document
        try:
            if not reference.startswith("#"):
                raise KeyError(reference)
            for step in steps_of(reference[1:]):
                found = found[int(step)] if isinstance(found, list) else found[step]
        except (LookupError, TypeError, ValueError):
            raise SuiteError(
                f"The reference {shorten(reference, 80)} leads nowhere in this file.",
                where=self._where,
                hint="Only references within the file are read.",
            ) from None
        return found
